"""Listings for a terminal and for a program: traces, scores and runs, one line each."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from tracehooks.records import AgentCall
from tracehooks.reports.standing import headline, mark
from tracehooks.reports.terminal import STYLES, UNKNOWN, cell, table
from tracehooks.reports.wording import excerpt, moment, number
from tracehooks.store import RunRecord, StoredScore

TRACE_DIGITS = 12
RUN_DIGITS = 8
# below this many columns a table keeps only what one needs to go on
WIDE = 90
TEXT_LENGTH = 200

Column = tuple[str, int]


def traces_table(calls: Sequence[tuple[AgentCall, Sequence[StoredScore]]], width: int) -> Table:
    """Calls with their scores, as they come: when, which, who, what was asked and said, what was found."""
    wide = width >= WIDE
    about: list[Column] = [("agent", 20), ("asked", -1)] if wide else []
    made = table(("time", 16), ("trace", TRACE_DIGITS), *about, ("said", -2), ("scores", 30 if wide else 14))
    for call, scores in calls:
        row = [cell(_time(call.start, wide), "dim"), cell(call.trace_id[:TRACE_DIGITS], "cyan")]
        row += [cell(call.name), cell(excerpt(call.input or "", TEXT_LENGTH))] if wide else []
        made.add_row(*row, cell(excerpt(call.output or "", TEXT_LENGTH)), score_marks(scores, wide))
    return made


def scores_table(scores: Sequence[StoredScore], width: int) -> Table:
    """Scores: of which call, its value or why there is none, and what the scorer remarked."""
    wide = width >= WIDE
    about: list[Column] = [("time", 16), ("agent", 20)] if wide else []
    made = table(*about, ("trace", TRACE_DIGITS), ("score", 18), ("value", 16), ("comment", -1))
    for score in scores:
        row = [cell(_time(score.call_start, wide), "dim"), cell(score.call_name)] if wide else []
        row.append(cell(score.trace_id[:TRACE_DIGITS], "cyan"))
        remark = cell(excerpt(score.comment, TEXT_LENGTH))
        made.add_row(*row, cell(score.name), cell(value_or_reason(score), STYLES[score.status]), remark)
    return made


def runs_table(runs: Sequence[RunRecord], width: int) -> Table:
    """Runs: when, which, how they ended, and why."""
    wide = width >= WIDE
    job: list[Column] = [("job", 12)] if wide else []
    made = table(("started", 16), ("run", RUN_DIGITS), *job, ("verdict", 12), ("why", -1))
    for run in runs:
        word = mark(run)
        made.add_row(
            cell(_time(run.started, wide), "dim"),
            cell(run.id[:RUN_DIGITS], "cyan"),
            *([cell(run.job)] if wide else []),
            cell(word, STYLES.get(word, UNKNOWN)),
            cell(headline(run)),
        )
    return made


def score_marks(scores: Sequence[StoredScore], named: bool = True) -> Text:
    """The scores of one call, one after the other, with or without their names."""
    marks = [
        Text(
            f"{score.name} {value_or_reason(score)}" if named else value_or_reason(score),
            STYLES[score.status],
        )
        for score in scores
    ]
    return Text(", ").join(marks) if marks else Text("–", style="dim")


def value_or_reason(score: StoredScore) -> str:
    """The value, or in its place why there is none."""
    return number(score.value) if score.value is not None else str(score.reason_code)


def call_dict(call: AgentCall, scores: Sequence[StoredScore]) -> dict[str, Any]:
    """One call with its scores, for a program."""
    return {
        "trace_id": call.trace_id,
        "span_id": call.span_id,
        "name": call.name,
        "start": call.start,
        "end": call.end,
        "environment": call.environment,
        "session_id": call.session_id,
        "user_id": call.user_id,
        "tags": list(call.tags),
        "metadata": dict(call.metadata),
        "input": call.input,
        "output": call.output,
        "truncated": call.truncated,
        "error": call.error,
        "scores": [
            {"name": one.name, "status": one.status, "value": one.value, "reason_code": one.reason_code}
            for one in scores
        ],
    }


def _time(time: datetime, wide: bool) -> str:
    return moment(time) if wide else time.astimezone(UTC).strftime("%m-%d %H:%M")
