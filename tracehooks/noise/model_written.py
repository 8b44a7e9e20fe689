"""Variants that a model writes, each checked by a second question: is the right answer still the baseline's?

Only what passes the check is a variant. What does not goes to quarantine with its reason, where a person may
still take it out.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tracehooks.errors import ConfigurationError
from tracehooks.judges.replies import read_choice, read_text
from tracehooks.noise.cases import NOISE_TYPES, NoiseCase, NoiseVariant
from tracehooks.noise.generating import GENERATED, free_id
from tracehooks.noise.messages import with_question
from tracehooks.protocols import Answer, BadReply, Judge, Question
from tracehooks.scorers.base import object_schema, prompt_text

MODEL_WRITTEN = "model-written"
_TEXT = {"type": "string"}
_WRITTEN = object_schema({"query": _TEXT, "noise": _TEXT})
WRITER_SCHEMA = object_schema({"variants": {"type": "array", "items": _WRITTEN}})
CHECK_SCHEMA = object_schema({"same_answer": {"type": "string", "enum": ["yes", "no"]}, "reason": _TEXT})


class Doubt(StrEnum):
    """Why a variant is in quarantine."""

    CHANGED_ANSWER = "changed_answer"
    NOT_CHECKED = "not_checked"
    NO_NOISE = "no_noise"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A variant of the case ``case`` that failed its check, or could not be checked."""

    case: str
    variant: NoiseVariant
    doubt: Doubt
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a model wrote for a case: ``variants`` to keep, others in quarantine.

    ``failures`` maps a noise type to the reason why nothing was written for it.
    """

    variants: tuple[NoiseVariant, ...]
    quarantined: tuple[Quarantined, ...]
    failures: Mapping[str, str]


async def write_variants(
    case: NoiseCase, judge: Judge, *, noise_types: Sequence[str] = NOISE_TYPES, per_type: int = 2
) -> Written:
    """Have ``judge`` write ``per_type`` variants of each of the ``noise_types``, and check each one.

    Asks one question for each noise type and one for each variant. What is there already, apart from case and
    spacing, is left out. Raises ConfigurationError for a case without a baseline: there is no answer that
    could stay right.
    """
    if case.baseline is None:
        raise ConfigurationError(
            f"the case {case.id!r} has no baseline; `tracehooks baseline capture` stores one"
        )
    answers = await asyncio.gather(*(judge.ask(_to_write(case, name, per_type)) for name in noise_types))
    failures = {
        name: f"{answer.reason}: {answer.detail}"
        for name, answer in zip(noise_types, answers, strict=True)
        if answer.reason is not None
    }
    drafts = _new(case, noise_types, answers)
    checked = await asyncio.gather(*(_checked(case, draft, judge) for draft in drafts))
    return Written(
        variants=tuple(one for one in checked if isinstance(one, NoiseVariant)),
        quarantined=tuple(one for one in checked if isinstance(one, Quarantined)),
        failures=failures,
    )


def _to_write(case: NoiseCase, noise_type: str, how_many: int) -> Question:
    return Question(
        name="write_variants",
        instructions=prompt_text("write_variants"),
        material={
            "question": case.question,
            "right_answer": case.baseline or "",
            "noise_type": noise_type,
            "how_many": str(how_many),
        },
        schema=WRITER_SCHEMA,
        read=_Reader(how_many),
    )


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads what was written: pairs of the noisy question and what its noise is, ``most`` at most."""

    most: int

    def __call__(self, reply: Any) -> list[tuple[str, str]]:
        entries = reply.get("variants")
        if not isinstance(entries, list) or not entries:
            raise BadReply("`variants` must be a list with at least one entry")
        return [self._entry(entry, f"variants[{index}]") for index, entry in enumerate(entries[: self.most])]

    def _entry(self, entry: Any, where: str) -> tuple[str, str]:
        query = read_text(entry.get("query")) if isinstance(entry, Mapping) else ""
        if not query:
            raise BadReply(f"`{where}.query` must be a text")
        return query, read_text(entry.get("noise"))


def _new(case: NoiseCase, noise_types: Sequence[str], answers: Sequence[Answer]) -> list[NoiseVariant]:
    """The variants written, without those that are there already."""
    seen = {_bare(case.text_for(variant)) for variant in case.variants}
    found = []
    for noise_type, answer in zip(noise_types, answers, strict=True):
        for query, noise in answer.value or ():
            if _bare(query) not in seen:
                seen.add(_bare(query))
                found.append(_draft(case, noise_type, query, noise, answer.model))
    return found


def _draft(case: NoiseCase, noise_type: str, query: str, noise: str, model: str | None) -> NoiseVariant:
    content = with_question(case.query, lambda _question: query)
    return NoiseVariant(
        id=free_id(noise_type, ["query", content]),
        noise_type=noise_type,
        content=content,
        tags=(GENERATED, MODEL_WRITTEN),
        provenance={"by": "tracehooks variants generate", "model": model or "unknown", "noise": noise},
    )


async def _checked(case: NoiseCase, draft: NoiseVariant, judge: Judge) -> NoiseVariant | Quarantined:
    if _bare(case.text_for(draft)) == _bare(case.question):
        return Quarantined(
            case=case.id, variant=draft, doubt=Doubt.NO_NOISE, detail="it is the clean question"
        )
    answer = await judge.ask(_to_check(case, draft))
    if answer.reason is not None:
        detail = f"{answer.reason}: {answer.detail}"
        return Quarantined(case=case.id, variant=draft, doubt=Doubt.NOT_CHECKED, detail=detail)
    same, reason = answer.value
    return (
        draft if same else Quarantined(case=case.id, variant=draft, doubt=Doubt.CHANGED_ANSWER, detail=reason)
    )


def _to_check(case: NoiseCase, draft: NoiseVariant) -> Question:
    return Question(
        name="check_variant",
        instructions=prompt_text("check_variant"),
        material={
            "question": case.question,
            "right_answer": case.baseline or "",
            "noisy_question": case.text_for(draft),
        },
        schema=CHECK_SCHEMA,
        read=_read_check,
    )


def _read_check(reply: Any) -> tuple[bool, str]:
    return read_choice(reply.get("same_answer"), "`same_answer`", ("yes", "no")) == "yes", read_text(
        reply.get("reason")
    )


def _bare(text: str) -> str:
    """``text`` without case, spacing and punctuation, to tell whether two say the same."""
    return re.sub(r"\W+", " ", text.casefold()).strip()
