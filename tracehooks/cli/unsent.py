"""What ``outbox status`` says of spans that a backend has not got, and of scores that no sink takes."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tracehooks.errors import TracehooksError
from tracehooks.reports.wording import count, duration, instant, plain
from tracehooks.scoring import load_sinks
from tracehooks.scoring.coordinator import is_dead
from tracehooks.settings import Settings
from tracehooks.store import Store

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

Spans = Mapping[str, Mapping[str, Any]]


def unsent_spans(store: Store) -> Spans:
    """By backend: how many wait, how many of those a running process just made, the oldest, and the lost."""
    return {
        backend: {
            "waiting": one.waiting,
            "on_their_way": sum(n for owner, n in one.held.items() if not is_dead(owner)),
            "oldest": None if one.oldest is None else instant(one.oldest),
            "dead": one.dead,
            "given_up": dict(one.given_up),
            "error": one.error,
        }
        for backend, one in store.unsent.counts().items()
    }


def spans_table(spans: Spans) -> "Table":
    """The same as a table."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("spans for")
    for column in ("waiting", "since", "dead", "given up"):
        table.add_column(column, justify="right")
    for backend, one in spans.items():
        since = "–" if one["oldest"] is None else duration(_age(one["oldest"]))
        numbers = (one["dead"], sum(one["given_up"].values()))
        table.add_row(backend, f"{one['waiting']:,}", since, *(f"{number:,}" for number in numbers))
    return table


def spans_troubles(spans: Spans) -> "list[Text]":
    """What a backend said last, and why spans were given up, a line each."""
    from rich.text import Text

    said = []
    for backend, one in spans.items():
        if one["error"]:
            style = "red" if one["dead"] else "yellow"
            said.append(Text(f"spans for {backend}: {plain(one['error'])}", style=style))
        for why, number in one["given_up"].items():
            words = f"{count(number, 'span')} will never be at {backend}: {why}"
            said.append(Text(words, style="red"))
    return said


def kept_scores(settings: Settings, store: Store) -> list[str]:
    """Which of the store's scores a sink does not get, why, and what changes that; a sentence each."""
    try:
        sinks = load_sinks(settings)
    except TracehooksError:
        return []
    said = []
    for sink, one in sinks.items():
        for name in sorted(getattr(one, "unwanted", ())):
            if store.scores.page(name, limit=1):
                why = getattr(one, "unwanted_because", f"{sink} is not to get them")
                said.append(f"Scores named {name} stay in the store: {why}")
        if (close := getattr(one, "close", None)) is not None:
            close()
    return said


def _age(text: str) -> Any:
    return datetime.now(UTC) - datetime.fromisoformat(text)
