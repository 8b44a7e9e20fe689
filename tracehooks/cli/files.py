"""Files that a verb writes because somebody named them; ``-`` is standard output."""

from pathlib import Path

from tracehooks.cli import output
from tracehooks.errors import ConfigurationError

STANDARD_OUTPUT = "-"


def takes_standard_output(*, as_json: bool = False, **files: str | None) -> bool:
    """Whether one of ``files`` (option: name) goes to standard output, where nothing else then belongs.

    Raises ConfigurationError when two would.
    """
    there = [f"--{option} -" for option, name in files.items() if name == STANDARD_OUTPUT]
    both = [*there, "--json"] if as_json else there
    if there and len(both) > 1:
        raise ConfigurationError(f"{both[0]} and {both[1]} both want standard output; name a file for one")
    return bool(there)


def write_file(name: str, text: str) -> Path | None:
    """Write ``text`` to the file called ``name``, making its folder; returns its path.

    ``-`` is standard output, which has no path. Raises ConfigurationError when it cannot be done, naming the
    file.
    """
    if name == STANDARD_OUTPUT:
        output.write(text)
        return None
    path = Path(name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise ConfigurationError(f"{name} cannot be written: {error.strerror or error}") from None
    return path
