"""The store: opened once, handed down, closed at the end."""

import weakref
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from types import TracebackType

from tracehooks.store.accounts import Accounts
from tracehooks.store.batches import Batches
from tracehooks.store.calls import Calls
from tracehooks.store.canaries import Canaries
from tracehooks.store.database import Database
from tracehooks.store.decisions import Decisions
from tracehooks.store.encoding import to_micros
from tracehooks.store.firings import Firings
from tracehooks.store.items import Items
from tracehooks.store.listed import Listed
from tracehooks.store.losses import Losses
from tracehooks.store.memory import SHARED
from tracehooks.store.migrations import migrate
from tracehooks.store.notices import Notices
from tracehooks.store.outbox import Outbox
from tracehooks.store.overview import Overview
from tracehooks.store.references import References
from tracehooks.store.replays import Replays
from tracehooks.store.runs import Runs
from tracehooks.store.schedulers import Schedulers
from tracehooks.store.scores import Scores
from tracehooks.store.search import Search
from tracehooks.store.shares import Shares
from tracehooks.store.spans import Spans
from tracehooks.store.unsent import UnsentSpans
from tracehooks.store.url import MEMORY
from tracehooks.store.verdicts import Verdicts


def utc_now() -> datetime:
    """The time, aware, in UTC."""
    return datetime.now(UTC)


class Store:
    """All that tracehooks remembers. Safe to use from any thread, and after a fork.

    Open it with :func:`open_store`. Every method raises StoreError when the database stays locked, is
    damaged or unreachable; the message says what to do.
    """

    def __init__(self, database: Database, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._is_open = True
        self.spans = Spans(database, clock)
        self.calls = Calls(database)
        self.runs = Runs(database, clock)
        self.decisions = Decisions(database)
        self.items = Items(database, clock)
        self.scores = Scores(database, clock)
        self.replays = Replays(database, clock)
        self.outbox = Outbox(database, clock)
        self.accounts = Accounts(database, clock)
        self.shares = Shares(database, clock)
        self.verdicts = Verdicts(database, clock)
        self.canaries = Canaries(database)
        self.batches = Batches(database)
        self.firings = Firings(database, clock)
        self.schedulers = Schedulers(database, clock)
        self.notices = Notices(database, clock)
        self.listed = Listed(database)
        self.losses = Losses(database, clock)
        self.unsent = UnsentSpans(database, clock)
        self.references = References(database)
        self.overview = Overview(database)
        self.search = Search(database)

    @property
    def url(self) -> str:
        """Where the store is, without a password."""
        return self._database.url

    def check(self) -> list[str]:
        """What is wrong with the database file; empty when it is whole."""
        return self._database.problems()

    def close(self) -> None:
        """Close all connections. Closing twice is fine. One in memory is gone when all have closed it."""
        if not self._database.is_in_memory:
            self._database.close()
        elif self._is_open:
            self._is_open = False
            SHARED.leave()

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_store(url: str, *, clock: Callable[[], datetime] = utc_now) -> Store:
    """Open the store at ``url`` (``sqlite:///path`` or ``postgresql://...``), made or brought up to date.

    ``memory`` is a store that all of this process share and that ends with it. The folder of a SQLite file is
    made too. ``clock`` gives the time of leases, results and retries.
    Raises ConfigurationError for a bad url, StoreError for a database that cannot be used.
    """

    def make() -> Database:
        database = Database(url)
        try:
            database.make_schema = partial(_migrate, weakref.ref(database), clock)
            database.make_schema()
        except BaseException:
            database.close()
            raise
        return database

    return Store(SHARED.open(make) if url == MEMORY else make(), clock)


def _migrate(database: "weakref.ref[Database]", clock: Callable[[], datetime]) -> None:
    known = database()
    if known is not None:
        migrate(known, to_micros(clock()))
