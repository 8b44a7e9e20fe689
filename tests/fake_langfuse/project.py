"""The one project of the stand-in: everything that was written to it."""

import itertools
import uuid
from collections.abc import Sequence
from typing import Any

from tests.fake_langfuse.delayed import Delayed
from tests.fake_langfuse.modes import Mode
from tests.fake_langfuse.observations import Observation, Observations, Trace
from tests.fake_langfuse.scores import Score, Scores, Write
from tests.fake_langfuse.times import Clock, iso


class Project:
    """Rows, and when they begin to show.

    ``ingestion_delay``: seconds until a score or an ingestion event can be read. ``span_delay``: the same for
    OTLP. ``propagation_delay``: until spans that came without ``x-langfuse-ingestion-version: 4`` are in
    v2/observations of a dual server. ``delete_delay``: until a delete shows.
    """

    def __init__(self, mode: Mode, clock: Clock) -> None:
        self.mode = mode
        self.clock = clock
        self.id = "lab-project"
        self.ingestion_delay = 0.0
        self.span_delay = 0.0
        self.propagation_delay = 600.0
        self.delete_delay = 0.0
        self.delayed = Delayed()
        self.scores = Scores(mode)
        self.v1 = Observations()
        self.v2 = Observations()
        self.traces: dict[str, Trace] = {}
        self.configs = self.scores.configs
        self.datasets: dict[str, dict[str, Any]] = {}
        self.items: dict[str, dict[str, Any]] = {}
        self.run_items: dict[tuple[str, str], dict[str, Any]] = {}
        self.runs: dict[tuple[str, str], dict[str, Any]] = {}
        self.queues: dict[str, dict[str, Any]] = {}
        self.queue_items: dict[str, dict[str, Any]] = {}
        self.comments: dict[str, dict[str, Any]] = {}
        self.duplicate_every = 0  # every so many rows of v2/observations comes twice
        self._last_write = 0
        self._seeded = 0
        self.listed: tuple[Any, list[Any]] = (
            None,
            [],
        )  # the last v1 list and what was asked, for its next page
        self._order = itertools.count(1)

    def change(self, mode: Mode) -> Mode:
        """Becomes ``mode``; rows stay."""
        if mode.v2_reads and not self.mode.v2_reads:
            self.v2.add_many(self.v1)
        self.mode = mode
        self.scores.change(mode)
        return mode

    def settle(self) -> None:
        """Lets everything show whose time has come; called before each answer."""
        self.delayed.settle(self.clock.now())

    def stamp(self) -> str:
        return iso(self.clock.told())

    def new_id(self) -> str:
        return str(uuid.uuid4())

    def trace(self, trace_id: str) -> Trace | None:
        return self.traces.get(trace_id)

    def write_score(
        self, body: dict[str, Any], *, envelope: int | None = None, timestamp: int | None = None
    ) -> None:
        """Takes a score that passed its checks. Times are in milliseconds; without an envelope it is now."""
        received = self.clock.told()
        if envelope is None:
            envelope = self._next_now(received)
        if timestamp is None or not self.mode.keyed_by_day:
            timestamp = envelope
        write = Write(body, envelope, timestamp, received)
        self.delayed.add(
            self.clock.now() + self.ingestion_delay, lambda: self.scores.apply(write, self.stamp())
        )

    def delete_scores(self, rows: Sequence[Score]) -> None:
        """What shows now goes later; a score that does not show yet is not found, and appears after all."""
        self.delayed.add(self.clock.now() + self.delete_delay, lambda: self.scores.delete(list(rows)))

    def write_spans(
        self, observations: Sequence[Observation], *, direct: bool, delay: float | None = None
    ) -> None:
        """Takes observations; ``direct`` are those that v2/observations shows without propagation."""
        now = self.clock.now()
        due = now + (self.span_delay if delay is None else delay)
        if self.mode.v1_reads:
            self.delayed.add(due, lambda: self._show_v1(observations))
        if self.mode.v2_reads:
            late = self.mode.v1_reads and not direct
            self.delayed.add(
                now + self.propagation_delay if late else due, lambda: self._show_v2(observations)
            )

    def seed(self, observations: Sequence[Observation]) -> None:
        """Takes very many observations, which show at once."""
        self._seeded += 1
        if self.mode.v2_reads:
            self.v2.add_many(observations)
        if self.mode.v1_reads:
            self.v1.add_many(observations)
            for one in observations:
                self.see_trace(one)

    @property
    def version(self) -> int:
        """Another number after each change of what a reader sees of spans and scores."""
        return self.delayed.done + self._seeded

    def delete_trace(self, trace_id: str) -> None:
        """Takes the trace, its observations and its scores away."""

        def delete() -> None:
            self.v1.delete_trace(trace_id)
            self.v2.delete_trace(trace_id)
            self.traces.pop(trace_id, None)
            self.scores.delete(self.scores.of_trace(trace_id))

        self.delayed.add(self.clock.now() + self.delete_delay, delete)

    def _next_now(self, received: float) -> int:
        """Now in milliseconds, and later than the last one: two writes never share their time."""
        self._last_write = max(int(received * 1000), self._last_write + 1)
        return self._last_write

    def _show_v2(self, observations: Sequence[Observation]) -> None:
        self.v2.add(observations)

    def _show_v1(self, observations: Sequence[Observation]) -> None:
        self.v1.add(observations)
        for one in observations:
            self.see_trace(one)

    def see_trace(self, one: Observation) -> None:
        """Lets the trace of ``one`` know what it says."""
        trace = self.traces.get(one.trace_id)
        if trace is None:
            trace = self.traces[one.trace_id] = Trace(one.trace_id, one.start, created_at=one.created_at)
        trace.timestamp = min(trace.timestamp, one.start)
        trace.updated_at = one.updated_at
        trace.environment = one.environment if one.is_root else trace.environment
        trace.name = one.trace_name or trace.name or (one.name if not one.parent_id else None)
        trace.user_id = one.user_id or trace.user_id
        trace.session_id = one.session_id or trace.session_id
        trace.release = one.release or trace.release
        trace.version = one.version or trace.version
        if one.tags:
            trace.tags = sorted({*trace.tags, *one.tags})
        trace.metadata |= one.trace_metadata
        if one.is_root:
            trace.input, trace.output = one.input, one.output
            trace.metadata |= one.metadata
