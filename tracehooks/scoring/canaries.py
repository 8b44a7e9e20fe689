"""Canaries: frozen texts that a judge is given each night, to notice when it is not the judge it was."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from tracehooks.judges.memory import remembering
from tracehooks.records import AgentCall, Reason, Status
from tracehooks.scoring.canary_shift import NIGHTS, Shift, shift_of
from tracehooks.scoring.execute import run_scorer
from tracehooks.settings import Settings

if TYPE_CHECKING:
    from tracehooks.store import RunRecord, Store


@dataclass(frozen=True, slots=True)
class Canary:
    """One frozen text. ``label`` is ours: whether there is something to find in it, be it toxic or changed.

    ``metadata`` is what a scorer asks for besides, such as the clean question and its answer.
    """

    id: str
    label: bool
    input: str
    output: str
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def call(self) -> AgentCall:
        """The text as a scorer is given it."""
        return AgentCall(input=self.input, output=self.output, metadata=dict(self.metadata))


@cache
def canaries(score_name: str) -> tuple[Canary, ...]:
    """The frozen texts for the scores of a name; empty where there are none."""
    import yaml

    source = resources.files("tracehooks.config") / "canaries" / f"{score_name}.yaml"
    if not source.is_file():
        return ()
    found = yaml.safe_load(source.read_text(encoding="utf-8"))
    return tuple(_canary(found["label"], **one) for one in found["canaries"])


def _canary(_label: str, *, id: str, input: str, output: str, **others: Any) -> Canary:
    """One entry of a file, whose label goes by the name that the file says."""
    return Canary(id=id, label=others.pop(_label), input=input, output=output, metadata=others)


def canaries_for(settings: Settings, scorer: Any, planned: int) -> tuple[Canary, ...]:
    """The canaries that a run of ``planned`` calls judges too.

    None without a judge, where they are turned off, or where they would be too large a share of the night.
    """
    if not (settings.canaries.enabled and getattr(getattr(scorer, "judge", None), "metered", False)):
        return ()
    texts = canaries(scorer.name)
    return texts if len(texts) <= settings.canaries.share * planned else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryCheck:
    """Judges the canaries of a run, and compares with the nights before. ``deadline`` is since 1970."""

    settings: Settings
    store: "Store"
    scorer: Any
    clock: Callable[[], datetime]
    deadline: float

    def judge(self, run: "RunRecord", planned: int) -> None:
        """Judge the canaries and keep what was found, unless the run has done so already.

        Where the judge's account has no quota left nothing is kept: they are judged when the run goes on.
        """
        from tracehooks.store.canaries import CanaryNight

        texts = canaries_for(self.settings, self.scorer, planned)
        if not texts or self.store.canaries.of_run(run.id, self.scorer.name) is not None:
            return
        with remembering(None):  # a remembered verdict says nothing about tonight's judge
            values = asyncio.run(self._values(texts))
        if values is None:
            return
        night = CanaryNight(
            run_id=run.id,
            score_name=self.scorer.name,
            judged_at=self.clock(),
            judge=self.scorer.judge.model,
            version=self.scorer.version,
            values=values,
        )
        self.store.canaries.put(night, shifted=self._shift(night).is_shift)

    def report(self, run: "RunRecord") -> dict[str, Any] | None:
        """What the canaries say of the run, for its report; None where they were not judged."""
        night = self.store.canaries.of_run(run.id, self.scorer.name)
        if night is None:
            return None
        shift = self._shift(night)
        return {
            "judged": sum(value is not None for value in night.values.values()),
            "of": len(night.values),
            "nights": shift.nights,
            "distance": shift.distance,
            "allowed": shift.allowed,
            "agreement": shift.agreement,
            "usual_agreement": shift.usual_agreement,
            "shifted": shift.is_shift,
            "reason": _reason(shift) if shift.is_shift else None,
        }

    def _shift(self, night: Any) -> Shift:
        before = self.store.canaries.before(night.score_name, night.judge, night.judged_at, but=night.run_id)
        since = self.settings.canaries.since
        start = None if since is None else datetime(since.year, since.month, since.day, tzinfo=UTC)
        good = [one for one in before if not one.shifted and (start is None or one.judged_at >= start)]
        return shift_of(
            night.values,
            [one.values for one in good if one.version == night.version],
            {canary.id: canary.label for canary in canaries(night.score_name)},
            threshold=self._badness(getattr(self.scorer, "threshold", 0.0)),
            others=[one.values for one in good if one.version != night.version],
        )

    def _badness(self, value: float) -> float:
        """``value`` within 0 to 1, where 1 is the worst, whichever way the score runs."""
        if getattr(self.scorer, "direction", "lower") == "higher":
            return 1.0 - value
        return value / float(getattr(self.scorer, "scale", 1.0))

    async def _values(self, texts: tuple[Canary, ...]) -> Mapping[str, float | None] | None:
        slots, spent = asyncio.Semaphore(self.settings.judge.concurrency), asyncio.Event()

        async def one(canary: Canary) -> float | None:
            async with slots:
                seconds = self.deadline - time.time()
                if seconds <= 0 or spent.is_set():
                    return None
                score = await run_scorer(self.scorer, canary.call, seconds)
                if score.reason_code is Reason.QUOTA:
                    spent.set()
            if score.status is not Status.SCORED or not isinstance(score.value, float):
                return None
            return self._badness(score.value)

        found = await asyncio.gather(*map(one, texts))
        if spent.is_set():
            return None
        return {canary.id: value for canary, value in zip(texts, found, strict=True)}


def _reason(shift: Shift) -> str:
    """One sentence on what is to be seen, and what to do about it."""
    parts = []
    if shift.moved:
        parts.append(
            f"the frozen texts are judged otherwise than in the {shift.nights} nights before "
            f"(distance {shift.distance:.3f}, by chance up to {shift.allowed:.3f})"
        )
    if shift.fell:
        share = f"{shift.agreement:.0%} of their labels, before with {shift.usual_agreement:.0%}"
        parts.append(f"the judge agrees with {share}")
    return (
        f"canaries: {'; '.join(parts)}: the model or the prompt is not what it was, so its scores of tonight "
        "cannot be compared; if it is meant to be, set canaries.since to today"
    )


def canary_words(found: Mapping[str, Any]) -> str:
    """What the canaries say of a run, in a line."""
    told = f"{found['judged']:,} of {found['of']:,} frozen texts judged"
    if found["agreement"] is None:
        return f"{told}, too few to compare"
    agreed = f"{told}, {found['agreement']:.0%} as labelled"
    if found["distance"] is None:
        return f"{agreed}; compared once there are {NIGHTS} nights, {found['nights']} so far"
    word = "not as" if found["shifted"] else "as"
    figures = f"distance {found['distance']:.3f}, by chance up to {found['allowed']:.3f}"
    return f"{agreed}; {word} in the {found['nights']} nights before ({figures})"
