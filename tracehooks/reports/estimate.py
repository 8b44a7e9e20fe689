"""What a run would take, in words and for a program."""

from dataclasses import asdict
from typing import Any

from tracehooks.reports.run_words import Fact
from tracehooks.reports.wording import count, plain
from tracehooks.scoring.estimating import Estimate, Range
from tracehooks.settings import AllowanceSettings


def estimate_facts(estimate: Estimate | None, budget: AllowanceSettings | None = None) -> list[Fact]:
    """Tokens and money as they are to be expected; nothing where no judge is asked."""
    if estimate is None or not estimate.answers:
        return []
    limits = [] if budget is None or budget.is_open else [Fact("budget", f"{_limits(budget)} a run at most")]
    if estimate.calls is None or estimate.input_tokens is None or estimate.output_tokens is None:
        return [Fact("cost", "unknown: nothing was judged yet by which it could be told"), *limits]
    by = f"by the last {count(estimate.based_on, 'score')}"
    tokens = (
        f"{_counted(estimate.input_tokens)} in, {_counted(estimate.output_tokens)} out,"
        f" in {_counted(estimate.calls)} requests"
    )
    return [Fact("tokens", f"{tokens}, {by}"), Fact("cost", _money(estimate)), *limits]


def estimate_dict(estimate: Estimate | None) -> dict[str, Any] | None:
    """The estimate by name."""
    return None if estimate is None else asdict(estimate)


def _money(estimate: Estimate) -> str:
    if estimate.dollars is None:
        return "price unknown: set judge.price, in dollars for a million tokens"
    found = estimate.dollars
    money = f"${found.expected:,.4f} (${found.low:,.4f} to ${found.high:,.4f})"
    return f"{money} by {plain(estimate.price)}"


def _counted(found: Range) -> str:
    if round(found.low) == round(found.high):
        return f"{found.expected:,.0f}"
    return f"{found.expected:,.0f} ({found.low:,.0f} to {found.high:,.0f})"


def _limits(budget: AllowanceSettings) -> str:
    words = {"dollars": "${:,.2f}", "tokens": "{:,} tokens", "calls": "{:,} calls"}
    given = budget.model_dump(exclude_none=True)
    return ", ".join(words[name].format(limit) for name, limit in given.items())
