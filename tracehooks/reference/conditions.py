"""The conditions of a noise run: all that must be the same before two runs' scores may be compared.

They stand in ``run.plan``::

    agent            the agent's name             agent_version   may differ: it is what is tested
    datasets         {name: content hash}         score_name      scorer_version (prompt, judge, options)
    judge_model      None where no judge is asked prompt_hash     None where no judge is asked
    repeats          answers to each variant      project         whose run it is
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

UNKNOWN = "none"
SIDES = ("the reference", "this run")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What was asked, of whom, and how it was judged. ``datasets`` maps a dataset's name to its hash."""

    agent: str
    score_name: str
    agent_version: str | None = None
    datasets: Mapping[str, str] = field(default_factory=dict)
    judge_model: str | None = None
    prompt_hash: str | None = None
    scorer_version: str | None = None

    @classmethod
    def of(cls, plan: Mapping[str, Any]) -> "Conditions":
        """The conditions that a run's plan, or a stored reference, states."""
        return cls(
            agent=str(plan.get("agent") or ""),
            score_name=str(plan.get("score_name") or ""),
            agent_version=plan.get("agent_version"),
            datasets=dict(plan.get("datasets") or {}),
            judge_model=plan.get("judge_model"),
            prompt_hash=plan.get("prompt_hash"),
            scorer_version=plan.get("scorer_version"),
        )

    def as_dict(self) -> dict[str, Any]:
        """As JSON-ready values; :meth:`of` reads them back."""
        return asdict(self)

    @property
    def judging(self) -> tuple[str | None, ...]:
        """What stored answers can be judged again with: judge model, prompt and scorer."""
        return self.judge_model, self.prompt_hash, self.scorer_version


def is_of(project: str, plan: Mapping[str, Any]) -> bool:
    """Whether a run with this plan is the project's; one that does not say, from before runs did, is."""
    return bool(plan.get("project", project) == project)


def unlike(before: Conditions, now: Conditions, sides: tuple[str, str] = SIDES) -> list[str]:
    """What differs, a sentence each that names it first; empty when scores may be compared.

    The agent's version is free to differ. ``sides`` is what the two are called.
    """
    found = [
        _changed(words, getattr(before, name), getattr(now, name), sides)
        for name, words in _NAMES.items()
        if getattr(before, name) != getattr(now, name)
    ]
    return [*_datasets(before.datasets, now.datasets, sides), *found]


_NAMES = {
    "agent": "agent",
    "score_name": "score",
    "judge_model": "judge model",
    "prompt_hash": "prompt hash",
    "scorer_version": "scorer version",
}


def _datasets(before: Mapping[str, str], now: Mapping[str, str], sides: tuple[str, str]) -> list[str]:
    found = [f"dataset {name}: not in {sides[1]}" for name in sorted(before.keys() - now.keys())]
    found += [f"dataset {name}: not in {sides[0]}" for name in sorted(now.keys() - before.keys())]
    return found + [
        _changed(f"dataset hash of {name}", before[name], now[name], sides)
        for name in sorted(before.keys() & now.keys())
        if before[name] != now[name]
    ]


def _changed(words: str, before: Any, now: Any, sides: tuple[str, str]) -> str:
    return f"{words}: {before or UNKNOWN} in {sides[0]}, {now or UNKNOWN} in {sides[1]}"
