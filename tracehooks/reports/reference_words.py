"""A reference in words: whose answers, which runs, who blessed them, under which conditions."""

from collections.abc import Iterator
from typing import Any

from tracehooks.reference import Reference
from tracehooks.reports.wording import count, moment, number


def coverage(reference: Reference) -> tuple[int, int]:
    """How many rows have a score, of how many that should."""
    wanted = [one.row for one in reference.rows if one.row.applicable]
    return sum(row.value is not None for row in wanted), len(wanted)


def reference_lines(reference: Reference) -> Iterator[str]:
    """What there is to say, a line each."""
    made, conditions = reference, reference.conditions
    version = f" {conditions.agent_version}" if conditions.agent_version else ""
    yield f"reference {made.id}, number {made.number}: {made.agent}{version}, {made.score_name}"
    origin = f"{made.origin} {moment(made.blessed_at)} UTC by {made.blessed_by}"
    yield f"  {origin}{f', from the answers of {made.parent}' if made.parent else ''}"
    candidates = f"of {count(len(made.candidates), 'comparable run')} since the blessing before"
    yield f"  runs: {', '.join(made.runs)} ({len(made.runs)} {candidates})"
    if made.left_out:
        yield f"  LEFT OUT: {', '.join(made.left_out)}: {made.left_out_because}"
    scored, wanted = coverage(made)
    yield f"  rows: {scored} of {wanted} scored, {count(made.repeats, 'answer')} to each variant at least"
    yield f"  mean: {', '.join(f'{name} {number(mean)}' for name, mean in _means(made).items())}"
    yield f"  datasets: {', '.join(f'{name} {digits}' for name, digits in conditions.datasets.items())}"
    judge = f"{conditions.judge_model}, prompt {conditions.prompt_hash}" if conditions.judge_model else "none"
    yield f"  judge: {judge}; scorer version {conditions.scorer_version}"


def reference_summary(reference: Reference) -> dict[str, Any]:
    """All but the rows, JSON-ready."""
    scored, wanted = coverage(reference)
    return {
        "id": reference.id,
        "number": reference.number,
        **{key: value for key, value in reference.as_dict().items() if key not in ("rows", "cases")},
        "left_out": list(reference.left_out),
        "repeats": reference.repeats,
        "scored": scored,
        "wanted": wanted,
        "means": _means(reference),
    }


def _means(reference: Reference) -> dict[str, float | None]:
    """The mean of each noise type."""
    found: dict[str, list[float]] = {}
    for row in reference.noise_rows:
        values = found.setdefault(row.noise_type, [])
        if row.value is not None:
            values.append(row.value)
    return {name: sum(values) / len(values) if values else None for name, values in sorted(found.items())}
