"""Two projects on one store: the second is told so, and changes nothing of the first's."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.jobs import quiz
from tests.jobs.scheduling import Bench, Clock
from tests.stored import NOON, fill, mixed
from tracehooks.errors import ConfigurationError
from tracehooks.jobs.toxicity import ToxicityNight
from tracehooks.records import AgentCall, Score
from tracehooks.settings import Settings
from tracehooks.store import Store, open_store

LATER = NOON + timedelta(hours=2)
REFUSAL = "is of the project 'shop', and a store is for one project: set `project: shop`, or give 'bank'"


class Kind:
    """Finds all calls clean."""

    name, version, direction = "toxicity", "1", "lower"

    def __init__(self) -> None:
        self.asked = 0

    async def score(self, call: AgentCall) -> Score:
        self.asked += 1
        return Score.scored(self.name, 0.0)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path}/store.db") as opened:
        fill(opened, mixed(20, 0))
        yield opened


def _night(store: Store, project: str, scorer: Any = None) -> ToxicityNight:
    job = {"settle": 0, "window": "24h"}
    settings = Settings.model_validate({"project": project, "jobs": {"toxicity": job}})
    return ToxicityNight(settings=settings, store=store, scorer=scorer or Kind(), clock=lambda: LATER)


def test_the_same_window_of_another_project_is_refused(store: Store) -> None:
    """Calls do not say whose they are: the second project's night would be the first one's."""
    run = _night(store, "shop").run()
    scorer = Kind()
    with pytest.raises(ConfigurationError, match=REFUSAL):
        _night(store, "bank", scorer).run()
    assert scorer.asked == 0
    assert store.runs.list() == [run]
    assert _night(store, "shop").run().plan["project"] == "shop"


def test_another_window_is_refused_too(store: Store) -> None:
    """It would begin where the other project's ended, and send the other's scores to its own sinks."""
    run = _night(store, "shop").run()
    with pytest.raises(ConfigurationError, match=REFUSAL):
        _night(store, "bank").run(NOON - timedelta(days=9), NOON - timedelta(days=8))
    assert store.runs.list() == [run]


def test_nothing_is_foretold_or_gone_on_with_for_another_project(store: Store) -> None:
    """`plan` and `resume` say what `run` would."""
    run = _night(store, "shop").run()
    store.runs.update(run.id, state="interrupted", verdict=None)
    with pytest.raises(ConfigurationError, match=REFUSAL):
        _night(store, "bank").preview()
    with pytest.raises(ConfigurationError, match=REFUSAL):
        _night(store, "bank").resume(run)
    assert _night(store, "shop").resume(run).state == "finished"


def test_a_noise_night_of_another_project_is_refused(store: Store, tmp_path: Path) -> None:
    """It has the same due times, of which each is run once."""
    _night(store, "shop").run()
    quiz.dataset(tmp_path)
    shop = quiz.night(store, tmp_path)
    bank = replace(shop, settings=shop.settings.model_copy(update={"project": "bank"}))
    with pytest.raises(ConfigurationError, match=REFUSAL):
        bank.run()
    assert shop.run().plan["project"] == "shop"


def test_a_scheduler_leaves_the_due_times_of_another_project_alone(store: Store) -> None:
    """Else the one that is quicker has the night, and the other none."""
    bench = Bench(store, Clock(LATER))
    bench.dispatcher().act()
    _night(store, "shop").run()
    bench.clock.pass_(days=1)
    shop = bench.dispatcher()
    bank = replace(shop, settings=shop.settings.model_copy(update={"project": "bank"}))
    with pytest.raises(ConfigurationError, match=REFUSAL):
        bank.act()
    run = shop.act()
    assert run is not None
    assert run.state == "finished"


def test_a_run_that_names_no_project_is_nobodys(store: Store) -> None:
    """One that could not even begin, or that was made before runs said so."""
    store.runs.open("toxicity", NOON, LATER, plan={})
    assert _night(store, "bank").run().plan["project"] == "bank"
