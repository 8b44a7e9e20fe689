"""Is a column's value among many? Asked with one parameter, which costs a tenth of one for each value."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, Text, bindparam, func, select
from sqlalchemy.dialects.postgresql import ARRAY

from tracehooks.store.encoding import to_json


def among(connection: Connection, column: ColumnElement[str], values: Sequence[str]) -> ColumnElement[bool]:
    """Whether ``column``, a text, is one of ``values``."""
    if connection.dialect.name == "sqlite":
        given = func.json_each(bindparam(None, to_json(list(values)), Text, unique=True))
        return column.in_(select(given.table_valued("value").c.value))
    return column == func.any(bindparam(None, list(values), ARRAY(Text), unique=True))
