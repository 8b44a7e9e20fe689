"""The structured ``filter`` parameter: a JSON list of conditions."""

import json
import operator
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any, TypeVar

from tests.fake_langfuse import zod
from tests.fake_langfuse.observations import Observation
from tests.fake_langfuse.times import iso_ms, milliseconds
from tests.fake_langfuse.wire import refuse

Condition = dict[str, Any]
Row = TypeVar("Row")

COLUMNS: dict[str, Callable[[Observation], Any]] = {
    "id": lambda one: one.id,
    "type": lambda one: one.type,
    "name": lambda one: one.name,
    "traceId": lambda one: one.trace_id,
    "parentObservationId": lambda one: one.parent_id,
    "startTime": lambda one: one.start,
    "endTime": lambda one: one.end,
    "environment": lambda one: one.environment,
    "level": lambda one: one.level,
    "statusMessage": lambda one: one.status_message,
    "version": lambda one: one.version,
    "release": lambda one: one.release,
    "userId": lambda one: one.user_id,
    "sessionId": lambda one: one.session_id,
    "isRootObservation": lambda one: one.is_root,
    "traceName": lambda one: one.trace_name,
    "traceTags": lambda one: one.tags,
    "tags": lambda one: one.tags,
    "latency": lambda one: _seconds(one),
    "inputTokens": lambda one: one.usage.get("input", 0),
    "outputTokens": lambda one: one.usage.get("output", 0),
    "totalTokens": lambda one: one.usage.get("total", 0),
    "tokens": lambda one: one.usage.get("total", 0),
    "totalCost": lambda one: one.cost.get("total", 0),
    "model": lambda one: one.model,
    "providedModelName": lambda one: one.model,
    "promptName": lambda one: one.prompt_name,
    "input": lambda one: one.input,
    "output": lambda one: one.output,
    "metadata": lambda one: one.flat_metadata,
}
_ORDER = {">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le, "=": operator.eq}
_TEXT: dict[str, Callable[[str, str], bool]] = {
    "=": operator.eq,
    "contains": lambda text, part: part in text,
    "does not contain": lambda text, part: part not in text,
    "starts with": str.startswith,
    "ends with": str.endswith,
    "matches": lambda text, part: part.lower() in text.lower(),
}
_TYPES = (
    "datetime", "string", "number", "stringOptions", "categoryOptions", "arrayOptions", "stringObject",
    "numberObject", "boolean", "null",
)  # fmt: skip


def read(text: str | None, columns: Collection[str] = COLUMNS) -> list[Condition]:
    """The conditions of a ``filter`` parameter; 400 where it is not a list of them, or names no column."""
    if not text:
        return []
    try:
        conditions = json.loads(text)
    except ValueError:
        raise refuse(400, "Invalid JSON in filter parameter", "InvalidRequestError") from None
    if not isinstance(conditions, list) or not all(isinstance(one, dict) for one in conditions):
        raise zod.refused([zod.wrong_type("array", conditions, ["filter"])])
    for place, one in enumerate(conditions):
        if one.get("type") not in _TYPES:
            raise zod.refused([zod.no_variant("type", ["filter", place, "type"])])
        if one.get("column") not in columns:
            raise refuse(
                400,
                f"Column {one.get('column')} does not match a UI / CH table mapping.",
                "InvalidRequestError",
            )
    texts = [one for one in conditions if one["column"] in ("input", "output")]
    if texts and not any(one["operator"] in ("=", "matches") for one in texts):
        message = "A filter on input or output needs at least one = or matches filter on input or output."
        raise refuse(400, message, "InvalidRequestError")
    return conditions


def window(conditions: list[Condition]) -> tuple[str | None, str | None]:
    """From and to (exclusive) of the start time, so that a read can begin and stop there."""
    start = end = None
    for one in conditions:
        at = milliseconds(one.get("value")) if one["column"] == "startTime" else None
        if at is not None and one["operator"] in (">=", ">"):
            start = max(start or "", iso_ms(at))
        elif at is not None and one["operator"] == "<":
            end = min(end or "~", iso_ms(at))
    return start, end


def test(condition: Condition, columns: Mapping[str, Callable[[Row], Any]]) -> Callable[[Row], bool]:
    """What a row has to pass."""
    of, kind = columns[condition["column"]], condition["type"]
    sign, value = condition.get("operator", "="), condition.get("value")
    if kind == "null":
        return lambda one: (of(one) in (None, "")) == (sign == "is null")
    if kind == "boolean":
        return lambda one: (of(one) == value) == (sign == "=")
    if kind == "datetime":
        at, order = iso_ms(milliseconds(value) or 0), _ORDER[sign]
        return lambda one: of(one) is not None and bool(order(of(one), at))
    if kind in ("number", "numberObject"):
        return lambda one: _number(_keyed(of(one), condition), sign, value)
    if kind in ("stringOptions", "categoryOptions"):
        options = set(value or [])
        return lambda one: (_keyed(of(one), condition) in options) == (sign == "any of")
    if kind == "arrayOptions":
        return _of_array(of, sign, set(value or []))
    compare = _TEXT[sign]
    return lambda one: compare(_as_text(_keyed(of(one), condition)), str(value))


def _of_array(of: Callable[[Row], Any], sign: str, options: set[str]) -> Callable[[Row], bool]:
    if sign == "all of":
        return lambda one: options <= set(of(one))
    return lambda one: bool(options & set(of(one))) == (sign == "any of")


def _keyed(value: Any, condition: Condition) -> Any:
    """A value inside metadata, where the condition names a key."""
    return value.get(condition.get("key")) if isinstance(value, dict) else value


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _number(value: Any, sign: str, wanted: Any) -> bool:
    return isinstance(value, int | float) and bool(_ORDER[sign](value, wanted))


def _seconds(one: Observation) -> float:
    if not one.end:
        return 0.0
    return (datetime.fromisoformat(one.end) - datetime.fromisoformat(one.start)).total_seconds()
