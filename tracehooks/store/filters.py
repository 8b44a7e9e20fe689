"""How a CallFilter is asked: what the database can answer in SQL, the rest of each call."""

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

from sqlalchemy import ColumnElement

from tracehooks.records import AgentCall
from tracehooks.store.rows import CallFilter

WILDCARDS = frozenset("*?[")
ERROR = "ERROR"


def conditions(filters: CallFilter | None, columns: Any) -> list[ColumnElement[bool]]:
    """The part of ``filters`` that is plain comparison, over ``columns`` named as AgentCall's fields.

    What ``columns`` lacks is not asked here.
    """
    if filters is None:
        return []
    lists = {
        "environment": filters.environment,
        "name": () if _has_pattern(filters.name) else filters.name,
        "user_id": filters.user_id,
        "session_id": filters.session_id,
        "version": filters.version,
    }
    found = [columns[name].in_(values) for name, values in lists.items() if values and name in columns]
    if filters.exclude_environments:
        found.append(columns["environment"].not_in(filters.exclude_environments))
    return found


def test(filters: CallFilter | None) -> Callable[[AgentCall], bool] | None:
    """A test of one call for what :func:`conditions` of a calls table leaves open; None when nothing is."""
    if filters is None or not (
        filters.tags or filters.level or filters.metadata or _has_pattern(filters.name)
    ):
        return None
    return lambda call: matches(filters, call)


def matches(filters: CallFilter | None, call: AgentCall) -> bool:
    """Whether ``call`` counts."""
    if filters is None:
        return True
    asked = (
        (filters.environment, call.environment),
        (filters.user_id, call.user_id),
        (filters.session_id, call.session_id),
        (filters.version, call.version),
    )
    return (
        all(not values or value in values for values, value in asked)
        and call.environment not in filters.exclude_environments
        and (not filters.name or any(fnmatchcase(call.name, pattern) for pattern in filters.name))
        and (not filters.level or _has_level(filters.level, call))
        and (not filters.tags or not set(filters.tags).isdisjoint(call.tags))
        and all(
            name in call.metadata and call.metadata[name] == value for name, value in filters.metadata.items()
        )
    )


def _has_level(levels: tuple[str, ...], call: AgentCall) -> bool:
    """A call says whether it failed, and no more of its level."""
    return ERROR in levels if call.error else any(level != ERROR for level in levels)


def _has_pattern(names: tuple[str, ...]) -> bool:
    return any(not WILDCARDS.isdisjoint(name) for name in names)
