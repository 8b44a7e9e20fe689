"""The report of a noise run: the ruling as JSON-ready values, with the lowest answers of each noise type."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tracehooks.noise.rows import RowSummary, ScoreKind, bound_of
from tracehooks.replay.asks import Ask
from tracehooks.replay.rows import ReplayAnswer
from tracehooks.store.replays import ReplayKey

if TYPE_CHECKING:  # the statistics need numpy and scipy
    from tracehooks.noise import Comparison, Minimum, NoiseRuling, TypeRuling

LOWEST = 5
"""Variants that a report names for each noise type, at most."""
TEXT_LENGTH = 400

Asks = Mapping[ReplayKey, Ask]
Questions = Mapping[tuple[str, str], str]


def ruling_dict(
    ruling: "NoiseRuling",
    answers: Sequence[ReplayAnswer],
    *,
    kind: ScoreKind,
    min_score: float,
    asks: Asks,
) -> dict[str, Any]:
    """The ruling by name. ``asks`` tell what was asked."""
    return {
        "verdict": ruling.verdict.value,
        "reasons": list(ruling.reasons),
        "notes": list(ruling.notes),
        "score": kind.name,
        "direction": kind.direction,
        "rows": summary_dict(ruling.rows),
        "types": [
            {
                **_type_dict(one),
                "lowest": lowest(
                    [answer for answer in answers if answer.row.noise_type == one.noise_type],
                    kind=kind,
                    min_score=min_score,
                    asks=asks,
                ),
            }
            for one in ruling.types
        ],
    }


def _type_dict(one: "TypeRuling") -> dict[str, Any]:
    return {
        "type": one.noise_type,
        "verdict": one.verdict.value,
        "reasons": list(one.reasons),
        "notes": list(one.notes),
        "rows": summary_dict(one.rows),
        "reference": None if one.reference is None else summary_dict(one.reference),
        "comparison": None if one.comparison is None else _comparison_dict(one.comparison),
        "minimums": [_minimum_dict(each) for each in one.minimums],
    }


def summary_dict(rows: RowSummary) -> dict[str, Any]:
    """What rows add up to: planned = scored + unscored + skipped."""
    return {
        "planned": rows.planned,
        "wanted": rows.wanted,
        "scored": rows.scored,
        "unscored": dict(rows.unscored),
        "skipped": dict(rows.skipped),
        "coverage": rows.coverage,
        "mean": rows.mean,
        "low": rows.low,
        "high": rows.high,
        "reached": rows.reached,
        "success_rate": rows.success_rate,
        "partial": rows.partial,
    }


def _comparison_dict(one: "Comparison") -> dict[str, Any]:
    return {
        **asdict(one),
        **{name: str(getattr(one, name)) for name in ("observed", "if_worst", "if_best", "verdict")},
        "remedy": str(one.remedy) or None,
        "moved": [[case, drop] for case, drop in one.moved],
    }


def _minimum_dict(one: "Minimum") -> dict[str, Any]:
    return {name: value for name, value in asdict(one).items() if name != "noise_type"}


def lowest(
    answers: Sequence[ReplayAnswer], *, kind: ScoreKind, min_score: float, asks: Asks
) -> list[dict[str, Any]]:
    """The variants with the worst means, worst first, then those with no score; perfect ones are left out."""
    groups: dict[tuple[str, str], list[ReplayAnswer]] = {}
    for answer in answers:
        if answer.row.applicable:
            groups.setdefault((answer.row.case, answer.row.variant), []).append(answer)
    entries = (_entry(group, kind, min_score, asks) for group in groups.values())
    faulty = [one for one in entries if one["mean"] != kind.best or one["scored"] < one["wanted"]]
    return sorted(faulty, key=lambda one: _rank(one, kind))[:LOWEST]


def baselines(answers: Iterable[ReplayAnswer], asks: Asks) -> dict[str, dict[str, str | None]]:
    """The ``question`` and ``baseline`` of each case, so that a run can be looked at without its datasets."""
    found: dict[str, dict[str, str | None]] = {}
    for answer in answers:
        ask = asks.get(answer.replay.key)
        if ask is not None and answer.row.case not in found:
            known = ask.metadata
            found[answer.row.case] = {
                "question": known.get("original_query"),
                "baseline": known.get("baseline_response"),
            }
    return found


def _rank(entry: Mapping[str, Any], kind: ScoreKind) -> tuple[bool, float, str, str]:
    mean = entry["mean"]
    return mean is None, 0.0 if mean is None else kind.sign * mean, entry["case"], entry["variant"]


def _entry(group: Sequence[ReplayAnswer], kind: ScoreKind, min_score: float, asks: Asks) -> dict[str, Any]:
    values = [one.row.value for one in group if one.row.value is not None]
    worst = min(group, key=lambda one: _worth(one, kind))
    ask = asks.get(worst.replay.key)
    return {
        "case": worst.row.case,
        "variant": worst.row.variant,
        "mean": sum(values) / len(values) if values else None,
        "low": min(values, default=None),
        "high": max(values, default=None),
        "scored": len(values),
        "wanted": len(group),
        "bound": bound_of(worst.row, min_score),
        "question": _cut(str(ask.metadata.get("original_query") or "")) if ask else None,
        "asked": _cut(ask.text) if ask else None,
        "answer": _cut(worst.text),
        "why": _cut(worst.why or (worst.score.comment if worst.score else "")),
        "trace_id": worst.replay.trace_id,
        "span_id": worst.replay.span_id,
    }


def _worth(one: ReplayAnswer, kind: ScoreKind) -> tuple[bool, float]:
    return one.row.value is None, kind.sign * (one.row.value or 0.0)


def _cut(text: str | None) -> str | None:
    if text is None or len(text) <= TEXT_LENGTH:
        return text
    return text[: TEXT_LENGTH - 1].rstrip() + "…"


def first_errors(answers: Iterable[ReplayAnswer]) -> str | None:
    """How the first call that failed did so; None when none did."""
    return next((one.replay.error for one in answers if one.replay.error), None)
