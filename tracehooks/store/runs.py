"""Stored runs: one record for each job and window."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tracehooks.store.rows import RunRecord, RunState


class Runs:
    """The run records."""

    def open(
        self,
        job: str,
        window_start: datetime,
        window_end: datetime,
        plan: Mapping[str, Any],
        *,
        owner: str | None = None,
    ) -> RunRecord:
        """The run of ``job`` over the window: a new one in state running, or the one that is there."""
        raise NotImplementedError

    def update(self, run_id: str, **fields: Any) -> RunRecord:
        """Set fields of a run by their RunRecord names. Raises TypeError for one that may not be set."""
        raise NotImplementedError

    def get(self, run_id: str) -> RunRecord:
        """The run with this id, or whose id alone starts like this.

        Raises ConfigurationError when there is none, or more than one.
        """
        raise NotImplementedError

    def latest(self, job: str | None = None, state: RunState | None = None) -> RunRecord | None:
        """The run that started last."""
        raise NotImplementedError

    def list(self, job: str | None = None, limit: int = 50) -> "list[RunRecord]":
        """The last runs, newest first."""
        raise NotImplementedError
