"""What a noise night is about: the datasets that it asks, cut down by filters, and the agent that it asks."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracehooks.errors import ConfigurationError
from tracehooks.noise.dataset import Dataset
from tracehooks.noise.reading import read_datasets
from tracehooks.replay.agents import Agent, load_agent
from tracehooks.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which datasets (names or files), cases, tags and noise types are asked; None leaves a choice open."""

    datasets: Sequence[str] | None = None
    cases: Sequence[str] | None = None
    tags: Sequence[str] | None = None
    types: Sequence[str] | None = None

    @property
    def filters(self) -> dict[str, list[str]]:
        """The choices that were made, JSON-ready."""
        given = {"datasets": self.datasets, "cases": self.cases, "tags": self.tags, "types": self.types}
        return {name: list(values) for name, values in given.items() if values is not None}

    @classmethod
    def of(cls, filters: dict[str, Any]) -> "Selection":
        """What :attr:`filters` were made of."""
        return cls(**{name: tuple(values) for name, values in filters.items()})


@dataclass(frozen=True, slots=True)
class Chosen:
    """The datasets with what is asked of them, and, where that is nothing, ``emptiness``: why."""

    datasets: tuple[Dataset, ...]
    emptiness: str = ""

    @property
    def hashes(self) -> dict[str, str]:
        """The content hash of each dataset, of what is asked alone."""
        return {dataset.name: dataset.hash for dataset in self.datasets}

    @property
    def cases(self) -> dict[str, dict[str, str]]:
        """The content hash of each case, by dataset."""
        return {one.name: {case.id: case.hash for case in one.cases} for one in self.datasets}


def chosen_datasets(settings: Settings, selection: Selection, root: str | Path = ".") -> Chosen:
    """The datasets of the settings, or those selected, without what the filters leave out.

    Raises ConfigurationError for a file that cannot be read, and for a name that no dataset has.
    """
    patterns = settings.jobs.noise.datasets
    listed = _selected(patterns, selection.datasets, root)
    if not listed:
        return Chosen((), f"no file matches {', '.join(patterns)} (jobs.noise.datasets)")
    kept = tuple(
        one.filtered(cases=selection.cases, tags=selection.tags, noise_types=selection.types)
        if selection.filters.keys() - {"datasets"}
        else one
        for one in listed
    )
    asked = tuple(one for one in kept if next(one.rows(), None) is not None)
    return Chosen(asked) if asked else Chosen((), _emptiness(listed, selection))


def _selected(patterns: Sequence[str], wanted: Sequence[str] | None, root: str | Path) -> list[Dataset]:
    if wanted is None:
        return read_datasets(patterns, root)
    files = [one for one in wanted if _is_file(one)]
    found = read_datasets(files, root) if files else []
    names = [one for one in wanted if not _is_file(one)]
    known = {one.name: one for one in read_datasets(patterns, root)} if names else {}
    for name in names:
        if name not in known:
            raise ConfigurationError(
                f"there is no dataset {name!r}; known are {', '.join(sorted(known)) or 'none'} "
                "(jobs.noise.datasets), or name a file"
            )
    return [*(known[name] for name in names), *found]


def _is_file(name: str) -> bool:
    return Path(name).suffix.lower() in (".yaml", ".yml", ".json", ".jsonl", ".csv") or "/" in name


def _emptiness(listed: Sequence[Dataset], selection: Selection) -> str:
    reasons = [one.emptiness for one in listed]
    if all(reasons):
        return "; ".join(reasons)
    given = {"case": selection.cases, "tag": selection.tags, "type": selection.types}
    words = [f"{name} {', '.join(values)}" for name, values in given.items() if values is not None]
    return f"no variant of {', '.join(one.name for one in listed)} matches {' and '.join(words)}"


def chosen_agent(settings: Settings, agent: Agent | str | None) -> Agent:
    """The agent to ask: the one given, by its name in ``agents``, or the settings' own.

    Raises ConfigurationError when none is named, several are and none is chosen, or it cannot be loaded.
    """
    if isinstance(agent, Agent):
        return agent
    key, target, name = _named(settings, agent)
    job = settings.jobs.noise
    return load_agent(target, timeout=job.timeout.total_seconds(), key=key, takes=job.takes, name=name)


def _named(settings: Settings, agent: str | None) -> tuple[str, str, str | None]:
    """The settings key, the target, and the name for an agent that has none of its own."""
    known = settings.agents
    if agent is not None:
        if agent in known:
            return f"agents.{agent}", known[agent], agent
        if ":" in agent:
            return "--agent", agent, None
        raise ConfigurationError(
            f"agents: there is no agent {agent!r}; known are {', '.join(sorted(known)) or 'none'}"
        )
    if settings.agent:
        return "agent", settings.agent, None
    if len(known) == 1:
        ((name, target),) = known.items()
        return f"agents.{name}", target, name
    if known:
        raise ConfigurationError(f"agents: there are several, choose one with --agent: {', '.join(known)}")
    raise ConfigurationError(
        "agent: no agent is set, so there is nobody to ask; set it to module:function or an http address"
    )


def prompt_hash(scorer: Any) -> str | None:
    """12 hex digits of sha256 over the judge's instructions; None where no judge is asked."""
    instructions = getattr(scorer, "instructions", None)
    return None if instructions is None else hashlib.sha256(str(instructions).encode()).hexdigest()[:12]
