"""Reading one object of a dataset file: each key is checked, each mistake is kept with its path."""

import difflib
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from tracehooks.facts import FactError, Facts

KeyPath = tuple[str | int, ...]
LONGEST_ID = 200


@dataclass
class Problems:
    """The mistakes found so far: path and what is wrong."""

    found: list[tuple[KeyPath, str]] = field(default_factory=list)

    def add(self, path: KeyPath, problem: str) -> None:
        """Keep one."""
        self.found.append((path, problem))


class Fields:
    """One object and where it stands. A key that is missing or wrong gives a stand-in and adds a problem."""

    def __init__(self, value: Any, path: KeyPath, problems: Problems) -> None:
        self.path = path
        self.problems = problems
        self.values: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
        if not isinstance(value, Mapping):
            problems.add(path, f"must be a mapping of keys to values, got {shown(value)}")

    def known(self, names: Collection[str]) -> None:
        """Complain of every key that is not one of ``names``."""
        for key in self.values:
            if key not in names:
                close = difflib.get_close_matches(str(key), names, n=1)
                hint = f"did you mean {close[0]}?" if close else f"known here: {', '.join(names)}"
                self.problems.add((*self.path, str(key)), f"unknown key; {hint}")

    def wrong(self, name: str, problem: str) -> None:
        """Complain of the key ``name``."""
        self.problems.add((*self.path, name), problem)

    def text(self, name: str, *, required: bool = True) -> str | None:
        """A text that is not blank; None when it is missing or wrong."""
        value = self.values.get(name)
        if value is None:
            if required:
                self.wrong(name, "is missing" if name not in self.values else "must be a text, it is empty")
            return None
        if not isinstance(value, str) or not value.strip():
            self.wrong(name, f"must be a text that is not blank, got {shown(value)}{_quoting(value)}")
            return None
        return value if self.is_unicode(name, value) else None

    def name(self, name: str) -> str:
        """A name of one line, such as an id; a stand-in when it is missing or wrong."""
        value = self.text(name)
        if value is None:
            return "?"
        if len(value) > LONGEST_ID or not value.isprintable() or value != value.strip():
            self.wrong(name, f"must be one line of at most {LONGEST_ID} letters, got {shown(value)}")
        return value

    def number(self, name: str) -> float | None:
        """A finite number; None when it is missing or wrong."""
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            self.wrong(name, f"must be a finite number, got {shown(value)}")
            return None
        return float(value)

    def share(self, name: str) -> float | None:
        """A number from 0 to 1, as scores are; None when it is missing or wrong."""
        value = self.number(name)
        if value is None or 0 <= value <= 1:
            return value
        self.wrong(name, f"must be from 0 to 1, got {shown(self.values[name])}")
        return None

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; one text is a list of one."""
        value = self.values.get(name)
        entries = [value] if isinstance(value, str) else [] if value is None else value
        if isinstance(entries, list) and all(isinstance(entry, str) and entry.strip() for entry in entries):
            return tuple(entries)
        self.wrong(name, f"must be a list of texts, got {shown(value)}")
        return ()

    def mapping(self, name: str) -> Mapping[str, Any]:
        """An object; empty when it is missing or wrong."""
        value = self.values.get(name)
        if value is None or isinstance(value, Mapping):
            return value or {}
        self.wrong(name, f"must be a mapping of keys to values, got {shown(value)}")
        return {}

    def flag(self, name: str) -> bool:
        """True or false; false when it is missing or wrong."""
        value = self.values.get(name, False)
        if isinstance(value, bool):
            return value
        self.wrong(name, f"must be true or false, got {shown(value)}")
        return False

    def items(self, name: str) -> list[tuple[int, Any]]:
        """A list with its indexes; empty when it is missing or wrong."""
        value = self.values.get(name)
        if value is None or isinstance(value, list):
            return list(enumerate(value or ()))
        self.wrong(name, f"must be a list, got {shown(value)}")
        return []

    def facts(self, name: str) -> Facts:
        """Declared facts; none when they are missing or wrong."""
        try:
            return Facts.read(self.values.get(name))
        except FactError as error:
            self.problems.add((*self.path, name, *error.path), error.problem)
            return Facts()

    def chat(self, name: str) -> Any:
        """A text, or chat messages ``{"role", "content"}``; an empty text when it is missing or wrong."""
        value = self.values.get(name)
        if not isinstance(value, list):
            return self.text(name) or ""
        if not value:
            self.wrong(name, "must hold at least one message")
        for index, message in enumerate(value):
            if not (
                isinstance(message, Mapping) and isinstance(message.get("role"), str) and "content" in message
            ):
                self.problems.add(
                    (*self.path, name, index),
                    f"must be a message with role and content, got {shown(message)}",
                )
                return ""
        return [dict(message) for message in value]

    def carrier(self) -> str:
        """Where the noise sits: ``query`` when it is missing."""
        value = self.text("carrier", required=False) or "query"
        tool = value.startswith("tool:") and value.removeprefix("tool:").strip()
        if value not in ("query", "turn", "document") and not tool:
            self.wrong("carrier", f"must be query, turn, document or tool:<name>, got {shown(value)}")
        return value

    def is_unicode(self, name: str, value: str) -> bool:
        """Whether ``value`` can be stored; half of a surrogate pair cannot."""
        try:
            value.encode()
        except UnicodeEncodeError:
            self.wrong(name, "holds half of a surrogate pair, which is no Unicode text")
            return False
        return True


def shown(value: Any) -> str:
    """``value`` for an error message, cut short."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _quoting(value: Any) -> str:
    return "; put it in quotes" if isinstance(value, bool | int | float) else ""
