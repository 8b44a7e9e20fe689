"""Judging a reference's stored answers again, with today's judge: the agent is not asked.

It is for a judge, prompt or scorer that has changed. Where a dataset has changed too, other questions were
answered, and only new runs help.
"""

import asyncio
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tracehooks.errors import ConfigurationError
from tracehooks.noise.cases import NoiseCase, NoiseVariant
from tracehooks.noise.dataset import Dataset
from tracehooks.noise.rows import NoiseRow
from tracehooks.protocols import Scorer
from tracehooks.records import AgentCall
from tracehooks.reference.conditions import Conditions
from tracehooks.reference.reference import Reference, ReferenceRow

Asked = Mapping[tuple[str, str], tuple[NoiseCase, NoiseVariant]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejudging:
    """Who judges what again, and when. ``conditions`` are those of today's scorer.

    ``progress(done, total)`` is called after each answer.
    """

    scorer: Scorer
    conditions: Conditions
    by: str
    at: datetime
    concurrency: int = 16
    progress: Callable[[int, int], None] = lambda done, total: None


async def rejudge(reference: Reference, datasets: Sequence[Dataset], how: Rejudging) -> Reference:
    """``reference`` with all its answers judged again, not stored. Rows without an answer stay as they are.

    Raises ConfigurationError when a dataset is not there, or not what it was.
    """
    asked = asked_of(reference, datasets)
    slots, done = asyncio.Semaphore(how.concurrency), itertools.count(1)

    async def one(row: ReferenceRow) -> ReferenceRow:
        async with slots:
            judged = await _judged(row, asked, how.scorer)
        how.progress(next(done), len(reference.rows))
        return judged

    rows = await asyncio.gather(*(one(row) for row in reference.rows))
    return replace(
        reference,
        conditions=how.conditions,
        rows=tuple(rows),
        blessed_at=how.at,
        blessed_by=how.by,
        origin="rejudged",
        parent=reference.id,
        number=0,
    )


def asked_of(reference: Reference, datasets: Sequence[Dataset]) -> Asked:
    """(case, variant) as in the reference's rows -> what was asked.

    Raises ConfigurationError when a dataset is not there, or not what it was.
    """
    known = {dataset.name: dataset for dataset in datasets}
    found: dict[tuple[str, str], tuple[NoiseCase, NoiseVariant]] = {}
    several = len(reference.conditions.datasets) > 1
    for name, before in reference.conditions.datasets.items():
        if name not in known:
            raise ConfigurationError(f"the dataset {name} of the reference is not among jobs.noise.datasets")
        rows = list(_rows(known[name], reference, several=several))
        if known[name].hash != before and _part(known[name], rows).hash != before:
            raise ConfigurationError(
                f"the dataset {name} is not what the reference was made with ({before}), so its answers are "
                "to other questions; bless new runs with `tracehooks reference bless`"
            )
        found |= {(key, variant.id): (case, variant) for key, case, variant in rows}
    return found


def _rows(
    dataset: Dataset, reference: Reference, *, several: bool
) -> Iterator[tuple[str, NoiseCase, NoiseVariant]]:
    """What of ``dataset`` is in the reference: a run may have been of some noise types only."""
    wanted = {(one.row.case, one.row.variant) for one in reference.rows}
    for case, variant in dataset.rows():
        key = f"{dataset.name}/{case.id}" if several else case.id
        if (key, variant.id) in wanted:
            yield key, case, variant


def _part(dataset: Dataset, rows: Sequence[tuple[str, NoiseCase, NoiseVariant]]) -> Dataset:
    kept: dict[str, list[NoiseVariant]] = {}
    for _, case, variant in rows:
        kept.setdefault(case.id, []).append(variant)
    cases = (case for case in dataset.cases if case.id in kept)
    return replace(dataset, cases=tuple(replace(case, variants=tuple(kept[case.id])) for case in cases))


async def _judged(one: ReferenceRow, asked: Asked, scorer: Scorer) -> ReferenceRow:
    found = asked.get((one.row.case, one.row.variant))
    if one.answer is None or found is None:
        return one
    case, variant = found
    call = AgentCall(input=case.text_for(variant), output=one.answer, metadata=case.metadata_for(variant))
    score = await scorer.score(call)
    old = one.row
    row = NoiseRow.of(
        score,
        case=old.case,
        variant=old.variant,
        noise_type=old.noise_type,
        repeat=old.repeat,
        min_score=old.min_score,
    )
    return replace(one, row=row)
