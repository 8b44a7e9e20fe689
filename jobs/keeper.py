"""A run in its owner's hands: taken, held while it is worked on, put away when that breaks off, delivered."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tracehooks.jobs.belonging import check_project, check_run
from tracehooks.scoring import Deliverer
from tracehooks.scoring.batch_report import batch_dict, batch_words
from tracehooks.scoring.coordinator import is_dead
from tracehooks.scoring.holding import LEASE, Holding
from tracehooks.scoring.resending import Resender
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store
from tracehooks.store.rows import RunState

DELIVERY_SECONDS = 60.0
CONFIRMATION_SECONDS = 30.0  # that a night waits to see its scores where they went; a later one looks again
UNDER_WAY = ("running", "interrupted")


def utc_now() -> datetime:
    """The time, aware, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, kw_only=True)
class RunKeeper:
    """What every kind of night does with its runs, as ``owner``: one process at a time works on a run."""

    settings: Settings
    store: Store
    owner: str
    clock: Callable[[], datetime] = utc_now

    def open(self, job: str, start: datetime, end: datetime, plan: Mapping[str, Any]) -> RunRecord:
        """The run of ``job`` over the window, made if need be.

        Raises ConfigurationError when the store is another project's.
        """
        check_project(self.store, self.settings.project)
        return self.store.runs.open(job, start, end, plan=plan)

    def take(self, run: RunRecord, **fresh: Any) -> RunRecord | None:
        """The run, ours now and changed by ``fresh``; None while another process works on it.

        Raises ConfigurationError for a run of another project.
        """
        check_run(run, self.settings.project)
        return self.store.runs.take(run.id, self.owner, LEASE, is_gone=is_dead, **fresh)

    @contextmanager
    def working_on(self, run: RunRecord) -> Iterator[None]:
        """Within it a run taken stays ours. What breaks the work off is written down, and goes on up."""
        try:
            with Holding(self.store, run.id, self.owner):
                yield
        except KeyboardInterrupt:
            self.break_off(run, "interrupted")
            raise
        except Exception as error:
            if self.store.runs.get(run.id).state == "running":  # else it has its verdict, and delivery failed
                self._fail(run, f"error: {type(error).__name__}: {error}")
            raise

    def _fail(self, run: RunRecord, reason: str) -> None:
        """A run whose batch is still out is not given up for an error: a later process collects it."""
        now = self.clock()
        if any(not batch.is_over and now < batch.due for batch in self.store.batches.of_run(run.id)):
            self.wait(run, reason)
        else:
            self.break_off(run, "failed", reason)

    def break_off(self, run: RunRecord, state: RunState, *reasons: str, **more: Any) -> RunRecord:
        """Put the run away without a verdict; ``more`` is set besides."""
        ended = self.clock()
        return self.store.runs.update(
            run.id, held_by=self.owner, state=state, ended=ended, verdict=None, reasons=reasons, **more
        )

    def wait(self, run: RunRecord, *more: str) -> RunRecord:
        """End our part of a run that has to wait for its batches; ``more`` are further reasons."""
        found = {**(batch_dict(self.settings, self.store, run) or {}), "waiting": True}
        said = f" ({found['reason']})" if found["reason"] else ""
        reason = f"batch: {batch_words(found)}{said}; `tracehooks resume` looks whether they are there"
        return self.break_off(run, "interrupted", reason, *more, report={**run.report, "batch": found})

    def deliver(self, sinks: Mapping[str, Any]) -> None:
        """Send what is to be sent, a bounded time; what is left goes with a later night."""
        with closing(Resender.from_settings(self.settings, self.store, self.owner)) as spans:
            deliverer = Deliverer(self.store, sinks, owner=self.owner, spans=spans)
            if deliverer.deliver(DELIVERY_SECONDS):
                deliverer.confirm(CONFIRMATION_SECONDS)
