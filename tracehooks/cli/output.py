"""Where output goes: documents and reports to standard output, everything else to standard error.

No colour codes reach a pipe or a terminal with NO_COLOR. A reader that went away is no error.
"""

import io
import json
import math
import os
import sys
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager, redirect_stdout
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, TextIO

from tracehooks.errors import TracehooksError

if TYPE_CHECKING:
    from rich.console import RenderableType

PIPE_WIDTH = 100


def width(stream: TextIO | None = None) -> int:
    """How many columns a report has: ``COLUMNS``, else the terminal's, else 100."""
    stated = os.environ.get("COLUMNS", "")
    if stated.isdigit() and int(stated):
        return int(stated)
    try:
        return os.get_terminal_size((stream or sys.stdout).fileno()).columns or PIPE_WIDTH
    except (OSError, ValueError, AttributeError):
        return PIPE_WIDTH


def show(renderable: "RenderableType") -> None:
    """Print a report to standard output."""
    write(_rendered(renderable, sys.stdout))


def _rendered(renderable: "RenderableType", stream: TextIO | None, **options: Any) -> str:
    """What to write to ``stream``; rich itself never gets hold of it, for it exits when a pipe is closed."""
    from rich.console import Console

    made = Console(
        file=io.StringIO(),
        width=width(stream),
        force_terminal=stream is not None and stream.isatty(),
        color_system=color_system(),
        highlight=False,
        emoji=False,
        markup=False,
    )
    with made.capture() as captured:
        # commands to be copied may be longer than the width; the terminal wraps them without a break
        made.print(renderable, crop=False, **options)
    # cells are padded to their width, which nobody wants in a log
    return "".join(line.rstrip() + "\n" for line in captured.get().splitlines())


def color_system() -> Literal["auto"] | None:
    """No codes at all with NO_COLOR set, not even bold ones; else what the terminal can do."""
    return None if os.environ.get("NO_COLOR") else "auto"


def show_json(value: Any) -> None:
    """Print one JSON document to standard output: no NaN, times as ISO 8601 in UTC."""
    write(json.dumps(plain_data(value), indent=2, ensure_ascii=not _speaks_unicode(), allow_nan=False) + "\n")


def say(message: str, style: str = "") -> None:
    """Tell people something, on standard error."""
    from rich.text import Text

    if sys.stderr is None:
        return
    try:
        sys.stderr.write(_rendered(Text(message, style=style), sys.stderr, soft_wrap=True))
        sys.stderr.flush()
    except OSError:  # nobody listens
        _discard(sys.stderr)


def write(text: str) -> None:
    """Write ``text`` to standard output. Raises TracehooksError when it cannot be, but for a closed pipe."""
    if sys.stdout is None:
        return
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        _discard(sys.stdout)
    except OSError as error:
        _discard(sys.stdout)
        raise TracehooksError(f"standard output cannot be written: {error.strerror}") from None


@contextmanager
def kept_clean() -> Iterator[None]:
    """Within it, what an agent prints goes to standard error: standard output is for the report alone."""
    with redirect_stdout(sys.stderr):
        yield


def finish() -> None:
    """Flush what is left, so that the interpreter has nothing to complain about at its end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            _discard(stream)


def plain_data(value: Any) -> Any:
    """``value`` as JSON has it: mappings, lists, strings, finite numbers, null."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return str(value).encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Mapping):
        return {plain_data(str(key)): plain_data(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | Set):
        return [plain_data(entry) for entry in value]
    return plain_data(str(value))


def _speaks_unicode() -> bool:
    return sys.stdout is not None and (sys.stdout.encoding or "").lower().startswith("utf")


def _discard(stream: TextIO) -> None:
    """Point the stream's descriptor at nothing: what is still buffered must not fail again at exit."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        pass
