"""What the server checks of a score before it answers, and how it reads one."""

import re
from collections.abc import Mapping
from typing import Any

from tests.fake_langfuse import zod
from tests.fake_langfuse.zod import Issue

TYPES = ("NUMERIC", "CATEGORICAL", "BOOLEAN", "TEXT", "CORRECTION")
NUMBERS = ("NUMERIC", "BOOLEAN")
ONE_SUBJECT = (
    "Provide exactly one of the following: traceId (with optional observationId), sessionId or datasetRunId. "
    "ObservationId requires traceId."
)
_ENVIRONMENT = re.compile(r"[a-z0-9_-]+")


def issues(body: Mapping[str, Any]) -> list[Issue]:
    """Why ``POST /scores`` answers 400 to ``body``; nothing where it answers 200."""
    data_type = body.get("dataType")
    if data_type is not None and data_type not in TYPES:
        return [zod.no_variant("dataType", ["dataType"])]
    found = zod.text_issues(body, "name", required=True, least=1)
    found += value_issues(body.get("value", ...), data_type)
    found += [issue for key in ("id", "comment", "traceId") for issue in zod.text_issues(body, key)]
    found += _source_issues(body, data_type)
    return found or _subject_issues(body)


def value_issues(value: Any, data_type: str | None) -> list[Issue]:
    """A number for NUMERIC and BOOLEAN (0 or 1, never ``true``), a text for the rest, either without a
    type.
    """
    if data_type is None:
        if isinstance(value, str) or _is_number(value):
            return []
        each = [[zod.wrong_type("string", value, [])], [zod.wrong_type("number", value, [])]]
        return [{"code": "invalid_union", "errors": each, "path": ["value"], "message": "Invalid input"}]
    if data_type in NUMBERS:
        if not _is_number(value):
            return [zod.wrong_type("number", value, ["value"])]
        if data_type == "BOOLEAN" and value not in (0, 1):
            message = "Value must be a number equal to either 0 or 1 for data type BOOLEAN"
            return [zod.custom(["value"], message)]
        return []
    if not isinstance(value, str):
        return [zod.wrong_type("string", value, ["value"])]
    if data_type == "TEXT" and len(value) > 500:
        return [zod.too_big("string", 500, ["value"])]
    if data_type == "TEXT" and not value:
        return [zod.too_small("string", 1, ["value"])]
    return []


def _source_issues(body: Mapping[str, Any], data_type: str | None) -> list[Issue]:
    source = body.get("source")
    if source is None:
        return []
    if source not in ("API", "ANNOTATION"):
        return [zod.not_one_of(["API", "ANNOTATION"], ["source"])]
    if source == "ANNOTATION" and not body.get("configId") and data_type != "CORRECTION":
        message = "configId is required when source is ANNOTATION (except for CORRECTION scores)."
        return [zod.custom(["configId"], message)]
    return []


def _subject_issues(body: Mapping[str, Any]) -> list[Issue]:
    subjects = [key for key in ("traceId", "sessionId", "datasetRunId") if body.get(key)]
    if len(subjects) == 1 and (subjects == ["traceId"] or not body.get("observationId")):
        return []
    return [zod.custom(["traceId", "sessionId", "datasetRunId", "observationId"], ONE_SUBJECT)]


def environment(name: object) -> str:
    """The environment that the server makes of ``name``: an invalid one silently becomes ``default``."""
    if not isinstance(name, str):
        return "default"
    plain = name.lower()
    while plain.startswith("langfuse"):
        plain = plain.removeprefix("langfuse").lstrip("-_")
    return plain[:40] if _ENVIRONMENT.fullmatch(plain) else "default"


def inferred_type(value: Any) -> str:
    """The data type of a score that names none."""
    return "CATEGORICAL" if isinstance(value, str) else "NUMERIC"


def against_config(body: Mapping[str, Any], config: Mapping[str, Any] | None) -> str | None:
    """Why the worker drops a score silently, after its 200; None where it keeps it."""
    if config is None:
        return "no such score config"
    if config["isArchived"]:
        return "score config is archived"
    expected = config["dataType"]
    if (body.get("dataType") or expected) != expected:
        return f"data type is not {expected}"
    value = body["value"]
    if value_issues(value, expected):
        return f"value is not {expected}"
    if expected == "CATEGORICAL" and value not in [one["label"] for one in config["categories"]]:
        return "unknown category"
    low, high = config.get("minValue"), config.get("maxValue")
    if expected == "NUMERIC" and ((low is not None and value < low) or (high is not None and value > high)):
        return "value out of range"
    return None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
