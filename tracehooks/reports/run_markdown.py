"""A run's report in Markdown, for a pull request or a chat: the verdict comes first."""

from tracehooks.reports.links import trace_link
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
        lines += ["", "### Worst calls", "", *_worst_table(report)]
    steps = [step for step in next_steps(report) if "--markdown" not in step.command]
    if steps:
        lines += ["", "### Next", "", *(f"- {step_line(step.command, step.purpose)}" for step in steps)]
    return "\n".join(lines) + "\n"


def _worst_table(report: RunReport) -> list[str]:
    rows = ["| value | agent | what it said | why | trace |", "|---:|---|---|---|---|"]
    for call in report.worst:
        said = "(no longer stored)" if call.text is None else quoted(call.text)
        cells = (number(call.value), quoted(call.name), said, quoted(call.comment), _trace(call, report))
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def _trace(call: WorstCall, report: RunReport) -> str:
    link = trace_link(report.run, call.trace_id, call.span_id)
    return quoted(call.trace_id) if link is None else f"[{quoted(call.trace_id)}]({link})"
