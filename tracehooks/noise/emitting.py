"""Cases as text for a file: YAML that people review line by line, or JSON.

Keys come in a fixed order. Characters that cannot be seen, or cannot be told from a Latin letter, are written
as escapes, so that a reviewer sees what a variant is made of.
"""

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

import yaml

from tracehooks.noise.cases import NoiseCase, NoiseVariant

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_:./-]*")
_TAKEN = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))
_ON_ONE_LINE = frozenset(("tags", "provenance", "canaries"))
_LETTERS = re.compile(r"[^\W\d_]+")


def case_document(case: NoiseCase) -> dict[str, Any]:
    """``case`` as a file holds it; ``reading.case_from`` reads it back. JSON-ready."""
    facts = case.facts.declared()
    document = {
        "id": case.id,
        "query": case.query if isinstance(case.query, str) else [dict(message) for message in case.query],
        "baseline": case.baseline,
        "facts": facts or None,
        "min_score": case.min_score,
        "tags": list(case.tags) or None,
        "archived": case.archived or None,
        "provenance": dict(case.provenance) or None,
        "variants": [variant_document(variant) for variant in case.variants] or None,
    }
    return {key: value for key, value in document.items() if value is not None}


def variant_document(variant: NoiseVariant) -> dict[str, Any]:
    """``variant`` as a file holds it. JSON-ready."""
    document = {
        "id": variant.id,
        "noise_type": variant.noise_type,
        "carrier": None if variant.carrier == "query" else variant.carrier,
        "content": variant.content,
        "min_score": variant.min_score,
        "tags": list(variant.tags) or None,
        "provenance": dict(variant.provenance) or None,
    }
    return {key: value for key, value in document.items() if value is not None or key == "content"}


def as_yaml(value: Any, indent: int = 0) -> str:
    """``value`` as YAML in block style, each line indented by ``indent`` spaces."""
    text = yaml.dump(
        _inlined(value),
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=2**31,
        default_flow_style=False,
    )
    return "".join(" " * indent + line if line.strip() else line for line in text.splitlines(keepends=True))


def as_json(value: Any, indent: int | None = None) -> str:
    """``value`` as JSON, on one line unless ``indent`` is given."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return "".join(_escaped(letter) if _is_hidden(letter) else letter for letter in text)


class _Inline(list[tuple[Any, Any]]):
    """A mapping that is written on one line."""


class _InlineList(list[Any]):
    """A list that is written on one line."""


def _inlined(value: Any, key: str = "") -> Any:
    """``value`` with what a reviewer takes in at a glance on one line."""
    if key in _ON_ONE_LINE and isinstance(value, Mapping):
        return _Inline(value.items())
    if key in _ON_ONE_LINE and isinstance(value, list):
        return _InlineList(value)
    if isinstance(value, Mapping):
        return {name: _inlined(entry, name) for name, entry in value.items()}
    return [_inlined(entry) for entry in value] if isinstance(value, list) else value


class _Dumper(yaml.SafeDumper):
    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Lists are indented below their key, as people write them."""
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        """Write what is there twice twice: people edit these files."""
        return True

    def write_double_quoted(self, text: str, split: bool = True) -> None:
        """Escape all but ASCII where something cannot be seen or is not what it seems."""
        kept, self.allow_unicode = self.allow_unicode, not deceptive(text)
        super().write_double_quoted(text, split=False)
        self.allow_unicode = kept


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style: str | None = '"'
    if _PLAIN.fullmatch(text) and text.lower() not in _TAKEN and not text.endswith(":"):
        style = None
    elif "\n" in text and not deceptive(text):
        style = "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _float(dumper: yaml.SafeDumper, value: float) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:float", repr(value))


def _mapping(dumper: yaml.SafeDumper, pairs: _Inline) -> yaml.MappingNode:
    return dumper.represent_mapping("tag:yaml.org,2002:map", dict(pairs), flow_style=True)


def _list(dumper: yaml.SafeDumper, entries: _InlineList) -> yaml.SequenceNode:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", entries, flow_style=True)


_Dumper.add_representer(_Inline, _mapping)
_Dumper.add_representer(_InlineList, _list)
_Dumper.add_representer(str, _text)
_Dumper.add_representer(float, _float)


def deceptive(text: str) -> bool:
    """Whether ``text`` holds characters that cannot be seen, or words that mix scripts."""
    return any(map(_is_hidden, text)) or any(_mixes(word) for word in _LETTERS.findall(text))


def _is_hidden(letter: str) -> bool:
    return not letter.isascii() and (unicodedata.category(letter) in ("Cf", "Zs", "Zl", "Zp", "Cc", "Co"))


def _mixes(word: str) -> bool:
    """Whether a word has letters of several scripts, or full-width ones: "pаypal" with a Cyrillic letter."""
    if word.isascii():
        return False
    scripts = {unicodedata.name(letter, "?").split()[0] for letter in word if letter.isalpha()}
    return (
        "LATIN" in scripts and bool(scripts & {"CYRILLIC", "GREEK", "ARMENIAN"})
    ) or "FULLWIDTH" in scripts


def _escaped(letter: str) -> str:
    return json.dumps(letter)[1:-1]


def file_document(name: str, description: str, cases: Any) -> Mapping[str, Any]:
    """A whole file: its name, its description if it has one, and its cases."""
    head = {"name": name} | ({"description": description} if description else {})
    return {**head, "cases": [case_document(case) for case in cases]}
