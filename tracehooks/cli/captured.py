"""What an agent answered to clean questions, and storing it as the cases' baselines."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from tracehooks.cli.progress import progress
from tracehooks.masking import SECRET_PATTERNS, masker
from tracehooks.noise.cases import NoiseCase
from tracehooks.noise.dataset import Dataset
from tracehooks.noise.writing import set_baselines
from tracehooks.settings import Settings

BY = "tracehooks baseline capture"
State = Literal["new", "same", "differs", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """What came of one clean question: ``answer``, or ``problem`` when it cannot be a baseline."""

    dataset: Dataset
    case: NoiseCase
    answer: str = ""
    problem: str = ""

    @property
    def state(self) -> State:
        """``differs`` from the baseline that is there, is the ``same``, is ``new``, or ``failed``."""
        if self.problem:
            return "failed"
        if self.case.baseline is None:
            return "new"
        return "same" if self.case.baseline == self.answer else "differs"

    def written(self, *, overwrite: bool) -> bool:
        """Whether it goes into the file."""
        return self.state == "new" or (overwrite and self.state == "differs")


def ask_clean(
    settings: Settings, wanted: Sequence[tuple[Dataset, NoiseCase]], name: str | None
) -> tuple[list[Captured], dict[str, Any]]:
    """What came of each case, and who was asked."""
    from tracehooks.jobs.noise_setup import chosen_agent
    from tracehooks.replay import clean_asks, driving, replay

    agent = chosen_agent(settings, name)
    mask = masker((*SECRET_PATTERNS, *settings.mask.patterns))
    chosen = {(dataset.name, case.id): (dataset, case) for dataset, case in wanted}
    datasets = dict.fromkeys(dataset.name for dataset, _ in wanted)
    known = {dataset.name: dataset for dataset, _ in wanted}
    asks = [ask for ask in clean_asks(known[one] for one in datasets) if (ask.dataset, ask.case) in chosen]
    done = 0
    with driving(settings, agent) as driver, progress("asking") as report:

        def count_it(_reply: Any) -> None:
            nonlocal done
            done += 1
            report(done, len(asks))

        concurrency = settings.jobs.noise.concurrency
        replies = asyncio.run(replay(asks, driver, concurrency=concurrency, on_reply=count_it))
    found = []
    for reply in replies:
        dataset, case = chosen[reply.ask.dataset, reply.ask.case]
        answer = mask(reply.answer or "")
        found.append(
            Captured(dataset=dataset, case=case, answer=answer, problem=_problem(case, answer, reply.error))
        )
    return found, {"name": agent.name, "version": agent.version}


def _problem(case: NoiseCase, answer: str, error: str | None) -> str:
    """Why the answer cannot be a baseline; empty when it can."""
    if error is not None:
        return f"the agent failed: {error}"
    if not answer.strip():
        return "the agent said nothing"
    findings = case.facts.check(answer)
    leaked = [f"{canary[:4]}..." for canary in findings.leaked]
    said = {"missing": findings.missing, "must not be said": findings.forbidden, "leaked": leaked}
    wrong = "; ".join(f"{what}: {', '.join(map(str, facts))}" for what, facts in said.items() if facts)
    return f"the answer fails the facts that the case declares ({wrong})" if wrong else ""


def store_baselines(found: Sequence[Captured], asked: Mapping[str, Any], *, overwrite: bool) -> None:
    """Write what is new into the files; with ``overwrite`` what differs too."""
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    for dataset in {one.dataset.name: one.dataset for one in found}.values():
        new = {
            one.case.id: (one.answer, _source(one, asked, now))
            for one in found
            if one.dataset is dataset and one.written(overwrite=overwrite)
        }
        if new:
            set_baselines(dataset.path or Path(dataset.name), new)


def _source(one: Captured, asked: Mapping[str, Any], now: str) -> dict[str, Any]:
    """Where a baseline comes from; ``before`` is what it replaced."""
    version = {"version": asked["version"]} if asked["version"] else {}
    before = {} if one.case.baseline is None else {"before": one.case.baseline}
    return {
        "by": BY,
        "agent": asked["name"],
        **version,
        "dataset_hash": one.dataset.hash,
        "captured": now,
        **before,
    }
