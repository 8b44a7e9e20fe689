"""Noise in what is said around a question: false claims, irrelevant stories, attempts to take over."""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

import yaml

from tracehooks.facts.quantities import quantities
from tracehooks.noise.dice import Dice

_SENTENCE = re.compile(r"(?<=[.!?…])[\"'”’)]*\s+")
_LONG = re.compile(r"[^\W\d_]{4,}")
_FACTORS = (2.0, 3.0, 0.5, 1.5, 4.0)


def misinformation(question: str, baseline: str | None, dice: Dice) -> str:
    """A false claim: the sentence of the right answer that fits best, with another figure; or a rumour."""
    found = templates()["misinformation"]
    right = {value for one in quantities(baseline or "") for value in one.values}
    for sentence in sorted(sentences(baseline or ""), key=lambda one: -_shared(question, one)):
        if claims := _falsified(sentence, right, dice):
            source: str = dice.pick(found["sources"])
            return source.format(claim=dice.pick(claims))
    rumour: str = dice.pick(found["rumours"])
    return rumour


def distractors(_question: str, _baseline: str | None, dice: Dice) -> str:
    """One or two sentences that have nothing to do with the question."""
    return " ".join(dice.sample(templates()["distractors"], 1 + dice.below(2)))


def adversarial(question: str, _baseline: str | None, dice: Dice) -> str:
    """An attempt to make the agent do something else."""
    attempt: str = dice.pick(templates()["adversarial"])
    return attempt


def reordered(question: str, dice: Dice) -> str | None:
    """The question's sentences in another order; a question of one sentence stands before or among others."""
    own = sentences(question)
    whole = own if len(own) > 1 else [*own, *dice.sample(templates()["context"], 2)]
    for _ in range(20):
        order = dice.shuffled(whole)
        if order[-1] != own[-1]:
            return " ".join(order)
    return None


def padded(question: str, dice: Dice) -> str | None:
    """The question between two long stretches of something else."""
    before, after = dice.pick(templates()["padding"]["before"]), dice.pick(templates()["padding"]["after"])
    return f"{before}\n\n{question}\n\n{after}"


def sentences(text: str) -> list[str]:
    """The sentences of ``text``."""
    return [part.strip() for part in _SENTENCE.split(text.strip()) if part.strip()]


@cache
def templates() -> Mapping[str, Any]:
    """The lists that noise is made of, from ``config/noise/templates.yaml``."""
    text = (resources.files("tracehooks.config") / "noise" / "templates.yaml").read_text(encoding="utf-8")
    found: Mapping[str, Any] = yaml.safe_load(text)
    return found


def _shared(question: str, sentence: str) -> int:
    """How many longer words the two have in common, by their beginnings."""
    asked, said = ({word[:5] for word in _LONG.findall(text.casefold())} for text in (question, sentence))
    return len(asked & said)


def _falsified(sentence: str, right: Collection[float], dice: Dice) -> Sequence[str]:
    """``sentence`` with one figure made wrong, once for each that it has; never made a ``right`` one."""
    if len(sentence.casefold()) != len(sentence):
        return ()  # places would not be the same
    claims = []
    for one in quantities(sentence):
        if len(one.values) > 1 or not _alone(sentence, one.start, one.end):
            continue
        wrong = {_round(one.values[0] * factor) for factor in _FACTORS} - {0.0, *right}
        if wrong:
            claims.append(sentence[: one.start] + _written(dice.pick(sorted(wrong))) + sentence[one.end :])
    return claims


def _alone(sentence: str, start: int, end: int) -> bool:
    """Whether a figure is one by itself: no part of a phone number, a time or a version."""
    around = sentence[max(0, start - 2) : start] + " " + sentence[end : end + 2]
    return not re.search(r"\d|[:/]", around) and not re.match(r"0\d|\d+\.\d+\.", sentence[start:])


def _round(value: float) -> float:
    return round(value, 2) if value < 10 and value != int(value) else float(round(value))


def _written(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:.2f}"
