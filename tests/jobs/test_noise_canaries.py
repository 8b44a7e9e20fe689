"""The canaries of noise nights: as in toxicity nights, through the scorer of noise."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.fake_openai import Batches, FakeOpenAI, Reply, block, chat
from tests.jobs.quiz import check_sums, dataset
from tests.stored import NOON
from tracehooks.jobs.noise import NoiseNight
from tracehooks.records import Verdict
from tracehooks.reports.gate import Gate
from tracehooks.reports.noise_preview import noise_preview_dict
from tracehooks.scorers.noise_reply import DIMENSIONS
from tracehooks.scoring.canaries import canaries
from tracehooks.scoring.canary_shift import NIGHTS
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store

pytestmark = pytest.mark.usefixtures("asked_anew")

CHANGED = {canary.output: canary.label for canary in canaries("noise_sensitivity")}
CASES, ASKS = 12, 24
FROZEN = len(CHANGED)


class Labelled:
    """Judges the canaries as they are labelled; once ``swapped`` it finds that noise changes nothing."""

    swapped = False

    def __init__(self) -> None:
        self.frozen = 0

    def __call__(self, body: dict[str, Any]) -> Reply:
        answer = block(body["messages"], "response")
        self.frozen += answer in CHANGED
        changed = CHANGED.get(answer, False) and not self.swapped
        impact = {
            "impact_level": "severe" if changed else "none",
            "specific_changes": "",
            "noise_influence": "",
        }
        return chat(
            {
                "dimensions": [{"dimension": name, **impact} for name in DIMENSIONS],
                "major_issues": [],
                "robustness_score": 0.1 if changed else 1.0,
                "overall_assessment": "so",
                "reason": "so",
            }
        )


def _settings(folder: Path, server: FakeOpenAI, **settings: Any) -> Settings:
    known: dict[str, Any] = {
        "project": "shop",
        "agent": "tests.jobs.quiz:steady",
        "store": f"sqlite:///{folder}/store.db",
        "judge": {"model": "m", "base_url": server.url, "api_key": "k"},
        "canaries": {"share": 1},
        "jobs": {"noise": {"datasets": [str(folder / "quiz.yaml")], "repeats": 1}},
    }
    return Settings.model_validate({**known, **settings})


def _night(store: Store, folder: Path, server: FakeOpenAI, day: int = 0, **settings: Any) -> NoiseNight:
    values = _settings(folder, server, **settings)
    return NoiseNight(settings=values, store=store, clock=lambda: NOON + timedelta(days=day))


def _gated(store: Store, settings: Settings, run: RunRecord) -> Any:
    return Gate(settings=settings, store=store, now=NOON + timedelta(days=30)).gated(run)


def test_a_swapped_judge_makes_the_noise_night_inconclusive_until_it_is_meant(
    store: Store, tmp_path: Path
) -> None:
    """After a week nothing is ever changed: neither night nor gate believes it, until it is meant."""
    dataset(tmp_path, CASES)
    judge = Labelled()
    with FakeOpenAI(judge) as server:
        good = [_night(store, tmp_path, server, day).run() for day in range(NIGHTS + 1)]
        assert [run.verdict for run in good] == [Verdict.PASS] * (NIGHTS + 1)
        assert good[-1].report["canaries"]["agreement"] == 1
        assert not good[-1].report["canaries"]["shifted"]
        judge.swapped = True
        bad = _night(store, tmp_path, server, NIGHTS + 1).run()
        assert bad.verdict is Verdict.INCONCLUSIVE
        assert bad.reasons[0].startswith("canaries: ")
        assert bad.reasons == tuple(bad.report["reasons"])
        assert bad.counts["scored"] == ASKS
        gated = _gated(store, _settings(tmp_path, server), bad)
        assert (gated.verdict, gated.reasons[0]) == (Verdict.INCONCLUSIVE, bad.reasons[0])
        since = (NOON + timedelta(days=NIGHTS + 2)).date()
        meant = _night(store, tmp_path, server, NIGHTS + 2, canaries={"share": 1, "since": since}).run()
    assert meant.verdict is Verdict.PASS


def test_frozen_cases_are_no_answers_of_the_night_and_are_paid_for(store: Store, tmp_path: Path) -> None:
    """Counts and scores know nothing of them; plan and spending do, and each is asked once."""
    dataset(tmp_path, CASES)
    judge = Labelled()
    with FakeOpenAI(judge) as server:
        night = _night(store, tmp_path, server)
        told = night.preview()
        assert (told.canaries, told.asks) == (FROZEN, ASKS)
        assert noise_preview_dict(told)["canaries"] == FROZEN
        assert told.estimate is not None
        assert told.estimate.answers == ASKS + FROZEN
        assert server.count == 0
        run = night.run()
        again = night.resume(run)
        assert (server.count, judge.frozen) == (ASKS + FROZEN, FROZEN)
    assert again.report["canaries"] == run.report["canaries"]
    check_sums(run)
    assert (run.counts["planned"], run.counts["scored"]) == (ASKS, ASKS)
    assert run.report["spent"]["calls"] == ASKS + FROZEN
    assert run.report["canaries"]["judged"] == FROZEN
    assert len(store.scores.page("noise_sensitivity", limit=500)) == ASKS


@pytest.mark.parametrize(
    "settings",
    [{"canaries": {"enabled": False}}, {"canaries": {"share": 0.1}}, {"judge": {}}],
    ids=["turned off", "a small night", "declared facts"],
)
def test_nights_without_them_ask_none(store: Store, tmp_path: Path, settings: dict[str, Any]) -> None:
    """Turned off, too large a share of the night, or no judge to ask."""
    dataset(tmp_path, CASES)
    judge = Labelled()
    with FakeOpenAI(judge) as server:
        night = _night(store, tmp_path, server, **settings)
        assert night.preview().canaries == 0
        run = night.run()
        assert server.count == (0 if run.plan["score_name"] == "noise_facts" else ASKS)
    assert judge.frozen == 0
    assert run.report["canaries"] is None
    assert run.verdict is Verdict.PASS
    check_sums(run)


def test_a_night_that_goes_by_batch_asks_them_live_and_once(store: Store, tmp_path: Path) -> None:
    """They are judged before the batch is waited for, and not again when it is collected."""
    dataset(tmp_path, CASES)
    judge = Labelled()
    with FakeOpenAI(judge, batches=Batches()) as server:
        noise = {"datasets": [str(tmp_path / "quiz.yaml")], "repeats": 1, "batch": "12h"}
        night = _night(store, tmp_path, server, jobs={"noise": noise})
        waiting = night.run()
        assert (waiting.waiting, judge.frozen) == (True, FROZEN)
        assert server.batches is not None
        server.batches.finish(judge)
        run = _night(store, tmp_path, server, 0, jobs={"noise": noise}).resume(waiting)
    assert judge.frozen == FROZEN
    assert (run.verdict, run.counts["scored"]) == (Verdict.PASS, ASKS)
    assert run.report["canaries"]["judged"] == FROZEN
