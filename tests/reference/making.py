"""Noise runs and references for tests, without a replay."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tracehooks.noise.rows import NoiseRow
from tracehooks.records import Reason
from tracehooks.reference import ReferenceRow
from tracehooks.store import RunRecord, Store

START = datetime(2026, 11, 30, 2, tzinfo=UTC)
PLAN = {
    "agent": "support",
    "agent_version": "1",
    "datasets": {"help-desk": "aaaa"},
    "cases": {"help-desk": {"q0": "c"}},
    "score_name": "noise_facts",
    "scorer_version": "v1",
    "judge_model": None,
    "prompt_hash": None,
    "repeats": 3,
}


class Runs:
    """Finished noise runs with the rows of each, as ``rows_of`` hands them over."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.rows: dict[str, list[ReferenceRow]] = {}

    def add(self, day: int, value: float | Reason = 1.0, **plan: Any) -> RunRecord:
        """The run of this day, whose rows all have this value."""
        at = START + timedelta(days=day)
        full = {**PLAN, **plan}
        run = self.store.runs.open("noise", at, at + timedelta(minutes=1), full)
        run = self.store.runs.update(run.id, state="finished", started=at, ended=at + timedelta(minutes=1))
        self.rows[run.id] = [
            ReferenceRow(row=row, answer="24 months") for row in rows(value, full["repeats"])
        ]
        return run

    def rows_of(self, run: RunRecord) -> Sequence[ReferenceRow]:
        """The rows of ``run``."""
        return self.rows[run.id]


def rows(value: float | Reason = 1.0, repeats: int = 3, cases: int = 3) -> list[NoiseRow]:
    """The rows of a run of ``cases`` cases with one variant of each of two noise types."""
    return list(_rows(value, repeats, cases))


def _rows(value: float | Reason, repeats: int, cases: int) -> Iterator[NoiseRow]:
    found: Mapping[str, Any] = {"reason": value} if isinstance(value, Reason) else {"value": value}
    for case in range(cases):
        for noise_type in ("distractors", "misinformation"):
            for repeat in range(repeats):
                yield NoiseRow(
                    case=f"q{case}", variant=noise_type, noise_type=noise_type, repeat=repeat, **found
                )
