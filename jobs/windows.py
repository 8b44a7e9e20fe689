"""Which span of time a run covers: given, since the last success, the last so many hours, or all."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tracehooks.errors import ConfigurationError
from tracehooks.records import EPOCH
from tracehooks.scoring import Window
from tracehooks.settings import ToxicityJob, format_duration
from tracehooks.store import Store

LOOKBACK = timedelta(days=1)
WRONG_CLOCK = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class ResolvedWindow:
    """A window and where it came from. ``moves`` says that a success becomes the next window's start.

    ``lookback`` is how far before the window a call may have started that was not there to be seen in time.
    ``note`` tells what a person should know about the window, such as days that it leaves out.
    """

    window: Window
    moves: bool = False
    lookback: timedelta = timedelta(0)
    note: str = ""


def resolve_window(
    store: Store,
    job: str,
    settings: ToxicityJob,
    now: datetime,
    start: datetime | None = None,
    end: datetime | None = None,
    *,
    is_local: bool = True,
) -> ResolvedWindow:
    """The window to cover: ``start`` and ``end`` where given, else as ``settings.window`` says.

    ``is_local`` says that the calls are those of the store, which knows when the first one was.
    Raises ConfigurationError for a window that ends before it starts.
    """
    if start is not None or end is not None:
        window = Window(start or _first(store, now, is_local), end or now)
        if window.start >= window.end:
            raise ConfigurationError(
                f"the window ends ({window.end:%F %T}) before it starts ({window.start:%F %T})"
            )
        return ResolvedWindow(window)
    if settings.window == "all":
        return ResolvedWindow(Window(_first(store, now, is_local), now))
    if settings.window != "since_last":
        return ResolvedWindow(Window(now - settings.window, now))
    return _since_last(store, job, settings, now, is_local)


def _since_last(
    store: Store, job: str, settings: ToxicityJob, now: datetime, is_local: bool
) -> ResolvedWindow:
    end, longest = now - settings.settle, settings.max_window
    last = watermark(store, job, now)
    begin = last or (min(_first(store, now, True), end) if is_local else end - longest)
    note = ""
    if end - begin > longest:
        left_out = f"{begin:%F %T}Z to {end - longest:%F %T}Z"
        note = f"calls from {left_out} are left out: max_window is {format_duration(longest)}"
        begin = end - longest
    return ResolvedWindow(
        Window(min(begin, end), end), moves=True, lookback=LOOKBACK if last else timedelta(0), note=note
    )


def watermark(store: Store, job: str, now: datetime) -> datetime | None:
    """Where the last successful run since the one before it ended; None before the first.

    What ends in the future was covered by a clock that was ahead, and does not count.
    """
    for limit in (3, 1000):  # the very last one, as a rule
        for run in store.runs.finished(job, limit):
            moves = run.plan.get("moves") and run.report.get("covered")
            if moves and run.window_end <= now + WRONG_CLOCK:
                return run.window_end
    return None


def _first(store: Store, now: datetime, is_local: bool) -> datetime:
    if not is_local:
        return EPOCH
    span = store.calls.span_of_time()
    return span[0] if span else now - timedelta(days=1)


def parse_time(text: str) -> datetime:
    """An aware UTC time from ISO 8601 text; without an offset it is taken as UTC.

    Raises ConfigurationError for anything else.
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ConfigurationError(f"{text!r} is not a time such as 2026-11-30 or 2026-11-30T02:00Z") from None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
