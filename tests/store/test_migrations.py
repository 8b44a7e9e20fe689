import contextlib
import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import inspect, text

from tests.store.making import ALWAYS, START, Clock, span_id, trace_id
from tracehooks.errors import StoreError
from tracehooks.store import Store, open_store
from tracehooks.store.accounts import ACCOUNTS, HOLDS
from tracehooks.store.batches import BATCHES, LETTERS
from tracehooks.store.calls import CALLS
from tracehooks.store.canaries import CANARIES
from tracehooks.store.database import Database
from tracehooks.store.decisions import DECISIONS
from tracehooks.store.firings import FIRINGS
from tracehooks.store.items import ITEMS
from tracehooks.store.listed import LISTED
from tracehooks.store.losses import LOSSES
from tracehooks.store.migrations import STEPS, VERSIONS, Step, migrate
from tracehooks.store.notices import NOTICES
from tracehooks.store.outbox import OUTBOX
from tracehooks.store.references import REFERENCES
from tracehooks.store.replays import REPLAYS
from tracehooks.store.runs import RUNS
from tracehooks.store.schedulers import SCHEDULERS
from tracehooks.store.score_table import HISTORY, SCORES
from tracehooks.store.shares import PACES, SHARES
from tracehooks.store.spans import RESOURCES, SPANS
from tracehooks.store.unsent_table import GIVEN_UP, UNSENT
from tracehooks.store.verdicts import VERDICTS

TABLES = (
    ACCOUNTS,
    BATCHES,
    LETTERS,
    CALLS,
    CANARIES,
    DECISIONS,
    HISTORY,
    FIRINGS,
    HOLDS,
    ITEMS,
    LISTED,
    LOSSES,
    NOTICES,
    OUTBOX,
    PACES,
    REFERENCES,
    REPLAYS,
    RESOURCES,
    RUNS,
    SCHEDULERS,
    SCORES,
    SHARES,
    SPANS,
    VERDICTS,
    VERSIONS,
    GIVEN_UP,
    UNSENT,
)
# a store that tracehooks 0.1 wrote, with its first schema; never regenerated
VERSION_1 = Path(__file__).parents[1] / "data" / "store" / "version_1.sql"
RELEASED = [(number, step.what) for number, step in enumerate(STEPS, start=1)]
NEWEST = len(STEPS)
NEXT = Step("more", ("ALTER TABLE runs ADD COLUMN note TEXT", "CREATE TABLE notes (id BIGINT NOT NULL)"))
BROKEN = Step("broken", ("CREATE TABLE half (id BIGINT)", "ALTER TABLE nowhere ADD COLUMN x TEXT"))


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    """A database without any table."""
    opened = Database(url)
    yield opened
    opened.close()


def versions(database: Database) -> list[tuple[int, str]]:
    query = VERSIONS.select().order_by(VERSIONS.c.version)
    return database.read(lambda connection: [(row.version, row.what) for row in connection.execute(query)])


def test_the_tables_in_the_code_are_those_of_the_schema(database: Database) -> None:
    """Every column that is queried exists, and every one that exists is known."""
    migrate(database, 0)
    found = database.read(
        lambda connection: {
            name: {column["name"] for column in inspect(connection).get_columns(name)}
            for name in inspect(connection).get_table_names()
        }
    )
    assert found == {table.name: {column.name for column in table.c} for table in TABLES}


def test_steps_are_applied_once_in_order(database: Database) -> None:
    """A database of the schema before gets what is new, and keeps what it has."""
    migrate(database, 1)
    migrate(database, 2, [*STEPS, NEXT])
    migrate(database, 3, [*STEPS, NEXT])
    assert versions(database) == [*RELEASED, (NEWEST + 1, "more")]
    database.read(lambda connection: connection.execute(text("SELECT note FROM runs")).all())


def test_a_step_that_fails_leaves_nothing_behind(database: Database) -> None:
    """The database stays at the step before, whole, and the next try can succeed."""
    migrate(database, 1)
    with pytest.raises(StoreError):
        migrate(database, 2, [*STEPS, BROKEN])
    assert versions(database) == RELEASED
    assert not database.read(lambda connection: inspect(connection).has_table("half"))
    migrate(database, 3, [*STEPS, NEXT])
    assert len(versions(database)) == NEWEST + 1


def test_a_newer_schema_is_not_touched(url: str, database: Database) -> None:
    """An older tracehooks says that it is older, and what to do."""
    migrate(database, 1, [*STEPS, NEXT])
    with pytest.raises(
        StoreError,
        match=rf"newer tracehooks \(its schema is {NEWEST + 1}, this one knows up to {NEWEST}\); upgrade",
    ):
        open_store(url)
    assert len(versions(database)) == NEWEST + 1


def test_a_store_of_the_first_schema_opens(tmp_path: Path, clock: Clock) -> None:
    """What an older tracehooks stored is there after the upgrade, and the store can be written."""
    path = tmp_path / "store.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(VERSION_1.read_text(encoding="utf-8"))
    with open_store(f"sqlite:///{path}", clock=clock) as store:
        assert store.check() == []
        check_version_1(store)


def check_version_1(store: Store) -> None:
    """One call with its tool, scored twice, its run finished, one item claimed by a process that is gone."""
    assert [span.span_id for span in store.spans.of_trace(trace_id(1))] == [span_id(1), span_id(11)]
    first, second = store.calls.iterate(*ALWAYS)
    assert (first.output, first.service, second.trace_id) == ("answer 1", "shop", trace_id(2))
    (run,) = store.runs.list()
    assert (run.state, run.counts["planned"]) == ("finished", 2)
    assert store.items.outcomes(run.id)["scored"] == 1
    (left,) = store.items.claim(run.id, "new", 9, timedelta(minutes=1))
    assert (left.trace_id, left.token) == (trace_id(2), 2)
    (score,) = store.scores.in_window("toxicity", *ALWAYS)
    assert (score.value, score.revision, score.run_id) == (0.75, 2, run.id)
    assert [past.value for past in store.scores.history(score.id)] == [0.25, 0.75]
    assert store.decisions.of_trace(trace_id(3))[0].reason == "not drawn"
    (delivery,) = store.outbox.pending("jsonl", 9, "new", timedelta(minutes=1))
    assert (delivery.revision, delivery.time) == (2, START + timedelta(seconds=1))
