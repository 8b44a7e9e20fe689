"""What a chat completion is on the wire, read without trusting its shape."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson

from tracehooks.judges.completions import Completion
from tracehooks.protocols import Usage

if TYPE_CHECKING:
    import httpx2


def decoded(response: "httpx2.Response") -> Any:
    """The body as JSON; None when it is none."""
    try:
        return orjson.loads(response.content)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(response.content)  # takes a lone surrogate, which orjson does not
    except (ValueError, RecursionError):
        return None


def completion_of(reply: Mapping[str, Any]) -> Completion:
    """The Completion in a decoded chat completion. Whatever is missing or of another shape is left out."""
    choice = first_choice(reply)
    message = choice.get("message")
    message = message if isinstance(message, dict) else {}
    text, refusal = _text_and_refusal(message.get("content"))
    return Completion(
        text=text,
        refusal=_word(message.get("refusal")) or refusal,
        finish_reason=_word(choice.get("finish_reason")),
        model=_word(reply.get("model")),
        usage=_usage(reply.get("usage")),
    )


def first_choice(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    """The first choice of a decoded chat completion; empty when there is none."""
    choices = reply.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else {}
    return first if isinstance(first, dict) else {}


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _text_and_refusal(content: Any) -> tuple[str | None, str | None]:
    if not isinstance(content, list):
        return (content if isinstance(content, str) else None), None
    parts = [part if isinstance(part, dict) else {"text": part} for part in content]
    texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
    refusals = [part["refusal"] for part in parts if isinstance(part.get("refusal"), str)]
    return ("".join(texts) if texts else None), ("".join(refusals) or None)


def _usage(usage: Any) -> Usage:
    counts = usage if isinstance(usage, dict) else {}
    return Usage(
        input_tokens=_tokens(counts.get("prompt_tokens")),
        output_tokens=_tokens(counts.get("completion_tokens")),
    )


def _tokens(count: Any) -> int | None:
    return count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else None
