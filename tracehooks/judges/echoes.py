"""Telling a judgement from an echo: a reply that repeats what stood in the untrusted text is no verdict."""

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tracehooks.judges.prompts import Prompt
from tracehooks.judges.replies import Decoded

_BRACE = re.compile(r'\{\s*"')
_MOST_OBJECTS = 200  # a text with more JSON objects than this is compared word by word only


def repeats_material(reply: str, prompt: Prompt) -> bool:
    """Whether ``reply`` repeats the rendered message, or is nothing but the material."""
    if f" {prompt.nonce}>>>" in reply and "<<<BEGIN " in reply:
        return True
    said = _squeezed(reply)
    return any(said == _squeezed(text) for text in prompt.material.values())


def is_echo(decoded: Decoded, prompt: Prompt) -> bool:
    """Whether the reply's JSON object stood ready in the material, spacing and the order of keys aside.

    An object there that holds the same list of verdicts counts too, whatever was added around it. A statement
    that the judge quotes is no echo.
    """
    texts = [reading for text in prompt.material.values() if "{" in text for reading in _readings(text)]
    if not texts or not decoded.value:
        return False
    said = _squeezed(decoded.text)
    if any(said in _squeezed(text) for text in texts):
        return True
    return any(_same(decoded.value, ready) for ready in _objects(texts))


def _readings(text: str) -> Iterator[str]:
    """``text`` as it stands, and as a model reads it that undoes a layer of JSON or HTML escaping."""
    yield text
    if '\\"' in text:
        yield text.replace('\\"', '"')
    if "&quot;" in text or "&#34;" in text:
        yield html.unescape(text)


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _same(said: Mapping[str, Any], ready: Mapping[str, Any]) -> bool:
    if said == ready:
        return True
    return any(
        isinstance(value, list | dict) and bool(value) and ready.get(key) == value
        for key, value in said.items()
    )


def _objects(texts: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The JSON objects that stand in ``texts``, outermost first."""
    decoder = json.JSONDecoder(strict=False)
    for text in texts:
        position = 0
        for _ in range(_MOST_OBJECTS):
            found = _BRACE.search(text, position)
            if found is None:
                break
            try:
                value, position = decoder.raw_decode(text, found.start())
            except (ValueError, RecursionError):
                position = found.end()
                continue
            yield value
