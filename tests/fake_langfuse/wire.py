"""One request as it came in, and one answer as it goes out."""

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import parse_qs

import orjson

JSON = "application/json; charset=utf-8"


@dataclass
class Request:
    """One request. ``path`` is without the query; header names are in lower case."""

    method: str
    path: str
    query_string: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    status: int | None = None  # what it was answered with; None for no answer

    @cached_property
    def query(self) -> dict[str, list[str]]:
        return parse_qs(self.query_string, keep_blank_values=True)

    def one(self, name: str) -> str | None:
        """The first value of a query parameter; None where it is missing."""
        values = self.query.get(name)
        return values[0] if values else None

    @cached_property
    def json(self) -> Any:
        """The body as JSON. ValueError where it is not; NaN is not."""
        return json.loads(self.body, parse_constant=_refuse) if self.body else None


@dataclass(frozen=True)
class Answer:
    """One answer. ``body`` is JSON, or text as it stands."""

    status: int
    body: Any = None
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str = JSON

    def content(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return orjson.dumps(self.body)


def plain(status: int, text: str) -> Answer:
    """An answer in plain text, which comes without a content type."""
    return Answer(status, text.encode(), content_type="")


class RefusedError(Exception):
    """Raised anywhere below a route: the request is answered with ``answer``."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer


def refuse(status: int, message: str, error: str | None = None) -> RefusedError:
    """A refusal with ``message`` and, where the server names one, the kind of ``error``."""
    body: dict[str, Any] = {"message": message}
    if error:
        body["error"] = error
    return RefusedError(Answer(status, body))


def not_found(message: str) -> RefusedError:
    return refuse(404, message, "LangfuseNotFoundError")


def _refuse(constant: str) -> Any:
    raise ValueError(constant)
