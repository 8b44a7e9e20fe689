"""The local store: spans, calls, runs, decisions, work items, scores and the outbox, in SQLite or Postgres.

Open one with :func:`open_store`. SQLAlchemy is loaded then, not when this package is imported.
Each kind of row has its own file, which holds its table, its queries, and nothing else.

What is worth knowing: :meth:`Outbox.settle` also takes the deliveries that the receipts are about (a revision
replaced while it was under way must not count as delivered); :meth:`Runs.get` raises ConfigurationError when
there is no such run; :meth:`Items.counts` is keyed by (state, status, reason code).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tracehooks.store.rows import (
    CallFilter,
    CallKey,
    DecisionRow,
    RunRecord,
    ScoreKey,
    ScoreRecord,
    StoredScore,
    WorkItem,
)

if TYPE_CHECKING:
    from tracehooks.store.store import Store, open_store

__all__ = [
    "CallFilter",
    "CallKey",
    "DecisionRow",
    "RunRecord",
    "ScoreKey",
    "ScoreRecord",
    "Store",
    "StoredScore",
    "WorkItem",
    "open_store",
]


def __getattr__(name: str) -> Any:
    if name not in ("Store", "open_store"):
        raise AttributeError(f"module 'tracehooks.store' has no attribute {name!r}")
    return getattr(import_module("tracehooks.store.store"), name)
