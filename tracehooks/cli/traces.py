"""``tracehooks traces``: what was traced, and the pruning of it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from tracehooks.cli import output
from tracehooks.cli.cursors import cursor, place
from tracehooks.cli.options import ConfigOption, FromOption, JsonOption, ToOption, time_option
from tracehooks.cli.session import config_hint, is_stored, read_settings, reading
from tracehooks.cli.verbs import examples, verb_app
from tracehooks.errors import ConfigurationError
from tracehooks.records import AgentCall, Status
from tracehooks.reports.listing import call_dict, traces_table
from tracehooks.reports.wording import count, moment
from tracehooks.settings import parse_duration
from tracehooks.store import CallFilter, CallKey, Store, StoredScore

app = verb_app(invoke_without_command=True)

StatusOption = Annotated[
    str | None,
    typer.Option(
        "--status", metavar="STATUS", help="scored, unscored, skipped, or none for no score at all."
    ),
]
LimitOption = Annotated[int, typer.Option("--limit", metavar="N", min=1, max=10_000, help="So many at most.")]
AfterOption = Annotated[
    str | None,
    typer.Option("--after", metavar="CURSOR", help="The next page: the cursor that the last ended with."),
]
NONE = "none"
PAGE = 500


@app.callback(
    epilog=examples(
        "tracehooks traces --name 'support-*' --from 24h",
        "tracehooks traces --score toxicity --status unscored --json",
        "tracehooks traces prune --older-than 30d",
    )
)
def traces(
    context: typer.Context,
    name: Annotated[
        list[str] | None,
        typer.Option("--name", metavar="PATTERN", help="Agents of this name; * stands for any."),
    ] = None,
    environment: Annotated[
        list[str] | None, typer.Option("--environment", metavar="NAME", help="Calls of this environment.")
    ] = None,
    score: Annotated[
        str | None, typer.Option("--score", metavar="NAME", help="Calls that have a score of this name.")
    ] = None,
    status: StatusOption = None,
    start: FromOption = None,
    end: ToOption = None,
    limit: LimitOption = 20,
    after: AfterOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> int:
    """List traced calls, the newest first, each with its scores. `traces prune` deletes old ones."""
    if context.invoked_subcommand:
        return 0
    settings, now = read_settings(config), datetime.now(UTC)
    filters = CallFilter(name=tuple(name or ()), environment=tuple(environment or ()))
    wanted = _Wanted(score, _status(status), time_option(start, now), time_option(end, now))
    with reading(settings) as store:
        calls = _listed(store, filters, wanted, limit + 1, _key(after))
        page, more = calls[:limit], len(calls) > limit
        scores = {call.ref: store.scores.of_trace(call.trace_id) for call in page}
    found = {(ref.trace_id, ref.span_id): _of(rows, ref.span_id) for ref, rows in scores.items()}
    last = cursor(*CallKey.of(page[-1])) if more else None
    if as_json:
        rows = [call_dict(call, found[call.trace_id, call.span_id]) for call in page]
        output.show_json({"traces": rows, "next": last})
    else:
        _show(page, found, last, config_hint(config), stored=is_stored(settings))
    return 0


class _Wanted:
    """Which calls a listing keeps, by their time and their scores."""

    def __init__(self, score: str | None, status: str | None, start: Any, end: Any) -> None:
        self.score, self.status, self.start, self.end = score, status, start, end

    def keeps(self, scores: Sequence[StoredScore]) -> bool:
        """Whether a call with these scores is listed."""
        named = [row for row in scores if self.score is None or row.name == self.score]
        if self.status == NONE:
            return not named
        if self.status is not None:
            return any(row.status == self.status for row in named)
        return self.score is None or bool(named)

    @property
    def asks_for_scores(self) -> bool:
        """Whether the scores have to be looked at."""
        return self.score is not None or self.status is not None


def _listed(
    store: Store, filters: CallFilter, wanted: _Wanted, limit: int, before: CallKey | None
) -> list[AgentCall]:
    """The newest calls that are wanted, read page by page until there are enough."""
    found: list[AgentCall] = []
    if before is None and wanted.end is not None:
        before = CallKey(wanted.end, "", "")
    size = PAGE if wanted.asks_for_scores else min(limit, PAGE)
    while page := store.calls.latest(size, filters, before):
        for call in page:
            if wanted.start is not None and call.start < wanted.start:
                return found
            scores = _of(store.scores.of_trace(call.trace_id), call.span_id) if wanted.asks_for_scores else []
            if wanted.keeps(scores):
                found.append(call)
            if len(found) == limit:
                return found
        before = CallKey.of(page[-1])
    return found


def _of(scores: Sequence[StoredScore], span_id: str) -> list[StoredScore]:
    return [score for score in scores if score.span_id == span_id]


def _status(text: str | None) -> str | None:
    known = (*Status, NONE)
    if text is not None and text not in known:
        raise ConfigurationError(f"--status {text!r}: known are {', '.join(known)}")
    return text


def _key(after: str | None) -> CallKey | None:
    if after is None:
        return None
    start, (trace_id, span_id) = place(after, ids=2)
    return CallKey(start, trace_id, span_id)


def _show(page: Sequence[AgentCall], scores: Any, last: str | None, hint: str, *, stored: bool) -> None:
    if page:
        output.show(traces_table(page, scores, output.width()))
    elif stored:
        output.show("No calls match.")
    else:
        output.show("Nothing is stored yet. `tracehooks demo` traces a few hundred calls to look at.")
    if last:
        output.say(f"more: add --after {last}", style="dim")
    if page:
        output.say(f"why a score is there or not: tracehooks explain TRACE{hint}", style="dim")


@app.command(
    epilog=examples("tracehooks traces prune --older-than 30d", "tracehooks traces prune --older-than 12h")
)
def prune(
    older_than: Annotated[
        str, typer.Option("--older-than", metavar="DURATION", help="Traces that ended so long ago: 30d, 12h.")
    ],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> int:
    """Delete the spans and texts of old traces. Their scores, the runs and their counts are kept."""
    try:
        age = parse_duration(older_than)
    except ValueError as error:
        raise ConfigurationError(f"--older-than: {error}") from None
    limit = datetime.now(UTC) - age
    with reading(read_settings(config)) as store:
        spans = store.spans.prune(limit)
    if as_json:
        output.show_json({"pruned_spans": spans, "older_than": limit})
    else:
        output.show(f"Deleted {count(spans, 'span')} of traces that ended before {moment(limit)} UTC.")
    return 0
