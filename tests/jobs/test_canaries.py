"""The canaries of toxicity nights: judged with a judge, counted, and able to make a night inconclusive."""

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.fake_openai import FakeOpenAI, Reply, block, chat, status
from tests.stored import NOON, agent_span
from tracehooks.jobs.toxicity import ToxicityNight
from tracehooks.records import Verdict
from tracehooks.scoring.canaries import canaries
from tracehooks.scoring.canary_shift import NIGHTS
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store, open_store

TOXIC = {canary.output: canary.label for canary in canaries("toxicity")}


class Labelled:
    """Judges the canaries as they are labelled; once ``swapped`` it finds everything clean."""

    swapped = False

    def __call__(self, body: dict[str, Any]) -> Reply:
        toxic = TOXIC.get(block(body["messages"], "response"), False) and not self.swapped
        verdict = {"statement": "it", "verdict": "yes" if toxic else "no", "severity": 0.8 if toxic else None}
        return chat({"verdicts": [verdict], "reason": "so"})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path}/store.db") as opened:
        yield opened


def _night(store: Store, server: FakeOpenAI, day: int, **settings: Any) -> ToxicityNight:
    known = {
        "judge": {"model": "m", "base_url": server.url, "api_key": "k"},
        "canaries": {"share": 1},
        "jobs": {"toxicity": {"settle": 0, "gate": {"max_rate": 0.2}}},
    }
    values = Settings.model_validate({**known, **settings})
    return ToxicityNight(settings=values, store=store, clock=lambda: NOON + timedelta(days=day, hours=1))


def _run(store: Store, server: FakeOpenAI, day: int, **settings: Any) -> RunRecord:
    """A night over forty calls of its own."""
    start = NOON + timedelta(days=day)
    spans = [
        agent_span(1000 * day + n, f"Gladly ({day}, {n}).", start=start + timedelta(seconds=n))
        for n in range(40)
    ]
    store.spans.add(spans)
    return _night(store, server, day, **settings).run(start, start + timedelta(minutes=30))


def test_a_swapped_judge_makes_the_night_inconclusive_until_it_is_meant(store: Store) -> None:
    """After a week of good nights everything is clean: that is not believed, until the settings say so."""
    judge = Labelled()
    with FakeOpenAI(judge) as server:
        good = [_run(store, server, day) for day in range(NIGHTS + 1)]
        assert [run.verdict for run in good] == [Verdict.PASS] * (NIGHTS + 1)
        assert good[-1].report["canaries"]["agreement"] == 1
        judge.swapped = True
        for day in (NIGHTS + 1, NIGHTS + 2):
            bad = _run(store, server, day)
            assert bad.verdict is Verdict.INCONCLUSIVE
            assert bad.reasons[0].startswith("canaries: ")
            assert bad.counts["scored"] == 40
        since = (NOON + timedelta(days=NIGHTS + 3)).date()
        meant = _run(store, server, NIGHTS + 3, canaries={"share": 1, "since": since})
    assert meant.verdict is Verdict.PASS
    assert isinstance(since, date)


def test_a_spent_quota_ends_the_canaries_and_they_are_judged_when_the_run_goes_on(store: Store) -> None:
    """Not one text after another is turned down; nothing of it is taken for what the judge says."""
    judge = {"model": "m", "api_key": "k", "concurrency": 2, "attempts": 1}
    with FakeOpenAI(lambda body: status(429, "insufficient_quota")) as server:
        run = _run(store, server, 0, judge={**judge, "base_url": server.url})
        assert server.count <= 4
    assert (run.state, run.report["canaries"]) == ("failed", None)
    with FakeOpenAI(Labelled()) as server:
        run = _night(store, server, 0, judge={**judge, "base_url": server.url}).resume(run)
    assert run.state == "finished"
    assert run.report["canaries"]["judged"] == 30


def test_canaries_are_no_calls_of_the_night_and_are_paid_for(store: Store) -> None:
    """Counts and traces know nothing of them; plan, budget and spending do."""
    with FakeOpenAI(Labelled()) as server:
        run = _run(store, server, 0)
        assert server.count == 70
        assert (run.counts["planned"], run.counts["scored"]) == (40, 40)
        assert run.report["spent"]["calls"] == 70
        tomorrow = NOON + timedelta(days=1)
        store.spans.add([agent_span(500 + n, f"Hello {n}.", start=tomorrow) for n in range(35)])
        told = _night(store, server, 1).preview(NOON + timedelta(days=1), NOON + timedelta(days=1, hours=1))
        assert told.canaries == 30
        assert told.estimate is not None
        assert told.estimate.answers == 65
        capped = _run(store, server, 2, budget={"run": {"calls": 50}})
        assert server.count == 120
    assert capped.counts["unscored"] == {"over_budget": 20}


@pytest.mark.parametrize("canary", [{"enabled": False}, {"share": 0.1}])
def test_they_can_be_turned_off_and_are_left_out_of_small_nights(
    store: Store, canary: dict[str, Any]
) -> None:
    """Thirty texts more are too many for forty calls, unless the settings say otherwise."""
    with FakeOpenAI(Labelled()) as server:
        run = _run(store, server, 0, canaries=canary)
        assert server.count == 40
    assert run.report["canaries"] is None


def test_a_second_run_of_a_window_does_not_judge_them_again(store: Store) -> None:
    """A resumed or repeated run keeps what it found."""
    with FakeOpenAI(Labelled()) as server:
        _run(store, server, 0)
        again = _night(store, server, 0).run(NOON, NOON + timedelta(minutes=30))
        assert server.count == 70
    assert again.report["canaries"]["judged"] == 30
