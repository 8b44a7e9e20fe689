"""OpenInference: Phoenix, and the instrumentations of LangChain, LlamaIndex, OpenAI Agents, CrewAI and more.

``AGENT`` spans are agent spans, except LangGraph's nodes that happen to be called agent. The frameworks that
record the run of an agent as a ``CHAIN`` are known by their scope: there the chain is the entry into the
framework and counts as an agent span; only pieces of a chain (``RunnableSequence``) and chains of other
scopes are mere entries, prompts and parsers mere steps. LlamaIndex records everything as a chain; of it only
agents, workflows and engines count.

A model's text is in ``llm.output_messages.N.*``; ``output.value`` of frameworks that print their objects
(``StopEvent(result=...)``) is read only as far as a message can be made out in it.
"""

import re
from collections.abc import Iterator
from typing import Any

from tracehooks.calls.decoding import decode
from tracehooks.calls.dialect import Attributes, Dialect, Kind, Passage, indexed
from tracehooks.calls.reprs import is_printed_object, printed_answer
from tracehooks.calls.span import SpanRecord

KIND = "openinference.span.kind"
INPUT = "input.value"
OUTPUT = "output.value"
INPUT_MESSAGES = "llm.input_messages"
OUTPUT_MESSAGES = "llm.output_messages"
METADATA = "metadata"
CREW_TASKS = "crew_tasks"

_SCOPE = "openinference.instrumentation."
_LLAMA_INDEX = _SCOPE + "llama_index"
_FRAMEWORKS = frozenset(
    _SCOPE + name
    for name in (
        *("langchain", "crewai", "openai_agents", "google_adk", "agno", "autogen", "autogen_agentchat"),
        *("smolagents", "haystack", "dspy", "beeai", "pydantic_ai", "strands_agents", "agent_framework"),
    )
)
_KINDS = {
    "AGENT": Kind.AGENT,
    "LLM": Kind.MODEL,
    "TOOL": Kind.ASIDE,
    "RETRIEVER": Kind.ASIDE,
    "EMBEDDING": Kind.ASIDE,
    "RERANKER": Kind.ASIDE,
    "GUARDRAIL": Kind.ASIDE,
    "EVALUATOR": Kind.ASIDE,
}
_PIECES = re.compile(r"Runnable[A-Z]")
_STEPS = re.compile(r"\w*(?:Prompt(?:Template)?|Parser|Builder|Joiner|Router)\b")
_LLAMA_RUNS = re.compile(
    r"\w*(?:Agent|AgentWorkflow|Workflow|ChatEngine|QueryEngine|Runner)\.(?:run|chat|query|achat|aquery|stream_chat)"
)
_NODE = '"langgraph_node"'


def kind(name: str, scope: str, attributes: Attributes) -> Kind | None:
    """What the span's kind says; None when it has none."""
    said = attributes.get(KIND)
    if said is None:
        return None
    said = str(said).upper()
    if said == "AGENT" and _NODE in str(attributes.get(METADATA, "")):
        return Kind.STEP
    return _chain(name, scope) if said == "CHAIN" else _KINDS.get(said, Kind.STEP)


def _chain(name: str, scope: str) -> Kind:
    if scope == _LLAMA_INDEX:
        return Kind.CHAIN if _LLAMA_RUNS.fullmatch(name) else Kind.STEP
    if _STEPS.match(name):
        return Kind.STEP
    return Kind.CHAIN if scope in _FRAMEWORKS and not _PIECES.match(name) else Kind.ENTRY


def outputs(span: SpanRecord) -> Iterator[Passage]:
    """The output messages, then the output's value."""
    if messages := _messages(span.attributes, OUTPUT_MESSAGES):
        yield Passage(OUTPUT_MESSAGES, messages)
    value = span.attributes.get(OUTPUT)
    if isinstance(value, str) and is_printed_object(value):
        value = printed_answer(value)
    elif isinstance(value, str) and span.scope == _LLAMA_INDEX:
        value = value.removeprefix("assistant: ")
    if value is not None:
        yield Passage(OUTPUT, value)


def inputs(span: SpanRecord) -> Iterator[Passage]:
    """The input messages, then the input's value."""
    if messages := _messages(span.attributes, INPUT_MESSAGES):
        yield Passage(INPUT_MESSAGES, messages)
    if (value := span.attributes.get(INPUT)) is not None and not _is_state(value):
        yield Passage(INPUT, value)
    if (tasks := span.attributes.get(CREW_TASKS)) is not None:
        yield Passage(CREW_TASKS, _descriptions(decode(tasks)[0]))


def _is_state(value: Any) -> bool:
    """Whether the input is a workflow's inner state, as LlamaIndex records it, and no question."""
    return isinstance(value, str) and value.startswith(('{"init_state"', '{"ctx"'))


def _descriptions(tasks: Any) -> list[str]:
    """What a crew was told to do, one description a task."""
    if not isinstance(tasks, list):
        return []
    return [str(task["description"]) for task in tasks if isinstance(task, dict) and "description" in task]


def _messages(attributes: Attributes, prefix: str) -> list[dict[str, Any]]:
    """The messages that have anything in them; some frameworks record nothing but the role."""
    return [_message(fields) for fields in indexed(attributes, prefix) if len(fields) > 1]


def _message(fields: dict[str, Any]) -> dict[str, Any]:
    """A message from ``message.role``, ``message.content`` and ``message.contents.N.message_content.*``."""
    parts = [
        {"type": part.get("message_content.type"), "text": part.get("message_content.text")}
        for part in indexed(fields, "message.contents")
    ]
    content = fields.get("message.content")
    return {"role": fields.get("message.role"), "content": parts if content is None and parts else content}


DIALECT = Dialect(
    name="openinference",
    markers=(KIND,),
    kind=kind,
    outputs=outputs,
    inputs=inputs,
    names=("agent.name", "agent_name", "graph.node.name", "graph.node.id"),
    sessions=("session.id",),
    users=("user.id",),
    tags=("tag.tags",),
    metadata=(METADATA,),
)
