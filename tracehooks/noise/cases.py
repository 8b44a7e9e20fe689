"""Noise cases: a clean question, the answer that counts as right, and the question's noisy variants."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tracehooks.calls.text import user_words
from tracehooks.facts import Facts
from tracehooks.noise.messages import before_question, flattened

NOISE_TYPES = ("misinformation", "distractors", "adversarial")
"""The noise types of the published scorer. A team may have others of its own."""

Query = str | Sequence[Mapping[str, Any]]
"""What an agent is asked: a text, or chat messages ``{"role", "content"}``."""


@dataclass(frozen=True, slots=True)
class Planted:
    """What a traced function of the agent returns in a replay.

    The ``tool`` called ``name`` is not called and returns ``output``. A ``retriever``, whatever its name, is
    called and finds ``output`` as one more document.
    """

    kind: Literal["retriever", "tool"]
    name: str | None
    output: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseVariant:
    """One way to disturb a case.

    ``carrier`` says where the noise sits, and so what ``content`` is:

    - ``query``: the noisy question in place of the clean one, a text or chat messages
    - ``turn``: an earlier turn before the clean question: the user's text, or chat messages
    - ``document``: one more document that the retriever finds: a text, or whatever its documents are
    - ``tool:<name>``: what the tool of this name returns, a text or any JSON

    ``id`` is unique within its case. ``min_score`` goes before the case's. ``provenance`` says who made it.
    """

    id: str
    noise_type: str
    content: Any
    carrier: str = "query"
    min_score: float | None = None
    tags: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def planted(self) -> Planted | None:
        """What a traced function returns in a replay; None when the noise is in what the agent is asked."""
        if self.carrier == "document":
            return Planted("retriever", None, self.content)
        if self.carrier.startswith("tool:"):
            return Planted("tool", self.carrier.removeprefix("tool:"), self.content)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseCase:
    """A clean ``query``, its ``baseline`` (the right answer; None until it is captured), and its variants.

    ``facts`` is what a right answer must and must not hold. ``min_score`` is what each variant must reach;
    None leaves it to the gate's setting. An ``archived`` case stays in its file and is not replayed.
    """

    id: str
    query: Query
    baseline: str | None = None
    facts: Facts = field(default_factory=Facts)
    min_score: float | None = None
    tags: tuple[str, ...] = ()
    variants: tuple[NoiseVariant, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    archived: bool = False

    @property
    def question(self) -> str:
        """The clean question as one text: what the user says last."""
        return user_words(self.query).text or ""

    def input_for(self, variant: NoiseVariant) -> Query:
        """What the agent is asked for ``variant``: a text, or chat messages when there are turns."""
        if variant.carrier == "query":
            content: Query = variant.content
            return content
        return before_question(self.query, variant.content) if variant.carrier == "turn" else self.query

    def text_for(self, variant: NoiseVariant) -> str:
        """Question and noise as one text, for a judge or a person, wherever the noise sits."""
        if variant.carrier == "query":
            return user_words(variant.content).text or ""
        if variant.carrier == "turn":
            return flattened(self.input_for(variant))
        planted = variant.planted
        source = f"the tool {planted.name} returned" if planted and planted.name else "a retrieved document"
        return f"{self.question}\n\n[{source}:]\n{_as_text(variant.content)}"

    def metadata_for(self, variant: NoiseVariant) -> dict[str, Any]:
        """What the noise scorers look for in a call's metadata, and which case this is. JSON-ready."""
        return {
            "case": self.id,
            "variant": variant.id,
            "noise_type": variant.noise_type,
            "carrier": variant.carrier,
            "original_query": self.question,
            "baseline_response": self.baseline,
            "facts": self.facts.declared(),
        }

    def min_score_for(self, variant: NoiseVariant) -> float | None:
        """What ``variant`` must reach: its own, or the case's; None leaves it to the gate's setting."""
        return self.min_score if variant.min_score is None else variant.min_score

    @property
    def meaning(self) -> dict[str, Any]:
        """All that decides what is asked and how it is judged; the rest (provenance) is left out."""
        return {
            "id": self.id,
            "query": self.query,
            "baseline": self.baseline,
            "facts": _sorted_lists(self.facts.declared()),
            "min_score": self.min_score,
            "tags": sorted(set(self.tags)),
            "archived": self.archived,
            "variants": sorted(
                (_meaning(variant) for variant in self.variants), key=lambda one: str(one["id"])
            ),
        }

    @property
    def hash(self) -> str:
        """The content hash: 16 hex digits that change with any change of meaning, and with nothing else."""
        return content_hash(self.meaning)


def content_hash(value: Any) -> str:
    """16 hex digits of sha256 over ``value`` as JSON with sorted keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=list)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _meaning(variant: NoiseVariant) -> dict[str, Any]:
    return {
        "id": variant.id,
        "noise_type": variant.noise_type,
        "carrier": variant.carrier,
        "content": variant.content,
        "min_score": variant.min_score,
        "tags": sorted(set(variant.tags)),
    }


def _sorted_lists(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: sorted(entries, key=content_hash) for name, entries in facts.items()}


def _as_text(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str)
