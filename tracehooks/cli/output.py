"""Where output goes: documents and reports to standard output, everything else to standard error.

No colour codes reach a pipe or a terminal with NO_COLOR. A reader that went away is no error.
"""

import io
import json
import math
import os
import sys
from collections.abc import Mapping, Set
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TextIO

from tracehooks.errors import TracehooksError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

PIPE_WIDTH = 100


def console(stream: TextIO | None) -> "Console":
    """A rich console on ``stream``: its width is the terminal's, ``COLUMNS``, or 100 for anything else."""
    from rich.console import Console

    stream = stream or io.StringIO()
    known = stream.isatty() or os.environ.get("COLUMNS", "").isdigit()
    return Console(
        file=stream,
        width=None if known else PIPE_WIDTH,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
        highlight=False,
        emoji=False,
        markup=False,
    )


def width() -> int:
    """How many columns a report has."""
    return console(sys.stdout).width


def show(renderable: "RenderableType") -> None:
    """Print a report to standard output."""
    made = console(sys.stdout)
    with made.capture() as captured:
        # commands to be copied may be longer than the width; the terminal wraps them without a break
        made.print(renderable, crop=False)
    # cells are padded to their width, which nobody wants in a log
    write("".join(line.rstrip() + "\n" for line in captured.get().splitlines()))


def show_json(value: Any) -> None:
    """Print one JSON document to standard output: no NaN, times as ISO 8601 in UTC."""
    write(json.dumps(plain_data(value), indent=2, ensure_ascii=not _speaks_unicode(), allow_nan=False) + "\n")


def say(message: str, style: str = "") -> None:
    """Tell people something, on standard error."""
    from rich.text import Text

    if sys.stderr is None:
        return
    try:
        console(sys.stderr).print(Text(message, style=style), soft_wrap=True)
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
