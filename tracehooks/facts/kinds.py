"""The kinds of facts: a text, a regular expression, a number, any of several. Each knows what holds it."""

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tracehooks.facts.quantities import Quantity, quantities, unit_named

_SAME = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "‑": "-", "−": "-"})


class Answered:
    """An answer's text, with the readings of it that facts are looked for in."""

    def __init__(self, text: str) -> None:
        self.raw = text
        self.lines = unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))

    @cached_property
    def spaced(self) -> str:
        """One line, in its own case."""
        return " ".join(plain(self.lines).split())

    @cached_property
    def folded(self) -> str:
        """One line, case folded."""
        return self.spaced.casefold()

    @cached_property
    def quantities(self) -> list[Quantity]:
        """The numbers in it."""
        return quantities(self.spaced)


@dataclass(frozen=True, slots=True)
class TextFact:
    """A text. A number at either end stands alone: "24 months" is not in "124 months"."""

    text: str
    case_sensitive: bool = False
    whole_word: bool = False

    def holds(self, answer: Answered) -> bool:
        """Whether ``answer`` holds it."""
        wanted = " ".join(plain(self.text).split())
        said = answer.spaced if self.case_sensitive else answer.folded
        wanted = wanted if self.case_sensitive else wanted.casefold()
        return re.search(_bounded(wanted, r"\w" if self.whole_word else r"\d"), said) is not None

    def declared(self) -> Any:
        """As it is declared in a file."""
        marks = {name: True for name in ("case_sensitive", "whole_word") if getattr(self, name)}
        return {"text": self.text, **marks} if marks else self.text

    def __str__(self) -> str:
        return f'"{self.text}"'


@dataclass(frozen=True, slots=True)
class RegexFact:
    """A regular expression (Python's), searched for in the answer as it is and with its lines joined."""

    regex: str

    def holds(self, answer: Answered) -> bool:
        """Whether ``answer`` holds it."""
        return any(re.search(self.regex, said) for said in (answer.lines, answer.spaced))

    def declared(self) -> Any:
        """As it is declared in a file."""
        return {"regex": self.regex}

    def __str__(self) -> str:
        return f"/{self.regex}/"


@dataclass(frozen=True, slots=True)
class NumberFact:
    """A number, within ``tolerance`` (in its own unit, or as "5%").

    Without ``unit`` any unit will do, or none. With one the number must carry it, spelled in any way, or
    another of its kind: 36 months are 3 years.
    """

    number: float
    unit: str | None = None
    tolerance: float | str = 0.0

    def holds(self, answer: Answered) -> bool:
        """Whether ``answer`` holds it."""
        return any(self._is(quantity) for quantity in answer.quantities)

    def _is(self, quantity: Quantity) -> bool:
        factor = 1.0
        if self.unit is not None:
            wanted = unit_named(self.unit)
            if quantity.unit is None or quantity.unit.kind != wanted.kind:
                return False
            factor = quantity.unit.factor / wanted.factor
        allowed = self._allowed + 1e-9 * abs(self.number)
        return any(abs(value * factor - self.number) <= allowed for value in quantity.values)

    @property
    def _allowed(self) -> float:
        if isinstance(self.tolerance, str):
            return float(self.tolerance.rstrip("% ")) / 100 * abs(self.number)
        return self.tolerance

    def declared(self) -> Any:
        """As it is declared in a file."""
        unit = {} if self.unit is None else {"unit": self.unit}
        tolerance = {"tolerance": self.tolerance} if self.tolerance else {}
        return {"number": _short(self.number), **unit, **tolerance}

    def __str__(self) -> str:
        near = f" within {self.tolerance}" if self.tolerance else ""
        return f"the number {_short(self.number)}{f' {self.unit}' if self.unit else ''}{near}"


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Several facts of which one is enough."""

    facts: "tuple[Fact, ...]"

    def holds(self, answer: Answered) -> bool:
        """Whether ``answer`` holds any of them."""
        return any(fact.holds(answer) for fact in self.facts)

    def declared(self) -> Any:
        """As it is declared in a file."""
        return {"any_of": [fact.declared() for fact in self.facts]}

    def __str__(self) -> str:
        return " or ".join(map(str, self.facts))


Fact = TextFact | RegexFact | NumberFact | AnyOf


def plain(text: str) -> str:
    """``text`` with compatibility forms, typographic quotes and dashes, and invisible letters undone."""
    same = unicodedata.normalize("NFKC", text.translate(_SAME)).translate(_SAME)
    return "".join(letter for letter in same if unicodedata.category(letter) != "Cf")


def _bounded(wanted: str, letter: str) -> str:
    """A pattern for ``wanted`` that does not begin or end within a longer run of ``letter``."""
    before = rf"(?<!{letter})(?<!\d[.,])" if re.match(r"\d", wanted) else rf"(?<!{letter})"
    after = rf"(?!{letter})(?![.,]\d)" if re.search(r"\d$", wanted) else rf"(?!{letter})"
    begins, ends = re.match(letter, wanted), re.search(f"{letter}$", wanted)
    return f"{before if begins else ''}{re.escape(wanted)}{after if ends else ''}"


def _short(number: float) -> int | float:
    return int(number) if number == int(number) else number
