"""Spans that a backend did not get, sent to it from the store: by whichever process delivers next.

Why they did not get there does not matter: the backend was down, the process that had them was killed, its
keys were wrong. Which those are the store knows from the moment it has them.
"""

import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Protocol

from tracehooks.judges.untraced import untraced
from tracehooks.scoring.coordinator import is_dead

if TYPE_CHECKING:
    from tracehooks.calls import SpanRecord
    from tracehooks.settings import Settings
    from tracehooks.store import Store
    from tracehooks.store.unsent import Place, Unsent

logger = logging.getLogger("tracehooks")

GROUP = "tracehooks.span_exporters"
AT_ONCE = 100  # spans read from the store together, and those of the same traces; few, for each may be large
LEASE = timedelta(minutes=2)


class TakesAgain(Protocol):
    """An exporter whose backend may get the same span twice: the second is written over the first.

    ``on_taken`` is set by whoever wants to hear which spans the backend took, as (trace id, span id).
    ``carried`` is what its spans need that only their own process knows; it is kept with them.
    """

    takes_again: bool
    on_taken: Any
    carried: Mapping[str, Any]

    def resend(
        self,
        waiting: Sequence[tuple["SpanRecord", Mapping[str, Any]]],
        others: Sequence["SpanRecord"] = (),
    ) -> Mapping["Place", str]:
        """Send stored spans, once. Returns those that were refused by themselves, with the backend's words.

        ``others`` are the other spans of their traces. Raises when the backend takes none for now.
        """

    def shutdown(self) -> None:
        """Release everything."""


def takes_again(exporter: Any) -> bool:
    """Whether spans may be sent through it again."""
    return bool(getattr(exporter, "takes_again", False))


def resending_exporters(settings: "Settings") -> dict[str, TakesAgain]:
    """New exporters, of all that the installed packages offer, through which spans may be sent again."""
    found: dict[str, TakesAgain] = {}
    if not settings.store:
        return found
    for entry in entry_points(group=GROUP):
        try:
            made = entry.load()(settings)
        except Exception as error:
            logger.warning("setting up the span exporter %s failed: %s", entry.name, error)
            continue
        for name, exporter in made.items():
            if takes_again(exporter):
                found[name] = exporter
            else:
                exporter.shutdown()
    return found


class Resender:
    """Sends what waits in ``store`` through ``exporters``, which it closes in the end.

    ``sent`` counts what each backend took.
    """

    def __init__(self, store: "Store", exporters: Mapping[str, TakesAgain], *, owner: str) -> None:
        self._store, self._exporters, self._owner = store, exporters, owner
        self.sent: Counter[str] = Counter()

    @classmethod
    def from_settings(cls, settings: "Settings", store: "Store", owner: str) -> "Resender":
        """One for all backends of the settings."""
        return cls(store, resending_exporters(settings), owner=owner)

    def resend(self, timeout: float | None = None) -> bool:
        """Send what is due, within ``timeout`` seconds. True when nothing that was due is left."""
        end = None if timeout is None else time.monotonic() + timeout
        done = [self._send_all(name, end) for name in self._exporters]
        return all(done)

    def hurry(self, *, dead: bool = False) -> None:
        """Make due what waits for its next try, and what a process has tried to send for a minute.

        ``dead``: what was refused for good, too.
        """
        for name in self._exporters:
            if dead:
                self._store.unsent.revive(name)
            self._store.unsent.hurry(name)

    @property
    def wait(self) -> float | None:
        """Seconds until something is due that no process is at; None when nothing will be."""
        found = (self._store.unsent.wait(name, free=True) for name in self._exporters)
        return min((wait for wait in found if wait is not None), default=None)

    def close(self) -> None:
        """Close the exporters."""
        for exporter in self._exporters.values():
            exporter.shutdown()

    def _send_all(self, name: str, end: float | None) -> bool:
        unsent = self._store.unsent
        if unsent.wait(name) is None:
            return True
        for owner in unsent.owners(name):
            if is_dead(owner):
                count = unsent.release_owner(name, owner)
                logger.info("took over %d spans for %s of %s, which is gone", count, name, owner)
        after = ""
        while end is None or time.monotonic() < end:
            claimed = unsent.claim(name, self._owner, LEASE, AT_ONCE, after=after)
            if not claimed:
                return True
            if not self._send(name, claimed):
                return False
            after = claimed[-1].trace_id
        return False

    def _send(self, name: str, claimed: Sequence["Unsent"]) -> bool:
        """Send these; False when the backend takes nothing for now."""
        from tracehooks.store.unsent import PRUNED

        exporter, unsent = self._exporters[name], self._store.unsent
        rests = {one.place: one.rest for one in claimed}
        waiting, others = self._stored(rests)
        there = {(span.trace_id, span.span_id) for span, _ in waiting}
        unsent.give_up(name, [place for place in rests if place not in there], PRUNED)
        taken: set[Place] = set()

        def note(places: Sequence["Place"]) -> None:
            taken.update(places)
            self.sent[name] += len(unsent.taken(name, places))

        exporter.on_taken = note
        try:
            with untraced():
                refused = exporter.resend(waiting, others)
        except Exception as error:
            left = sorted(there - taken)
            unsent.put_back(name, left, str(error) or type(error).__name__)
            # whoever asks is told by `outbox status`; a pass a minute must not fill a log
            logger.info("%d spans for %s wait in the store: %s", len(left), name, error)
            return False
        unsent.refused(name, refused)
        return bool(taken) or not refused

    def _stored(
        self, rests: Mapping["Place", Mapping[str, Any]]
    ) -> tuple[list[tuple["SpanRecord", Mapping[str, Any]]], list["SpanRecord"]]:
        """Those that wait, and the other spans of their traces."""
        waiting, others = [], []
        for trace_id in sorted({trace_id for trace_id, _ in rests}):
            for span in self._store.spans.of_trace(trace_id):
                rest = rests.get((span.trace_id, span.span_id))
                if rest is None:
                    others.append(span)
                else:
                    waiting.append((span, rest))
        return waiting, others
