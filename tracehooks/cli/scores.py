"""``tracehooks scores``: what was found, or why nothing was."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from tracehooks.cli import output
from tracehooks.cli.cursors import cursor, place
from tracehooks.cli.options import ConfigOption, FromOption, JsonOption, ToOption, time_option
from tracehooks.cli.session import config_hint, read_settings, reading
from tracehooks.cli.verbs import examples, verb_app
from tracehooks.errors import ConfigurationError
from tracehooks.records import Status
from tracehooks.reports.explanation_json import score_dict
from tracehooks.reports.listing import scores_table
from tracehooks.store import ScoreKey

app = verb_app()


@app.command(
    epilog=examples(
        "tracehooks scores --status unscored --from 24h", "tracehooks scores --name toxicity --json"
    )
)
def scores(
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Scores of this name.")] = None,
    status: Annotated[
        str | None, typer.Option("--status", metavar="STATUS", help="scored, unscored or skipped.")
    ] = None,
    start: FromOption = None,
    end: ToOption = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, max=10_000, help="So many at most.")
    ] = 20,
    after: Annotated[
        str | None,
        typer.Option("--after", metavar="CURSOR", help="The next page: the cursor that the last ended with."),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> int:
    """List scores, those of the newest calls first: value, or the reason why there is none, and comment."""
    if status is not None and status not in list(Status):
        raise ConfigurationError(f"--status {status!r}: known are {', '.join(Status)}")
    settings, now = read_settings(config), datetime.now(UTC)
    with reading(settings) as store:
        found = store.scores.page(
            name,
            status,
            time_option(start, now),
            time_option(end, now),
            _key(after),
            limit + 1,
            newest_first=True,
        )
    page = found[:limit]
    last = cursor(*page[-1].key) if len(found) > limit else None
    if as_json:
        output.show_json({"scores": [score_dict(row) for row in page], "next": last})
        return 0
    if page:
        output.show(scores_table(page, output.width()))
    else:
        output.show("No scores match." if name or status or start or end else "There are no scores yet.")
    if last:
        output.say(f"more: add --after {last}", style="dim")
    if page:
        output.say(f"why: tracehooks explain TRACE{config_hint(config)}", style="dim")
    return 0


def _key(after: str | None) -> ScoreKey | None:
    if after is None:
        return None
    start, (score_id,) = place(after, ids=1)
    return ScoreKey(start, score_id)
