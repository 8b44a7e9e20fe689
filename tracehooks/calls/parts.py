"""Multi-part content: from text, images, tool calls and reasoning to the text alone."""

from collections.abc import Iterable, Mapping
from typing import Any

from tracehooks.calls.decoding import decode

_TEXT_TYPES = frozenset({"text", "output_text", "input_text", "textcontent"})
_TYPE_KEYS = ("type", "block_type", "content_type", "part_kind", "kind", "$type")
# What the parts of one message are, as "type" says; none of these is a message.
_PARTS = frozenset(
    (
        *("text", "output_text", "input_text", "refusal", "reasoning", "thinking", "redacted_thinking"),
        *("tool_use", "tool_result", "server_tool_use", "web_search_tool_result", "tool-call", "tool-result"),
        *("tool_call", "tool_call_response", "function_call", "function_result", "text_reasoning"),
        *("image", "image_url", "input_image", "audio", "input_audio", "file", "input_file", "document"),
        *("source", "step-start"),
    )
)
_TEXT_KEYS = ("text", "content", "value")


def content_text(content: Any) -> str | None:
    """The text of a message's content: a string, a part or a list of parts; None when there is none.

    Texts of several parts are joined by a line feed. Parts without a type, as Google's, are pieces of one
    text and are joined as they are. Parts may be inside a mapping, as Mastra's, or be JSON in a string.
    """
    if isinstance(content, str):
        parts = decode(content)[0] if content.startswith("[{") else None
        return content_text(parts) if are_parts(parts) else content
    if isinstance(content, Mapping):
        parts = content.get("parts")
        return content_text(parts) if isinstance(parts, list | tuple) else part_text(content)
    if not isinstance(content, list | tuple):
        return None
    texts = [text for part in content if (text := part_text(part)) is not None]
    if not texts:
        return None
    return ("" if _are_pieces(content) else "\n").join(texts)


def part_text(part: Any) -> str | None:
    """The text of one part; None for tool calls and results, images, files and reasoning."""
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping) or part.get("thought") is True:
        return None
    kind = next((part[key] for key in _TYPE_KEYS if isinstance(part.get(key), str)), None)
    if kind is None:
        return _string(part.get("text"))
    if kind == "refusal":
        return _string(part.get("refusal"))
    if kind.lower() not in _TEXT_TYPES:
        return None
    return next((text for key in _TEXT_KEYS if (text := _string(part.get(key))) is not None), None)


def are_parts(items: Any) -> bool:
    """Whether ``items`` are the parts of one message that came without it, each with its type."""
    return (
        isinstance(items, list | tuple)
        and bool(items)
        and all(
            isinstance(item, Mapping) and "role" not in item and str(item.get("type")) in _PARTS
            for item in items
        )
    )


def _are_pieces(parts: Iterable[Any]) -> bool:
    return all(isinstance(part, Mapping) and not any(key in part for key in _TYPE_KEYS) for part in parts)


def _string(value: Any) -> str | None:
    if isinstance(value, Mapping):
        value = value.get("value")
    return value if isinstance(value, str) else None
