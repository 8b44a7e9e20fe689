"""What Langfuse lists as observations, as the finished spans that they were.

Rows of ``v2/observations`` have flat metadata with values cut at 200 characters (``attributes.x``,
``scope.name``), those of the v1 reads nested metadata, and input and output as JSON. Either way the row
becomes a span that :func:`tracehooks.calls.agent_calls` reads like one that came straight from the process.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import orjson

from tracehooks.calls import SpanRecord
from tracehooks.calls.dialect import Kind
from tracehooks.calls.dialects import kind_of
from tracehooks.calls.langfuse import INPUT, OUTPUT, TYPE
from tracehooks.calls.native import KIND, SCOPE
from tracehooks.records import EPOCH

Row = Mapping[str, Any]
Mask = Callable[[str], str]

SDK_SCOPE = "langfuse-sdk"
METADATA = "langfuse.observation.metadata."
LEVEL = "langfuse.observation.level"
SPAN, EVENT, AGENT = "SPAN", "EVENT", "AGENT"
CUT = 200  # characters that v2/observations leaves of a metadata value that was not asked for whole
# Where instrumentations put texts that an older server left in the attributes: asked for whole, by name.
TEXTS = (
    *("final_result", "pydantic_ai.all_messages", "all_messages_events", "response_data", "request_data"),
    *("output.value", "input.value", "gen_ai.output.messages", "gen_ai.input.messages", "events"),
    *("gen_ai.completion", "gen_ai.prompt", "ai.response.text", "ai.response.object", "ai.prompt"),
    *("traceloop.entity.output", "traceloop.entity.input", "mlflow.spanOutputs", "mlflow.spanInputs"),
    *("gcp.vertex.agent.llm_response", "gcp.vertex.agent.llm_request"),
)
EXPANDED = ",".join(f"attributes.{name}" for name in TEXTS)
_NESTED = ("attributes", "resourceAttributes", "scope")
_MICROSECOND = 1000


def span_records(rows: Iterable[Row], *, mask: Mask | None = None) -> list[SpanRecord]:
    """The spans of the observations ``rows``, of one trace or many; ``mask`` is applied to every text.

    Of an observation that comes twice the one that was changed last counts.
    """
    newest: dict[tuple[str, str], Row] = {}
    for row in rows:
        key = str(row.get("traceId")), str(row["id"])
        known = newest.get(key)
        if known is None or str(row.get("updatedAt") or "") >= str(known.get("updatedAt") or ""):
            newest[key] = row
    tops = _tops(newest)
    return [_span(row, key in tops, mask) for key, row in newest.items()]


def _tops(rows: Mapping[tuple[str, str], Row]) -> set[tuple[str, str]]:
    """The observations with nothing above them in their trace."""
    return {
        (trace_id, span_id)
        for (trace_id, span_id), row in rows.items()
        if (trace_id, str(row.get("parentObservationId") or "")) not in rows
    }


def _span(row: Row, is_top: bool, mask: Mask | None) -> SpanRecord:
    metadata = split_metadata(row.get("metadata"))
    scope = str(metadata["scope"].get("name") or "")
    attributes = {name: value for name, value in metadata["attributes"].items() if not _is_cut(name, value)}
    attributes |= {METADATA + str(key): value for key, value in metadata["own"].items()}
    attributes |= _facts(row)
    attributes |= {name: value for name, key in ((INPUT, "input"), (OUTPUT, "output"))
                   if (value := _text(row.get(key))) is not None}  # fmt: skip
    if mask is not None:
        attributes = {
            name: mask(value) if isinstance(value, str) else value for name, value in attributes.items()
        }
    start = nanoseconds(row.get("startTime")) or 0
    record = SpanRecord(
        trace_id=str(row.get("traceId")),
        span_id=str(row["id"]),
        parent_span_id=row.get("parentObservationId") or None,
        name=str(row.get("name") or ""),
        # what our decorator recorded is read like everybody else's: its own attributes may have been cut
        scope="" if scope == SCOPE else scope,
        start_ns=start,
        end_ns=max(start, nanoseconds(row.get("endTime")) or start),
        status="error" if row.get("level") == "ERROR" else "unset",
        status_message=row.get("statusMessage") or None,
        attributes=attributes,
        resource=metadata["resourceAttributes"],
    )
    return _typed(record, str(row.get("type") or SPAN).upper(), is_top)


def _typed(span: SpanRecord, type_: str, is_top: bool) -> SpanRecord:
    """``span`` with the type that Langfuse gave it, where that says more than "a span".

    A plain span of a web framework or database, without a text, is no one's entry. A lone request to a model
    at the top of a trace is all that was said there, and as good as one.
    """
    attributes: dict[str, Any] = dict(span.attributes)
    if is_top and type_ == "GENERATION":
        type_ = SPAN
    elif type_ == SPAN and span.scope not in ("", SDK_SCOPE) and not _has_text(attributes):
        return span
    if type_ == SPAN and kind_of(span.name, span.scope, attributes) not in (Kind.STEP, Kind.MODEL):
        return span  # its instrumentation says more
    attributes[TYPE] = type_.lower()
    return replace(span, attributes=attributes)


def _has_text(attributes: Mapping[str, Any]) -> bool:
    return INPUT in attributes or OUTPUT in attributes


def _facts(row: Row) -> dict[str, Any]:
    """What the server keeps in fields of their own."""
    found = {
        "session.id": row.get("sessionId"),
        "user.id": row.get("userId"),
        "langfuse.environment": row.get("environment"),
        "langfuse.version": row.get("version"),
        "langfuse.release": row.get("release"),
        "langfuse.trace.tags": list(row.get("tags") or ()),
        LEVEL: row.get("level"),
    }
    return {name: value for name, value in found.items() if value}


def split_metadata(metadata: Any) -> dict[str, dict[str, Any]]:
    """The parts of an observation's metadata: its process, its scope, its attributes, and its ``own``."""
    parts: dict[str, dict[str, Any]] = {name: {} for name in (*_NESTED, "own")}
    if isinstance(metadata, str):
        metadata = _loaded(metadata)
    if not isinstance(metadata, Mapping):
        return parts
    for key, value in metadata.items():
        part, _, rest = str(key).partition(".")
        if part in _NESTED and rest:
            parts[part][rest] = value
        elif part in _NESTED and isinstance(value, Mapping):
            parts[part] |= value
        else:
            parts["own"][str(key)] = value
    return parts


def _is_cut(name: str, value: Any) -> bool:
    """Whether the server may have cut it: what is told from such a text would not be what was said."""
    if name in (KIND, "tracehooks.internal"):
        return False
    return isinstance(value, str) and len(value) == CUT


def _text(value: Any) -> str | None:
    """An input or output as text: v2 reads give text, v1 reads what its JSON says."""
    if value is None or isinstance(value, str):
        return value
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()


def _loaded(text: str) -> Any:
    try:
        return orjson.loads(text)
    except ValueError:
        return None


def instant(text: Any) -> datetime | None:
    """The aware time of a text as Langfuse writes it; None for none, or for what is no time."""
    try:
        found = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return found if found.tzinfo is not None else None


def nanoseconds(text: Any) -> int | None:
    """Nanoseconds since 1970 of a time as Langfuse writes it."""
    found = instant(text)
    if found is None:
        return None
    since = found - EPOCH
    return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * _MICROSECOND
