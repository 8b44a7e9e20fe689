"""The driver: every ask comes back with its trace, its failure told apart, and its environment."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import tracehooks
from tests.replay import desk
from tracehooks import ScoringHook, traced
from tracehooks.errors import ConfigurationError
from tracehooks.noise.cases import Planted
from tracehooks.records import AgentCall, Reason
from tracehooks.replay import Ask, Reply, driving, load_agent, replay
from tracehooks.scorers.function import FunctionScorer
from tracehooks.scoring.source import load_source
from tracehooks.settings import FilterSettings, MaskSettings, Settings
from tracehooks.store import Store
from tracehooks.testing import MemoryExporter

SETTINGS = Settings(store="", environment="production")


def ask(text: str = "How long?", number: int = 0, planted: Planted | None = None) -> Ask:
    return Ask(
        dataset="desk",
        case=f"case-{number}",
        variant="v",
        noise_type="typos",
        repeat=0,
        input=text,
        planted=planted,
    )


def replies(*asks: Ask, target: str = "answer", timeout: float = 10.0, concurrency: int = 4) -> list[Reply]:
    agent = load_agent(f"tests.replay.desk:{target}", timeout=timeout)
    with driving(SETTINGS, agent) as driver:
        return asyncio.run(replay(asks, driver, concurrency=concurrency))


def test_each_reply_has_its_answer_and_its_own_trace_in_the_order_of_the_asks() -> None:
    """Four at once in threads: nothing of one call is found in another's."""
    found = replies(*(ask(f"plain {n}", n) for n in range(12)), target="undecorated")
    assert [reply.answer for reply in found] == [f"plain: plain {n}" for n in range(12)]
    calls = [reply.call for reply in found]
    assert [call and call.metadata["case"] for call in calls] == [f"case-{n}" for n in range(12)]
    assert len({call.trace_id for call in calls if call}) == 12
    assert {call.environment for call in calls if call} == {"production-replay"}


def test_the_spans_of_tools_come_along() -> None:
    """The whole trace that had ended, for the store."""
    (reply,) = replies(ask("How many?"))
    assert [span.attributes["tracehooks.kind"] for span in reply.spans] == ["tool", "agent"]
    assert reply.answer == "There are 7 left."


def test_what_the_agent_raises_and_a_call_that_takes_too_long_are_replies_with_an_error() -> None:
    """vibrantlabsai/ragas#3028: a row of its own, with the agent's words and its trace."""
    failed, fine = replies(ask("fail"), ask("How long?"))
    assert (failed.error, failed.reason, failed.answer) == (
        "ValueError: the desk is on fire",
        Reason.NOT_ATTEMPTED,
        None,
    )
    assert failed.call is not None
    assert failed.detail.startswith("the agent failed")
    assert fine.error is None
    (late,) = replies(ask(), target="slow", timeout=0.05)
    assert late.error == "AgentTimeout: no answer within 0.05 s"
    assert late.reason is Reason.NOT_ATTEMPTED


def test_answers_and_errors_are_masked_as_everything_recorded() -> None:
    """What must not be in a trace must not be in a replay's row or a report either."""
    settings = SETTINGS.model_copy(update={"mask": MaskSettings(patterns=("fire|24",))})
    agent = load_agent("tests.replay.desk:answer", timeout=10)
    with driving(settings, agent) as driver:
        failed, said = asyncio.run(replay([ask("fail"), ask()], driver))
    assert failed.error == "ValueError: the desk is on [masked]"
    assert said.answer == "Routers have a warranty of [masked] months."


def test_a_planted_tool_reaches_the_agent_and_has_no_side_effect() -> None:
    """The tool itself never runs."""
    (reply,) = replies(ask("How many?", planted=Planted("tool", "stock", {"left": 0})))
    assert (reply.answer, reply.reason) == ("There are 0 left.", None)
    assert desk.CALLED == []


def test_noise_that_never_reached_the_agent_is_told_and_not_robust() -> None:
    """A tool that was not called cannot have shown anything."""
    (reply,) = replies(ask("How long?", planted=Planted("tool", "stock", {"left": 0})))
    assert reply.reason is Reason.NOT_APPLICABLE
    assert reply.detail == "noise never reached the agent: the tool stock was not called"
    (other,) = replies(ask("How many?", planted=Planted("retriever", None, "x")))
    assert other.detail == "noise never reached the agent: no retriever was called"


def test_an_agent_behind_an_address_is_not_asked_what_would_need_planting() -> None:
    """Its real tools would run, and the noise would not be there."""
    agent = load_agent("http://127.0.0.1:9/", timeout=1)
    with driving(SETTINGS, agent) as driver:
        (reply,) = asyncio.run(replay([ask(planted=Planted("tool", "stock", 1))], driver))
    assert (reply.reason, reply.error) == (Reason.NOT_APPLICABLE, None)


def test_the_applications_own_provider_sees_the_replay_too() -> None:
    """Traced like any call: who has set tracing up keeps it, and it goes on afterwards."""
    memory = MemoryExporter()
    tracehooks.init({"store": ""}, tracer_provider=memory.provider())
    replies(ask())
    assert {span.name for span in memory.spans} >= {"desk", "search"}
    desk.answer("still traced")
    assert [span.name for span in memory.spans].count("desk") == 2


def test_nothing_of_a_replay_stays_behind() -> None:
    """A call after it has the process's environment, no case, and its real tools."""
    memory = MemoryExporter()
    tracehooks.init({"store": "", "environment": "production"}, tracer_provider=memory.provider())
    replies(ask("How many?", planted=Planted("tool", "stock", {"left": 0})))
    memory.spans.clear() if hasattr(memory.spans, "clear") else None
    assert desk.answer("How many?") == "There are 7 left."
    last = dict(memory.spans[-1].attributes or {})
    assert last["deployment.environment.name"] == "production"
    assert "tracehooks.metadata" not in last


def test_no_hook_scores_a_replay(tmp_path: Path) -> None:
    """It has a scorer of its own; the same agent's calls outside of it are scored as ever."""
    seen: list[str | None] = []

    def length(call: AgentCall) -> float:
        seen.append(call.output)
        return 1.0

    @traced(name="hooked", hooks=[ScoringHook(FunctionScorer(length, "length"))])
    def hooked(question: str) -> str:
        return question

    tracehooks.init({"store": f"sqlite:///{tmp_path}/hooks.db"})
    with driving(
        SETTINGS, replace(load_agent("tests.replay.desk:answer", timeout=9), call=_as_agent(hooked))
    ) as driver:
        (reply,) = asyncio.run(replay([ask("in the replay")], driver))
    assert reply.answer == "in the replay"
    hooked("outside")
    assert tracehooks.flush(10)
    assert seen == ["outside"]


def _as_agent(function: Callable[[str], str]) -> Callable[[Any], Awaitable[Any]]:
    async def call(given: Any) -> Any:
        return function(given)

    return call


def test_tracing_switched_off_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without traces there is nowhere to put the scores."""
    monkeypatch.setenv("TRACEHOOKS_DISABLED", "1")
    with pytest.raises(ConfigurationError, match="TRACEHOOKS_DISABLED"):
        replies(ask())


def test_the_toxicity_night_leaves_replays_out(store: Store) -> None:
    """What was asked on purpose is no customer's call, unless the filters name its environment."""
    (reply,) = replies(ask())
    store.spans.add(reply.spans)
    now = datetime.now(UTC)
    window = (now - timedelta(hours=1), now + timedelta(hours=1))

    def seen(**filters: Any) -> int:
        source = load_source(Settings(store=""), store, FilterSettings(**filters))
        return len(list(source.calls(*window)))

    assert store.calls.count(*window) == 1
    assert (seen(), seen(environment="production-replay"), seen(environment="production")) == (0, 1, 0)
