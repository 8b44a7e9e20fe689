"""The Batch API of an OpenAI-compatible server: files of requests, answered within a day and at a discount.

https://platform.openai.com/docs/guides/batch
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from tracehooks.judges.completions import CompletionFailed
from tracehooks.judges.failures import Scrub, failure_of
from tracehooks.judges.untraced import untraced
from tracehooks.records import Reason

if TYPE_CHECKING:
    from openai import AsyncOpenAI

ENDPOINT: Literal["/v1/chat/completions"] = "/v1/chat/completions"
MOST_REQUESTS, MOST_BYTES = 50_000, 200_000_000  # of one file
UPLOAD_SECONDS = 600.0
PAGE = 100
OVER = frozenset({"completed", "failed", "expired", "cancelled"})
NOT_FOUND = 404
_NO_SUCH_API = frozenset({NOT_FOUND, 405, 501})


class NoBatchApi(Exception):  # noqa: N818 - it says what the server lacks
    """The server has no Batch API."""


class NoSuchBatch(Exception):  # noqa: N818 - it says what the server says
    """The server does not know the batch, or the file, any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteBatch:
    """A batch as the server tells of it: ``complaint`` is what is wrong, ``files`` what it brought.

    ``sent`` is the file of its requests.
    """

    id: str
    status: str
    created: datetime
    marks: Mapping[str, str]
    sent: str = ""
    files: tuple[str, ...] = ()
    complaint: str = ""

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come of it."""
        return self.status in OVER


class BatchApi:
    """Sends files of requests and fetches what came back, with clients that ``make`` makes.

    Every method raises CompletionFailed where the server cannot be reached or refuses.
    """

    def __init__(self, make: "Callable[[], AsyncOpenAI]", scrub: Scrub, timeout: float) -> None:
        self._make, self._scrub, self._timeout = make, scrub, timeout

    async def submit(self, name: str, content: bytes, marks: Mapping[str, str]) -> RemoteBatch:
        """Upload the requests, one a line, under a file's ``name``, and have a batch made of them.

        Whoever is cut off in the middle does not know whether there is one. Raises NoBatchApi.
        """
        async with self._client(UPLOAD_SECONDS, missing=NoBatchApi) as client:
            file = await client.files.create(file=(name, content, "application/jsonl"), purpose="batch")
        async with self._client(missing=NoBatchApi) as client:
            return _remote(
                await client.batches.create(
                    input_file_id=_id(file),
                    endpoint=ENDPOINT,
                    completion_window="24h",
                    metadata=dict(marks),
                )
            )

    async def find(self, name: str, marks: Mapping[str, str], since: datetime) -> list[RemoteBatch]:
        """The batches that were submitted like this after ``since``, the first one first.

        They are known by their marks; on a server that keeps none, by the file's ``name``.
        """
        found = []
        async with self._client(UPLOAD_SECONDS) as client:
            async for batch in client.batches.list(limit=PAGE):  # the newest come first
                remote = _remote(batch)
                if remote.created < since:
                    break
                if remote.marks:
                    is_it = marks.items() <= remote.marks.items()
                else:
                    is_it = await self._is_named(batch.input_file_id, name)
                if is_it:
                    found.append(remote)
        return found[::-1]

    async def _is_named(self, file_id: str, name: str) -> bool:
        """Whether a file has the name. One that is deleted was that of a batch that has been collected."""
        try:
            async with self._client(missing=NoSuchBatch) as client:
                return (await client.files.retrieve(file_id)).filename == name
        except NoSuchBatch:
            return False

    async def get(self, remote_id: str) -> RemoteBatch:
        """The batch as it is now. Raises NoSuchBatch."""
        async with self._client(missing=NoSuchBatch) as client:
            return _remote(await client.batches.retrieve(remote_id))

    async def cancel(self, remote_id: str) -> RemoteBatch:
        """Ask the server to stop; what it has answered by then it still brings."""
        async with self._client(missing=NoSuchBatch) as client:
            return _remote(await client.batches.cancel(remote_id))

    async def answers(self, file_id: str) -> list[Any]:
        """The lines of a file that a batch brought, decoded; None for one that is broken."""
        async with self._client(UPLOAD_SECONDS, missing=NoSuchBatch) as client:
            content = await client.files.content(file_id)
            return [_decoded(line) for line in content.content.split(b"\n") if line.strip()]

    async def remove(self, file_ids: Sequence[str]) -> None:
        """Delete files at the server: they hold what was said. One that cannot be deleted expires there."""
        for file_id in file_ids:
            with suppress(CompletionFailed):
                async with self._client() as client:
                    await client.files.delete(file_id)

    @asynccontextmanager
    async def _client(
        self, seconds: float | None = None, *, missing: type[Exception] | None = None
    ) -> "AsyncIterator[AsyncOpenAI]":
        """A client for one exchange. What goes wrong is told as one would of a live request."""
        client = self._make()
        try:
            with untraced():
                async with asyncio.timeout(seconds or self._timeout):
                    yield client
        except (CompletionFailed, NoBatchApi, NoSuchBatch):
            raise
        except Exception as error:
            status = getattr(error, "status_code", None)
            if missing is not None and status in (_NO_SUCH_API if missing is NoBatchApi else {NOT_FOUND}):
                raise missing(f"the judge's server answered {status}") from None
            raise failure_of(error, self._scrub) from None
        finally:
            await client.close()


def _remote(batch: Any) -> RemoteBatch:
    """The batch in what the client made of an answer, whatever that was."""
    created, errors = getattr(batch, "created_at", None), getattr(batch, "errors", None)
    names = ("output_file_id", "error_file_id")
    return RemoteBatch(
        id=_id(batch),
        status=str(getattr(batch, "status", "")).casefold(),
        created=datetime.fromtimestamp(created if isinstance(created, int | float) else 0, UTC),
        marks={str(k): str(v) for k, v in (getattr(batch, "metadata", None) or {}).items()},
        sent=str(getattr(batch, "input_file_id", None) or ""),
        files=tuple(file for name in names if (file := getattr(batch, name, None))),
        complaint="; ".join(_complaints(getattr(errors, "data", None) or ())),
    )


def _complaints(errors: Any) -> Iterator[str]:
    for error in errors[:3]:
        words = (getattr(error, "code", None), getattr(error, "message", None))
        yield ": ".join(str(word) for word in words if word)


def _id(found: Any) -> str:
    name = getattr(found, "id", None)
    if not isinstance(name, str) or not name:
        detail = "the judge's server answered 200 with something that is no file and no batch"
        raise CompletionFailed(Reason.SERVER_ERROR, detail, retry=True)
    return name


def _decoded(line: bytes) -> Any:
    try:
        return json.loads(line)  # takes a lone surrogate, as the reading of a live reply does
    except (ValueError, RecursionError):
        return None
