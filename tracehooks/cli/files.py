"""Files that a verb writes because somebody named them."""

from pathlib import Path

from tracehooks.errors import ConfigurationError


def write_file(name: str, text: str) -> Path:
    """Write ``text`` to the file called ``name``, making its folder; returns its path.

    Raises ConfigurationError when that cannot be done, naming the file.
    """
    path = Path(name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise ConfigurationError(f"{name} cannot be written: {error.strerror or error}") from None
    return path
