"""A run's report for a terminal."""

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from tracehooks.reports.links import trace_link
from tracehooks.reports.noise_terminal import noise_renderable
from tracehooks.reports.run import RunReport, WorstCall
from tracehooks.reports.run_words import facts, next_steps
from tracehooks.reports.standing import headline, mark
from tracehooks.reports.terminal import command, heading, labelled, steps
from tracehooks.reports.wording import excerpt, number, plain

SHOWN = 10


def run_renderable(report: RunReport, *, shown: int = SHOWN) -> RenderableType:
    """The whole report: verdict and why, facts, the worst calls, what to do next."""
    if report.is_noise:
        return noise_renderable(report)
    parts: list[RenderableType] = [
        heading(mark(report.run), headline(report.run)),
        "",
        labelled(facts(report)),
    ]
    if report.worst:
        parts += ["", Text(_title(report, shown), style="bold")]
        parts += [_worst(call, report) for call in report.worst[:shown]]
    return Group(*parts, *steps("Next", next_steps(report)))


def _title(report: RunReport, shown: int) -> str:
    toxic = report.figures.get("toxic", len(report.worst))
    first = min(shown, len(report.worst))
    return "Worst calls" if toxic <= first else f"Worst calls ({first} of {toxic:,})"


def _worst(call: WorstCall, report: RunReport) -> RenderableType:
    head = Text.assemble(
        (number(call.value), "bold red"), f"  {call.band or ''}  ", (plain(call.name), "bold")
    )
    text = f"“{excerpt(call.text, 200)}”" if call.text else "(its text is no longer stored)"
    said = Group(Text(text), Text(excerpt(call.comment, 240), style="dim"))
    hint = command(f"tracehooks explain {call.trace_id[: report.trace_digits]}{report.hint}", 8)
    link = trace_link(report.run, call.trace_id, call.span_id)
    links = [] if link is None else [command(link, 8)]
    return Group(Padding(head, (0, 0, 0, 2)), Padding(said, (0, 0, 0, 8)), hint, *links)
