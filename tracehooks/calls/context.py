"""Who, where and under which labels: what a call's span, the spans above it and its process say about it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tracehooks.calls.decoding import decode
from tracehooks.calls.dialects import DIALECTS
from tracehooks.calls.span import SpanRecord

ENVIRONMENTS = ("deployment.environment.name", "deployment.environment")
SERVICE = "service.name"
SERVICE_VERSION = "service.version"
UNNAMED_SERVICE = "unknown_service"
ERROR_TYPE = "error.type"
EXCEPTION_TYPE = "exception.type"
EXCEPTION_MESSAGE = "exception.message"
DEFAULT_ENVIRONMENT = "default"


def _merged(field: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for dialect in DIALECTS for name in getattr(dialect, field)))


_NAMES, _SESSIONS, _USERS, _TAGS = map(_merged, ("names", "sessions", "users", "tags"))
_VERSIONS, _METADATA = _merged("versions"), _merged("metadata")
_ENVIRONMENTS = _merged("environments") + ENVIRONMENTS
_PREFIXES = tuple(name for name in _METADATA if name.endswith("."))
_OBJECTS = tuple(name for name in _METADATA if not name.endswith("."))
_OPERATIONS = ("invoke_agent ", "invoke_workflow ")
_RANDOM = re.compile(r"[_ -][0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def name_of(span: SpanRecord) -> str:
    """The agent's name: as its attributes say, else the span's without the operation and any random id."""
    if (name := _first((span,), _NAMES)) is not None:
        return name
    name = span.name
    for operation in _OPERATIONS:
        name = name.removeprefix(operation)
    return _RANDOM.sub("", name)


def session_of(spans: Iterable[SpanRecord]) -> str | None:
    """The conversation that the call belongs to."""
    return _first(spans, _SESSIONS)


def user_of(spans: Iterable[SpanRecord]) -> str | None:
    """The user who called."""
    return _first(spans, _USERS)


def version_of(span: SpanRecord) -> str | None:
    """The agent's version, else the service's."""
    return _first((span,), _VERSIONS) or _text(span.resource.get(SERVICE_VERSION))


def environment_of(spans: Iterable[SpanRecord], resource: Mapping[str, Any]) -> str:
    """Where the call ran: as the spans say, else the process, else ``default``."""
    said = _first(spans, _ENVIRONMENTS)
    if said is None:
        said = next((text for name in _ENVIRONMENTS if (text := _text(resource.get(name)))), None)
    return said or DEFAULT_ENVIRONMENT


def service_of(span: SpanRecord) -> str | None:
    """The service's name; None when OpenTelemetry made one up."""
    service = _text(span.resource.get(SERVICE))
    return None if service is None or service.startswith(UNNAMED_SERVICE) else service


def tags_of(spans: Iterable[SpanRecord]) -> tuple[str, ...]:
    """All tags, each once, in the order in which they come."""
    found: dict[str, None] = {}
    for span in spans:
        for name in _TAGS:
            if (value := span.attributes.get(name)) is not None:
                found.update(dict.fromkeys(_strings(value)))
    return tuple(found)


def metadata_of(spans: Iterable[SpanRecord]) -> dict[str, Any]:
    """All metadata; where two spans differ the one nearer to the call counts."""
    found: dict[str, Any] = {}
    for span in spans:
        for key, value in _metadata(span):
            found.setdefault(key, value)
    return found


def error_of(span: SpanRecord) -> str | None:
    """Why the call failed, as ``Type: message`` where both are known; None when it did not."""
    if span.status != "error":
        return None
    kind, message = _text(span.attributes.get(ERROR_TYPE)), _text(span.status_message)
    for event in reversed(span.events):
        if event.name == "exception":
            kind = kind or _text(event.attributes.get(EXCEPTION_TYPE))
            message = message or _text(event.attributes.get(EXCEPTION_MESSAGE))
            break
    if kind is None or (message is not None and message.startswith(kind)):
        return message or "error"
    return kind if message is None else f"{kind}: {message}"


def _metadata(span: SpanRecord) -> Iterator[tuple[str, Any]]:
    for name in _OBJECTS:
        value, _ = decode(span.attributes.get(name))
        if isinstance(value, Mapping):
            yield from value.items()
    if _PREFIXES:
        for key, value in span.attributes.items():
            if key.startswith(_PREFIXES):
                prefix = next(prefix for prefix in _PREFIXES if key.startswith(prefix))
                yield key.removeprefix(prefix), decode(value)[0]


def _first(spans: Iterable[SpanRecord], names: tuple[str, ...]) -> str | None:
    for span in spans:
        for name in names:
            if (text := _text(span.attributes.get(name))) is not None:
                return text
    return None


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, bool | list | tuple | Mapping):
        return None
    return str(value).strip() or None


def _strings(value: Any) -> list[str]:
    value, _ = decode(value)
    if isinstance(value, str):
        value = value.split(",")
    return [text for item in value if (text := _text(item))] if isinstance(value, list | tuple) else []
