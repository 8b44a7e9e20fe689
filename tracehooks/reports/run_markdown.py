"""A run's report in Markdown, for a pull request or a chat: the verdict comes first."""

import re
from collections.abc import Iterable

from tracehooks.reports.run import RunReport, WorstCall
from tracehooks.reports.run_words import facts, next_steps
from tracehooks.reports.standing import headline, mark
from tracehooks.reports.wording import excerpt, number, plain

SIGNS = {"PASS": "✅", "FAIL": "❌", "INCONCLUSIVE": "⚠️"}
_OBEYED = re.compile(r"([\\`*_{}\[\]<>|~$])")
# GitHub looks for these after Markdown is done: a mark that nobody sees keeps them from being found
_REFERENCES = re.compile(r"([@#])")


def run_markdown(report: RunReport) -> str:
    """The whole report. Texts of calls are quoted so that nothing in them is obeyed."""
    word = mark(report.run)
    lines = [f"## {SIGNS.get(word, '⏳')} {word}: {escaped(headline(report.run))}", ""]
    lines += ["| | |", "|---|---|"]
    lines += [f"| {escaped(fact.label)} | {escaped(fact.text)} |" for fact in facts(report)]
    if report.worst:
        lines += ["", "### Worst calls", "", *_worst_table(report.worst)]
    steps = [step for step in next_steps(report) if "--markdown" not in step.command]
    if steps:
        lines += ["", "### Next", "", *(f"- {_step(step.command, step.purpose)}" for step in steps)]
    return "\n".join(lines) + "\n"


def escaped(text: object) -> str:
    """``text`` on one line as prose: no markup, HTML, mention or reference in it works."""
    return _REFERENCES.sub("\\1\u200b", _OBEYED.sub(r"\\\1", plain(text)))


def quoted(text: object, length: int = 200) -> str:
    """The beginning of a text that nobody vouches for, as a code span: nothing in it is obeyed."""
    flat = excerpt(text, length).replace("|", "\\|")
    if not flat:
        return ""
    fence = "`" * (max(map(len, re.findall("`+", flat)), default=0) + 1)
    return f"{fence} {flat} {fence}" if "`" in flat else f"{fence}{flat}{fence}"


def _worst_table(worst: Iterable[WorstCall]) -> list[str]:
    rows = ["| value | agent | what it said | why | trace |", "|---:|---|---|---|---|"]
    for call in worst:
        said = "(no longer stored)" if call.text is None else quoted(call.text)
        cells = (number(call.value), quoted(call.name), said, quoted(call.comment), quoted(call.trace_id))
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def _step(command: str, purpose: str) -> str:
    return f"{escaped(purpose)} `{command}`" if command else escaped(purpose)
