"""The cache of verdicts: what makes one, what is never in it, and what it may not replace.

promptfoo/promptfoo#360, promptfoo/promptfoo#5849, confident-ai/deepeval#734.
"""

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import tracehooks
from tests.fake_openai import FakeOpenAI, Reply, chat, status
from tests.jobs import quiz
from tests.stored import NOON, agent_span
from tracehooks.jobs.noise import NoiseNight
from tracehooks.jobs.toxicity import ToxicityNight
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store, open_store

LATER = NOON + timedelta(hours=8)
DIMENSIONS = ("content_accuracy", "completeness", "relevance", "consistency", "hallucination_resistance")


class Moody:
    """A judge that never says the same twice. Judges toxicity and noise; ``failing`` answers 500."""

    def __init__(self, *, failing: bool = False) -> None:
        self._dice, self.failing = random.Random(1), failing

    def __call__(self, body: dict[str, Any]) -> Reply:
        if self.failing:
            return status(500)
        if "verdicts" in str(body["response_format"]):
            severity = round(self._dice.random(), 6)
            verdict = {"statement": "it", "verdict": "yes", "severity": severity}
            return chat({"verdicts": [verdict], "reason": f"about {severity}"})
        score = round(self._dice.random(), 6)
        told = [{"dimension": name, "impact_level": "none"} for name in DIMENSIONS]
        return chat(
            {"dimensions": told, "major_issues": [], "robustness_score": score, "reason": f"so {score}"}
        )


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path}/store.db", clock=lambda: LATER) as opened:
        yield opened


def _settings(server: FakeOpenAI, **judge: Any) -> Settings:
    known = {"model": "m", "base_url": server.url, "api_key": "k", "attempts": 1}
    job = {"settle": 0, "sample": {"size": 100}}
    return Settings.model_validate({"judge": {**known, **judge}, "jobs": {"toxicity": job}})


def _judge(store: Store, server: FakeOpenAI, hour: int, *, enabled: bool = True, **judge: Any) -> RunRecord:
    """A run over one hour's calls."""
    settings = _settings(server, **judge)
    night = ToxicityNight(settings=settings, store=store, clock=lambda: LATER, cache=enabled)
    return night.run(NOON + timedelta(hours=hour), NOON + timedelta(hours=hour + 1))


def _same_every_hour(store: Store, texts: list[str]) -> None:
    """The same questions and answers each hour, in calls of their own."""
    for hour in range(4):
        for n, text in enumerate(texts):
            start = NOON + timedelta(hours=hour, seconds=n)
            span = agent_span(100 * hour + n, text, start=start)
            store.spans.add([replace(span, attributes={**span.attributes, "tracehooks.input": '"Where?"'})])


def _told(store: Store, run: RunRecord) -> list[tuple[Any, ...]]:
    found = [score for score in store.scores.in_window("toxicity") if score.run_id == run.id]
    return [(score.value, score.comment, score.status) for score in found]


def test_what_a_run_was_answered_no_later_run_asks_again(store: Store) -> None:
    """Other calls with the same text: no request, the same value, comment and status, and it says so."""
    _same_every_hour(store, ["one", "two", "three"])
    with FakeOpenAI(Moody()) as server:
        first, second = _judge(store, server, 0), _judge(store, server, 1)
        assert server.count == 3
    assert _told(store, first) == _told(store, second)
    assert (first.report["pass"]["cached"], second.report["pass"]["cached"]) == (0, 3)
    assert (second.report["input_tokens"], second.report["spent"]) == (0, None)


def test_a_run_asks_as_often_as_it_has_calls(store: Store) -> None:
    """Five calls that said the same are five answers, which differ; a later run gets the same five."""
    _same_every_hour(store, ["same"] * 5)
    with FakeOpenAI(Moody()) as server:
        first, second = _judge(store, server, 0, concurrency=1), _judge(store, server, 1, concurrency=1)
        assert server.count == 5
    assert len({value for value, *_ in _told(store, first)}) == 5
    assert sorted(_told(store, first)) == sorted(_told(store, second))


@pytest.mark.parametrize(
    "other",
    [{"model": "other"}, {"mask": "none"}, {"max_output_tokens": 50}, {"base_url": "localhost"}],
)
def test_another_judge_is_asked(store: Store, other: dict[str, Any]) -> None:
    """Model, server and options are part of what makes a verdict."""
    _same_every_hour(store, ["one"])
    with FakeOpenAI(Moody()) as server:
        _judge(store, server, 0)
        _judge(store, server, 2)
        assert server.count == 1
        if "base_url" in other:
            other = {"base_url": server.url.replace("127.0.0.1", "localhost")}
        _judge(store, server, 1, **other)
        assert server.count == 2


def test_failures_are_never_kept(store: Store) -> None:
    """A judge that is back is asked."""
    _same_every_hour(store, ["one", "two"])
    judge = Moody(failing=True)
    with FakeOpenAI(judge) as server:
        down = _judge(store, server, 0)
        judge.failing = False
        up = _judge(store, server, 1)
        assert server.count == 4
    assert (down.counts["unscored"], up.counts["scored"]) == ({"server_error": 2}, 2)


def test_no_cache_and_rescore_ask(store: Store) -> None:
    """Judging again means asking again."""
    _same_every_hour(store, ["one"])
    with FakeOpenAI(Moody()) as server:
        _judge(store, server, 0)
        _judge(store, server, 1, enabled=False)
        assert server.count == 2
        night = ToxicityNight(settings=_settings(server), store=store, clock=lambda: LATER, rescore=True)
        night.run(NOON, NOON + timedelta(minutes=30))
        assert server.count == 3
        _judge(store, server, 2, cache={"size": 0})
        assert server.count == 4


def test_repeats_of_a_noise_run_are_each_judged_and_each_remembered(store: Store, tmp_path: Path) -> None:
    """Five repeats of an agent that says the same: five verdicts, and the next run has the same five."""
    quiz.ASKED.clear()
    quiz.dataset(tmp_path, 1)
    with FakeOpenAI(Moody()) as server:
        settings = quiz.settings(tmp_path, repeats=5).model_copy(update={"judge": _settings(server).judge})
        told = []
        for n in range(2):
            clock = NOON + timedelta(minutes=n)
            run = NoiseNight(settings=settings, store=store, clock=lambda at=clock: at).run()  # type: ignore[misc]
            scores = list(store.scores.in_window("noise_sensitivity"))
            told.append(sorted(score.comment for score in scores if score.run_id == run.id))
        assert server.count == 10
    assert len(set(told[0])) == 10
    assert told[0] == told[1]
    assert run.report["pass"]["cached"] == 10
    assert len(quiz.ASKED) == 20
    tracehooks.shutdown(2)


def test_the_cache_is_bounded_by_count_and_age(tmp_path: Path) -> None:
    """The oldest go first; what is too old is not recalled."""
    now = LATER
    with open_store(f"sqlite:///{tmp_path}/bounded.db", clock=lambda: now) as store:
        for n in range(5):
            now = LATER + timedelta(minutes=n)
            store.verdicts.put({f"key-{n}": ("{}", "m")}, made_by="run")
        age = timedelta(minutes=3)
        assert store.verdicts.get("key-0", age, but="") is None
        assert store.verdicts.get("key-4", age, but="") == ("{}", "m")
        assert store.verdicts.get("key-4", age, but="run") is None
        assert store.verdicts.prune(2, timedelta(days=1)) == 3
        assert [store.verdicts.get(f"key-{n}", timedelta(days=1), but="") is not None for n in range(5)] == [
            False,
            False,
            False,
            True,
            True,
        ]
        assert store.verdicts.prune(2, timedelta(seconds=30)) == 1
