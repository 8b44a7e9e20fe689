"""A step of the schema. The SQL is plain enough for SQLite and Postgres alike.

Times are microseconds since 1970 where the column does not say ``_ns``; truths are 0 or 1; JSON is text.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """One change of the schema, applied in one transaction."""

    what: str
    statements: tuple[str, ...]
