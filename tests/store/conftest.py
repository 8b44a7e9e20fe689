import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

from tests.store.making import Clock
from tests.store.postgres import find_pg_ctl, postgres_server
from tracehooks.store import Store, open_store

SCHEMAS = itertools.count(1)


@pytest.fixture(scope="session")
def postgres_server_url() -> Iterator[str]:
    """A Postgres server: the one that TRACEHOOKS_TEST_POSTGRES names, else one started here."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    given = os.environ.get("TRACEHOOKS_TEST_POSTGRES")
    if given:
        yield given
        return
    pg_ctl = find_pg_ctl()
    if pg_ctl is None:
        pytest.skip("Postgres is not installed, and TRACEHOOKS_TEST_POSTGRES names no server")
    with postgres_server(pg_ctl) as url:
        yield url


@pytest.fixture
def postgres_url(postgres_server_url: str) -> Iterator[str]:
    """The url of an empty schema of its own."""
    schema = f"tracehooks_test_{os.getpid()}_{next(SCHEMAS)}"
    engine = create_engine(make_url(postgres_server_url).set(drivername="postgresql+psycopg"))
    with engine.begin() as connection:
        connection.execute(text(f"CREATE SCHEMA {schema}"))
    url = make_url(postgres_server_url).update_query_dict({"options": f"-csearch_path={schema}"})
    yield url.render_as_string(hide_password=False)
    with engine.begin() as connection:
        connection.execute(text(f"DROP SCHEMA {schema} CASCADE"))
    engine.dispose()


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """The url of a SQLite file that is not there yet."""
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """The url of an empty store, on each database in turn."""
    found: str = request.getfixturevalue(f"{request.param}_url")
    return found


@pytest.fixture
def clock() -> Clock:
    """The clock of the store."""
    return Clock()


@pytest.fixture
def store(url: str, clock: Clock) -> Iterator[Store]:
    """An empty store, on each database in turn."""
    with open_store(url, clock=clock) as opened:
        yield opened
