"""The gate over a noise run: minimum scores, coverage, and the comparison with the reference, in one verdict.

A noise type passes when it is non-inferior to the reference, its coverage is enough, and no case is below its
minimum. It fails when its drop is significant and it is not non-inferior, or when a case is surely below its
minimum. Otherwise it is inconclusive, and says what would settle it. Rows without a score are bounds: a fail
must stand with all of them at their best, a pass with all at their worst.

Without a reference there are minimum scores and coverage only, and a case whose mean is below its minimum but
not surely so leaves the type inconclusive; with one, the comparison decides and such a case is a note.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tracehooks.gate import combined
from tracehooks.noise import wording
from tracehooks.noise.comparison import Comparison, compare
from tracehooks.noise.minimums import Minimum, minimums_of
from tracehooks.noise.rows import NoiseRow, RowSummary, ScoreKind, by_type, summarize
from tracehooks.records import Reason, Verdict

FEW = 10
"""Base questions below which a pass comes with a note: what is rare is not seen in so few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeRuling:
    """What is said of one noise type. Each of ``reasons`` and ``notes`` begins with a word for programs.

    ``reference`` and ``comparison`` are None where there is no reference. ``minimums`` holds every case.
    """

    noise_type: str
    verdict: Verdict
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    rows: RowSummary
    reference: RowSummary | None
    comparison: Comparison | None
    minimums: tuple[Minimum, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseRuling:
    """The verdict of a noise run with its reasons, worst first, and each noise type's own."""

    verdict: Verdict
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    types: tuple[TypeRuling, ...]
    rows: RowSummary

    @property
    def open_reasons(self) -> tuple[str, ...]:
        """The reasons of the types that did not pass."""
        return _reasons(one for one in self.types if one.verdict is not Verdict.PASS)


def rule_on_noise(
    rows: Sequence[NoiseRow],
    reference: Sequence[NoiseRow] | None = None,
    *,
    kind: ScoreKind,
    margin: float = 0.05,
    min_score: float = 0.7,
    min_coverage: float = 0.9,
    allow_empty: bool = False,
    empty: str = "the dataset holds no variants",
) -> NoiseRuling:
    """The verdict on ``rows``, all that were planned, against the rows of the ``reference``.

    ``min_score`` is for rows without a minimum of their own; where lower is better it is the most allowed.
    With no row at all, none that applies, or an agent that said nothing to any, the verdict is inconclusive
    for ``no_data`` unless ``allow_empty``; ``empty`` says why there is no row.
    """
    whole = summarize(rows, kind, min_score)
    if not whole.wanted or _silent(whole):
        return _nothing(whole, allow_empty=allow_empty, empty=empty)
    found = minimums_of(rows, kind, min_score)
    others = by_type(reference or ())
    compared = {} if reference is None else compare(rows, reference, kind, margin=margin)
    gate = _Gate(kind, margin, min_coverage, has_reference=reference is not None)
    types = tuple(
        gate.ruling(
            name,
            summarize(group, kind, min_score),
            None if reference is None else summarize(others.get(name, ()), kind, min_score),
            compared.get(name),
            tuple(one for one in found if one.noise_type == name),
        )
        for name, group in by_type(rows).items()
    )
    return _whole(types, whole)


@dataclass(frozen=True, slots=True)
class _Gate:
    kind: ScoreKind
    margin: float
    min_coverage: float
    has_reference: bool

    def ruling(
        self,
        name: str,
        rows: RowSummary,
        reference: RowSummary | None,
        comparison: Comparison | None,
        least: tuple[Minimum, ...],
    ) -> TypeRuling:
        """The ruling on one noise type."""
        findings = [*self._of_coverage(name, rows), *self._of_minimums(name, least)]
        if comparison is not None and rows.wanted:
            verdict = comparison.verdict
            findings.append((verdict, wording.comparison(comparison, self.margin)))
        if not findings:
            findings.append((Verdict.PASS, wording.reached(name, rows)))
        findings.sort(key=lambda finding: _ORDER[finding[0]])
        return TypeRuling(
            noise_type=name,
            verdict=combined(verdict for verdict, _ in findings),
            reasons=tuple(text for _, text in findings),
            notes=self._notes(name, comparison, least),
            rows=rows,
            reference=reference,
            comparison=comparison,
            minimums=least,
        )

    def _of_coverage(self, name: str, rows: RowSummary) -> Iterable[tuple[Verdict, str]]:
        if not rows.wanted or _silent(rows):
            yield Verdict.INCONCLUSIVE, wording.no_data(name, rows)
        elif rows.scored < self.min_coverage * rows.wanted:
            yield Verdict.INCONCLUSIVE, wording.coverage(name, rows, self.min_coverage)

    def _of_minimums(self, name: str, least: tuple[Minimum, ...]) -> Iterable[tuple[Verdict, str]]:
        verdicts = {one: one.verdict(doubt=self._doubt) for one in least}
        for verdict, say in ((Verdict.FAIL, wording.below), (Verdict.INCONCLUSIVE, wording.perhaps_below)):
            cases = [one for one, found in verdicts.items() if found is verdict]
            if cases:
                yield verdict, say(name, cases, self.kind)

    @property
    def _doubt(self) -> Verdict:
        return Verdict.PASS if self.has_reference else Verdict.INCONCLUSIVE

    def _notes(self, name: str, comparison: Comparison | None, least: tuple[Minimum, ...]) -> tuple[str, ...]:
        notes = []
        doubtful = [one for one in least if one.if_worst == "doubt" and one.if_best != "below"]
        if doubtful and self.has_reference:
            notes.append(wording.perhaps_below(name, doubtful, self.kind))
        if comparison is not None and comparison.unpaired:
            notes.append(wording.unpaired(comparison))
        if comparison is not None and comparison.verdict is Verdict.PASS and comparison.questions < FEW:
            notes.append(wording.few(comparison))
        return tuple(notes)


_ORDER = {Verdict.FAIL: 0, Verdict.INCONCLUSIVE: 1, Verdict.PASS: 2}


def _silent(rows: RowSummary) -> bool:
    """Whether the agent said nothing at all: every row that should have a score is a silence."""
    return rows.scored == 0 and rows.skipped.get(Reason.NO_TEXT, 0) == rows.wanted


def _nothing(whole: RowSummary, *, allow_empty: bool, empty: str) -> NoiseRuling:
    text = wording.nothing(whole, empty) + ("; allowed by --allow-empty" if allow_empty else "")
    verdict = Verdict.PASS if allow_empty else Verdict.INCONCLUSIVE
    return NoiseRuling(verdict=verdict, reasons=(text,), notes=(), types=(), rows=whole)


def _reasons(types: Iterable[TypeRuling]) -> tuple[str, ...]:
    ranked = sorted(types, key=lambda one: _ORDER[one.verdict])
    return wording.together((one.noise_type, text) for one in ranked for text in one.reasons)


def _whole(types: tuple[TypeRuling, ...], rows: RowSummary) -> NoiseRuling:
    ranked = sorted(types, key=lambda one: _ORDER[one.verdict])
    return NoiseRuling(
        verdict=combined(one.verdict for one in types),
        reasons=_reasons(types),
        notes=tuple(text for one in ranked for text in one.notes),
        types=types,
        rows=rows,
    )
