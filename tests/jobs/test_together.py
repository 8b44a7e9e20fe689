"""Nights that share a store, nights that run out of time, and nights that are told to stop."""

import asyncio
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from tests.stored import NOON, RUDE, agent_span, fill, mixed
from tracehooks.errors import ConfigurationError
from tracehooks.jobs.toxicity import ToxicityNight
from tracehooks.records import AgentCall, Score
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store, open_store

LATER = NOON + timedelta(hours=2)
WINDOW = (NOON - timedelta(hours=1), NOON + timedelta(hours=1))


@dataclass
class Slow:
    """Takes its time; remembers whom it was asked about."""

    seconds: float = 0.02
    asked: list[str] = field(default_factory=list)
    hangs: bool = False
    name: str = "toxicity"
    version: str = "1"
    direction: str = "lower"
    threshold: float = 0.0
    range: tuple[float, float] = (0.0, 1.0)

    async def score(self, call: AgentCall) -> Score:
        self.asked.append(call.trace_id)
        await asyncio.sleep(60 if self.hangs else self.seconds)
        return Score.scored(self.name, 0.0)


class Words(Slow):
    """Toxic is who says idiot."""

    async def score(self, call: AgentCall) -> Score:
        return Score.scored(self.name, 0.9 if "idiot" in (call.output or "") else 0.0)


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    """A store with 60 calls, on each database in turn."""
    with open_store(request.getfixturevalue(f"{request.param}_url")) as opened:
        fill(opened, mixed(60, 0))
        yield opened


def night(store: Store, scorer: Any, owner: str, now: Any = LATER, **more: Any) -> ToxicityNight:
    job = {"settle": 0, "time_limit": more.pop("time_limit", "4h"), "window": more.pop("window", "all")}
    gate = {"max_rate": 0.5}
    source = more.pop("source", "local")
    jobs = {"toxicity": {**job, "gate": gate}}
    settings = {"project": "shop", "judge": {"concurrency": 4}, "jobs": jobs, "source": source}
    return ToxicityNight(
        settings=Settings.model_validate(settings),
        store=store,
        scorer=scorer,
        clock=lambda: now,
        owner=owner,
        **more,
    )


def together(*nights: Any) -> list[RunRecord]:
    runs: list[RunRecord] = []
    threads = [threading.Thread(target=lambda run=each: runs.append(run())) for each in nights]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return runs


def test_nights_of_different_windows_judge_each_call_once(store: Store) -> None:
    """agronholm/apscheduler#160: begun a moment apart, both planned it all; each call is judged by one."""
    scorer = Slow()
    one, two = night(store, scorer, "a:1:1"), night(store, scorer, "b:1:1", LATER + timedelta(seconds=1))
    runs = together(one.run, two.run)
    assert len({run.id for run in runs}) == 2
    assert len(scorer.asked) == len(set(scorer.asked)) == 60
    for run in runs:
        assert (run.state, run.verdict) == ("finished", "pass")
        assert run.counts["planned"] + run.counts["already_scored"] == 60
        assert run.counts["planned"] == run.counts["scored"]
        assert run.report["scored"] == 60


def test_nights_of_one_window_are_one_run_that_both_work_on(store: Store) -> None:
    """agronholm/apscheduler#766: the second helps, and says in the end what the first says."""
    scorer = Slow(seconds=0.05)
    runs = together(
        *(lambda owner=owner: night(store, scorer, owner).run(*WINDOW) for owner in ("a:1:1", "b:1:1"))
    )
    assert runs[0] == runs[1]
    assert (runs[0].state, runs[0].counts["scored"]) == ("finished", 60)
    assert len(scorer.asked) == len(set(scorer.asked)) == 60
    assert len(store.runs.list()) == 1


def test_a_hung_judge_ends_timed_out_and_is_completed_by_resume(store: Store) -> None:
    """open-compass/opencompass#2583, confident-ai/deepeval#1147: in its time, with what it has."""
    began = time.monotonic()
    timed_out = night(store, Slow(hangs=True), "a:1:1", window="since_last", time_limit="500ms").run()
    assert time.monotonic() - began < 20
    assert (timed_out.state, timed_out.counts["unscored"]) == ("timed_out", {"not_attempted": 60})
    assert timed_out.reasons[-1].startswith("time_limit: stopped after 0.5s with 60 calls not judged")
    assert store.items.owners() == []
    tomorrow = LATER + timedelta(days=1)
    following = night(store, Slow(), "a:1:1", tomorrow, window="since_last").run()
    assert following.window_start == timed_out.window_start
    assert (following.state, following.counts["scored"]) == ("finished", 60)
    scorer = Slow()
    resumed = night(store, scorer, "a:1:1").resume(timed_out)
    assert scorer.asked == []
    assert (resumed.state, resumed.counts["scored"], resumed.verdict) == ("finished", 60, "pass")


def test_a_night_that_is_told_to_stop_is_interrupted_and_gone_on_with(store: Store) -> None:
    """What was answered stays, what was not is free for the next."""
    scorer = Slow(seconds=0.05)
    stopped = night(store, scorer, "a:1:1", halted=lambda: len(scorer.asked) > 8).run(*WINDOW)
    assert (stopped.state, stopped.verdict) == ("interrupted", None)
    assert store.items.owners() == []
    done = store.items.outcomes(stopped.id)["scored"]
    following = Slow()
    run = night(store, following, "b:1:1").resume(stopped)
    assert (run.state, run.counts["scored"]) == ("finished", 60)
    assert len(following.asked) == 60 - done


def test_a_night_that_breaks_off_says_why(store: Store) -> None:
    """agronholm/apscheduler#652: the record has the error's type and text, also when it was planning."""
    broken = night(store, Slow(), "a:1:1", source="nowhere")
    with pytest.raises(ConfigurationError):
        broken.run(*WINDOW)
    run = store.runs.list()[0]
    assert run.state == "failed"
    assert run.reasons[0].startswith("error: ConfigurationError: ")


def test_each_agent_has_a_verdict_by_its_own_calls(store: Store) -> None:
    """For those who are told of one agent alone."""
    store.spans.add([agent_span(200 + n, RUDE, name="rude-bot") for n in range(30)])
    run = night(store, Words(), "a:1:1").run(*WINDOW)
    agents = run.report["agents"]
    assert {name: (one["verdict"], one["toxic"], one["scored"]) for name, one in agents.items()} == {
        "support-bot": ("pass", 0, 60),
        "rude-bot": ("fail", 30, 30),
    }


def test_a_night_that_could_not_even_begin_is_resumed(store: Store) -> None:
    """Its record has no plan; it gets one."""
    failed = store.runs.open("toxicity", *WINDOW, {"moves": True, "note": "late 80 min"})
    failed = store.runs.update(failed.id, state="failed", reasons=("error: ValueError: no judge",))
    run = night(store, Slow(), "a:1:1").resume(failed)
    assert (run.state, run.counts["scored"], run.reasons[0][:9]) == ("finished", 60, "toxicity:")
    assert (run.plan["moves"], run.plan["note"]) == (True, "late 80 min")
