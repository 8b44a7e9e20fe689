"""Agent calls to seed a server with: quick to make, so that there can be a hundred thousand."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from tests.fake_langfuse.observations import Observation
from tests.fake_langfuse.times import iso_ms

Text = str | Callable[[int], str | None] | None


def make(
    count: int,
    *,
    start: float,
    seed: int = 0,
    spacing: float = 0.01,
    duration: float | None = 0.5,
    name: str = "answer",
    type: str = "AGENT",
    input: Text = "question {i}",
    output: Text = "answer {i}",
    http_root: bool = False,
    generation: bool = False,
    app_root: bool = False,
    tags: Sequence[str] = (),
    metadata: dict[str, Any] | None = None,
    **fields: Any,
) -> list[Observation]:
    """``count`` calls, each a trace of its own, ``spacing`` seconds apart from ``start`` (since the epoch)
    on.

    ``input`` and ``output``: a text with ``{i}`` for the number of the call, or a function of it.
    ``duration`` None: the call has not ended. ``http_root`` puts a web framework's span above each call,
    ``generation`` a model's answer below. ``fields`` are fields of ``Observation``: environment, user_id,
    session_id, version...
    """
    made: list[Observation] = []
    for i in range(count):
        trace_id = hashlib.sha256(f"{seed}:{i}".encode()).hexdigest()[:32]
        begin = int((start + i * spacing) * 1000)
        began, ended = iso_ms(begin), None if duration is None else iso_ms(begin + int(duration * 1000))
        call = Observation(
            span_id(trace_id, "call"), trace_id, began, ended, type=type, name=name, tags=list(tags),
            app_root=app_root,
            input=_text(input, i), output=_text(output, i), metadata=dict(metadata or {}),
            created_at=ended or began, updated_at=ended or began, **fields,
        )  # fmt: skip
        made.append(call)
        if http_root:
            call.parent_id = span_id(trace_id, "http")
            made.append(_near(call, "http", None, "POST /chat", "SPAN", fields))
        if generation:
            below = _near(call, "generation", call.id, "chat", "GENERATION", fields)
            below.input, below.output = call.input, call.output
            made.append(below)
    return made


def span_id(trace_id: str, part: str = "call") -> str:
    """The span id of a ``part`` (call, http, generation) of a seeded trace."""
    return hashlib.sha256(f"{trace_id}:{part}".encode()).hexdigest()[:16]


def _near(
    call: Observation, part: str, parent: str | None, name: str, kind: str, fields: dict[str, Any]
) -> Observation:
    shared = {key: value for key, value in fields.items() if key in ("environment", "release")}
    return Observation(
        span_id(call.trace_id, part), call.trace_id, call.start, call.end, parent, kind, name,
        created_at=call.created_at, updated_at=call.updated_at, **shared,
    )  # fmt: skip


def _text(text: Text, i: int) -> str | None:
    return text(i) if callable(text) else text.replace("{i}", str(i)) if text else text
