"""What a replay asks: each variant of each case, so many times; or the clean questions."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tracehooks.noise.cases import Planted, Query
from tracehooks.noise.dataset import Dataset

CLEAN = "clean"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One question to an agent. ``variant`` is None for the clean one, whose ``noise_type`` is ``clean``.

    ``metadata`` is what the noise scorers look for in a call's, see :meth:`NoiseCase.metadata_for`; ``text``
    is question and noise in one, for a judge or a person. ``repeat`` counts from 0.
    """

    dataset: str
    case: str
    variant: str | None
    noise_type: str
    repeat: int
    input: Query
    text: str = ""
    planted: Planted | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    min_score: float | None = None

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What tells it from the others of a run: dataset, case, variant (or ""), repeat."""
        return self.dataset, self.case, self.variant or "", self.repeat

    @property
    def labels(self) -> dict[str, Any]:
        """Which question it is, as the metadata of its trace and its scores."""
        return {
            "dataset": self.dataset,
            "case": self.case,
            "variant": self.variant,
            "noise_type": self.noise_type,
            "repeat": self.repeat,
        }


def asks_of(datasets: Iterable[Dataset], repeats: int) -> Iterator[Ask]:
    """Every variant of the ``datasets``, ``repeats`` times each, one round after the other."""
    listed = list(datasets)
    for repeat in range(repeats):
        for dataset in listed:
            for case, variant in dataset.rows():
                yield Ask(
                    dataset=dataset.name,
                    case=case.id,
                    variant=variant.id,
                    noise_type=variant.noise_type,
                    repeat=repeat,
                    input=case.input_for(variant),
                    text=case.text_for(variant),
                    planted=variant.planted,
                    metadata=case.metadata_for(variant),
                    min_score=case.min_score_for(variant),
                )


def clean_asks(datasets: Iterable[Dataset], repeats: int = 1) -> Iterator[Ask]:
    """The clean question of every case that is not archived, ``repeats`` times each."""
    listed = list(datasets)
    for repeat in range(repeats):
        for dataset in listed:
            for case in dataset.cases:
                if not case.archived:
                    yield Ask(
                        dataset=dataset.name,
                        case=case.id,
                        variant=None,
                        noise_type=CLEAN,
                        repeat=repeat,
                        input=case.query,
                        text=case.question,
                        min_score=case.min_score,
                    )
