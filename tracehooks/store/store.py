"""The store: opened once, handed down, closed at the end."""

from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType

from tracehooks.store.calls import Calls
from tracehooks.store.decisions import Decisions
from tracehooks.store.items import Items
from tracehooks.store.outbox import Outbox
from tracehooks.store.runs import Runs
from tracehooks.store.scores import Scores
from tracehooks.store.spans import Spans


def utc_now() -> datetime:
    """The time, aware, in UTC."""
    return datetime.now(UTC)


class Store:
    """All that tracehooks remembers. Safe to use from any thread, and after a fork."""

    spans: Spans
    calls: Calls
    runs: Runs
    decisions: Decisions
    items: Items
    scores: Scores
    outbox: Outbox

    @property
    def url(self) -> str:
        """Where the store is, without a password."""
        raise NotImplementedError

    def check(self) -> list[str]:
        """What is wrong with the database file; empty when it is whole."""
        raise NotImplementedError

    def close(self) -> None:
        """Close all connections."""
        raise NotImplementedError

    def __enter__(self) -> "Store":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_store(url: str, *, clock: Callable[[], datetime] = utc_now) -> Store:
    """Open the store at ``url`` (``sqlite:///path`` or ``postgresql://...``), made or brought up to date.

    Raises ConfigurationError for a bad url, StoreError for a database that cannot be used.
    """
    raise NotImplementedError
