"""Stored work items: what a run wants scored, claimed under leases that expire."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from tracehooks.store.rows import WorkItem


class Items:
    """The work items of runs."""

    def add(self, run_id: str, items: Iterable[WorkItem]) -> int:
        """Put work up; items that are there already stay as they are. Returns how many are new."""
        raise NotImplementedError

    def claim(self, run_id: str, owner: str, limit: int, lease: timedelta) -> list[WorkItem]:
        """Take at most ``limit`` items for ``owner``: planned ones, and claimed ones whose lease is over.

        Atomic: no two claims get the same item. Each claim raises an item's token, so that the result of an
        earlier holder is refused.
        """
        raise NotImplementedError

    def renew(self, items: Sequence[WorkItem], owner: str, lease: timedelta) -> int:
        """Hold on to ``items`` for another ``lease``. Returns how many are still held with their tokens."""
        raise NotImplementedError

    def release(self, items: Sequence[WorkItem]) -> int:
        """Give claimed items back, if their tokens still count. Returns how many were given back."""
        raise NotImplementedError

    def release_owner(self, owner: str) -> int:
        """Give back all that ``owner``, who is gone, held. Returns how many that were."""
        raise NotImplementedError

    def reopen_unscored(self, run_id: str) -> int:
        """Put the run's unscored items up again. Returns how many."""
        raise NotImplementedError

    def owners(self, run_id: str) -> list[str]:
        """Who holds claims of the run."""
        raise NotImplementedError

    def remaining(self, run_id: str) -> int:
        """How many items of the run have no result yet."""
        raise NotImplementedError

    def counts(self, run_id: str) -> dict[tuple[str, str | None, str | None], int]:
        """How many items by (state, status, reason code)."""
        raise NotImplementedError

    def outcomes(self, run_id: str) -> dict[str, Any]:
        """The done items by outcome: ``{"scored": n, "unscored": {reason: n}, "skipped": {reason: n}}``."""
        raise NotImplementedError

    def of_run(self, run_id: str) -> list[WorkItem]:
        """All items of a run, ordered by key."""
        raise NotImplementedError

    def of_trace(self, trace_id: str) -> list[WorkItem]:
        """All items about the calls of one trace, the newest run's first."""
        raise NotImplementedError
