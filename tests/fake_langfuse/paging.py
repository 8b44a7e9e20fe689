"""Limits, pages and cursors of list endpoints."""

import base64
import json
from collections.abc import Sequence
from typing import Any

from tests.fake_langfuse import zod
from tests.fake_langfuse.times import iso_ms, milliseconds
from tests.fake_langfuse.wire import Request, refuse

MOST_SCORES = 50  # scores that one experiment item shows


def number(request: Request, name: str, default: int, *, least: int = 1, most: int | None = None) -> int:
    """A whole number of the query; 400 where it is none or out of range, never clamped."""
    text = request.one(name)
    if text is None or text == "":
        return default
    try:
        value = int(text)
    except ValueError:
        raise zod.refused([zod.bad_number([name])]) from None
    if value < least:
        raise zod.refused([zod.too_small("number", least, [name])])
    if most is not None and value > most:
        raise zod.refused([zod.too_big("number", most, [name])])
    return value


def moment(request: Request, name: str, *, required: bool = False) -> str | None:
    """A time of the query in the server's own form; 400 where it has no offset or Z."""
    text = request.one(name)
    if text is None and not required:
        return None
    at = milliseconds(text)
    if at is None:
        issue = zod.wrong_type("string", ..., [name]) if text is None else zod.bad_time([name])
        raise zod.refused([issue])
    return iso_ms(at)


def page_of(request: Request, rows: Sequence[Any], *, total: int | None = None) -> tuple[list[Any], Any]:
    """The asked page of ``rows`` and its ``meta`` (which may count a ``total`` of its own)."""
    page = number(request, "page", 1, least=0)
    if page == 0:
        issue = zod.too_small("number", 0, ["page"])
        raise zod.refused([issue | {"inclusive": False, "message": "Too small: expected number to be >0"}])
    limit = number(request, "limit", 50, most=100)
    total = len(rows) if total is None else total
    meta = {"page": page, "limit": limit, "totalItems": total, "totalPages": -(-total // limit)}
    return list(rows[(page - 1) * limit : page * limit]), meta


def cursor(**keys: Any) -> str:
    """A cursor: JSON in base64, without padding."""
    text = json.dumps(keys, separators=(",", ":")).encode()
    return base64.b64encode(text).decode().rstrip("=")


def read_cursor(text: str | None, *keys: str) -> dict[str, Any] | None:
    """What a cursor says; None for none, 400 for one that is not ours."""
    if not text:
        return None
    try:
        said = json.loads(base64.b64decode(text + "=" * (-len(text) % 4), validate=True))
        return {key: said[key] for key in keys}
    except (ValueError, KeyError, TypeError):
        raise refuse(400, "Invalid cursor format", "InvalidRequestError") from None
