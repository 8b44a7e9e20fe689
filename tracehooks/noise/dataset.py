"""A dataset: noise cases under one name, what it holds, and the hash that says it is still the same."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tracehooks.noise.cases import NoiseCase, NoiseVariant, content_hash


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Noise cases under one ``name``. ``path`` is the file they come from; None when there is none."""

    name: str
    cases: tuple[NoiseCase, ...] = ()
    description: str = ""
    path: Path | None = None

    @property
    def hash(self) -> str:
        """The content hash: 16 hex digits.

        It stays the same whatever the file's format, order, comments, description and provenance, and
        changes with anything that decides what is asked or how it is judged.
        """
        return content_hash(sorted((case.meaning for case in self.cases), key=lambda one: str(one["id"])))

    def case(self, case_id: str) -> NoiseCase | None:
        """The case of this id; None when there is none."""
        return next((case for case in self.cases if case.id == case_id), None)

    def rows(self) -> Iterator[tuple[NoiseCase, NoiseVariant]]:
        """What a replay asks: every variant of every case that is not archived."""
        for case in self.cases:
            if not case.archived:
                yield from ((case, variant) for variant in case.variants)

    @property
    def noise_types(self) -> tuple[str, ...]:
        """The noise types that a replay covers, in alphabetical order."""
        return tuple(sorted({variant.noise_type for _, variant in self.rows()}))

    def filtered(
        self,
        *,
        cases: Collection[str] | None = None,
        tags: Collection[str] | None = None,
        noise_types: Collection[str] | None = None,
    ) -> "Dataset":
        """The cases of these ids, with any of these tags, and their variants of these noise types.

        A tag counts whether it is the case's or the variant's. None leaves that choice open.
        """

        def wanted(case: NoiseCase, variant: NoiseVariant) -> bool:
            tagged = tags is None or bool({*case.tags, *variant.tags} & set(tags))
            return tagged and (noise_types is None or variant.noise_type in noise_types)

        kept = (case for case in self.cases if cases is None or case.id in cases)
        return replace(self, cases=tuple(one for case in kept if (one := _reduced(case, wanted)).variants))

    @property
    def emptiness(self) -> str:
        """Why there is nothing to replay, in a few words; an empty text when there is something."""
        if next(self.rows(), None) is not None:
            return ""
        if not self.cases:
            return f"the dataset {self.name} holds no cases"
        if all(case.archived for case in self.cases):
            return f"all {len(self.cases)} cases of the dataset {self.name} are archived"
        return f"no case of the dataset {self.name} has a variant; `tracehooks variants generate` makes some"


def _reduced(case: NoiseCase, wanted: Callable[[NoiseCase, NoiseVariant], bool]) -> NoiseCase:
    return replace(case, variants=tuple(variant for variant in case.variants if wanted(case, variant)))


def changed_cases(before: Dataset, after: Dataset) -> dict[str, str]:
    """The ids of cases that differ: ``added``, ``removed`` or ``changed``."""
    old, new = ({case.id: case.hash for case in one.cases} for one in (before, after))
    found = dict.fromkeys(sorted(new.keys() - old.keys()), "added")
    found |= dict.fromkeys(sorted(old.keys() - new.keys()), "removed")
    return found | {name: "changed" for name in sorted(old.keys() & new.keys()) if old[name] != new[name]}
