"""Variants from templates and transformations: the same bytes for a seed, on every machine.

What a case gets depends on the seed, its id, question and baseline, not on the other cases of its dataset or
on the variants it has. Making them again with the same seed adds nothing.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tracehooks.errors import ConfigurationError
from tracehooks.noise import claims, surface
from tracehooks.noise.cases import NoiseCase, NoiseVariant, content_hash
from tracehooks.noise.dice import Dice
from tracehooks.noise.messages import question_of, with_question

SAID = {
    "misinformation": claims.misinformation,
    "distractors": claims.distractors,
    "adversarial": claims.adversarial,
}
"""Noise that is said beside the question, and can sit in any carrier."""

CHANGED: dict[str, Callable[[str, Dice], str | None]] = {
    "typos": surface.typos,
    "casing": surface.casing,
    "whitespace": surface.whitespace,
    "lookalikes": surface.lookalikes,
    "reordered": claims.reordered,
    "padded": claims.padded,
}
"""Noise that changes the question itself."""

TYPES = (*SAID, *CHANGED)
"""Every noise type that can be generated."""

GENERATED = "generated"
VERSION = 1  # part of the provenance: another version may make other variants of the same seed
TRIES = 8  # draws for each variant wanted, since some come twice


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """The new ``variants`` of a case, and the noise types of which none could be made."""

    variants: tuple[NoiseVariant, ...]
    impossible: tuple[str, ...]


def generate_variants(
    case: NoiseCase,
    *,
    seed: int,
    noise_types: Sequence[str] = TYPES,
    per_type: int = 1,
    carrier: str = "query",
) -> Generated:
    """Up to ``per_type`` variants of each of the ``noise_types``, without those that ``case`` has already.

    ``carrier`` says where said noise sits; noise that changes the question is always in the query. Raises
    ConfigurationError for a noise type that cannot be generated.
    """
    for name in noise_types:
        if name not in TYPES:
            raise ConfigurationError(f"noise type {name!r} cannot be generated; known are {', '.join(TYPES)}")
    there = {same_noise(variant) for variant in case.variants}
    new: list[NoiseVariant] = []
    impossible = []
    for name in noise_types:
        made = _made(case, name, seed, per_type, carrier)
        if not made:
            impossible.append(name)
        for variant in made:
            if same_noise(variant) not in there:
                there.add(same_noise(variant))
                new.append(variant)
    return Generated(variants=tuple(new), impossible=tuple(impossible))


def same_noise(variant: NoiseVariant) -> str:
    """What is equal for variants that ask the same, whatever they are called."""
    return content_hash([variant.carrier, variant.content])


def free_id(noise_type: str, content: Any, taken: Collection[str] = ()) -> str:
    """An id for a variant that is the same whenever its content is."""
    digits = content_hash(content)
    return next(name for n in range(6, 17) if (name := f"{noise_type}-{digits[:n]}") not in taken or n == 16)


def _made(case: NoiseCase, noise_type: str, seed: int, wanted: int, carrier: str) -> list[NoiseVariant]:
    """The first ``wanted`` different variants that the seed gives."""
    found: dict[str, NoiseVariant] = {}
    for draw in range(wanted * TRIES):
        dice = Dice("tracehooks", VERSION, seed, case.id, noise_type, draw)
        where, content = _content(case, noise_type, carrier, dice)
        if content is None or content == case.query:
            continue
        variant = NoiseVariant(
            id=free_id(noise_type, [where, content], [one.id for one in found.values()]),
            noise_type=noise_type,
            content=content,
            carrier=where,
            tags=(GENERATED,),
            provenance={"by": "tracehooks variants generate", "version": VERSION, "seed": seed},
        )
        found.setdefault(same_noise(variant), variant)
        if len(found) == wanted:
            break
    return list(found.values())


def _content(case: NoiseCase, noise_type: str, carrier: str, dice: Dice) -> tuple[str, Any]:
    """Where the noise sits, and the variant's content; None when there is nothing to change."""
    if noise_type in CHANGED:
        change = CHANGED[noise_type]
        changed = change(question_of(case.query), dice)
        return "query", None if changed is None else with_question(case.query, lambda _text: changed)
    noise = SAID[noise_type](case.question, case.baseline, dice)
    if carrier != "query":
        return carrier, noise
    return "query", with_question(case.query, partial(_beside, noise, first=dice.chance(0.5)))


def _beside(noise: str, question: str, *, first: bool) -> str:
    return f"{noise} {question}" if first else f"{question} {noise}"
