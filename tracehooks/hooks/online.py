"""Online scoring as a part of the running process: costs nothing until a hook or a feedback needs it."""

import os
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from tracehooks.tracing.trouble import trouble

if TYPE_CHECKING:
    from tracehooks.hooks.driver import HookDriver
    from tracehooks.settings import Settings
    from tracehooks.tracing.pipeline import FullText

COMMIT_INTERVAL = 0.2  # seconds that a result waits for company
NO_COUNTS: Mapping[str, Any] = {
    "triggered": 0,
    "sampled_out": 0,
    "dropped": {},
    "scored": 0,
    "unscored": {},
    "skipped": {},
    "pending": 0,
    "by_scorer": {},
    "feedback": {"attached": 0, "stored": 0, "dropped": {}, "pending": 0},
    "undelivered": {},
}


class Online:
    """Makes the driver when something is to be scored for the first time.

    Raises ConfigurationError when the settings name a scorer or a sink that is not there.
    """

    def __init__(self, settings: "Settings", *, interval: float = COMMIT_INTERVAL) -> None:
        self._settings = settings
        self._interval = interval
        self._driver: HookDriver | None = None
        self._renew_lock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew_lock)
        if settings.hooks or settings.sinks:
            self.driver  # noqa: B018 - what is wrong in the settings is told now

    def _renew_lock(self) -> None:
        self._lock = threading.RLock()

    @property
    def driver(self) -> "HookDriver":
        """The driver."""
        with self._lock:
            if self._driver is None:
                from tracehooks.hooks.driver import HookDriver
                from tracehooks.hooks.hook import hooks_from

                self._driver = HookDriver(self._settings, hooks_from(self._settings), interval=self._interval)
            return self._driver

    @property
    def on_start(self) -> Callable[[Any], None] | None:
        """What is to hear of every span that begins: nothing, unless the settings have hooks."""
        return self.driver.on_start if self._settings.hooks else None

    @property
    def on_other(self) -> Callable[[Any], None] | None:
        """What is to hear of the ends of spans that are not an agent's: nothing, unless there are hooks."""
        return self.driver.on_span if self._settings.hooks else None

    def on_span(self, span: Any, full: "FullText | None", hooks: tuple[Any, ...]) -> None:
        """A span has ended."""
        if hooks or self._settings.hooks:
            self.driver.on_span(span, full, hooks)

    def on_refused(self, span: Any, full: "FullText | None", hooks: tuple[Any, ...]) -> None:
        """A span has ended that the full queue refused."""
        if hooks or self._settings.hooks:
            self.driver.on_span(span, full, hooks, refused=True)

    def flush(self, timeout: float) -> bool:
        """Score, store and deliver what is there, within ``timeout`` seconds."""
        return self._driver is None or self._driver.flush(timeout)

    def finish(self, timeout: float) -> bool:
        """The same at the end of the process, where what is safe in the store need not be waited for."""
        return self._driver is None or self._driver.finish(timeout)

    def warm_up(self) -> None:
        """Load and open the store now, in the background, so that the first results are safe soon."""
        if self._settings.store:
            threading.Thread(target=self._open_once, name="tracehooks-warming", daemon=True).start()

    def _open_once(self) -> None:
        from tracehooks.store import open_store

        try:
            open_store(self._settings.store).close()
        except Exception as error:
            trouble("opening the store", error)

    def shutdown(self, timeout: float) -> bool:
        """The same, and stop."""
        return self._driver is None or self._driver.close(timeout)

    def stats(self) -> dict[str, Any]:
        """The counts of hooks and of feedback."""
        counts = dict(NO_COUNTS) if self._driver is None else self._driver.stats()
        counts["dropped_scores"] = counts.pop("dropped")
        counts["pending_scores"] = counts.pop("pending")
        return counts
