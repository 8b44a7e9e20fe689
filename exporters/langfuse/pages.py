"""Listings of a Langfuse server, read whole: page by page, the next one fetched while one is worked on.

A page that the server is too busy or too small for is asked for again, smaller where that may help. When it
gives up for good, or its pages do not go on, PartialReadError says how much there was: a part is never
handed on as the whole.
"""

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

import orjson

from tracehooks.errors import PartialReadError, TracehooksError
from tracehooks.exporters.langfuse.client import TOO_LARGE, Client, Reply, Unreachable
from tracehooks.judges.untraced import untraced

Row = dict[str, Any]
Query = Mapping[str, Any]

ROUNDS = 4  # for one page; in each the client itself tries some times
FIRST_PAUSE = 1.0  # seconds between two rounds; twice as long each time
LONGEST_PAUSE = 70.0  # seconds that a server may ask for; Langfuse Cloud counts requests by the minute
EMPTY_PAGES = 1000  # in a row, each with a cursor to a next one
SMALLER = (500, 100, 50, 20, 10, 5, 1)  # sizes of pages to fall back to
TOO_MUCH = frozenset({TOO_LARGE, 500, 502, 504})  # what a page that is too large may end in
ABSENT = 404
LONGEST_END = 2000  # bytes in which a page's meta is looked for
_BEGIN, _END = b'{"data":[', re.compile(rb'\],"meta":(\{[^{}]*\})\}\s*$')
NUMBERED = 100  # rows a page of the older listings has at most


class Refused(TracehooksError):  # noqa: N818 - it says what happened
    """The server will not list what it was asked for, however often one asks."""

    def __init__(self, path: str, reply: Reply) -> None:
        self.status = reply.status
        super().__init__(f"Langfuse refuses to list {path}: {reply.words}; `tracehooks doctor` looks into it")


@dataclass(frozen=True, slots=True)
class Page:
    """One page as it came. ``limit`` is the size that the server could manage."""

    body: bytes
    meta: Row
    limit: int

    @property
    def rows(self) -> list[Row]:
        """The rows, read now, by whoever works on them: what was just read is quickly worked on."""
        rows: list[Row] = orjson.loads(self.body)["data"]
        return rows


class _Ahead:
    """Fetches pages in a thread, one at a time. Who wants no more does not wait, nor a process that ends.

    It is one thread for a whole listing: to start one for each page was 6 % of the CPU of a page.
    """

    def __init__(self, fetch: Callable[..., Page]) -> None:
        self._asked: SimpleQueue[tuple[Any, ...] | None] = SimpleQueue()
        self._answers: SimpleQueue[Page | BaseException] = SimpleQueue()
        arguments = fetch, self._asked, self._answers
        threading.Thread(target=_fetched, args=arguments, name="tracehooks-pages", daemon=True).start()

    def ask(self, *arguments: Any) -> None:
        """Begin to fetch a page; the one before has been taken."""
        self._asked.put(arguments)

    def result(self) -> Page:
        """The page that was asked for, once it is there. Raises what fetching it raised."""
        outcome = self._answers.get()
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def close(self) -> None:
        """Ask for no more."""
        self._asked.put(None)


def _fetched(
    fetch: Callable[..., Page],
    asked: "SimpleQueue[tuple[Any, ...] | None]",
    answers: "SimpleQueue[Page | BaseException]",
) -> None:
    while (arguments := asked.get()) is not None:
        answers.put(_outcome(fetch, arguments))


def _outcome(fetch: Callable[..., Page], arguments: tuple[Any, ...]) -> Page | BaseException:
    try:
        return fetch(*arguments)
    except BaseException as error:
        return error


@dataclass(slots=True)
class Pages:
    """Reads listings through ``client``."""

    client: Client
    sleep: Callable[[float], None] = field(default=time.sleep)

    def by_cursor(self, path: str, query: Query, *, limit: int, what: str = "rows") -> Iterator[list[Row]]:
        """All pages of a listing with cursors, each a list of rows; a row may come twice.

        Raises PartialReadError, or Refused when the server will not.
        """
        with closing(_Ahead(self._page)) as ahead:
            ahead.ask(path, query, limit, None, what)
            yield from self._by_cursor(ahead, path, query, what)

    def _by_cursor(self, ahead: _Ahead, path: str, query: Query, what: str) -> Iterator[list[Row]]:
        read, empty = 0, 0
        while True:
            try:
                page = ahead.result()
                cursor = page.meta.get("cursor")
                if cursor:
                    ahead.ask(path, query, page.limit, cursor, what)
                rows = page.rows
            except PartialReadError as error:
                raise PartialReadError(what, read=read, total=None, why=error.why) from None
            except (ValueError, KeyError):
                raise PartialReadError(what, read=read, total=None, why="a page is no JSON") from None
            read += len(rows)
            empty = 0 if rows else empty + 1
            if cursor and empty > EMPTY_PAGES:
                raise PartialReadError(what, read=read, total=None, why="its pages stay empty")
            if rows:
                yield rows
            if not cursor:
                return
            del page, rows  # the next one need not find another place

    def by_number(
        self, path: str, query: Query, *, limit: int = NUMBERED, what: str = "rows"
    ) -> Iterator[list[Row]]:
        """All pages of a listing with numbered pages. Rows that arrive meanwhile may make one come twice.

        Raises PartialReadError, also where a page is empty although there should be more.
        """
        with closing(_Ahead(self._page)) as ahead:
            ahead.ask(path, query, limit, 1, what, 0)
            yield from self._by_number(ahead, path, query, what)

    def _by_number(self, ahead: _Ahead, path: str, query: Query, what: str) -> Iterator[list[Row]]:
        read = 0
        while True:
            page = ahead.result()
            total, rows = page.meta.get("totalItems"), page.rows
            read += len(rows)
            full = len(rows) == page.limit
            if (isinstance(total, int) and read >= total) or (total is None and not full):
                yield rows
                return
            if not rows:
                raise PartialReadError(what, read=read, total=total, why="it gave an empty page")
            # read is a multiple of the page's size, whatever sizes came before
            number = read // page.limit + 1
            ahead.ask(path, query, page.limit, number, what, read, total)
            yield rows

    def one(self, path: str, *, what: str) -> Row | None:
        """One object; None when there is none at ``path``. Raises PartialReadError or Refused."""
        pause, why = FIRST_PAUSE, ""
        for left in reversed(range(ROUNDS)):
            wait: float | None = None
            try:
                with untraced():
                    reply = self.client.get(path)
            except Unreachable as error:
                why = str(error)
            else:
                said = reply.json() if reply.ok else None
                if isinstance(said, dict):
                    return said
                if reply.status == ABSENT:
                    return None
                if not (reply.ok or reply.passes):
                    raise Refused(path, reply)
                why, wait = reply.words, reply.retry_after
            if not left or (wait or 0.0) > LONGEST_PAUSE:
                break
            self.sleep(pause if wait is None else wait)
            pause *= 2
        raise PartialReadError(what, read=0, total=None, why=why)

    def _page(
        self,
        path: str,
        query: Query,
        limit: int,
        place: str | int | None,
        what: str,
        read: int = 0,
        total: int | None = None,
    ) -> Page:
        pause, why = FIRST_PAUSE, ""
        for left in reversed(range(ROUNDS)):
            wait: float | None = None
            try:
                with untraced():
                    reply = self.client.get(path, **_asked(query, limit, place))
            except Unreachable as error:
                why = str(error)
            else:
                page = _read(reply, limit)
                if page is not None and not (place and page.meta.get("cursor") == place):
                    return page
                if not (reply.ok or reply.passes or reply.status == TOO_LARGE):
                    raise Refused(path, reply)
                why = "it gave the same page again" if page else reply.words
                wait = reply.retry_after
                if reply.status in TOO_MUCH and (smaller := _smaller(limit, read, place)):
                    limit, wait = smaller, 0.0
                    place = read // limit + 1 if isinstance(place, int) else place
            if not left or (wait or 0.0) > LONGEST_PAUSE:
                break
            self.sleep(pause if wait is None else wait)
            pause *= 2
        raise PartialReadError(what, read=read, total=total, why=why)


def _asked(query: Query, limit: int, place: str | int | None) -> dict[str, Any]:
    given = {**query, "limit": limit}
    if place is not None:
        given["page" if isinstance(place, int) else "cursor"] = place
    return given


def _read(reply: Reply, limit: int) -> Page | None:
    """The page in ``reply``; None when there is none that can be trusted.

    Where it ends as pages do, its end says how to go on, and the rows wait for who works on them.
    """
    if not reply.ok:
        return None
    if reply.body.startswith(_BEGIN) and (end := _END.search(reply.body, len(reply.body) - LONGEST_END)):
        with suppress(ValueError):
            return Page(reply.body, orjson.loads(end[1]), limit)
    said = reply.json()
    if not isinstance(said, dict) or not isinstance(said.get("data"), list):
        return None
    return Page(reply.body, said.get("meta") or {}, limit)


def _smaller(limit: int, read: int, place: str | int | None) -> int | None:
    """The next smaller page; of numbered ones, one that begins where reading has come to."""
    numbered = isinstance(place, int)
    return next((each for each in SMALLER if each < limit and not (numbered and read % each)), None)
