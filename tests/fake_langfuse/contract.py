"""Recorded exchanges with a running 4.16.0, played again to the stand-in."""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.fake_langfuse.server import FakeLangfuse

RECORDED = Path(__file__).parent.parent / "data" / "langfuse" / "exchanges.jsonl"
_OPAQUE = {  # what stands in these is the users', or a plain map
    "metadata", "input", "output", "expectedOutput", "usageDetails", "costDetails", "modelParameters",
    "experimentMetadata", "experimentItemMetadata",
}  # fmt: skip

Shape = dict[str, set[Any]]


@dataclass
class Exchange:
    """One recorded exchange, and what the stand-in answered to the same request."""

    said: dict[str, Any]
    expected: Any = None  # the recorded response, with the stand-in's ids
    status: int = 0
    response: Any = None

    @property
    def label(self) -> str:
        return f"{self.said['mode']}: {self.said['label']}: {self.said['method']} {self.said['path']}"

    @property
    def kind(self) -> tuple[str, ...]:
        """Exchanges of one kind have one shape: method, route, field groups and status."""
        path, _, query = self.said["path"].partition("?")
        route = re.sub(r"(?<=/)[^/]*(\d[^/]*){3,}(?=/|$)", "{id}", path)
        fields = re.search(r"fields=([^&]*)", query)
        groups = fields[1].replace("%2C", ",").replace("bogus", "") if fields else ""
        return self.said["mode"].split("+")[0], self.said["method"], route, groups, str(self.said["status"])


def recorded(mode: str) -> list[Exchange]:
    """All recorded exchanges of ``mode`` in their order."""
    rows = [json.loads(line) for line in RECORDED.read_text().splitlines()]
    return [Exchange(row) for row in rows if row["mode"] == mode]


@dataclass
class Replay:
    """Plays exchanges again: at their times, with the ids of the stand-in instead of the recorded ones."""

    mode: str  # of the recording
    generation: str | None = None  # of the stand-in, where it is another
    now: float = 0.0
    ids: dict[str, str] = field(default_factory=dict)

    def run(self) -> list[Exchange]:
        exchanges = recorded(self.mode)
        self.now = exchanges[0].said["t"]
        with (
            FakeLangfuse(
                self.generation or self.mode,
                4.5,
                span_delay=0.3,
                propagation_delay=500.0,
                clock=lambda: self.now,
            ) as server,
            httpx.Client(base_url=server.url, timeout=30) as client,
        ):
            for one in exchanges:
                self.now = one.said["t"]
                self._play(server, client, one)
        return exchanges

    def _play(self, server: FakeLangfuse, client: httpx.Client, one: Exchange) -> None:
        said = one.said
        headers = said["headers"] | _authorization(server, said)
        answer = client.request(
            said["method"],
            self._ours(said["path"]),
            headers=headers,
            content=self._content(said["request"], headers),
        )
        if answer.status_code == 413:
            client._transport.close()  # the next request on that connection would be reset
            client._transport = httpx.HTTPTransport()
        one.status = answer.status_code
        one.response = _read(answer)
        self._learn(said["response"], one.response)
        one.expected = json.loads(self._ours(json.dumps(said["response"])))

    def _content(self, request: Any, headers: dict[str, str]) -> bytes | None:
        if request is None:
            return None
        if isinstance(request, dict) and "__pages" in request:
            request = _pages(request["__pages"], request["tag"], request["start"])
        if isinstance(request, dict) and "__bytes" in request and "__otlp_protobuf_decoded" not in request:
            return b'"' + b"x" * (int(request["__bytes"]) - 2) + b'"'
        if isinstance(request, dict) and "__otlp_protobuf_decoded" in request:
            request = request["__otlp_protobuf_decoded"]
            headers["content-type"] = "application/json"
        text: str = request if isinstance(request, str) else json.dumps(request)
        return self._ours(text).encode()

    def _ours(self, text: str) -> str:
        """``text`` with the stand-in's ids."""
        for theirs, ours in self.ids.items():
            text = text.replace(theirs, ours)
        return text

    def _learn(self, theirs: Any, ours: Any) -> None:
        """Notes ids and cursors, which differ from server to server."""
        if isinstance(theirs, dict) and isinstance(ours, dict):
            for key in theirs.keys() & ours.keys():
                self._learn(theirs[key], ours[key])
                if (
                    key in ("id", "cursor", "datasetRunId")
                    and len(theirs[key] or "") > 7
                    and theirs[key] != ours[key]
                ):
                    self.ids.setdefault(theirs[key], ours[key])


def _pages(count: int, tag: str, start: int) -> dict[str, Any]:
    """The export of ``count`` small traces, as the recording made it, for reads in pages."""
    spans = []
    for i in range(count):
        trace_id = hashlib.sha256(f"{tag}{i}".encode()).hexdigest()
        said = {
            "langfuse.trace.name": f"page-{tag}",
            "user.id": f"pu-{tag}-{i % 3}",
            "session.id": f"ps-{tag}-{i % 7}",
            "langfuse.environment": "lab" if i % 2 else "prod",
        }
        attributes: list[Any] = [{"key": key, "value": {"stringValue": value}} for key, value in said.items()]
        tags = {"arrayValue": {"values": [{"stringValue": "p"}, {"stringValue": f"t{i % 4}"}]}}
        attributes.append({"key": "langfuse.trace.tags", "value": tags})
        at = start + i * 100_000_000
        span = {
            "traceId": trace_id[:32],
            "spanId": trace_id[32:48],
            "name": f"page-{i}",
            "attributes": attributes,
        }
        spans.append(span | {"startTimeUnixNano": str(at), "endTimeUnixNano": str(at + 1_000_000_000)})
    return {
        "resourceSpans": [
            {"resource": {}, "scopeSpans": [{"scope": {"name": "langfuse-sdk"}, "spans": spans}]}
        ]
    }


def _authorization(server: FakeLangfuse, said: dict[str, Any]) -> dict[str, str]:
    label, scheme = said["label"], said["auth"]
    if scheme == "<none>":
        return {}
    if scheme == "Bearer":
        key = server.public_key if "bearer public key" in label else server.secret_key
        return {"authorization": f"Bearer {key}"}
    if scheme != "Basic":
        return {"authorization": f"{scheme} x"}
    if "garbage" in label:
        return {"authorization": "Basic garbage"}
    secret = "sk-wrong" if "bad secret" in label else server.secret_key
    public = "pk-unknown" if "unknown public key" in label else server.public_key
    return {"authorization": httpx.BasicAuth(public, secret)._auth_header}


def _read(answer: httpx.Response) -> Any:
    if "json" in answer.headers.get("content-type", ""):
        return answer.json()
    return answer.text[:15] if answer.text.startswith("<!DOCTYPE") else answer.text


def shape(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every place of a JSON value with the keys or the type that it has there."""
    if isinstance(value, dict):
        yield path, frozenset(value)
        for key, inner in value.items():
            if key not in _OPAQUE:
                yield from shape(inner, f"{path}.{key}")
    elif isinstance(value, list):
        yield path, "list"
        for inner in value:
            yield from shape(inner, f"{path}[]")
    else:
        yield path, "number" if type(value) in (int, float) else type(value).__name__
