"""``tracehooks outbox``: what is on its way to the sinks, and sending it now."""

import time
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from tracehooks.cli import output
from tracehooks.cli.options import ConfigOption, JsonOption
from tracehooks.cli.progress import Report, progress
from tracehooks.cli.session import config_hint, read_settings, reading
from tracehooks.cli.verbs import examples, verb_app
from tracehooks.errors import ConfigurationError
from tracehooks.protocols import ScoreSink
from tracehooks.reports.wording import count, plain
from tracehooks.scoring import Deliverer, load_sinks
from tracehooks.scoring.coordinator import this_owner
from tracehooks.settings import Settings, parse_duration
from tracehooks.store import Store

STATES = ("pending", "accepted", "confirmed", "dead")
DELIVERED, DEAD, WAITING = 0, 1, 3
LONGEST_NAP = 5.0  # seconds between two looks at what is due

app = verb_app(no_args_is_help=True)


@app.callback()
def outbox() -> None:
    """Scores on their way to the sinks: pending, accepted, confirmed by reading them back, or dead."""


@app.command(epilog=examples("tracehooks outbox status", "tracehooks outbox status --json"))
def status(config: ConfigOption = None, as_json: JsonOption = False) -> int:
    """Show how many scores each sink has in which state, and what the sinks said about those that wait.

    Exits 0 when all were delivered, 1 when some are dead, which means refused for good, else 3.
    """
    with reading(read_settings(config)) as store:
        return _show(store, config_hint(config), as_json=as_json)


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
    """Deliver now whatever waits, without its pauses, and look for what was accepted.

    Exits 0 when all was delivered, 1 when some are dead, 3 when some still wait.
    """
    settings = read_settings(config)
    try:
        seconds = parse_duration(timeout).total_seconds()
    except ValueError as error:
        raise ConfigurationError(f"--timeout: {error}") from None
    with reading(settings) as store:
        sinks = _sinks(settings, store)
        for name in sinks:
            if dead:
                store.outbox.revive(name)
            store.outbox.hurry(name)
        with progress("delivering") as report:
            _deliver(store, sinks, seconds, report)
        return _show(store, config_hint(config), as_json=as_json)


def _sinks(settings: Settings, store: Store) -> Mapping[str, ScoreSink]:
    sinks = load_sinks(settings)
    for name, states in store.outbox.counts().items():
        if name not in sinks and states.get("pending"):
            output.say(f"{count(states['pending'], 'score')} wait for {name}, which `sinks` does not name")
    return sinks


def _deliver(store: Store, sinks: Mapping[str, ScoreSink], seconds: float, report: Report) -> None:
    end = time.monotonic() + seconds
    done, total = 0, _pending(store, sinks)

    def settled(number: int) -> None:
        nonlocal done
        done += number
        report(min(done, total), total)

    deliverer = Deliverer(store, sinks, owner=this_owner(), progress=settled)
    deliverer.deliver(seconds)
    while _pending(store, sinks) and (left := end - time.monotonic()) > 0:
        waits = [wait for name in sinks if (wait := store.outbox.wait(name, "pending")) is not None]
        time.sleep(min([*waits, LONGEST_NAP, left]))
        deliverer.deliver(max(0.0, end - time.monotonic()))
    deliverer.confirm(max(0.0, end - time.monotonic()))


def _pending(store: Store, sinks: Mapping[str, ScoreSink]) -> int:
    counts = store.outbox.counts()
    return sum(counts.get(name, {}).get("pending", 0) for name in sinks)


def _show(store: Store, hint: str, *, as_json: bool) -> int:
    counts = {
        sink: {state: states.get(state, 0) for state in STATES}
        for sink, states in store.outbox.counts().items()
    }
    troubles = store.outbox.troubles()
    code = _code(counts)
    if as_json:
        listed = [dict(zip(("sink", "state", "error", "count"), one, strict=True)) for one in troubles]
        output.show_json({"outbox": counts, "troubles": listed, "exit_code": code})
        return code
    output.show(_listing(counts, troubles))
    if code == DEAD:
        output.show(f"Mend the cause of what is dead, then: tracehooks outbox flush --dead{hint}")
    elif code == WAITING:
        output.show(f"What waits is tried again by every run; now: tracehooks outbox flush{hint}")
    return code


def _code(counts: Mapping[str, Mapping[str, int]]) -> int:
    if any(states["dead"] for states in counts.values()):
        return DEAD
    return WAITING if any(states["pending"] for states in counts.values()) else DELIVERED


def _listing(counts: Mapping[str, Mapping[str, int]], troubles: list[tuple[str, str, str, int]]) -> Any:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    if not counts:
        return "No score was ever sent anywhere: `sinks` names where they go besides the store."
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
