"""Flat rows: one noisy query a row, in the shape that Mastra's users have, or in a CSV file.

``originalQuery``, ``baselineResponse``, ``noisyQuery``, ``noiseType`` and ``minScore``, or the same in our
own names (``query``, ``baseline``, ``noisy_query``, ``noise_type``, ``min_score``), and maybe ``id`` of the
case, ``variant`` (its id), ``carrier`` and ``tags``; in CSV also ``must_contain``, ``must_not_contain`` and
``canaries``, texts with ``|`` between them. Rows with the same id, or without one with the same question and
baseline, are the variants of one case.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tracehooks.noise.cases import NoiseCase, NoiseVariant, content_hash
from tracehooks.noise.fields import Fields, KeyPath, Problems

UNSPECIFIED = "unspecified"
"""The noise type of a row that names none."""

NAMES = {
    "originalQuery": "query",
    "baselineResponse": "baseline",
    "noisyQuery": "noisy_query",
    "noiseType": "noise_type",
    "minScore": "min_score",
    "name": "id",
}
KEYS = (
    *("id", "query", "baseline", "noisy_query", "noise_type", "min_score", "variant", "carrier", "tags"),
    *("must_contain", "must_not_contain", "canaries", "description"),
)
_LISTS = ("tags", "must_contain", "must_not_contain", "canaries")
SLUG = 40


def is_flat(value: Any) -> bool:
    """Whether ``value`` is an object of Mastra's shape."""
    return isinstance(value, Mapping) and ("originalQuery" in value or "noisyQuery" in value)


def slug(text: str) -> str:
    """``text`` as an id: its first words in lower-case letters and digits."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    words = "-".join(re.findall(r"[a-z0-9]+", plain))
    return (words if len(words) <= SLUG else words[:SLUG].rsplit("-", 1)[0]) or "case"


@dataclass
class Flat:
    """The cases that rows add up to."""

    problems: Problems
    _found: dict[str, tuple[NoiseCase, KeyPath]] = field(default_factory=dict)

    def cases(self) -> list[tuple[NoiseCase, KeyPath]]:
        """Each case, and where its first row stands."""
        return list(self._found.values())

    def add(self, value: Any, path: KeyPath) -> None:
        """Take in one row."""
        fields = self._fields(value, path)
        case = self._case(fields)
        known, first = self._found.setdefault(case.id, (case, path))
        for name in ("query", "baseline"):
            if getattr(known, name) != getattr(case, name):
                fields.wrong(name, f"differs from that of the case {case.id!r} in an earlier row")
        variant = self._variant(fields, known)
        self._found[case.id] = (
            replace(
                known,
                facts=known.facts or case.facts,
                tags=tuple(dict.fromkeys((*known.tags, *case.tags))),
                variants=known.variants if variant is None else (*known.variants, variant),
            ),
            first,
        )

    def _fields(self, value: Any, path: KeyPath) -> Fields:
        if not isinstance(value, Mapping):
            return Fields(value, path, self.problems)
        row: dict[str, Any] = {}
        for key, entry in value.items():
            name = NAMES.get(str(key), str(key))
            if name in row:
                self.problems.add((*path, key), f"means {name}, which is given already")
            row[name] = _cell(name, entry)
        fields = Fields(row, path, self.problems)
        fields.known(KEYS)
        return fields

    def _case(self, fields: Fields) -> NoiseCase:
        query = fields.chat("query")
        baseline = fields.text("baseline", required=False)
        own = fields.name("id") if "id" in fields.values else _id_of(query, baseline)
        declared = {name: fields.values[name] for name in _LISTS[1:] if name in fields.values}
        facts = Fields({"facts": declared}, fields.path, fields.problems).facts("facts")
        return NoiseCase(id=own, query=query, baseline=baseline, facts=facts, tags=fields.texts("tags"))

    def _variant(self, fields: Fields, case: NoiseCase) -> NoiseVariant | None:
        if "noisy_query" not in fields.values and "noise_type" not in fields.values:
            return None
        taken = {variant.id for variant in case.variants}
        noise_type = fields.name("noise_type") if "noise_type" in fields.values else UNSPECIFIED
        name = fields.name("variant") if "variant" in fields.values else _free(noise_type, taken)
        if name in taken:
            fields.wrong("variant", f"the id {name!r} is given twice in the case {case.id!r}")
        return NoiseVariant(
            id=name,
            noise_type=noise_type,
            content=fields.chat("noisy_query"),
            carrier=fields.carrier(),
            min_score=fields.share("min_score"),
        )


def _cell(name: str, value: Any) -> Any:
    """What a cell of a CSV file means: numbers and lists are texts there."""
    if not isinstance(value, str):
        return value
    if name == "min_score":
        try:
            return float(value)
        except ValueError:
            return value
    return [part.strip() for part in value.split("|") if part.strip()] if name in _LISTS else value


def _id_of(query: Any, baseline: str | None) -> str:
    text = query if isinstance(query, str) else str(query[-1].get("content", "")) if query else ""
    return f"{slug(text)}-{content_hash([query, baseline])[:6]}"


def _free(noise_type: str, taken: set[str]) -> str:
    stem = slug(noise_type)
    return next(name for n in range(1, len(taken) + 2) if (name := f"{stem}-{n}") not in taken)
