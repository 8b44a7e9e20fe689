"""``tracehooks traces``: what was traced, and the pruning of it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated

import typer

from tracehooks.cli import output
from tracehooks.cli.choosing import NONE, Listed, Wanted, listed_calls
from tracehooks.cli.cursors import cursor, place
from tracehooks.cli.options import ConfigOption, FromOption, JsonOption, ToOption, time_option
from tracehooks.cli.session import config_hint, is_stored, read_settings, reading
from tracehooks.cli.verbs import examples, verb_app
from tracehooks.errors import ConfigurationError
from tracehooks.records import Status
from tracehooks.reports.listing import call_dict, traces_table
from tracehooks.reports.wording import count, moment
from tracehooks.settings import parse_duration
from tracehooks.store import CallFilter, CallKey

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
    wanted = Wanted(
        filters=CallFilter(name=tuple(name or ()), environment=tuple(environment or ())),
        score=score,
        status=_status(status),
        start=time_option(start, now),
        end=time_option(end, now),
    )
    with reading(settings) as store:
        listed = list(islice(listed_calls(store, wanted, _key(after)), limit + 1))
    page = listed[:limit]
    last = cursor(*CallKey.of(page[-1].call)) if len(listed) > limit else None
    if as_json:
        output.show_json({"traces": [call_dict(row.call, row.scores) for row in page], "next": last})
    else:
        _show(page, last, config_hint(config), stored=is_stored(settings))
    return 0


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


def _show(page: Sequence[Listed], last: str | None, hint: str, *, stored: bool) -> None:
    if page:
        output.show(traces_table([(row.call, row.scores) for row in page], output.width()))
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
