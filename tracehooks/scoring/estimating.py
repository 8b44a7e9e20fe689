"""Estimating: what so many answers of a judge will take, from what its last ones took."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tracehooks.judges.prices import DOLLAR, Price, price_of
from tracehooks.records import Status
from tracehooks.settings import Settings

if TYPE_CHECKING:
    from tracehooks.store import Store

LOOKED_AT = 200  # of the last scores; those of older ones say little about tonight
Z = 1.96


@dataclass(frozen=True, slots=True)
class Range:
    """An expected figure, and the bounds between which it will be 19 times in 20."""

    expected: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What ``answers`` of a judge are expected to take. ``based_on`` counts the scores that say so.

    The figures are None where there are none to go by, ``dollars`` also where no price is known.
    """

    answers: int
    based_on: int
    calls: Range | None = None
    input_tokens: Range | None = None
    output_tokens: Range | None = None
    dollars: Range | None = None
    price: str | None = None


def estimate(
    settings: Settings, store: "Store", scorer: Any, answers: int, *, in_batch: bool = False
) -> Estimate | None:
    """What ``answers`` by this scorer's judge would take; None when it asks none.

    ``in_batch`` takes the price in a batch. Goes by the last scores of its name, those by the same judge and
    prompt if there are any.
    """
    judge = getattr(scorer, "judge", None)
    model = getattr(judge, "model", None)
    if model is None:
        return None
    price = price_of(model, settings.judge)
    price = price.in_batch if price and in_batch else price
    known = _usages(store, scorer)
    source = price.source if price else None
    if not known or not answers:
        return Estimate(answers=answers, based_on=len(known), price=source)
    calls, tokens_in, tokens_out = (_total(column, answers) for column in zip(*known, strict=True))
    return Estimate(
        answers=answers,
        based_on=len(known),
        calls=calls,
        input_tokens=tokens_in,
        output_tokens=tokens_out,
        dollars=_dollars(known, price, answers) if price else None,
        price=source,
    )


def _usages(store: "Store", scorer: Any) -> list[tuple[float, float, float]]:
    scores = store.scores.page(scorer.name, Status.SCORED, limit=LOOKED_AT, newest_first=True)
    same = [score for score in scores if score.scorer_version == scorer.version]
    found = []
    for score in same or scores:
        usage, attempts = score.metadata.get("usage") or {}, score.metadata.get("attempts")
        tokens_in, tokens_out = usage.get("input_tokens"), usage.get("output_tokens")
        if attempts and isinstance(tokens_in, int) and isinstance(tokens_out, int):
            found.append((float(attempts), float(tokens_in), float(tokens_out)))
    return found


def _dollars(known: Sequence[tuple[float, float, float]], price: Price, answers: int) -> Range:
    each = [price.nanos(int(tokens_in), int(tokens_out)) / DOLLAR for _, tokens_in, tokens_out in known]
    return _total(each, answers)


def _total(each: Sequence[float], answers: int) -> Range:
    """The sum of ``answers`` more draws like ``each``: its own spread, and that of the mean it goes by."""
    mean = sum(each) / len(each)
    variance = sum((one - mean) ** 2 for one in each) / (len(each) - 1) if len(each) > 1 else mean**2
    spread = Z * math.sqrt(answers * variance + answers**2 * variance / len(each))
    return Range(answers * mean, max(0.0, answers * mean - spread), answers * mean + spread)
