"""A listing's page by its columns."""

import sys
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]

_LACKING: Row = {"endTime": None, "parentObservationId": None, "environment": None}


class Columns:
    """A page by its columns: what is asked of all rows at once is asked of a column, at little cost."""

    __slots__ = (
        *("distinct", "ends", "environments", "first", "ids", "keys"),
        *("last", "parents", "trace_keys", "traces", "types"),
    )

    def __init__(self, rows: Sequence[Row]) -> None:
        self.ids = [row["id"] for row in rows]
        self.distinct = frozenset(self.ids)
        self.traces = [row["traceId"] for row in rows]
        # listings are ordered by start, one way or the other
        ends: list[str] = sorted((rows[0]["startTime"], rows[-1]["startTime"])) if rows else ["", ""]
        self.first, self.last = ends
        self.ends = [row["endTime"] for row in rows]
        self.types = {row["type"] for row in rows}
        self.parents = [row["parentObservationId"] for row in rows]
        # a listing of few fields has none
        self.environments = (
            {row["environment"] for row in rows} if rows and "environment" in rows[0] else set()
        )
        # None where an id is not OpenTelemetry's
        self.keys = _numbers(self.ids, 1)
        self.trace_keys = _numbers(self.traces, 2)


def columns_of(rows: Sequence[Row]) -> Columns:
    """The rows by their columns; those that the listing does not have are empty."""
    try:
        return Columns(rows)
    except KeyError:  # an older listing does not have them all
        return Columns([{**_LACKING, **row} for row in rows])


def _numbers(ids: Sequence[str], words: int) -> "array[int] | None":
    """The first eight bytes of each id, as numbers; None where one is not ``words`` times that long.

    An id is hexadecimal in lower case, and nothing else.
    """
    numbers = array("Q")
    try:
        text = "".join(ids)
        numbers.frombytes(bytes.fromhex(text))
    except (ValueError, TypeError):
        return None
    if len(numbers) != words * len(ids) or numbers.tobytes().hex() != text:
        return None
    if sys.byteorder == "little":
        numbers.byteswap()
    return numbers[::words]
