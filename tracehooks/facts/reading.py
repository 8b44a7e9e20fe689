"""Reading declared facts: from what stands in a file or in a call's metadata, with the place of a mistake."""

import math
import re
from collections.abc import Mapping
from typing import Any

from tracehooks.errors import ConfigurationError
from tracehooks.facts.canaries import SHORTEST, bare
from tracehooks.facts.kinds import AnyOf, Fact, NumberFact, RegexFact, TextFact

KeyPath = tuple[str | int, ...]

KEYS = ("must_contain", "must_not_contain", "canaries")
_OPTIONS = {
    "text": ("case_sensitive", "whole_word"),
    "number": ("unit", "tolerance"),
    "regex": (),
    "any_of": (),
}
_RELATIVE = re.compile(r"(\d+(?:\.\d+)?)\s*%")


class FactError(ConfigurationError):
    """A declared fact is wrong. ``path`` leads to it within the facts, ``problem`` says what is wrong."""

    def __init__(self, path: KeyPath, problem: str) -> None:
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in ("facts", *path))
        super().__init__(f"{where.lstrip('.')}: {problem}")
        self.path = path
        self.problem = problem


def read_facts(value: Any, path: KeyPath) -> tuple[Fact, ...]:
    """The facts in a list; None is an empty one. Raises FactError."""
    return tuple(_fact(item, (*path, index)) for index, item in _items(value, path))


def read_canaries(value: Any, path: KeyPath) -> tuple[str, ...]:
    """The canaries in a list; None is an empty one. Raises FactError."""
    return tuple(_canary(item, (*path, index)) for index, item in _items(value, path))


def _items(value: Any, path: KeyPath) -> list[tuple[int, Any]]:
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise FactError(path, f"must be a list, got {value!r}")
    return list(enumerate(value))


def _fact(value: Any, path: KeyPath) -> Fact:
    if isinstance(value, str):
        return TextFact(_text(value, path))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return NumberFact(_number(value, path))
    if isinstance(value, Mapping):
        for kind, read in _KINDS.items():
            if kind in value:
                return read(_entries(value, kind, path), path)
    raise FactError(
        path, f"must be a text, a number, or have one of the keys {', '.join(_KINDS)}; got {value!r}"
    )


def _entries(value: Mapping[Any, Any], kind: str, path: KeyPath) -> dict[str, Any]:
    known = (kind, *_OPTIONS[kind])
    for key in value:
        if key not in known:
            raise FactError(
                (*path, str(key)), f"unknown key; known beside {kind}: {', '.join(known[1:]) or 'none'}"
            )
    return {str(key): entry for key, entry in value.items()}


def _read_text(entries: dict[str, Any], path: KeyPath) -> Fact:
    for name in _OPTIONS["text"]:
        if not isinstance(entries.get(name, False), bool):
            raise FactError((*path, name), f"must be true or false, got {entries[name]!r}")
    return TextFact(**{**entries, "text": _text(entries["text"], (*path, "text"))})


def _read_regex(entries: dict[str, Any], path: KeyPath) -> Fact:
    regex = _text(entries["regex"], (*path, "regex"))
    try:
        re.compile(regex)
    except re.error as error:
        raise FactError((*path, "regex"), f"{regex!r} is not a regular expression: {error}") from None
    return RegexFact(regex)


def _read_number(entries: dict[str, Any], path: KeyPath) -> Fact:
    unit = entries.get("unit")
    tolerance = entries.get("tolerance", 0.0)
    relative = isinstance(tolerance, str) and _RELATIVE.fullmatch(tolerance.strip())
    if not relative and _number(tolerance, (*path, "tolerance")) < 0:
        raise FactError((*path, "tolerance"), f"must be at least 0, got {tolerance!r}")
    return NumberFact(
        number=_number(entries["number"], (*path, "number")),
        unit=None if unit is None else _text(unit, (*path, "unit")),
        tolerance=tolerance.strip() if relative else float(tolerance),
    )


def _read_any_of(entries: dict[str, Any], path: KeyPath) -> Fact:
    facts = read_facts(entries["any_of"], (*path, "any_of"))
    if not facts:
        raise FactError((*path, "any_of"), "must list at least one fact")
    return AnyOf(facts)


_KINDS = {"text": _read_text, "number": _read_number, "regex": _read_regex, "any_of": _read_any_of}


def _canary(value: Any, path: KeyPath) -> str:
    canary = _text(value, path)
    if len(bare(canary)) < SHORTEST:
        raise FactError(
            path, f"a canary needs {SHORTEST} letters or digits, or it is found by chance; got {canary!r}"
        )
    return canary


def _text(value: Any, path: KeyPath) -> str:
    if not isinstance(value, str) or not value.strip():
        raise FactError(path, f"must be a text that is not blank (quote it), got {value!r}")
    return value


def _number(value: Any, path: KeyPath) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise FactError(path, f"must be a finite number, got {value!r}")
    return float(value)
