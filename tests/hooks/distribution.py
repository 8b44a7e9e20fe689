"""A distribution with scorers and sinks of its own, as another package would bring them: by entry points."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"


def write_distribution(folder: Path, group: str, points: dict[str, str], name: str = "invented") -> Path:
    """Put a distribution into ``folder`` whose entry points of ``group`` are ``points``."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(METADATA.format(name=name))
    lines = [f"[{group}]", *(f"{key} = {value}" for key, value in points.items())]
    with (info / "entry_points.txt").open("a") as file:
        file.write("\n".join(lines) + "\n")
    return folder


@contextmanager
def installed(folder: Path) -> Iterator[None]:
    """Within it the distributions in ``folder`` are installed."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
