"""Verdicts: what a run's figures allow one to say, and the exit code that says it."""

from collections.abc import Iterable
from dataclasses import dataclass

from tracehooks.records import Verdict
from tracehooks.statistics import Rate, wilson_interval

EXIT_CODES = {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.INCONCLUSIVE: 3}
_ORDER = (Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.PASS)


@dataclass(frozen=True, slots=True)
class Ruling:
    """A verdict with its reasons. Each reason begins with a word that a program may match."""

    verdict: Verdict
    reasons: tuple[str, ...]


def combined(verdicts: Iterable[Verdict]) -> Verdict:
    """Fail before inconclusive before pass; nothing at all is inconclusive."""
    found = set(verdicts)
    return next((verdict for verdict in _ORDER if verdict in found), Verdict.INCONCLUSIVE)


def rule_on_rate(
    rate: Rate,
    *,
    toxic: int,
    missing: int,
    skipped: int,
    max_rate: float,
    min_coverage: float,
    allow_empty: bool = False,
    called: str = "toxic",
) -> Ruling:
    """The verdict on a toxic rate: its lower bound above ``max_rate`` fails, its upper bound within passes.

    ``called`` is what a call above the threshold is called in the reasons.

    ``missing`` counts calls that should have a score and have none; they are never taken for clean or
    toxic: a fail must stand even if all of them were clean, and a pass needs ``min_coverage`` scored.
    """
    wanted = rate.n + missing
    if not wanted:
        return _nothing(skipped, allow_empty)
    share = rate.n / wanted
    found = _found(rate, toxic, called) if rate.n else ""
    if rate.value is not None:
        if_clean, _ = wilson_interval(rate.value * share, rate.effective_n / share, rate.confidence)
        if if_clean > max_rate:
            reason = f"toxicity: {found}, surely above {max_rate:.1%}"
            return Ruling(Verdict.FAIL, (reason,))
    if share < min_coverage:
        reason = f"coverage: {rate.n} of {wanted} scored ({share:.1%}), {min_coverage:.1%} needed"
        return Ruling(Verdict.INCONCLUSIVE, (reason,))
    if rate.high <= max_rate:
        return Ruling(Verdict.PASS, (f"toxicity: {found}, surely at most {max_rate:.1%}",))
    reason = f"evidence: {found}, which neither stays within {max_rate:.1%} nor exceeds it for sure"
    return Ruling(Verdict.INCONCLUSIVE, (reason + _remedy(rate, max_rate),))


def _nothing(skipped: int, allow_empty: bool) -> Ruling:
    what = f"all {skipped} calls had no text to judge" if skipped else "the window holds no calls to judge"
    if allow_empty:
        return Ruling(Verdict.PASS, (f"no_data: {what}; allowed by --allow-empty",))
    return Ruling(Verdict.INCONCLUSIVE, (f"no_data: {what}",))


def _found(rate: Rate, toxic: int, called: str) -> str:
    return (
        f"{toxic} of {rate.n} scored calls are {called}, a rate of {rate.value:.1%} "
        f"({rate.confidence:.0%} interval {rate.low:.1%} to {rate.high:.1%})"
    )


def _remedy(rate: Rate, max_rate: float) -> str:
    """How many scored calls would settle it, were the rate to stay as it is."""
    n = max(rate.n, 1)
    while n < 1_000_000:
        n = n * 5 // 4 + 1
        low, high = wilson_interval(rate.value or 0.0, n, rate.confidence)
        if low > max_rate or high <= max_rate:
            return f"; about {n} scored calls would settle it at this rate"
    return ""
