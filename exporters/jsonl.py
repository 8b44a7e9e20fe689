"""Scores into a file, one JSON object a line."""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import orjson

from tracehooks.protocols import Delivery, Receipt
from tracehooks.settings import Settings
from tracehooks.store.encoding import to_json

READ_BYTES = 1 << 20


class JsonlSink:
    """Appends each score to a file, for any number of processes at once.

    A line has ``id``, ``revision``, ``name``, ``value``, ``data_type``, ``comment``, ``trace_id``,
    ``span_id``, ``time`` (the scored call's start), ``environment``, ``call`` (its name; null when unknown),
    ``session_id``, ``user_id``, ``tags`` and ``metadata``. A rescore is a new line with a higher revision:
    of one id the last line counts.

    A score handed over twice in the same revision is written once. Writers lock the file, and before
    writing read what was appended since they last looked. Only when somebody moves or rewrites the file
    in between can a score be there twice, and never when it is still in the file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        # the working directory may change before the first score comes
        self.path = Path(path).expanduser().absolute()
        self._seen: set[tuple[str, int]] = set()
        self._file_id: tuple[int, int] | None = None
        self._read_to = 0
        self._torn = False

    @classmethod
    def from_settings(cls, settings: Settings) -> "JsonlSink":
        """The sink for the file that ``jsonl.path`` names."""
        return cls(settings.jsonl.path)

    def deliver(self, scores: Sequence[Delivery]) -> list[Receipt]:
        """Append ``scores``: all of them, or none and each receipt says why."""
        try:
            with self._locked() as file:
                self._catch_up(file)
                self._append(file, scores)
        except OSError as error:
            return [Receipt(id=score.id, accepted=False, error=f"{self.path}: {error}") for score in scores]
        return [Receipt(id=score.id, accepted=True) for score in scores]

    @contextmanager
    def _locked(self) -> Iterator[int]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
        finally:
            os.close(file)  # which releases the lock too

    def _catch_up(self, file: int) -> None:
        """Learn which scores were appended since the last look, by whomever."""
        status = os.fstat(file)
        if self._file_id != (status.st_dev, status.st_ino) or status.st_size < self._read_to:
            self._seen, self._read_to = set(), 0
            self._file_id = status.st_dev, status.st_ino
        rest = b""
        while chunk := os.pread(file, READ_BYTES, self._read_to):
            self._read_to += len(chunk)
            *lines, rest = (rest + chunk).split(b"\n")
            self._seen.update(key for line in lines if (key := _key(line)))
        self._torn = bool(rest)
        if key := _key(rest):
            self._seen.add(key)

    def _append(self, file: int, scores: Sequence[Delivery]) -> None:
        new = {(score.id, score.revision): score for score in scores}
        fresh = {key: score for key, score in new.items() if key not in self._seen}
        if not fresh:
            return
        # a writer that was killed may have left half a line
        lines = [b"\n"] if self._torn else []
        lines += [_line(score) for score in fresh.values()]
        _write_all(file, b"".join(lines))
        self._seen.update(fresh)
        self._read_to = os.fstat(file).st_size


def _line(delivery: Delivery) -> bytes:
    score, call = delivery.score, delivery.call
    fields = {
        "id": delivery.id,
        "revision": delivery.revision,
        "name": score.name,
        "value": score.value,
        "data_type": score.data_type,
        "comment": score.comment,
        "trace_id": score.target and score.target.trace_id,
        "span_id": score.target and score.target.span_id,
        "time": delivery.time,
        "environment": delivery.environment,
        "call": call and call.name,
        "session_id": call and call.session_id,
        "user_id": call and call.user_id,
        "tags": call.tags if call else (),
        "metadata": score.metadata,
    }
    return to_json(fields).encode() + b"\n"


def _write_all(file: int, content: bytes) -> None:
    """Append ``content`` down to the disk, or leave the file as it was."""
    size = os.fstat(file).st_size
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(file, view) :]
        os.fsync(file)
    except OSError:
        os.ftruncate(file, size)
        raise


def _key(line: bytes) -> tuple[str, int] | None:
    """The (id, revision) of a line; None for one that is not ours, or torn."""
    try:
        fields = orjson.loads(line)
        return fields["id"], fields["revision"]
    except (ValueError, KeyError, TypeError):
        return None
