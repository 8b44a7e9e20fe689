"""What the server can answer, byte for byte."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Wire:
    """One HTTP answer. ``delay`` seconds pass first; ``drip`` seconds pass between the bytes of the body."""

    status: int = 200
    body: bytes = b"{}"
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    delay: float = 0.0
    drip: float = 0.0


@dataclass(frozen=True)
class _Silence:
    name: str


HANG = _Silence("hang")  # takes the request and never answers
RESET = _Silence("reset")  # takes the request and breaks the connection

Reply = Wire | _Silence | Mapping[str, Any] | str


def as_wire(reply: Reply) -> Wire | _Silence:
    """``reply`` as it goes out: a mapping or a text is the content of a chat completion."""
    return reply if isinstance(reply, Wire | _Silence) else chat(reply)


def chat(content: Any, *, finish_reason: str | None = "stop", **message: Any) -> Wire:
    """A chat completion. A mapping becomes JSON text; None and lists of parts go out as they are."""
    text = json.dumps(content) if isinstance(content, Mapping) else content
    return raw(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1_790_000_000,
            "model": "judge-2026",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": finish_reason,
                    "message": {"role": "assistant", "content": text, **message},
                }
            ],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
        }
    )


def raw(body: Any) -> Wire:
    """Status 200 with any JSON body."""
    return Wire(body=json.dumps(body).encode())


def html(text: str = "<html><body>Bad gateway</body></html>", code: int = 200) -> Wire:
    """A web page where JSON was expected."""
    return Wire(status=code, body=text.encode(), content_type="text/html")


def status(
    code: int, error: str | None = None, *, message: str = "no", retry_after: str | None = None
) -> Wire:
    """An error in OpenAI's form, ``error`` being its code."""
    body = {"error": {"message": message, "type": "some_error", "param": None, "code": error}}
    headers = () if retry_after is None else (("retry-after", retry_after),)
    return Wire(status=code, body=json.dumps(body).encode(), headers=headers)


def slow(reply: Reply, *, delay: float = 0.0, drip: float = 0.0) -> Wire:
    """``reply``, later or byte by byte."""
    wire = as_wire(reply)
    assert isinstance(wire, Wire)
    return replace(wire, delay=delay, drip=drip)
