"""One trace: its spans as a tree, what was said, and why each call has its scores or none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from tracehooks.calls import SpanRecord
from tracehooks.calls.dialects import inputs_of, kind_of
from tracehooks.calls.messages import turns_of
from tracehooks.records import AgentCall
from tracehooks.reports import explanation_words
from tracehooks.reports.explanation import Answer, CallAnswers, explain_trace
from tracehooks.reports.pages import LONGEST, render
from tracehooks.reports.run_words import Fact
from tracehooks.reports.wording import duration, moment
from tracehooks.store import Store

DEEPEST = 5
TURNS = 50
SPANS = 500
BAR = 1000
ATTRIBUTE = 2000
WANTED = "toxicity"


@dataclass(frozen=True, slots=True)
class Branch:
    """One span of the tree. ``left`` and ``width`` place its bar, in thousandths of the trace's time."""

    span: SpanRecord
    kind: str
    depth: int
    left: int
    width: int

    @property
    def took(self) -> str:
        """How long it ran, in words."""
        return duration(timedelta(microseconds=(self.span.end_ns - self.span.start_ns) / 1000))

    @property
    def attributes(self) -> list[tuple[str, str]]:
        """Its attributes by name, long values cut."""
        return [(name, str(value)[:ATTRIBUTE]) for name, value in sorted(self.span.attributes.items())]


@dataclass(frozen=True, slots=True)
class Part:
    """One turn of the conversation, or the answer. ``length`` is that of the whole text, in characters."""

    role: str
    text: str | None
    length: int = 0
    more: str = ""

    @property
    def cut(self) -> bool:
        """Whether the page shows only its beginning."""
        return self.length > LONGEST


@dataclass(frozen=True, slots=True)
class Judged:
    """One score of a call, or why there is none, in words."""

    name: str
    status: str
    verdict: str
    why: str
    facts: Sequence[Fact]
    run: str | None


@dataclass(frozen=True, slots=True)
class Shown:
    """One call of the trace as the page shows it."""

    answers: CallAnswers
    call: AgentCall | None
    facts: Sequence[Fact]
    turns: Sequence[Part]
    judged: Sequence[Judged]


def page(store: Store, request: Request) -> Response:
    """The page of one trace; the beginning of its id is enough."""
    trace_id = _whole(store, request.path_params["trace_id"])
    spans = store.spans.of_trace(trace_id)
    told = explain_trace(store, trace_id, score_name=WANTED)
    values = {
        "place": store.url,
        "here": "traces",
        "trace_id": trace_id,
        "calls": [_shown(answers, spans) for answers in told.calls],
        "nothing": explanation_words.without_calls(told, datetime.now(UTC)),
        "tree": branches(spans)[:SPANS],
        "spans": len(spans),
    }
    return HTMLResponse(render("trace.html", values))


def text(store: Store, request: Request) -> Response:
    """The whole input or output of one call, as plain text."""
    given = request.path_params
    calls = store.calls.of_trace(given["trace_id"])
    call = next((each for each in calls if each.span_id == given["span_id"]), None)
    found = {"input": call.input, "output": call.output}.get(given["side"]) if call else None
    if found is None:
        raise HTTPException(404, "there is no such text")
    return PlainTextResponse(found.encode("utf-8", "replace"))


def _whole(store: Store, word: str) -> str:
    found = store.overview.trace_ids(word.lower(), limit=2) if len(word) >= 6 else []
    if len(found) == 1:
        return found[0]
    some = "several traces begin" if found else "nothing is stored about a trace whose id begins"
    raise HTTPException(404, f"{some} with {word!r}")


def _shown(answers: CallAnswers, spans: Sequence[SpanRecord]) -> Shown:
    call = answers.call
    span = next((each for each in spans if each.span_id == answers.span_id), None)
    judged = [_judged(answer, answers) for answer in answers.answers]
    if call is None:
        return Shown(answers, None, (), (), judged)
    return Shown(answers, call, _facts(call), conversation(call, span), judged)


def _judged(answer: Answer, call: CallAnswers) -> Judged:
    return Judged(
        name=answer.score_name,
        status=answer.outcome.value,
        verdict=explanation_words.verdict(answer),
        why=explanation_words.why(answer),
        facts=explanation_words.facts(answer, call),
        run=answer.run.id if answer.run else None,
    )


def _facts(call: AgentCall) -> list[Fact]:
    known: Mapping[str, str | None] = {
        "started": f"{moment(call.start)} UTC, took {duration(call.end - call.start)}",
        "environment": call.environment,
        "service": call.service,
        "version": call.version,
        "session": call.session_id,
        "user": call.user_id,
        "tags": ", ".join(call.tags),
        "metadata": ", ".join(f"{name}: {value}" for name, value in call.metadata.items())[:ATTRIBUTE],
        "error": call.error,
        "text": f"from {call.text_source}" if call.text_source else None,
    }
    return [Fact(name, value) for name, value in known.items() if value]


def conversation(call: AgentCall, span: SpanRecord | None) -> list[Part]:
    """What was said, in order: the messages that went in, or the question, and the answer."""
    where = f"/traces/{call.trace_id}/{call.span_id}"
    turns = _messages(span) if span else []
    if not turns and call.input:
        turns = [Part("user", call.input, len(call.input), f"{where}/input.txt")]
    length = len(call.output or "")
    return [*turns[-TURNS:], Part("answer", call.output, length, f"{where}/output.txt")]


def _messages(span: SpanRecord) -> list[Part]:
    for passage in inputs_of(span):
        value = passage.value
        found = turns_of(value if isinstance(value, list | tuple) else [value])
        if found and any(turn.text for turn in found):
            return [Part(turn.role, turn.text, len(turn.text or "")) for turn in found]
    return []


def branches(spans: Sequence[SpanRecord]) -> list[Branch]:
    """The spans of a trace in the order of the tree, each with its depth and its place in time."""
    if not spans:
        return []
    known = {span.span_id for span in spans}
    below: dict[str | None, list[SpanRecord]] = {}
    for span in sorted(spans, key=lambda each: (each.start_ns, each.span_id)):
        parent = span.parent_span_id if span.parent_span_id in known else None
        below.setdefault(parent, []).append(span)
    first, last = min(span.start_ns for span in spans), max(span.end_ns for span in spans)
    found: list[Branch] = []
    seen: set[str] = set()
    waiting = [(span, 0) for span in reversed(below.get(None, []))]
    while waiting:
        span, depth = waiting.pop()
        if span.span_id in seen:
            continue
        seen.add(span.span_id)
        found.append(_branch(span, depth, first, max(1, last - first)))
        waiting += [(child, depth + 1) for child in reversed(below.get(span.span_id, []))]
    return found


def _branch(span: SpanRecord, depth: int, first: int, whole: int) -> Branch:
    left = BAR * (span.start_ns - first) // whole
    width = max(3, BAR * (span.end_ns - span.start_ns) // whole)
    known = span.attributes.get("tracehooks.kind") or span.attributes.get("gen_ai.operation.name")
    kind = str(known or kind_of(span.name, span.scope, span.attributes).value)
    return Branch(span, kind, min(depth, DEEPEST), min(left, BAR - 3), min(width, BAR))
