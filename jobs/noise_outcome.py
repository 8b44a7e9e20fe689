"""What comes of a noise run: its verdict in words, its counts, and the state that it ends in."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tracehooks.jobs.noise_report import first_errors
from tracehooks.records import Reason, Verdict
from tracehooks.reference import Reference
from tracehooks.replay.rows import ReplayAnswer
from tracehooks.replay.work import HOPELESS
from tracehooks.scoring import Tally
from tracehooks.scoring.coordinator import stopped_words
from tracehooks.store.replays import ReplayCounts

if TYPE_CHECKING:  # the statistics need numpy and scipy
    from tracehooks.noise import NoiseRuling


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseOutcome:
    """All that the end of a run depends on: the ruling on its rows, and how far agent and judge came.

    ``left`` counts answers that are not judged. ``unlike`` is what keeps it from being compared with the
    ``reference`` in force, ``shift`` what makes the judge another than it was.
    """

    ruling: "NoiseRuling"
    answers: Sequence[ReplayAnswer]
    replays: ReplayCounts
    left: int
    tally: Tally
    reference: Reference | None = None
    unlike: tuple[str, ...] = ()
    shift: str | None = None

    @property
    def is_agent_down(self) -> bool:
        """Whether the agent was asked and never answered."""
        return self.replays.agent_errors > 0 and not self.replays.answered

    @property
    def verdict(self) -> Verdict:
        """The ruling's, unless there was nobody to rule on, or nothing that may be compared or believed."""
        undecided = self.shift or self.unlike or self.is_agent_down
        return Verdict.INCONCLUSIVE if undecided else self.ruling.verdict

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why, the most important first; each begins with a word for programs."""
        shift = [self.shift] if self.shift else []
        unlike = [*shift, *(f"incomparable: {one}" for one in self.unlike)]
        agent = [self._agent] if self.replays.agent_errors else []
        judge = [self._judge] if self.tally.stopped else []
        if self.is_agent_down:
            return (*unlike, *agent, *self._in_short, *judge)
        return (*unlike, *self._in_short, *agent, *judge)

    @property
    def told(self) -> "NoiseRuling":
        """The ruling with verdict, reasons and notes of the run."""
        notes = (*self.ruling.notes, *self._unreached)
        return replace(self.ruling, verdict=self.verdict, reasons=self.reasons, notes=notes)

    @property
    def state(self) -> str:
        """The state that the run ends in."""
        if self.tally.stopped is Reason.TIMEOUT:
            return "timed_out"
        return "failed" if self.left or self.replays.waiting else "finished"

    @property
    def counts(self) -> dict[str, Any]:
        """Two sums: planned = answered + agent_errors + not_attempted = scored + unscored + skipped."""
        rows, replays = self.ruling.rows, self.replays
        return {
            "planned": replays.planned,
            "answered": replays.answered,
            "agent_errors": replays.agent_errors,
            "not_attempted": replays.not_attempted,
            "scored": rows.scored,
            "unscored": dict(rows.unscored),
            "skipped": dict(rows.skipped),
        }

    @property
    def reference_dict(self) -> dict[str, Any] | None:
        """The reference in force, JSON-ready."""
        if self.reference is None:
            return None
        return {
            "id": self.reference.id,
            "number": self.reference.number,
            "blessed_at": self.reference.blessed_at.isoformat(),
            "runs": list(self.reference.runs),
            "candidates": len(self.reference.candidates),
            "differences": list(self.unlike),
        }

    @property
    def _agent(self) -> str:
        asked = self.replays.answered + self.replays.agent_errors
        down = f", and it is asked no more after {HOPELESS} in a row"
        stopped = down if self.is_agent_down and self.replays.waiting else ""
        how_many = f"{self.replays.agent_errors} of {asked} calls failed"
        return f"agent: {how_many}{stopped}; the first: {first_errors(self.answers)}"

    @property
    def _unreached(self) -> Sequence[str]:
        found = [one.why for one in self.answers if one.replay.reason is Reason.NOT_APPLICABLE]
        how_many = f"{len(found)} of {len(self.answers)} answers are not judged"
        return [f"unreached: {how_many}; the first: {found[0]}"] if found else []

    @property
    def _judge(self) -> str:
        if self.tally.stopped is not Reason.TIMEOUT:
            return stopped_words(self.tally.stopped)
        left = self.left + self.replays.waiting
        return f"time_limit: stopped with {left} questions left; `tracehooks resume` goes on"

    @property
    def _in_short(self) -> Sequence[str]:
        """The reasons of the types that did not pass; one sentence where all did."""
        ruling = self.ruling
        if not ruling.types:
            return ruling.reasons
        if ruling.open_reasons:
            return ruling.open_reasons
        held = "reaches its minimums"
        if any(one.comparison for one in ruling.types):
            held += " and holds against the reference"
        scored = f"{ruling.rows.scored} of {ruling.rows.wanted} answers scored"
        n = len(ruling.types)
        which = "the one noise type" if n == 1 else f"each of {n} noise types"
        return [f"noise: {which} {held}, {scored}"]
