"""Refusals in the form of Zod, the validator of the server."""

from collections.abc import Mapping
from typing import Any

from tests.fake_langfuse.times import milliseconds
from tests.fake_langfuse.wire import Answer, RefusedError

Issue = dict[str, Any]


def kind(value: Any) -> str:
    """The name that Zod has for the type of a JSON value; ``Ellipsis`` is a missing one."""
    if value is ...:
        return "undefined"
    if value is None:
        return "null"
    names = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return names[type(value)]


def wrong_type(expected: str, value: Any, path: list[Any]) -> Issue:
    message = f"Invalid input: expected {expected}, received {kind(value)}"
    return {"expected": expected, "code": "invalid_type", "path": path, "message": message}


def custom(path: list[Any], message: str) -> Issue:
    return {"code": "custom", "path": path, "message": message}


def not_one_of(values: list[str], path: list[Any]) -> Issue:
    options = "|".join(f'"{value}"' for value in values)
    message = f"Invalid option: expected one of {options}"
    return {"code": "invalid_value", "values": values, "path": path, "message": message}


def too_big(origin: str, maximum: int, path: list[Any]) -> Issue:
    what = f"{origin} to have <={maximum} characters" if origin == "string" else f"{origin} to be <={maximum}"
    return {
        "origin": origin,
        "code": "too_big",
        "maximum": maximum,
        "inclusive": True,
        "path": path,
        "message": f"Too big: expected {what}",
    }


def too_small(origin: str, minimum: int, path: list[Any]) -> Issue:
    what = f"{origin} to have >={minimum} characters" if origin == "string" else f"{origin} to be >={minimum}"
    return {
        "origin": origin,
        "code": "too_small",
        "minimum": minimum,
        "inclusive": True,
        "path": path,
        "message": f"Too small: expected {what}",
    }


def no_variant(discriminator: str, path: list[Any]) -> Issue:
    return {
        "code": "invalid_union",
        "errors": [],
        "note": "No matching discriminator",
        "discriminator": discriminator,
        "path": path,
        "message": "Invalid input",
    }


def bad_time(path: list[Any]) -> Issue:
    return {
        "origin": "string",
        "code": "invalid_format",
        "format": "datetime",
        "pattern": "(left out)",
        "path": path,
        "message": "Invalid ISO datetime",
    }


def bad_number(path: list[Any]) -> Issue:
    """A query parameter that is not a number."""
    return {
        "expected": "number",
        "code": "invalid_type",
        "received": "NaN",
        "path": path,
        "message": "Invalid input: expected number, received NaN",
    }


def refused(issues: list[Issue]) -> RefusedError:
    """A 400 with ``issues``."""
    return RefusedError(Answer(400, {"message": "Invalid request data", "error": issues}))


def check(issues: list[Issue]) -> None:
    """Raises where there is an issue."""
    if issues:
        raise refused(issues)


def needs_object(body: Any) -> dict[str, Any]:
    """``body``, which must be a JSON object."""
    if not isinstance(body, dict):
        raise refused([wrong_type("object", ... if body is None else body, [])])
    return body


def text_issues(body: Mapping[str, Any], key: str, *, required: bool = False, least: int = 0) -> list[Issue]:
    """Issues of a text; null and a missing key pass unless it is required."""
    value = body.get(key, ...)
    if value in (None, ...) and not required:
        return []
    if not isinstance(value, str):
        return [wrong_type("string", value, [key])]
    return [too_small("string", least, [key])] if len(value) < least else []


def time_issues(body: Mapping[str, Any], key: str, path: list[Any] | None = None) -> list[Issue]:
    """Issues of a time, where there is one: it needs an offset or Z."""
    value = body.get(key)
    if value is None or milliseconds(value) is not None:
        return []
    return [bad_time(path or [key])]
