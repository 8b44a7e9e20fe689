"""``tracehooks outbox``: what is on its way to the sinks, and sending it now."""

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Annotated, Any

import typer

from tracehooks.cli import output
from tracehooks.cli.options import ConfigOption, JsonOption
from tracehooks.cli.progress import Report, progress
from tracehooks.cli.session import config_hint, read_settings, reading
from tracehooks.cli.unsent import Spans, kept_scores, spans_table, spans_troubles, unsent_spans
from tracehooks.cli.verbs import examples, verb_app
from tracehooks.errors import ConfigurationError
from tracehooks.protocols import ScoreSink
from tracehooks.reports.wording import count, plain
from tracehooks.scoring import Deliverer, load_sinks
from tracehooks.scoring.coordinator import this_owner
from tracehooks.scoring.resending import Resender
from tracehooks.settings import Settings, parse_duration
from tracehooks.store import Store

STATES = ("pending", "accepted", "confirmed", "dead")
DELIVERED, DEAD, WAITING = 0, 1, 3
LONGEST_NAP = 5.0  # seconds between two looks at what is due

app = verb_app(no_args_is_help=True)


@app.callback()
def outbox() -> None:
    """Scores on their way to the sinks, and spans that a backend has not got yet.

    A score is pending, accepted, confirmed by reading it back, or dead.
    """


@app.command(epilog=examples("tracehooks outbox status", "tracehooks outbox status --json"))
def status(config: ConfigOption = None, as_json: JsonOption = False) -> int:
    """Show how many scores each sink has in which state, which spans wait, and what was said about them.

    Exits 0 when all were delivered, 1 when some are dead, which means refused for good, else 3.
    """
    settings = read_settings(config)
    with reading(settings) as store:
        return _show(settings, store, config_hint(config), as_json=as_json)


@app.command(
    epilog=examples("tracehooks outbox flush --timeout 10m", "tracehooks outbox flush --dead --json")
)
def flush(
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="DURATION", help="How long at most: 90s, 10m.")
    ] = "60s",
    dead: Annotated[
        bool, typer.Option("--dead", help="Also what was refused for good, once its cause is mended.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> int:
    """Deliver now whatever waits, without its pauses: spans, then scores. Look for what was accepted.

    Exits 0 when all was delivered, 1 when some are dead, 3 when some still wait.
    """
    settings = read_settings(config)
    try:
        seconds = parse_duration(timeout).total_seconds()
    except ValueError as error:
        raise ConfigurationError(f"--timeout: {error}") from None
    with reading(settings) as store, closing(Resender.from_settings(settings, store, this_owner())) as spans:
        sinks = _sinks(settings, store)
        spans.hurry(dead=dead)
        for name in sinks:
            if dead:
                store.outbox.revive(name)
            store.outbox.hurry(name)
        with progress("delivering") as report:
            _deliver(store, sinks, spans, seconds, report)
        return _show(settings, store, config_hint(config), as_json=as_json)


def _sinks(settings: Settings, store: Store) -> Mapping[str, ScoreSink]:
    sinks = load_sinks(settings)
    for name, states in store.outbox.counts().items():
        if name not in sinks and states.get("pending"):
            output.say(f"{count(states['pending'], 'score')} wait for {name}, which `sinks` does not name")
    return sinks


def _deliver(
    store: Store, sinks: Mapping[str, ScoreSink], spans: Resender, seconds: float, report: Report
) -> None:
    end = time.monotonic() + seconds
    done, total = 0, _pending(store, sinks)

    def settled(number: int) -> None:
        nonlocal done
        done += number
        report(min(done, total), total)

    deliverer = Deliverer(store, sinks, owner=this_owner(), progress=settled, spans=spans)
    deliverer.deliver(seconds)
    while (waits := _waits(store, sinks, spans)) and (left := end - time.monotonic()) > 0:
        time.sleep(min([*waits, LONGEST_NAP, left]))
        deliverer.deliver(max(0.0, end - time.monotonic()))
    deliverer.confirm(max(0.0, end - time.monotonic()))


def _waits(store: Store, sinks: Mapping[str, ScoreSink], spans: Resender) -> list[float]:
    """Seconds until the next try of scores and of spans; empty when nothing waits for one."""
    scores = (store.outbox.wait(name, "pending") for name in sinks)
    return [wait for wait in (*scores, spans.wait) if wait is not None]


def _pending(store: Store, sinks: Mapping[str, ScoreSink]) -> int:
    counts = store.outbox.counts()
    return sum(counts.get(name, {}).get("pending", 0) for name in sinks)


def _show(settings: Settings, store: Store, hint: str, *, as_json: bool) -> int:
    counts = {
        sink: {state: states.get(state, 0) for state in STATES}
        for sink, states in store.outbox.counts().items()
    }
    troubles, spans, kept = store.outbox.troubles(), unsent_spans(store), kept_scores(settings, store)
    code = _code(counts, spans)
    if as_json:
        listed = [dict(zip(("sink", "state", "error", "count"), one, strict=True)) for one in troubles]
        document = {"outbox": counts, "spans": spans, "troubles": listed, "kept": kept}
        output.show_json({**document, "exit_code": code})
        return code
    output.show(_listing(counts, troubles, settings.sinks))
    if spans:
        output.show(_spans(spans))
    for sentence in kept:
        output.show(sentence)
    if code == DEAD:
        output.show(f"Mend the cause of what is dead, then: tracehooks outbox flush --dead{hint}")
    elif code == WAITING:
        output.show(f"What waits is tried again by every run; now: tracehooks outbox flush{hint}")
    return code


def _code(counts: Mapping[str, Mapping[str, int]], spans: Spans) -> int:
    if any(one["dead"] for one in (*counts.values(), *spans.values())):
        return DEAD
    waits = any(states["pending"] for states in counts.values())
    stuck = any(one["waiting"] > one["on_their_way"] for one in spans.values())
    return WAITING if waits or stuck else DELIVERED


def _spans(spans: Spans) -> Any:
    from rich.console import Group

    return Group(spans_table(spans), *spans_troubles(spans))


def _listing(
    counts: Mapping[str, Mapping[str, int]],
    troubles: list[tuple[str, str, str, int]],
    sinks: Sequence[str],
) -> Any:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    if not counts:
        return _nothing(sinks)
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("sink")
    for state in STATES:
        table.add_column(state, justify="right")
    for sink, states in counts.items():
        table.add_row(sink, *(f"{states[state]:,}" for state in STATES))
    said = [
        Text(f"{sink}, {n:,} {state}: {plain(error)}", style="red" if state == "dead" else "yellow")
        for sink, state, error, n in troubles
    ]
    return Group(table, *said)


def _nothing(sinks: Sequence[str]) -> str:
    if sinks:
        return f"No score was committed for {', '.join(sinks)} yet."
    return "No score was ever sent anywhere: `sinks` names where they go besides the store."
