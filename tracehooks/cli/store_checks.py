"""What `tracehooks doctor` looks at in the store: does it open, is it whole, is there space."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from tracehooks.cli.finding import Finding, Grade
from tracehooks.cli.session import is_stored
from tracehooks.errors import TracehooksError
from tracehooks.reports.wording import count, plain, size
from tracehooks.settings import Settings

LITTLE_SPACE, TOO_LITTLE_SPACE = 1_000_000_000, 100_000_000


def store(settings: Settings) -> Iterator[Finding]:
    """Whether the store opens, can be written and is whole."""
    from tracehooks.store import open_store

    try:
        if not is_stored(settings):
            yield _store_to_be(settings)
            return
        with open_store(settings.store) as opened:
            counts, problems = opened.overview.counts(), opened.check()
            where = f"{opened.url}, {size(opened.overview.size())}"
    except TracehooksError as error:
        yield Finding("bad", "store", str(error))
        return
    stored = ", ".join(count(n, name[:-1]) for name, n in counts.items())
    yield Finding("ok", "store", f"{plain(where)}: {stored}")
    for problem in problems:
        yield Finding("bad", "store", plain(problem), "restore the file from a backup, or begin a new one")


def _store_to_be(settings: Settings) -> Finding:
    folder = _nearest_folder(_store_path(settings))
    if not os.access(folder, os.W_OK | os.X_OK):
        return Finding("bad", "store", f"{folder} cannot be written", "change its rights, or the key `store`")
    return Finding("ok", "store", "not there yet; the first trace makes it")


def disk(settings: Settings) -> Iterator[Finding]:
    """Whether there is space for the store."""
    try:
        path = _store_path(settings)
        if path is None:
            return
        free = shutil.disk_usage(_nearest_folder(path)).free
    except (TracehooksError, OSError):
        return
    if free >= LITTLE_SPACE:
        yield Finding("ok", "disk", f"{size(free)} free")
        return
    grade: Grade = "bad" if free < TOO_LITTLE_SPACE else "note"
    yield Finding(
        grade, "disk", f"only {size(free)} free", "`tracehooks traces prune --older-than 30d` makes room"
    )


def _store_path(settings: Settings) -> Path | None:
    from tracehooks.store.url import parse_url

    url = parse_url(settings.store)
    return Path(str(url.database)) if url.get_backend_name() == "sqlite" else None


def _nearest_folder(path: Path | None) -> Path:
    """The folder of ``path`` that is there already, which may be one above it."""
    folder = (path or Path.cwd()).parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder
