"""Answers recorded as the chunks in which they came: OpenAI chat, Anthropic, Bedrock converse and Google."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tracehooks.calls.parts import content_text

_BEDROCK = frozenset(
    ("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop")
)
_ANTHROPIC = frozenset(
    (
        *("message_start", "content_block_start", "content_block_delta"),
        *("content_block_stop", "message_delta", "message_stop"),
    )
)


def google_chunks(items: Iterable[Any]) -> int:
    """How many of ``items`` are Google's: one alone is a whole response, several are one answer's chunks."""
    return sum(isinstance(item, Mapping) and isinstance(item.get("candidates"), Sequence) for item in items)


def piece_of(item: Any, *, google: bool = False) -> str | None:
    """The text in one chunk of a streamed answer, "" for none; None for anything that is no chunk."""
    if not isinstance(item, Mapping):
        return None
    if isinstance(choices := item.get("choices"), list | tuple):
        return _openai(item, choices)
    if not _BEDROCK.isdisjoint(item):
        return _delta(item.get("contentBlockDelta"))
    if isinstance(kind := item.get("type"), str) and kind in _ANTHROPIC:
        return _delta(item)
    candidates = item.get("candidates") if google else None
    if isinstance(candidates, list | tuple):
        content = candidates[0].get("content") if candidates and isinstance(candidates[0], Mapping) else None
        return (content_text(content.get("parts")) or "") if isinstance(content, Mapping) else ""
    return None


def _openai(item: Mapping[str, Any], choices: Sequence[Any]) -> str | None:
    if not choices:
        return "" if item.get("object") == "chat.completion.chunk" else None
    delta = choices[0].get("delta") if isinstance(choices[0], Mapping) else None
    return (content_text(delta.get("content")) or "") if isinstance(delta, Mapping) else None


def _delta(event: Any) -> str:
    """The text under ``delta``; tool input and thinking stand there under other names."""
    delta = event.get("delta") if isinstance(event, Mapping) else None
    text = delta.get("text") if isinstance(delta, Mapping) else None
    return text if isinstance(text, str) else ""
