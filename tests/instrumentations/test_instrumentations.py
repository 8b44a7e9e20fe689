"""Real instrumentation packages of real frameworks, asked once by a scripted model over loopback.

Each framework runs in an environment of its own (``environments.py`` sets them up); without it the test
skips. Zero edits in the frameworks: what they record is all that calls are made from.
"""

import functools
import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.instrumentations import environments
from tests.instrumentations.model import ANSWER, QUESTION
from tracehooks.calls import SpanEvent, SpanRecord, agent_calls, is_agent_span, span

HERE = Path(__file__).parent
# The outermost span of the agent, as each instrumentation names it.
OUTERMOST = {
    "agno": "help_desk.run",
    "autogen": "invoke_agent help_desk",
    "crewai": "Crew_*.kickoff",
    "google_adk": "invoke_workflow help_desk",
    "haystack": "Agent.run",
    "langfuse": "help-desk",
    "langgraph": "LangGraph",
    "langsmith": "LangGraph",
    "llama_index": "FunctionAgent.run",
    "logfire": "OpenAI Agents trace: {name}",
    "mlflow": "help-desk",
    "openai_agents": "Agent workflow",
    "openllmetry": "help-desk.workflow",
    "pydantic_ai": "invoke_agent help-desk",
    "smolagents": "ToolCallingAgent.run",
    "strands": "invoke_agent help-desk",
}


def spans_of(name: str) -> tuple[SpanRecord, ...]:
    """The spans of one run of the framework; skips where its environment is not set up."""
    if not environments.is_ready(name):
        pytest.skip(f"no environment for {name}: python tests/instrumentations/environments.py {name}")
    return recorded(name)


@functools.cache
def recorded(name: str) -> tuple[SpanRecord, ...]:
    """The spans that the framework's run recorded; it runs once for all tests."""
    clean = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "NO_PROXY": "127.0.0.1"}
    command = [str(environments.python_of(name)), str(HERE / f"run_{name}.py"), str(span.__file__)]
    done = subprocess.run(command, env=clean, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr[-4000:]
    lines = done.stdout.split("SPANS\n", 1)[1].splitlines()
    return tuple(_span(json.loads(line)) for line in lines)


def _span(fields: dict[str, object]) -> SpanRecord:
    events = fields.pop("events")
    assert isinstance(events, list)
    return SpanRecord(**fields, events=tuple(SpanEvent(**event) for event in events))  # type: ignore[arg-type]


def test_every_framework_has_a_script_requirements_and_an_expectation() -> None:
    """None of the three is forgotten."""
    scripts = sorted(path.stem.removeprefix("run_") for path in HERE.glob("run_*.py"))
    assert scripts == sorted(OUTERMOST) == environments.names()


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(OUTERMOST))
def test_the_call_is_the_agents_outermost_span_and_says_its_last_words(name: str) -> None:
    """One call; its text is the answer, neither the system prompt nor the tool's output."""
    spans = spans_of(name)
    (call,) = agent_calls(spans)
    top = next(each for each in spans if each.span_id == call.span_id)
    first, _, last = OUTERMOST[name].partition("*")
    assert top.name.startswith(first)
    assert top.name.endswith(last)
    assert call.output is not None
    assert call.output.strip() == ANSWER
    assert call.input is None or QUESTION in call.input
    assert "CANARY" not in f"{call.output} {call.input} {call.name}"
    assert not call.truncated
    assert call.error is None
    assert agent_calls(spans[::-1]) == [call]
    by_id = {each.span_id: each for each in spans}
    parent = by_id.get(top.parent_span_id or "")
    while parent is not None:
        assert not is_agent_span(parent)
        parent = by_id.get(parent.parent_span_id or "")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(OUTERMOST))
def test_without_its_own_text_the_outermost_span_is_heard_below(name: str) -> None:
    """What reaches us may lack the top's text: what is said below is then the answer too, or nothing is."""
    spans = spans_of(name)
    (call,) = agent_calls(spans)
    top = next(each for each in spans if each.span_id == call.span_id)
    rest = [each for each in spans if each is not top]
    kept = {key: value for key, value in top.attributes.items() if not _is_text(key)}
    bare = SpanRecord(
        trace_id=top.trace_id,
        span_id=top.span_id,
        parent_span_id=top.parent_span_id,
        name=top.name,
        scope=top.scope,
        start_ns=top.start_ns,
        end_ns=top.end_ns,
        attributes=kept,
    )
    (again,) = agent_calls([*rest, bare])
    assert again.span_id == call.span_id
    assert again.output is None or again.output.strip() == ANSWER
    assert "CANARY" not in f"{again.output} {again.input}"


def _is_text(key: str) -> bool:
    return any(word in key for word in ("output", "Output", "completion", "messages", "final_result"))
