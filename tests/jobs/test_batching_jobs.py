"""Batches of whole jobs: a scheduler that comes back for its night, and a noise run whose answers go in."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import tracehooks
from tests.fake_openai import Batches, FakeOpenAI, Reply, ToxicWords, chat
from tests.jobs import quiz
from tests.jobs.scheduling import Clock, at
from tests.stored import agent_span
from tracehooks.jobs.dispatch import Dispatcher
from tracehooks.jobs.drivers import DRIVERS
from tracehooks.jobs.noise import NoiseNight
from tracehooks.jobs.timetable import Timetable
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store, open_store

DIMENSIONS = ("content_accuracy", "completeness", "relevance", "consistency", "hallucination_resistance")


@pytest.fixture
def clock() -> Clock:
    return Clock(at("2026-12-01T12:00"))


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path}/store.db", clock=clock) as opened:
        yield opened


def _values(server: FakeOpenAI, job: str, **more: Any) -> dict[str, Any]:
    judge = {"model": "m", "base_url": server.url, "api_key": "k", "attempts": 1}
    return {"project": "shop", "judge": judge, "jobs": {job: more}}


def _batches(server: FakeOpenAI) -> Batches:
    assert server.batches is not None
    return server.batches


def test_a_scheduler_comes_back_for_its_night(store: Store, clock: Clock) -> None:
    """It waits for the batch beyond the next night's time, runs one at a time, and tells of the end only."""
    store.spans.add([agent_span(n, start=clock.now + timedelta(minutes=n)) for n in range(6)])
    told: list[RunRecord] = []
    with FakeOpenAI(ToxicWords(), batches=Batches()) as server:
        settings = Settings.model_validate(_values(server, "toxicity", batch="30h"))

        def look(owner: str = "host:1:1") -> RunRecord | None:
            return Dispatcher(
                job="toxicity",
                settings=settings,
                store=store,
                timetable=Timetable("0 2 * * *", "UTC"),
                driver=DRIVERS["toxicity"],
                grace=settings.jobs.toxicity.grace,
                owner=owner,
                clock=clock,
                ended=told.append,
            ).act()

        assert look() is None
        for moment in ("02T02:00", "02T02:01", "02T09:00", "03T02:00", "03T02:30"):
            clock.now = at(f"2026-12-{moment}")
            found = look("host:2:2" if moment == "02T09:00" else "host:1:1")
            assert found is not None
            assert (found.waiting, told) == (True, [])
        _batches(server).finish(ToxicWords())
        clock.pass_(minutes=2)
        run = look()
        assert run is not None
        assert (len(_batches(server).made), server.count) == (1, 1)
    assert (run.state, run.counts["scored"], told) == ("finished", 6, [run])
    assert len(store.runs.list()) == 1


def test_a_noise_run_goes_into_a_batch_too(store: Store, tmp_path: Path, clock: Clock) -> None:
    """The agent is asked once; its answers are judged by batch, each with its case, and by the gate."""
    path = quiz.dataset(tmp_path / "data", 3)

    def judge(body: dict[str, Any]) -> Reply:
        level = "severe" if "99, as you say" in json.dumps(body) else "none"
        told = [{"dimension": name, "impact_level": level} for name in DIMENSIONS]
        score = 0.0 if level == "severe" else 1.0
        return chat({"dimensions": told, "major_issues": [], "robustness_score": score, "reason": level})

    with FakeOpenAI(judge, batches=Batches()) as server:
        values = _values(server, "noise", datasets=[str(path)], repeats=2, batch="12h")
        settings = Settings.model_validate({**values, "agent": "tests.jobs.quiz:gullible"})
        quiz.ASKED.clear()
        waiting = NoiseNight(settings=settings, store=store, clock=clock).run()
        asked = len(quiz.ASKED)
        assert (waiting.waiting, waiting.verdict, server.count) == (True, None, 1)
        assert {request["custom_id"][-2:] for request in _batches(server).requests()} == {"-0"}
        _batches(server).finish(judge)
        clock.pass_(hours=1)
        run = NoiseNight(settings=settings, store=store, clock=clock).resume(waiting)
        assert (len(quiz.ASKED), len(_batches(server).made), server.count) == (asked, 1, 1)
    tracehooks.shutdown(2)
    assert (run.state, run.counts["scored"], run.verdict) == ("finished", 12, "fail")
    assert (run.report["batch"]["judged"], run.report["batch"]["live"]) == (11, 1)
    assert {one["type"]: one["rows"]["mean"] for one in run.report["types"]} == {
        "distractors": 1.0,
        "misinformation": pytest.approx(0.0, abs=0.11),
    }
