"""An explanation for a terminal."""

from datetime import datetime

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from tracehooks.records import AgentCall
from tracehooks.reports.explanation import Answer, CallAnswers, Explanation
from tracehooks.reports.explanation_next import next_step
from tracehooks.reports.explanation_words import facts, replay_words, verdict, why, without_calls
from tracehooks.reports.run_words import Fact
from tracehooks.reports.terminal import STYLES, command, labelled
from tracehooks.reports.wording import duration, excerpt, moment, plain

TEXT_LENGTH = 600


def explanation_renderable(explanation: Explanation, now: datetime) -> RenderableType:
    """The trace, each of its calls, and for each score why it is there or not."""
    title = Text.assemble(("trace ", "bold"), (explanation.trace_id, "bold"))
    if not explanation.calls:
        return Group(title, Padding(Text(without_calls(explanation, now)), (0, 0, 0, 2)))
    parts: list[RenderableType] = [title]
    for call in explanation.calls:
        parts += _call(call, explanation.hint)
    return Group(*parts)


def _call(call: CallAnswers, hint: str) -> list[RenderableType]:
    parts: list[RenderableType] = [labelled(_call_facts(call))]
    for answer in call.answers:
        parts += ["", *_answer(answer, call, hint)]
    return parts


def _call_facts(answers: CallAnswers) -> list[Fact]:
    call = answers.call
    if call is None:
        return [Fact("call", f"{answers.span_id}  (its text was pruned)")]
    said = excerpt(call.output, TEXT_LENGTH) if call.output else "(nothing)"
    asked = [Fact("asked", excerpt(call.input, TEXT_LENGTH))] if call.input else []
    failed = [Fact("error", excerpt(call.error, TEXT_LENGTH))] if call.error else []
    replay = [Fact("replay", replay_words(answers.replay))] if answers.replay else []
    return [Fact("agent", _where(call)), *replay, *asked, Fact("said", said), *failed]


def _where(call: AgentCall) -> str:
    took = duration(call.end - call.start)
    parts = [
        plain(call.name),
        f"{moment(call.start, seconds=True)} UTC, took {took}",
        plain(call.environment),
    ]
    return "  ".join(parts)


def _answer(answer: Answer, call: CallAnswers, hint: str) -> list[RenderableType]:
    style = STYLES.get(answer.outcome, "yellow") or "bold"
    head = Text.assemble((answer.score_name, "bold"), "  ", (verdict(answer), style))
    step = next_step(answer, call, hint)
    ahead = [Fact("next", step.purpose)] if step else []
    known = labelled([Fact("why", why(answer)), *facts(answer, call), *ahead])
    return [head, known, command(step.command, 4)] if step and step.command else [head, known]
