"""A hook scores finished calls of whatever it is attached to, once each, with what was said."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

import tracehooks
from tests.hooks.counting import ALWAYS, Seen, scores_of
from tracehooks import ScoringHook, traced
from tracehooks.errors import ConfigurationError
from tracehooks.store import Store

Start = Callable[..., None]


def _flush() -> None:
    assert tracehooks.flush(20)


def test_every_shape_of_function_is_scored_once(start: Start, stored: Store) -> None:
    """langfuse/langfuse#7226, mastra-ai/mastra#19843: no path goes without its hook, streams included."""
    start()
    seen = Seen()
    hooked = traced(hooks=[ScoringHook(seen)])

    @hooked
    def plain(q: str) -> str:
        return f"plain {q}"

    @hooked
    async def later(q: str) -> str:
        return f"later {q}"

    @hooked
    def stream(q: str) -> Iterator[str]:
        yield "stream "
        yield q

    @hooked
    async def astream(q: str) -> AsyncIterator[str]:
        yield "astream "
        yield q

    class Agent:
        @hooked
        def method(self, q: str) -> str:
            return f"method {q}"

        @hooked
        @classmethod
        def made(cls, q: str) -> str:
            return f"classmethod {q}"

    @hooked
    def returns_stream(q: str) -> Iterator[str]:
        return iter(["returned ", q])

    async def collect() -> None:
        assert await later("q") == "later q"
        assert "".join([piece async for piece in astream("q")]) == "astream q"

    plain("q")
    "".join(stream("q"))
    asyncio.run(collect())
    Agent().method("q")
    Agent.made("q")
    "".join(returns_stream("q"))
    _flush()
    expected = ["astream q", "classmethod q", "later q", "method q", "plain q", "returned q", "stream q"]
    assert seen.outputs == expected
    scores = scores_of(stored)
    assert len(scores) == 7
    assert {score.source for score in scores} == {"hook"}
    traces = {(call.trace_id, call.span_id) for call in stored.calls.iterate(*ALWAYS)}
    assert {(score.trace_id, score.span_id) for score in scores} == traces


def test_the_call_that_is_scored_is_the_call_that_is_stored(start: Start, stored: Store) -> None:
    """Session, user, tags and names included: both come from the span through one function."""
    start(environment="production")
    seen = Seen()

    @traced(name="support-bot", hooks=[ScoringHook(seen)], version="7")
    def answer(question: str) -> str:
        return "On its way."

    with tracehooks.trace_attributes(
        session_id="s-1", user_id="u-1", tags=["beta"], metadata={"plan": "pro"}
    ):
        answer("Where is my parcel?")
    _flush()
    (call,) = stored.calls.iterate(*ALWAYS)
    assert seen.calls == [call]
    assert (call.session_id, call.user_id, call.tags) == ("s-1", "u-1", ("beta",))
    (score,) = scores_of(stored)
    assert (score.call_start, score.environment, score.call_name) == (call.start, "production", "support-bot")


def test_nested_agents_are_each_scored_by_their_own_hooks(start: Start, stored: Store) -> None:
    """What is explicitly wanted is scored where it is wanted, in one trace."""
    start()
    inner_seen, outer_seen = Seen("inner"), Seen("outer")

    @traced(hooks=[ScoringHook(inner_seen)])
    def inner(q: str) -> str:
        return f"inner {q}"

    @traced(hooks=[ScoringHook(outer_seen)])
    def outer(q: str) -> str:
        return f"outer {inner(q)}"

    outer("q")
    _flush()
    assert inner_seen.outputs == ["inner q"]
    assert outer_seen.outputs == ["outer inner q"]
    inside, outside = sorted(scores_of(stored), key=lambda score: score.name)
    assert inside.trace_id == outside.trace_id
    assert inside.span_id != outside.span_id


def test_a_hook_on_a_tool_scores_what_the_tool_returned(start: Start) -> None:
    """Only because it was asked for there; the agent's own hook hears the agent."""
    start()
    tool_seen, agent_seen = Seen("tool"), Seen("agent")

    @traced(kind="tool", hooks=[ScoringHook(tool_seen)])
    def search(q: str) -> str:
        return "found it"

    @traced(hooks=[ScoringHook(agent_seen)])
    def agent(q: str) -> str:
        search(q)
        return "done"

    agent("q")
    _flush()
    assert tool_seen.outputs == ["found it"]
    assert agent_seen.outputs == ["done"]


def test_several_hooks_and_their_scores_stand_side_by_side(start: Start, stored: Store) -> None:
    """One score for each scorer, under its name."""
    start()

    @traced(
        hooks=[ScoringHook(Seen("one", 0.1)), ScoringHook(Seen("two", 0.2)), ScoringHook(lambda call: 0.3)]
    )
    def agent(q: str) -> str:
        return q

    agent("q")
    _flush()
    assert {score.name: score.value for score in scores_of(stored)} == {
        "one": 0.1,
        "two": 0.2,
        "<lambda>": 0.3,
    }


def test_a_hook_is_a_hook_and_nothing_else() -> None:
    """A scorer handed over bare would never run: it is refused when the function is decorated."""
    with pytest.raises(ConfigurationError, match="ScoringHook"):
        traced(hooks=[Seen()])(lambda q: q)
    with pytest.raises(ConfigurationError, match="not a scorer"):
        ScoringHook("toxicity")


@pytest.mark.parametrize("made", [lambda hook: hook, lambda hook: (one for one in [hook]), lambda hook: None])
def test_hooks_are_a_list_and_it_says_so(made: Callable[[ScoringHook], Any]) -> None:
    """One hook alone, or what can be read only once, is told what to write."""
    with pytest.raises(ConfigurationError, match="hooks takes a list of ScoringHook"):
        traced(hooks=made(ScoringHook(Seen())))(lambda q: q)


@pytest.mark.parametrize("name", ["", "  ", "\u200b"])
def test_a_scorer_with_a_name_that_nobody_sees_is_refused(name: str) -> None:
    """Its scores would go by it."""
    with pytest.raises(ConfigurationError, match="has no name"):
        ScoringHook(Seen(name))


@pytest.mark.parametrize(
    "options", [{"timeout": 0}, {"timeout": True}, {"concurrency": 0}, {"concurrency": 1.5}]
)
def test_limits_that_are_none_are_refused(options: dict[str, Any]) -> None:
    """When the hook is made."""
    with pytest.raises(ValueError, match=next(iter(options))):
        ScoringHook(Seen(), **options)


def test_a_scorer_that_traces_does_not_score_itself(start: Start) -> None:
    """An agent used as a judge, hooked like any other, would otherwise be judged by itself for ever."""
    start(hooks=[])
    asked = []

    def judge(call: Any) -> float:
        asked.append(call.output)
        agent("was that polite?")
        return 1.0

    @traced(hooks=[ScoringHook(judge)])
    def agent(q: str) -> str:
        return f"answer to {q}"

    agent("hello")
    _flush()
    assert asked == ["answer to hello"]
    assert tracehooks.stats()["triggered"] == 1


def test_a_scorer_sees_nothing_of_the_agents_context(start: Start) -> None:
    """It runs beside the agent, not below it: no span of the agent's is current there."""
    start()
    here = []

    def scorer(call: Any) -> float:
        here.append(tracehooks.current_trace())
        return 1.0

    @traced(hooks=[ScoringHook(scorer)])
    def agent(q: str) -> str:
        return q

    agent("q")
    _flush()
    assert here == [None]
