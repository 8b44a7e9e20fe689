"""The sentences of the noise gate. Each begins with a word that a program may match."""

from collections.abc import Iterable, Sequence

from tracehooks.noise.comparison import Comparison
from tracehooks.noise.minimums import Minimum
from tracehooks.noise.rows import RowSummary, ScoreKind
from tracehooks.records import Verdict

SHOWN_CASES = 5
TOO_FEW = "can be compared with the reference, two are needed"


def comparison(one: Comparison, margin: float) -> str:
    """What the comparison with the reference says, with its figures and, where it is open, the next step."""
    if one.verdict is Verdict.PASS:
        return f"held: {one.noise_type} {_lost(one)}, surely at most {margin:g}"
    if one.verdict is Verdict.FAIL:
        return f"drop: {one.noise_type} {_lost(one)}, p {_p(one.adjusted)} ({margin:g} allowed){_most(one)}"
    if one.hangs:
        return (
            f"missing: {one.noise_type}: the verdict hangs on {one.missing} rows without a score: "
            f"{one.if_best} if they were best, {one.if_worst} if worst; score them again"
        )
    if one.questions < 2:
        found = "one base question" if one.questions else "no variant"
        return f"evidence: {one.noise_type}: {found} {TOO_FEW}"
    return (
        f"evidence: {one.noise_type} {_lost(one)}, neither surely within {margin:g} nor surely a drop; "
        f"a drop of {_figure(one.detectable)} could have been seen{_settling(one)}{_most(one)}"
    )


def together(said: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The reasons of all types, each with its type's name, in their order.

    Types of which too few questions can be compared share one sentence: it is the same for every one of them.
    """
    names: dict[tuple[str, str], list[str]] = {}
    for name, text in said:
        head, _, rest = text.partition(f" {name}: ") if text.endswith(TOO_FEW) else (text, "", "")
        names.setdefault((head, rest), []).append(name)
    return tuple(f"{head} {', '.join(of)}: {rest}" if rest else head for (head, rest), of in names.items())


def reached(name: str, rows: RowSummary) -> str:
    """All that was asked of a type is met."""
    return f"reached: {name}: every case reaches its minimum, {_scored(rows)}"


def coverage(name: str, rows: RowSummary, needed: float) -> str:
    """Too few rows were scored."""
    why = ", ".join(f"{reason} {n}" for reason, n in {**rows.unscored, **rows.skipped}.items())
    return f"coverage: {name}: {_scored(rows)} ({rows.coverage or 0:.1%}), {needed:.1%} needed; {why}"


def no_data(name: str, rows: RowSummary) -> str:
    """There was nothing to judge in a type."""
    return f"no_data: {name}: {_absent(rows)}"


def nothing(rows: RowSummary, empty: str) -> str:
    """There was nothing to judge at all."""
    return f"no_data: {_absent(rows) if rows.planned else empty}"


def below(name: str, cases: Sequence[Minimum], kind: ScoreKind) -> str:
    """Cases that are surely below their minimum."""
    side = "below" if kind.direction == "higher" else "above"
    return f"minimum: {name}: {_counted(cases)} surely {side} what must be reached: {_named(cases)}"


def perhaps_below(name: str, cases: Sequence[Minimum], kind: ScoreKind) -> str:
    """Cases of which it cannot be told."""
    side = "below" if kind.direction == "higher" else "above"
    missing = sum(one.wanted - one.scored for one in cases)
    why = f"{missing} of their rows have no score" if missing else "their answers vary too much to be sure"
    return f"doubt: {name}: {_counted(cases)} perhaps {side} what must be reached, {why}: {_named(cases)}"


def unpaired(one: Comparison) -> str:
    """Variants that only one side has."""
    return f"unpaired: {one.noise_type}: {one.unpaired} variants are in only one of run and reference"


def few(one: Comparison) -> str:
    """A pass on little evidence."""
    return f"few: {one.noise_type}: with {one.questions} base questions a drop in a few of many goes unseen"


def _lost(one: Comparison) -> str:
    drop = _figure(one.drop)
    change = f"gained {drop[1:]}" if drop.startswith("-") else f"lost {drop}"
    return (
        f"{change} (bounds of the loss {_figure(one.low)} to {_figure(one.high)}, "
        f"{one.questions} base questions, {one.variants} variants)"
    )


def _figure(value: float | None) -> str:
    text = f"{value or 0.0:.3f}"
    return "0.000" if text == "-0.000" else text


def _most(one: Comparison) -> str:
    worse = [(case, drop) for case, drop in one.moved if drop > 0][:SHOWN_CASES]
    return f"; most: {', '.join(f'{case} {drop:.2f}' for case, drop in worse)}" if worse else ""


def _settling(one: Comparison) -> str:
    return f"; {one.remedy}" if str(one.remedy) else ""


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _scored(rows: RowSummary) -> str:
    return f"{rows.scored} of {rows.wanted} scored"


def _absent(rows: RowSummary) -> str:
    if not rows.wanted:
        return f"none of the {rows.planned} rows is applicable to this score"
    return f"the agent returned nothing for all {rows.wanted} rows"


def _counted(cases: Sequence[Minimum]) -> str:
    return f"{len(cases)} case{'' if len(cases) == 1 else 's'}"


def _named(cases: Sequence[Minimum]) -> str:
    worst = sorted(cases, key=lambda one: (abs(one.bound - (one.mean or 0.0)) * -1, one.case))
    shown = [f"{one.case} {'-' if one.mean is None else f'{one.mean:.2f}'} of {one.bound:g}" for one in worst]
    more = len(shown) - SHOWN_CASES
    return ", ".join(shown[:SHOWN_CASES]) + (f" and {more} more" if more > 0 else "")
