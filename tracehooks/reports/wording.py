"""Words and numbers as people read them: texts cut to one line, times, shares, and what each reason means."""

import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from tracehooks.records import Reason

# what may be shown of a text that nobody vouches for: no control characters (a terminal obeys them), and no
# marks that turn the direction of what follows
_TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_BLANKS = re.compile(r"\s+")

# reason -> (what happened, what to do about it)
REASONS: Mapping[Reason, tuple[str, str]] = {
    Reason.REFUSED: (
        "the judge refused to answer",
        "read the call yourself, or ask a judge that accepts such texts",
    ),
    Reason.TRUNCATED: (
        "the judge's reply was cut short by its length limit",
        "ask again; if it stays so, raise the model's output limit",
    ),
    Reason.CONTENT_FILTERED: (
        "the server's content filter stopped the judge",
        "read the call yourself, or relax the filter of the judge's deployment",
    ),
    Reason.EMPTY: ("the judge's reply was empty", "ask again; if it stays so, try another model"),
    Reason.MALFORMED: (
        "the judge's reply could not be read, asked twice",
        "ask again; if many are malformed, use a model that keeps to a JSON schema",
    ),
    Reason.OUT_OF_RANGE: (
        "the judge's reply, or the scorer's value, was outside its range",
        "ask again; if it stays so, try another model",
    ),
    Reason.SUSPECT: (
        "the judge's reply merely repeated the text it was to judge",
        "read the call yourself: its text may be trying to steer the judge",
    ),
    Reason.TIMEOUT: ("no answer came in time", "ask again, or raise judge.timeout"),
    Reason.UNREACHABLE: (
        "the judge could not be reached",
        "check judge.base_url and the network with `tracehooks doctor`, then ask again",
    ),
    Reason.REJECTED: (
        "the judge's server rejected the request",
        "check the key, judge.model and judge.base_url with `tracehooks doctor`, then ask again",
    ),
    Reason.RATE_LIMITED: (
        "the judge's server limited the rate of requests",
        "ask again later, or lower judge.concurrency",
    ),
    Reason.SERVER_ERROR: ("the judge's server failed", "ask again later"),
    Reason.QUOTA: ("the account at the judge's server has no quota left", "top it up, then ask again"),
    Reason.OVER_BUDGET: ("the run's budget was spent before its turn", "raise the budget, then ask again"),
    Reason.SCORER_ERROR: ("the scorer itself failed", "its comment names the error; mend it, then ask again"),
    Reason.NO_BASELINE: ("there is no baseline to compare with", "capture one, then ask again"),
    Reason.NOT_ATTEMPTED: ("its turn had not come when the run stopped", "`tracehooks resume` goes on"),
    Reason.NO_TEXT: (
        "the agent said nothing that could be judged",
        "nothing, if it was to be silent; else see that its output is captured",
    ),
    Reason.NOT_APPLICABLE: ("the scorer does not apply to this call", "nothing"),
}


def plain(text: object) -> str:
    """``text`` on one line, without anything that a terminal or a page would obey."""
    flat = _BLANKS.sub(" ", _TURNING.sub("", str(text)))
    return "".join(_shown(char) for char in flat).strip()


def turns(char: str) -> bool:
    """Whether ``char`` is a mark that turns the direction of what follows it."""
    return _TURNING.match(char) is not None


def _shown(char: str) -> str:
    category = unicodedata.category(char)
    return "" if category == "Cc" else "\ufffd" if category == "Cs" else char


def excerpt(text: object, length: int = 160) -> str:
    """The beginning of ``text`` on one line, at most ``length`` characters, with an ellipsis where cut."""
    # only a beginning is looked at: texts may be megabytes
    line = plain(str(text)[: length * 8])
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def percent(share: float | None, digits: int = 1) -> str:
    """A share as a percentage; a dash when it is not known."""
    return "–" if share is None else f"{share:.{digits}%}"


def number(value: float | str | None) -> str:
    """A score's value, at most three decimals, as short as it goes; a dash when there is none."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return plain(value)
    short = f"{value:.3f}".rstrip("0").rstrip(".")
    # a tiny value is not shown as none at all
    return f"{value:.2g}" if value and short in ("0", "-0") else short


def count(n: int, noun: str, many: str | None = None) -> str:
    """``1 call``, ``1,200 calls``."""
    return f"{n:,} {noun if n == 1 else many or noun + 's'}"


def moment(time: datetime | None, *, seconds: bool = False) -> str:
    """A time in UTC, to the minute or the second; a dash when there is none."""
    if time is None:
        return "–"
    return time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M")


def instant(time: datetime) -> str:
    """A time in UTC that a command line takes back, exact to the microsecond."""
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


def duration(time: timedelta) -> str:
    """A duration in its two largest units: ``420 ms``, ``1.5 s``, ``12 s``, ``3 min 20 s``, ``2 h 5 min``."""
    seconds = time.total_seconds()
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms" if seconds >= 0.001 else "under 1 ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (rest, "s")]
    while not parts[0][0]:
        parts.pop(0)
    return " ".join(f"{value} {unit}" for value, unit in parts[:2] if value)


def size(n: int) -> str:
    """Bytes as people say them: ``512 B``, ``1.4 MB``."""
    if n < 1000:
        return f"{n} B"
    value = float(n)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if value < 1000:
            return f"{value:.1f} {unit}"
    return f"{value / 1000:.1f} TB"


def what_happened(reason: Reason | str | None) -> str:
    """A reason code in words."""
    return _entry(reason)[0]


def what_to_do(reason: Reason | str | None) -> str:
    """The next step for a reason code."""
    return _entry(reason)[1]


def _entry(reason: Reason | str | None) -> tuple[str, str]:
    try:
        return REASONS[Reason(reason)]  # type: ignore[arg-type]
    except ValueError:
        return f"no reason is known ({reason})", "see the log"
