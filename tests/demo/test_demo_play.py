"""Playing the demo: what its calls look like once traced, and what the result says."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import tracehooks
from tracehooks.calls import SpanRecord, agent_calls, span_record
from tracehooks.demo import DemoResult, answer, run
from tracehooks.demo.data import messages
from tracehooks.records import AgentCall
from tracehooks.settings import Settings


class Played(NamedTuple):
    """What one play of all messages left behind."""

    result: DemoResult
    progress: list[tuple[int, int]]
    spans: list[SpanRecord]
    calls: list[AgentCall]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    """The whole demo, traced into memory."""
    folder: Path = tmp_path_factory.mktemp("demo")
    settings = Settings(
        service="help-desk", environment="demo", store=f"sqlite:///{folder / 'tracehooks.db'}"
    )
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracehooks.init(settings, tracer_provider=provider)
    progress: list[tuple[int, int]] = []
    try:
        result = run(settings, on_progress=lambda done, total: progress.append((done, total)))
    finally:
        tracehooks.shutdown()
    spans = [span_record(span) for span in exporter.get_finished_spans()]
    yield Played(result, progress, spans, agent_calls(spans))
    provider.shutdown()


def _kinds(spans: Sequence[SpanRecord]) -> Counter[str]:
    return Counter(str(span.attributes["tracehooks.kind"]) for span in spans)


def test_every_message_becomes_one_call(played: Played) -> None:
    """Three hundred messages are three hundred agent calls in traces of their own, in their order."""
    assert played.result.calls == len(messages()) == len(played.calls)
    assert len({call.trace_id for call in played.calls}) == len(played.calls)
    assert [call.metadata["message"] for call in played.calls] == [message.id for message in messages()]


def test_calls_hold_what_was_asked_and_said(played: Played) -> None:
    """A call's texts are the message and the answer, streamed or not; silence has no text to judge."""
    for call, message in zip(played.calls, messages(), strict=True):
        said = answer(message.text)
        assert call.has_text == bool(said)
        if said:
            assert (call.input, call.output) == (message.text, said)


def test_calls_carry_session_user_and_channel(played: Played) -> None:
    """Session, user and the channel as a tag come along; the session is the service's own."""
    for call, message in zip(played.calls, messages(), strict=True):
        assert call.session_id == f"help-desk-{message.session}"
        assert call.user_id == message.user
        assert call.tags == (message.channel,)
        assert (call.name, call.environment) == ("help-desk", "demo")


def test_tools_and_retrieval_are_spans_inside_the_call(played: Played) -> None:
    """An order is looked up in a tool's span, knowledge in a retriever's, each inside its agent's."""
    kinds = _kinds(played.spans)
    assert kinds["agent"] == 300
    assert kinds["tool"] >= 25
    assert kinds["retriever"] >= 250
    agents = {span.span_id for span in played.spans if span.attributes["tracehooks.kind"] == "agent"}
    inner = [span for span in played.spans if span.span_id not in agents]
    assert all(span.parent_span_id in agents for span in inner)


def test_watching_an_order_is_a_tool_call_and_no_text(played: Played) -> None:
    """/watch leaves a call whose tool ran and whose agent said nothing."""
    watched = [call for call in played.calls if call.input and call.input.startswith("/watch")]
    assert watched
    for call in watched:
        inside = [span for span in played.spans if span.trace_id == call.trace_id]
        assert _kinds(inside) == {"agent": 1, "tool": 1}
        assert not call.has_text


def test_the_result_counts_and_names_the_bad_answers(played: Played) -> None:
    """The result says how many were played and silent, and holds the five answers known to be bad."""
    assert played.result.silent == 9
    expected = [(m.id, m.text, answer(m.text)) for m in messages() if m.expect == "bad"]
    assert [(bad.message, bad.question, bad.answer) for bad in played.result.bad] == expected
    assert len(expected) == 5


def test_progress_is_told_after_each_message(played: Played) -> None:
    """Progress counts up to the number of messages by one."""
    assert played.progress == [(number, 300) for number in range(1, 301)]


def test_a_limit_plays_the_first_messages_only() -> None:
    """With a limit that many messages are played; without ``init()`` the agent answers all the same."""
    result = run(Settings(), limit=25)
    assert result.calls == 25
    assert [bad.message for bad in result.bad] == ["m023"]
