"""The stores that the tests of the store use too."""

from tests.store.conftest import postgres_server_url, postgres_url, sqlite_url

__all__ = ["postgres_server_url", "postgres_url", "sqlite_url"]
