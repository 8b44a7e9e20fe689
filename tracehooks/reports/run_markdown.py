"""A run's report in Markdown, for a pull request or a chat: the verdict comes first."""

from collections.abc import Iterable

from tracehooks.reports.markdown import SIGNS, escaped, quoted, step_line
from tracehooks.reports.noise_markdown import noise_markdown
from tracehooks.reports.run import RunReport, WorstCall
from tracehooks.reports.run_words import facts, next_steps
from tracehooks.reports.standing import headline, mark
from tracehooks.reports.wording import number


def run_markdown(report: RunReport) -> str:
    """The whole report. Texts of calls are quoted so that nothing in them is obeyed."""
    if report.is_noise:
        return noise_markdown(report)
    word = mark(report.run)
    lines = [f"## {SIGNS.get(word, '⏳')} {word}: {escaped(headline(report.run))}", ""]
    lines += ["| | |", "|---|---|"]
    lines += [f"| {escaped(fact.label)} | {escaped(fact.text)} |" for fact in facts(report)]
    if report.worst:
        lines += ["", "### Worst calls", "", *_worst_table(report.worst)]
    steps = [step for step in next_steps(report) if "--markdown" not in step.command]
    if steps:
        lines += ["", "### Next", "", *(f"- {step_line(step.command, step.purpose)}" for step in steps)]
    return "\n".join(lines) + "\n"


def _worst_table(worst: Iterable[WorstCall]) -> list[str]:
    rows = ["| value | agent | what it said | why | trace |", "|---:|---|---|---|---|"]
    for call in worst:
        said = "(no longer stored)" if call.text is None else quoted(call.text)
        cells = (number(call.value), quoted(call.name), said, quoted(call.comment), quoted(call.trace_id))
        rows.append(f"| {' | '.join(cells)} |")
    return rows
