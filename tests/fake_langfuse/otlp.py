"""OTLP over HTTP: protobuf or JSON, into plain spans."""

import base64
import binascii
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.fake_langfuse.wire import Answer, RefusedError


@dataclass(slots=True)
class Span:
    """One span as it came: ids in hex, times in nanoseconds, values as plain Python ones."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start: int
    end: int
    attributes: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]
    status: int
    message: str
    resource: dict[str, Any]
    scope: dict[str, Any]


def read(content_type: str, body: bytes) -> list[Span]:
    """All spans of an export; RefusedError where it cannot be read or a span has no id."""
    kind = content_type.split(";")[0].strip()
    if kind == "application/x-protobuf":
        return list(_from_protobuf(body))
    if kind == "application/json":
        return list(_from_json(body))
    raise _bad("Invalid content type")


def _bad(message: str) -> RefusedError:
    return RefusedError(Answer(400, {"error": message}))


def _from_protobuf(body: bytes) -> Iterator[Span]:
    try:
        export = ExportTraceServiceRequest.FromString(body)
    except Exception:
        raise _bad("Failed to parse OTel Protobuf Trace") from None
    for resource in export.resource_spans:
        of_resource = {one.key: _value(one.value) for one in resource.resource.attributes}
        for scoped in resource.scope_spans:
            attributes = {one.key: _value(one.value) for one in scoped.scope.attributes}
            scope = {"name": scoped.scope.name, "version": scoped.scope.version, "attributes": attributes}
            for span in scoped.spans:
                yield Span(
                    span.trace_id.hex(),
                    span.span_id.hex(),
                    span.parent_span_id.hex(),
                    span.name,
                    span.start_time_unix_nano,
                    span.end_time_unix_nano,
                    {one.key: _value(one.value) for one in span.attributes},
                    [
                        (event.name, {one.key: _value(one.value) for one in event.attributes})
                        for event in span.events
                    ],
                    span.status.code,
                    span.status.message,
                    of_resource,
                    scope,
                )


def _value(value: Any) -> Any:
    which = value.WhichOneof("value")
    if which is None:
        return None
    if which == "array_value":
        return [_value(one) for one in value.array_value.values]
    if which == "kvlist_value":
        return {one.key: _value(one.value) for one in value.kvlist_value.values}
    if which == "bytes_value":
        return base64.b64encode(value.bytes_value).decode()
    return getattr(value, which)


def _from_json(body: bytes) -> Iterator[Span]:
    try:
        export = json.loads(body)
        resources = export.get("resourceSpans", [])
    except (ValueError, AttributeError):
        raise _bad("Failed to parse OTel JSON Trace") from None
    _check_ids(resources)
    for resource in resources:
        of_resource = _attributes(resource.get("resource", {}))
        for scoped in resource.get("scopeSpans", []):
            scope = scoped.get("scope", {})
            scope = {
                "name": scope.get("name", ""),
                "version": scope.get("version", ""),
                "attributes": _attributes(scope),
            }
            for span in scoped.get("spans", []):
                yield _json_span(span, of_resource, scope)


def _json_span(span: dict[str, Any], resource: dict[str, Any], scope: dict[str, Any]) -> Span:
    status = span.get("status") or {}
    code = status.get("code", 0)
    return Span(
        _hex(span["traceId"], 16),
        _hex(span["spanId"], 8),
        _hex(span.get("parentSpanId") or "", 8),
        span.get("name", ""),
        int(span.get("startTimeUnixNano", 0)),
        int(span.get("endTimeUnixNano", 0)),
        _attributes(span),
        [(event.get("name", ""), _attributes(event)) for event in span.get("events", [])],
        2 if code in (2, "STATUS_CODE_ERROR") else int(code) if isinstance(code, int) else 0,
        status.get("message", ""),
        resource,
        scope,
    )


def _hex(text: str, size: int) -> str:
    """An id in hex: OTLP's JSON has hex, some senders base64."""
    try:
        if len(bytes.fromhex(text)) in (0, size):
            return text.lower()
        return base64.b64decode(text).hex()
    except (ValueError, binascii.Error):
        return text


def _attributes(holder: dict[str, Any]) -> dict[str, Any]:
    return {one["key"]: _json_value(one.get("value", {})) for one in holder.get("attributes", [])}


def _json_value(value: dict[str, Any]) -> Any:
    for name, plain in value.items():
        if name == "intValue":
            return int(plain)
        if name == "arrayValue":
            return [_json_value(one) for one in plain.get("values", [])]
        if name == "kvlistValue":
            return {one["key"]: _json_value(one["value"]) for one in plain.get("values", [])}
        return plain
    return None


def _check_ids(resources: list[Any]) -> None:
    spans = [
        (span, scoped.get("scope", {}).get("name", ""))
        for resource in resources
        for scoped in resource.get("scopeSpans", [])
        for span in scoped.get("spans", [])
    ]
    bad = [(span, scope) for span, scope in spans if not (span.get("traceId") and span.get("spanId"))]
    if bad:
        raise _bad(
            f"Invalid OTLP trace export: {len(bad)} of {len(spans)} span(s) cannot be processed "
            "(traceId:absent, spanId:absent). traceId and spanId are required on every span, and each must "
            "be a string or a byte array. The entire export was rejected and no spans were ingested. "
            f"Instrumentation scopes: {', '.join(sorted({scope for _, scope in bad}))}."
        )
