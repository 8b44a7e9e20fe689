"""What became of the calls that hooks looked at: counts that add up at any moment."""

import os
import weakref
from collections import Counter
from threading import RLock
from typing import Any, Protocol

from tracehooks.records import Score, Status


class Settleable(Protocol):
    """What is counted once, whoever settles it first."""

    settled: bool

    @property
    def name(self) -> str:
        """The scorer's name."""


class Tally:
    """One scorer's counts: triggered = sampled_out + dropped + scored + unscored + skipped + pending."""

    def __init__(self) -> None:
        self.triggered = self.sampled_out = self.scored = 0
        self.dropped: Counter[str] = Counter()
        self.unscored: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()

    @property
    def pending(self) -> int:
        """Calls that wait, are being scored, or whose result is on its way into the store."""
        settled = self.scored + sum(map(Counter.total, (self.dropped, self.unscored, self.skipped)))
        return self.triggered - self.sampled_out - settled

    def count(self, score: Score) -> None:
        """A result was committed."""
        if score.status is Status.SCORED:
            self.scored += 1
        elif score.status is Status.UNSCORED:
            self.unscored[str(score.reason_code)] += 1
        else:
            self.skipped[str(score.reason_code)] += 1

    def __iadd__(self, other: "Tally") -> "Tally":
        self.triggered += other.triggered
        self.sampled_out += other.sampled_out
        self.scored += other.scored
        self.dropped.update(other.dropped)
        self.unscored.update(other.unscored)
        self.skipped.update(other.skipped)
        return self

    def as_dict(self) -> dict[str, Any]:
        """All of them."""
        return {
            "triggered": self.triggered,
            "sampled_out": self.sampled_out,
            "dropped": dict(self.dropped),
            "scored": self.scored,
            "unscored": dict(self.unscored),
            "skipped": dict(self.skipped),
            "pending": self.pending,
        }


class HookCounts:
    """The tallies of all scorers, by the scorer's name. A forked child counts from 0."""

    def __init__(self) -> None:
        self._reset()
        _all.add(self)

    def _reset(self) -> None:
        self._lock = RLock()
        self._tallies: dict[str, Tally] = {}

    def trigger(self, name: str, *, sampled: bool) -> None:
        """A hook of the scorer ``name`` looked at a finished span."""
        with self._lock:
            tally = self._of(name)
            tally.triggered += 1
            tally.sampled_out += not sampled

    def drop(self, job: Settleable, reason: str) -> None:
        """A call will not be scored, for a reason of ours."""
        with self._lock:
            if not job.settled:
                job.settled = True
                self._of(job.name).dropped[reason] += 1

    def settle(self, job: Settleable, score: Score) -> None:
        """A result was committed."""
        with self._lock:
            if not job.settled:
                job.settled = True
                self._of(job.name).count(score)

    def as_dict(self) -> dict[str, Any]:
        """The sums, as they stand together, and under ``by_scorer`` what they are made of."""
        total = Tally()
        with self._lock:
            for tally in self._tallies.values():
                total += tally
            by_scorer = {name: tally.as_dict() for name, tally in sorted(self._tallies.items())}
        return {**total.as_dict(), "by_scorer": by_scorer}

    def _of(self, name: str) -> Tally:
        tally = self._tallies.get(name)
        if tally is None:
            tally = self._tallies[name] = Tally()
        return tally


_all: "weakref.WeakSet[HookCounts]" = weakref.WeakSet()


def _reset_in_child() -> None:
    for counts in list(_all):
        counts._reset()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_in_child)
