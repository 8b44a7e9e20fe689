"""``FakeLangfuse``: the server as tests hold it."""

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterable
from datetime import datetime
from types import TracebackType
from typing import Any, Self

from tests.fake_langfuse import calls, control, faults
from tests.fake_langfuse.faults import Fault, Faults
from tests.fake_langfuse.http import Server
from tests.fake_langfuse.modes import MODES
from tests.fake_langfuse.observation_reads import as_v2
from tests.fake_langfuse.observations import Observation, Trace
from tests.fake_langfuse.project import Project
from tests.fake_langfuse.routes import Routes
from tests.fake_langfuse.score_reads import as_v3
from tests.fake_langfuse.times import Clock
from tests.fake_langfuse.wire import Answer, Request

_ALL = {"core", "basic", "time", "io", "metadata", "model", "usage", "prompt", "metrics", "trace_context"}
_KEPT = 1_000_000  # bytes of a request's body that the log keeps


class FakeLangfuse:
    """A Langfuse server of one project on loopback, in a thread of its own, from ``with`` to its end.

    ``mode``: ``dual`` or ``events`` (4.16.0), ``v3`` or ``v4.59`` (unverified). Delays are in seconds,
    ``clock`` gives seconds since the epoch. ``span_delay`` and ``delete_delay`` are ``ingestion_delay``
    unless given; ``propagation_delay`` holds spans without ``x-langfuse-ingestion-version: 4`` back on a
    dual server.
    """

    def __init__(
        self,
        mode: str = "dual",
        ingestion_delay: float = 0.0,
        *,
        span_delay: float | None = None,
        delete_delay: float | None = None,
        propagation_delay: float = 600.0,
        clock: Callable[[], float] | None = None,
        port: int = 0,
        public_key: str = "pk-lf-lab-0000",
        secret_key: str = "sk-lf-lab-0000",
    ) -> None:
        self.mode = MODES[mode]
        self.public_key, self.secret_key = public_key, secret_key
        self.clock = Clock(clock)
        self.faults = Faults()
        self.requests: list[Request] = []
        self.defects: list[Exception] = []  # our own errors, each answered with a 500 and raised at the end
        self.project = Project(self.mode, self.clock)
        self.project.ingestion_delay = ingestion_delay
        self.project.span_delay = ingestion_delay if span_delay is None else span_delay
        self.project.delete_delay = ingestion_delay if delete_delay is None else delete_delay
        self.project.propagation_delay = propagation_delay
        self._routes = Routes(self.project, public_key, secret_key)
        self._lock = threading.RLock()
        self._asked = threading.Condition()  # told after each request
        self._previous: dict[str, Answer] = {}
        self._server: Server | None = None
        self._port = port
        self._seeds = itertools.count(1)

    def another_project(self, public_key: str, secret_key: str) -> Project:
        """One more project on this server, with keys of its own."""
        project = Project(self.mode, self.clock)
        self._routes.add(project, public_key, secret_key)
        return project

    def __enter__(self) -> Self:
        self.up()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.down()
        if self.defects and error is None:
            raise self.defects[0]

    @property
    def url(self) -> str:
        """The base URL; it stays the same through ``down`` and ``up``."""
        return f"http://127.0.0.1:{self._port}"

    def up(self) -> None:
        """Listens (again) on the same port. Nothing that was written is lost."""
        if self._server is None:
            self.faults.released.clear()
            self._server = Server(self._port, self)
            self._port = self._server.server_address[1]
            threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def down(self, seconds: float | None = None) -> None:
        """Refuses connections and breaks those it has; ``up`` by itself after ``seconds``."""
        server, self._server = self._server, None
        if server is not None:
            self.faults.released.set()
            server.shutdown()
            server.server_close()
            server.drop()
        if seconds is not None:
            timer = threading.Timer(seconds, self.up)
            timer.daemon = True
            timer.start()

    # What was written

    @property
    def scores(self) -> list[dict[str, Any]]:
        """What a reader would see now, as v3/scores gives it with all its fields; newest first.

        ``traceId`` and ``observationId`` are there too, so that a test need not look into ``subject``.
        """
        with self._settled():
            return [
                as_v3(row) | {"traceId": row["traceId"], "observationId": row["observationId"]}
                for row in self.project.scores.newest()
            ]

    @property
    def dropped(self) -> list[tuple[dict[str, Any], str]]:
        """Scores that were answered with 200 and then thrown away, each with the reason."""
        with self._settled():
            return list(self.project.scores.dropped)

    @property
    def observations(self) -> list[dict[str, Any]]:
        """All observations that v2/observations would show (on v3: that v1 would), every field, newest
        first.
        """
        with self._settled():
            rows = self.project.v2 if self.mode.v2_reads else self.project.v1
            return [as_v2(one, _ALL, list(one.flat_metadata)) for one in rows.newest(None, None)]

    @property
    def traces(self) -> dict[str, list[dict[str, Any]]]:
        """Observations by trace id."""
        found: dict[str, list[dict[str, Any]]] = {}
        for one in self.observations:
            found.setdefault(one["traceId"], []).append(one)
        return found

    def wait_for(self, condition: Callable[[], bool], timeout: float = 30.0) -> bool:
        """Waits until ``condition`` holds, looking after each request; False after ``timeout`` seconds."""
        with self._asked:
            return self._asked.wait_for(condition, timeout)

    def trace(self, trace_id: str) -> Trace | None:
        """The trace of the v1 reads."""
        with self._settled():
            return self.project.trace(trace_id)

    def add_calls(self, count: int, **options: Any) -> list[str]:
        """Seeds ``count`` agent calls, each a trace of its own; their trace ids. See ``calls.make``."""
        start = options.pop("start", None)
        at = self.clock.told() - 60.0 if start is None else _seconds(start)
        with self._lock:
            made = calls.make(count, start=at, seed=next(self._seeds), **options)
            self.add(made)
        return list(dict.fromkeys(one.trace_id for one in made))

    def add(self, observations: Iterable[Observation]) -> None:
        """Seeds observations as they are; they show at once."""
        with self._lock:
            self.project.seed(list(observations))

    # What goes wrong

    def fail(
        self,
        path_prefix: str = "/",
        status: int | None = None,
        times: int | None = 1,
        *,
        retry_after: float | str | None = None,
        as_date: bool = False,
        **fault: Any,
    ) -> None:
        """Lets ``times`` requests (None: all, until ``clear``) to ``path_prefix`` go wrong.

        ``retry_after``: seconds, which the header says as a number or ``as_date``. The rest is in ``Fault``.
        """
        header = faults.retry_after(retry_after, self.clock.told(), date=as_date)
        self.faults.add(Fault(path_prefix, status, times, retry_after=header, **fault))

    def arriving(
        self,
        count: int,
        *,
        path: str = "/api/public/v2/observations",
        times: int | None = None,
        **options: Any,
    ) -> None:
        """Each page read of ``path`` is followed by ``count`` new calls."""
        self.fail(path, times=times, then=lambda _: self._arrive(count, options))

    def _arrive(self, count: int, options: dict[str, Any]) -> None:
        self.add_calls(count, **options)

    def clear(self) -> None:
        """Ends all faults; what hangs is let go."""
        self.faults.clear()

    def duplicate_rows(self, every: int) -> None:
        """Gives every so many rows of v2/observations twice; 0 for none."""
        self.project.duplicate_every = every

    def skew(self, seconds: float) -> None:
        """Sets what the server's clock is wrong by; delays are not touched."""
        self.clock.skew = seconds

    def advance(self, seconds: float) -> None:
        """Lets time pass on the server, so that delayed rows show."""
        self.clock.advance(seconds)

    def delays(
        self, ingestion: float | None = None, span: float | None = None, delete: float | None = None
    ) -> None:
        """Changes delays (seconds) for what is written from now on."""
        project = self.project
        project.ingestion_delay = project.ingestion_delay if ingestion is None else ingestion
        project.span_delay = project.span_delay if span is None else span
        project.delete_delay = project.delete_delay if delete is None else delete

    def upgrade(self, mode: str) -> None:
        """Turns into another generation at once, as an upgrade does; what it holds stays."""
        with self._lock:
            self.mode = self.project.change(MODES[mode])

    # The inside

    def respond(self, request: Request, fault: Fault | None) -> Answer | None:
        """The answer to ``request`` under ``fault``; None where there is none. Every request is logged."""
        if request.path.startswith("/_control"):
            return control.answer(self, request)
        if fault is None or fault.written or fault.then or fault.drip or fault.partial or fault.repeat:
            answer: Answer | None = self._carried_out(request, fault)
        else:
            answer = None
        if fault and fault.status is not None:
            answer = fault.answer()
        if fault and (fault.reset or fault.hang):
            answer = None
        request.status = answer.status if answer else None
        with self._asked:
            self.requests.append(_short(request))
            self._asked.notify_all()
        return answer

    def _carried_out(self, request: Request, fault: Fault | None) -> Answer:
        with self._lock:
            if fault and fault.repeat and request.path in self._previous:
                return self._previous[request.path]
            if fault and fault.partial:
                return faults.partly(self._answer, request, fault.partial)
            answer = self._answer(request)
            if request.method == "GET":
                self._previous[request.path] = answer
        if fault and fault.then:
            fault.then(request)
        return answer

    def _answer(self, request: Request) -> Answer:
        try:
            return self._routes.answer(request)
        except Exception as error:
            self.defects.append(error)
            return Answer(500, {"message": f"the stand-in failed: {error!r}"})

    @contextlib.contextmanager
    def _settled(self) -> Any:
        with self._lock:
            self.project.settle()
            yield


def _seconds(start: float | datetime) -> float:
    return start.timestamp() if isinstance(start, datetime) else start


def _short(request: Request) -> Request:
    if len(request.body) > _KEPT:
        request.body = request.body[:_KEPT]
    return request
