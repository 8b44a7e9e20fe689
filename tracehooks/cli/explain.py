"""``tracehooks explain``: why a trace has a score, or none."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer

from tracehooks.calls import SpanRecord
from tracehooks.cli import output
from tracehooks.cli.options import ConfigOption, JsonOption
from tracehooks.cli.session import config_hint, read_settings, reading
from tracehooks.cli.verbs import examples, verb_app
from tracehooks.errors import ConfigurationError, TracehooksError
from tracehooks.reports.explanation import explain_trace
from tracehooks.reports.explanation_json import explanation_dict
from tracehooks.reports.explanation_terminal import explanation_renderable
from tracehooks.scoring.drawing import DrawingSource
from tracehooks.scoring.source import LOCAL, load_source
from tracehooks.settings import FilterSettings, Settings
from tracehooks.store import Store

UNKNOWN = 3
DIGITS = 32

app = verb_app()


@app.command(epilog=examples("tracehooks explain 4f1c2d3e4a5b", "tracehooks explain 4f1c2d3e --json"))
def explain(
    trace_id: Annotated[str, typer.Argument(metavar="TRACE_ID", help="A trace id or the beginning of it.")],
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> int:
    """Say for each call of a trace why it has a score or none, and what to do about it.

    Exits 0 when anything is known about the trace, 3 when nothing is or no trace begins like this, and 2 for
    what is no trace id, or the beginning of several.
    """
    settings, now = read_settings(config), datetime.now(UTC)
    with reading(settings) as store:
        beginning = normalised(trace_id)
        if len(beginning) < DIGITS and not store.overview.trace_ids(beginning, limit=1):
            return _unknown(beginning, as_json=as_json)
        whole = whole_id(store, beginning)
        found = explain_trace(
            store,
            whole,
            score_name=expected_score(settings),
            hint=config_hint(config),
            elsewhere=_elsewhere(settings, store, whole),
        )
    if as_json:
        output.show_json(explanation_dict(found, now))
    else:
        output.show(explanation_renderable(found, now))
    return 0 if found.known else UNKNOWN


def _unknown(beginning: str, *, as_json: bool) -> int:
    message = f"no trace begins with {beginning}; `tracehooks traces` lists them"
    if as_json:
        output.show_json({"trace_id": None, "known": False, "message": message})
    else:
        output.show(message)
    return UNKNOWN


def _elsewhere(settings: Settings, store: Store, trace_id: str) -> Sequence[SpanRecord]:
    """The trace's spans as the settings' source has them, where the store has none."""
    if settings.source == LOCAL or store.spans.of_trace(trace_id):
        return ()
    try:
        source = load_source(settings, store, FilterSettings())
        return source.spans_of(trace_id) if isinstance(source, DrawingSource) else ()
    except TracehooksError as error:
        output.say(f"tracehooks: the trace cannot be looked up at its source: {error}", style="yellow")
        return ()


def expected_score(settings: Settings) -> str:
    """The score that a toxicity night makes with these settings."""
    return "toxicity" if settings.judge.model else "toxicity_prescreen"


def normalised(text: str) -> str:
    """The beginning of a trace id as traces are stored: lower case, no dashes; tells when it had to change.

    Raises ConfigurationError for anything that no trace id begins with.
    """
    plain = text.strip().replace("-", "").lower().removeprefix("0x")
    if not re.fullmatch(r"[0-9a-f]{1,32}", plain):
        raise ConfigurationError(
            f"{text!r} is no trace id: these are 32 hex digits; `tracehooks traces` lists them"
        )
    if plain != text.strip():
        output.say(f"tracehooks: looking for {plain}: trace ids are written in lower case and without dashes")
    return plain


def whole_id(store: Store, beginning: str) -> str:
    """The trace id that begins like this. Raises ConfigurationError when there is none, or several."""
    if len(beginning) == DIGITS:
        return beginning
    found = store.overview.trace_ids(beginning, limit=6)
    if not found:
        raise ConfigurationError(f"no trace begins with {beginning}; `tracehooks traces` lists them")
    if len(found) > 1:
        several = ", ".join(found[:5]) + (", ..." if len(found) > 5 else "")
        raise ConfigurationError(f"several traces begin with {beginning}: {several}")
    return found[0]
