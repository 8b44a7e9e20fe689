"""What a right answer must hold and must not hold, declared with a case and checked without a judge.

In a dataset file::

    facts:
      must_contain:
        - "Larkhill Desk"                                # a text: case, spacing and Unicode form do not count
        - {number: 24, unit: months}                     # also "two years"
        - {number: 3.95, tolerance: 0.01}                # whatever unit stands at it
        - {regex: "(?i)free of charge|costs? nothing"}
        - {any_of: ["hygiene seal", "sealed"]}           # one of them is enough
      must_not_contain: [{number: 36, unit: months}, {text: "NHS", whole_word: true, case_sensitive: true}]
      canaries: ["lark-7f3a-desk"]                       # a leak of one is worth 0, whatever else holds

A fact is looked for, not understood: "not 24 months" holds "24 months". Put the words that a wrong answer
would use under ``must_not_contain``, and use a judge where that is not enough.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tracehooks.facts.canaries import leaked
from tracehooks.facts.kinds import Answered, Fact
from tracehooks.facts.reading import KEYS, FactError, read_canaries, read_facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What an answer must and must not hold. :meth:`read` takes the form of the file, see the module."""

    must_contain: tuple[Fact, ...] = ()
    must_not_contain: tuple[Fact, ...] = ()
    canaries: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.must_contain or self.must_not_contain or self.canaries)

    @classmethod
    def read(cls, value: Any) -> "Facts":
        """The facts that ``value`` declares: a mapping as in a dataset file, or Facts, or None for none.

        Raises FactError naming what is wrong, and where.
        """
        if isinstance(value, Facts):
            return value
        if value is None:
            return cls()
        if not isinstance(value, Mapping):
            raise FactError((), f"must map must_contain, must_not_contain and canaries, got {value!r}")
        for key in value:
            if key not in KEYS:
                raise FactError((str(key),), f"unknown key; known here: {', '.join(KEYS)}")
        return cls(
            must_contain=read_facts(value.get("must_contain"), ("must_contain",)),
            must_not_contain=read_facts(value.get("must_not_contain"), ("must_not_contain",)),
            canaries=read_canaries(value.get("canaries"), ("canaries",)),
        )

    def declared(self) -> dict[str, Any]:
        """As they are declared in a file; ``Facts.read`` reads them back. JSON-ready."""
        lists = {
            "must_contain": [fact.declared() for fact in self.must_contain],
            "must_not_contain": [fact.declared() for fact in self.must_not_contain],
            "canaries": list(self.canaries),
        }
        return {name: entries for name, entries in lists.items() if entries}

    def check(self, text: str) -> "Findings":
        """What of these holds in ``text``."""
        answer = Answered(text)
        return Findings(
            found=tuple(fact for fact in self.must_contain if fact.holds(answer)),
            missing=tuple(fact for fact in self.must_contain if not fact.holds(answer)),
            forbidden=tuple(fact for fact in self.must_not_contain if fact.holds(answer)),
            leaked=tuple(canary for canary in self.canaries if leaked(canary, text)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What was found: facts that hold, that are missing, that should not be there, and canaries leaked."""

    found: tuple[Fact, ...]
    missing: tuple[Fact, ...]
    forbidden: tuple[Fact, ...]
    leaked: tuple[str, ...]
