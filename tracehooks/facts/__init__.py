"""Declared facts: what a right answer holds and does not hold, checked mechanically, with no judge."""

from tracehooks.facts.facts import Facts, Findings
from tracehooks.facts.kinds import AnyOf, Fact, NumberFact, RegexFact, TextFact
from tracehooks.facts.reading import FactError

__all__ = ["AnyOf", "Fact", "FactError", "Facts", "Findings", "NumberFact", "RegexFact", "TextFact"]
