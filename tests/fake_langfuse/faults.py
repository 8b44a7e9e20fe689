"""Faults on demand: what goes wrong, with which requests, how often."""

import email.utils
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tests.fake_langfuse.wire import Answer, Request


@dataclass
class Fault:
    """One fault: for ``times`` requests (None: all) whose path begins with ``path``, after ``after`` good.

    ``status``: answered with it, and with ``body`` (JSON, or text as it stands) and ``retry_after``.
    ``hang``: no answer until faults are cleared or the server goes down. ``reset``: the connection breaks.
    ``written``: the request is carried out first, and only its answer is lost or replaced. ``drip``: seconds
    between the bytes of the answer. ``partial``: so many events or scores of a batch are refused, the rest
    taken (207). ``repeat``: the last answer of that path once more (a repeated page). ``then`` is called
    after the answer is made.
    """

    path: str
    status: int | None = None
    times: int | None = 1
    method: str | None = None
    after: int = 0
    retry_after: str | None = None
    body: Any = None
    hang: bool = False
    reset: bool = False
    written: bool = False
    drip: float = 0.0
    partial: int | None = None
    repeat: bool = False
    then: Callable[[Request], None] | None = None

    def matches(self, request: Request) -> bool:
        return request.path.startswith(self.path) and self.method in (None, request.method)

    def answer(self) -> Answer:
        """The answer of a fault with a status."""
        headers = (("Retry-After", self.retry_after),) if self.retry_after is not None else ()
        body = {"message": f"fault {self.status}"} if self.body is None else self.body
        if isinstance(body, str):
            return Answer(self.status or 500, body.encode(), headers, content_type="")
        return Answer(self.status or 500, body, headers)


class Faults:
    """The faults that are set, oldest first. Each request meets the first that matches it."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._lock = threading.Lock()
        self.released = threading.Event()  # set: whoever hangs goes

    def add(self, fault: Fault) -> None:
        with self._lock:
            self._faults.append(fault)
        self.released.clear()

    def clear(self) -> None:
        """No more faults; requests that hang are let go."""
        with self._lock:
            self._faults.clear()
        self.released.set()

    def take(self, request: Request) -> Fault | None:
        """The fault that ``request`` meets, which is then used up by one."""
        with self._lock:
            for fault in self._faults:
                if not fault.matches(request):
                    continue
                if fault.after > 0:
                    fault.after -= 1
                    continue
                if fault.times is not None:
                    fault.times -= 1
                    if fault.times <= 0:
                        self._faults.remove(fault)
                return fault
        return None


def retry_after(value: float | str | None, now: float, *, date: bool = False) -> str | None:
    """A ``Retry-After`` header: seconds, or with ``date`` the time that is so many seconds from ``now``."""
    if value is None or isinstance(value, str):
        return value
    return email.utils.formatdate(now + value, usegmt=True) if date else f"{value:g}"


def partly(handle: Callable[[Request], Answer], request: Request, refused: int) -> Answer:
    """Answers a batch by 207: its first ``refused`` events or scores are not taken, for a reason that may
    pass.
    """
    body = json.loads(request.body)
    batch = body.get("batch") if isinstance(body, dict) else body
    if batch is None:
        return handle(request)
    out, batch[:refused] = batch[:refused], []
    answer = handle(replace(request, body=json.dumps(body).encode()))
    if isinstance(body, dict):
        errors = [{"id": one["id"], "status": 500, "message": "Internal error"} for one in out]
        return Answer(207, answer.body | {"errors": answer.body["errors"] + errors})
    messages = [{"message": "Internal error"}] * len(out)
    taken: dict[str, Any] = {"accepted": len(batch), "rejected": 0, "errors": []}
    before = answer.body if answer.status == 207 else taken
    rejected = before["rejected"] + len(out)
    return Answer(
        207, {"accepted": before["accepted"], "rejected": rejected, "errors": before["errors"] + messages}
    )
