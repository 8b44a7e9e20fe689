"""Results of hooks, of feedback and of evaluations: committed to the store together, and then delivered."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from tracehooks.breathing import breathe
from tracehooks.errors import StoreError, TracehooksError
from tracehooks.hooks.delivery import SinkDelivery
from tracehooks.protocols import ScoreSink
from tracehooks.scoring.deliver import all_results, load_sinks, unwanted
from tracehooks.store import ScoreRecord
from tracehooks.tracing.trouble import trouble
from tracehooks.worker import BackgroundWorker

if TYPE_CHECKING:
    from tracehooks.settings import Settings
    from tracehooks.store import Store

MOST_WAITING = 10_000
AT_ONCE = 64


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """A result; ``stored()`` is called when it is committed, ``lost(reason)`` when it cannot be."""

    record: ScoreRecord
    stored: Callable[[], None]
    lost: Callable[[str], None]

    @property
    def size(self) -> int:
        """About the characters of its texts, which wait with it."""
        call = self.record.call
        return 0 if call is None else len(call.input or "") + len(call.output or "")


class Results:
    """Takes results from any thread. The store is opened when the first comes, by each process for itself.

    Raises ConfigurationError when the settings name a sink that is not there, or that cannot be made.
    """

    _sinks: dict[str, ScoreSink] | None

    def __init__(self, settings: "Settings", *, interval: float) -> None:
        self._settings = settings
        self._worker: BackgroundWorker[Result] = BackgroundWorker(
            "commits", self._commit, max_queue=MOST_WAITING, max_batch=AT_ONCE, interval=interval
        )
        self._refuses = False
        self.begin()
        self._sinks = load_sinks(settings)

    def begin(self) -> None:
        """Begin anew in a forked child: what the parent has is the parent's, its sinks' connections too."""
        self._lock = threading.RLock()
        self._opening = threading.Lock()
        self._store: Store | None = None
        self._users = 0
        self._is_shut = False
        self._failed = 0  # since the last flush
        self._waiting: dict[Result, None] = {}
        self._sinks = None
        self._deliveries: dict[str, SinkDelivery] | None = None

    def start(self) -> None:
        """Start the threads now: on its way out the interpreter starts none any more."""
        self._worker.start()
        for delivery in self._delivering().values() if self._settings.sinks else ():
            delivery.start()

    def put(self, result: Result) -> None:
        """Have ``result`` committed and delivered."""
        self._waiting[result] = None
        if not self._worker.put(result, result.size):
            self._lose([result], "closed" if self._refuses else "commit_queue_full")

    @contextmanager
    def using(self) -> Iterator["Store"]:
        """The store, open until the last one who uses it is done. Raises StoreError when it cannot be had."""
        store = self._enter()
        try:
            yield store
        finally:
            with self._lock:
                self._users -= 1
                self._close_if_unused()

    def undelivered(self) -> dict[str, int]:
        """What waits for each sink, as far as it was last looked at."""
        return {name: delivery.left for name, delivery in (self._deliveries or {}).items()}

    def look(self) -> None:
        """Count anew what waits for each sink."""
        for delivery in (self._deliveries or {}).values():
            with suppress(Exception):  # then it is as it was last looked at
                delivery.look()

    @property
    def is_in_memory(self) -> bool:
        """Whether what is not delivered ends with the process."""
        return self._settings.store == "memory"

    def flush(self, timeout: float, for_sinks: float | None = None) -> bool:
        """Commit and deliver; True only if nothing was lost since the last flush and nothing is left.

        ``for_sinks`` bounds the seconds for all sinks together.
        """
        end = monotonic() + timeout
        failed, self._failed = self._failed, 0
        done = self._worker.flush(timeout)
        end = end if for_sinks is None else min(end, monotonic() + for_sinks)
        for delivery in (self._deliveries or {}).values():
            done = delivery.flush(max(0.0, end - monotonic())) and done
        failed, self._failed = failed + self._failed, 0
        return done and failed == 0

    def close(self, timeout: float) -> bool:
        """The same, and stop. A transaction that has begun ends by itself; what has not is lost."""
        end = monotonic() + timeout
        self._refuses = True
        done = self._worker.close(timeout) and self._failed == 0
        self._lose(list(self._waiting), "closed")
        for delivery in (self._deliveries or {}).values():
            done = delivery.close(max(0.0, end - monotonic())) and done
        with self._lock:
            self._is_shut = True
            self._close_if_unused()
        return done

    def _enter(self) -> "Store":
        with self._opening:  # which may take long, and nobody else waits for it
            store = self._store or self._opened()
            with self._lock:
                self._store = store
                self._users += 1
            return store

    def _opened(self) -> "Store":
        from tracehooks.store import open_store

        if self._is_shut:
            raise StoreError("online scoring was shut down; call init() again")
        if not self._settings.store:
            raise StoreError("scores have no place: `store` is empty; give it a url, or memory")
        return open_store(self._settings.store)

    def _close_if_unused(self) -> None:
        if self._is_shut and self._users == 0 and self._store is not None:
            self._store.close()
            self._store = None

    def _delivering(self) -> dict[str, SinkDelivery]:
        with self._lock:
            if self._deliveries is None:
                self._sinks = load_sinks(self._settings) if self._sinks is None else self._sinks
                self._deliveries = {
                    name: SinkDelivery(name, sink, self.using) for name, sink in self._sinks.items()
                }
            return self._deliveries

    def _commit(self, results: list[Result]) -> None:
        for result in results:
            self._waiting.pop(result, None)
        try:
            deliveries = self._delivering()
            with self.using() as store:
                self._write(store, results)
        except Exception as error:
            self._fail(results, error)
            return
        for delivery in deliveries.values():
            delivery.wake()
        breathe()

    def _write(self, store: "Store", results: Sequence[Result]) -> None:
        """Commit ``results`` together; one that the database refuses does not take the others along."""
        records = [result.record for result in results]
        sinks = self._sinks or {}
        try:
            store.scores.commit(
                records,
                project=self._settings.project,
                sinks=tuple(sinks),
                all_results=all_results(sinks),
                unwanted=unwanted(sinks),
            )
        except Exception as error:
            from tracehooks.store.failures import is_about_the_data

            if len(results) == 1 or not is_about_the_data(error):
                self._fail(results, error)
                return
            for result in results:
                self._write(store, [result])
        else:
            for result in results:
                result.stored()

    def _fail(self, results: Sequence[Result], error: Exception) -> None:
        # the texts of our own errors quote nothing that was traced
        trouble("storing scores", str(error) if isinstance(error, TracehooksError) else error)
        self._lose(results, "store_failed")

    def _lose(self, results: Sequence[Result], reason: str) -> None:
        with self._lock:
            self._failed += len(results)
        for result in results:
            self._waiting.pop(result, None)
            result.lost(reason)
