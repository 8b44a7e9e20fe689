"""What became of the calls that hooks looked at: counts that add up at any moment."""

from collections import Counter
from threading import RLock
from typing import Any

from tracehooks.records import Score, Status


class HookCounts:
    """``triggered`` = sampled_out + dropped + scored + unscored + skipped + pending, for calls x hooks."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._triggered = self._sampled_out = self._scored = 0
        self._dropped: Counter[str] = Counter()
        self._unscored: Counter[str] = Counter()
        self._skipped: Counter[str] = Counter()

    def trigger(self, *, sampled: bool) -> None:
        """A hook looked at a finished span."""
        with self._lock:
            self._triggered += 1
            self._sampled_out += not sampled

    def drop(self, reason: str, n: int = 1) -> None:
        """``n`` calls will not be scored, for a reason of ours."""
        with self._lock:
            self._dropped[reason] += n

    def settle(self, score: Score) -> None:
        """A result was committed."""
        with self._lock:
            if score.status is Status.SCORED:
                self._scored += 1
            else:
                counter = self._unscored if score.status is Status.UNSCORED else self._skipped
                counter[str(score.reason_code)] += 1

    def as_dict(self) -> dict[str, Any]:
        """All counts, as they stand together."""
        with self._lock:
            settled = self._scored + sum(map(Counter.total, (self._dropped, self._unscored, self._skipped)))
            return {
                "triggered": self._triggered,
                "sampled_out": self._sampled_out,
                "dropped": dict(self._dropped),
                "scored": self._scored,
                "unscored": dict(self._unscored),
                "skipped": dict(self._skipped),
                "pending": self._triggered - self._sampled_out - settled,
            }
