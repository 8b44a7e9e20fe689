"""The agent's or the user's words inside a recorded value, whatever framework shaped it.

:func:`agent_words` takes an output, :func:`user_words` an input. Both accept the value itself or its JSON,
encoded more than once if need be, and look, in this order, for a conversation (see ``messages.py``), for the
keys under which answers (questions) usually are, and for any text at all. Of a conversation only the last
turn counts: what the assistant said after the user's last message, never an earlier answer. System prompts,
tool output, tool calls and reasoning are nobody's words here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from tracehooks.calls.messages import Turn, turns_of

MAX_DEPTH = 10
MAX_DECODINGS = 3

ANSWER_KEYS = (
    *("final_output", "final_answer", "final_result", "structured_response", "output", "output_text"),
    *("answer", "reply", "replies", "response", "messages", "message", "chat_message", "choices"),
    *("candidates", "generations", "content", "text", "result", "raw", "completion", "generated_text"),
    *("return_values", "outputs", "update", "agent_response", "last_message"),
)
QUESTION_KEYS = (
    *("input", "question", "query", "messages", "message", "user_input", "user_message", "user_prompt"),
    *("user_msg", "new_message", "input_text", "prompt", "contents", "content", "text", "task", "request"),
    *("goal", "topic", "inputs", "args", "kwargs", "chat_history", "update"),
)
_REASONING = (("<think>", "</think>"), ("<thinking>", "</thinking>"))


@dataclass(frozen=True, slots=True)
class Words:
    """What was found. ``known`` says that the shape was recognised, text or not; ``cut`` that it was cut.

    ``chat`` says that the text stood in a message, not in a bare value.
    """

    text: str | None = None
    known: bool = False
    chat: bool = False
    cut: bool = False


NOTHING = Words()


def agent_words(value: Any) -> Words:
    """What the agent said last in ``value``, an output. ``text`` is None when it said nothing."""
    return _words(value, "assistant", ANSWER_KEYS)


def user_words(value: Any) -> Words:
    """What the user said last in ``value``, an input. ``text`` is None when the user said nothing."""
    return _words(value, "user", QUESTION_KEYS)


def decode(value: Any) -> tuple[Any, bool]:
    """``value`` with JSON inside strings decoded, and whether it was JSON cut short by a length limit.

    A string that is not JSON is left as it is; so is JSON that is a mere number, true, false or null.
    """
    for _ in range(MAX_DECODINGS):
        if not isinstance(value, str) or not (head := value.lstrip()[:1]) or head not in '{["':
            return value, False
        try:
            value = orjson.loads(value)
        except ValueError:
            part = _cut_json(value) if head in "{[" else None
            return (value, False) if part is None else (part, True)
    return value, False


def compact(value: Any) -> str | None:
    """``value`` as compact JSON when there is any text in it, else None."""
    if not _holds_text(value, 0):
        return None
    return orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS).decode()


def _words(value: Any, role: str, keys: tuple[str, ...]) -> Words:
    value, cut = decode(value)
    found = _find(value, role, keys, 0)
    if found.text is None and not found.known and (rest := compact(value)) is not None:
        found = Words(rest, known=True)
    return Words(found.text, found.known, found.chat, cut) if cut else found


def _find(value: Any, role: str, keys: tuple[str, ...], depth: int) -> Words:
    if depth:
        value, _ = decode(value)
    if isinstance(value, str):
        return Words(spoken(value), known=True)
    if depth >= MAX_DEPTH:
        return NOTHING
    if isinstance(value, list | tuple):
        return _in_list(value, role, keys, depth)
    if isinstance(value, Mapping):
        return _in_mapping(value, role, keys, depth)
    return NOTHING


def _in_list(items: Any, role: str, keys: tuple[str, ...], depth: int) -> Words:
    if (turns := turns_of(items)) is not None:
        return Words(_last(turns, role), known=True, chat=True)
    if items and all(isinstance(item, str) for item in items):
        return Words(spoken("\n".join(item for item in items if item.strip())), known=True)
    found = [_find(item, role, keys, depth + 1) for item in items]
    chats = [words for words in found if words.chat]
    for words in reversed(chats):
        if words.text is not None:
            return words
    if chats:
        return chats[-1]
    return found[0] if len(found) == 1 else NOTHING


def _in_mapping(value: Mapping[str, Any], role: str, keys: tuple[str, ...], depth: int) -> Words:
    if (turns := turns_of((value,))) is not None:
        return Words(_last(turns, role), known=True, chat=True)
    silent = NOTHING
    for key in keys:
        if key in value and (entry := value[key]) is not None:
            words = _find(entry, role, keys, depth + 1)
            if words.text is not None or words.chat:
                return words
            if isinstance(entry, list | tuple | Mapping) and not words.known:
                words = Words(compact(entry), known=not entry)
                if words.text is not None and role == "assistant":
                    return words
            if words.known:
                silent = words
        elif key in value:
            silent = Words(known=True)
    if silent.known:
        return silent
    return _nested(value, role, keys, depth)


def _nested(value: Mapping[str, Any], role: str, keys: tuple[str, ...], depth: int) -> Words:
    """What is said below any key: a graph's ``{"agent": {"messages": [...]}}``; or the only text there is."""
    nested = [_find(entry, role, keys, depth + 1) for entry in value.values() if not isinstance(entry, str)]
    if chats := [words for words in nested if words.chat]:
        return next((words for words in reversed(chats) if words.text is not None), chats[-1])
    texts = [entry for entry in value.values() if isinstance(entry, str) and entry.strip()]
    return _find(texts[0], role, keys, depth + 1) if role == "user" and len(texts) == 1 else NOTHING


def _last(turns: list[Turn], role: str) -> str | None:
    """The last text that ``role`` spoke; for the assistant, after the user's last message."""
    for turn in reversed(turns):
        if turn.role == role and (text := spoken(turn.text)) is not None:
            return text
        if role == "assistant" and turn.role == "user" and turn.text:
            return None
    return None


def spoken(text: str | None) -> str | None:
    """``text`` without a leading block of reasoning; None when nothing but white space is left."""
    if text is None or not text.strip():
        return None
    head = text.lstrip()
    for opening, closing in _REASONING:
        if head.startswith(opening) and closing in head:
            return spoken(head.split(closing, 1)[1].lstrip())
    return text


def _holds_text(value: Any, depth: int) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    if depth >= MAX_DEPTH:
        return False
    if isinstance(value, Mapping):
        return any(_holds_text(entry, depth + 1) for entry in value.values())
    return isinstance(value, list | tuple) and any(_holds_text(entry, depth + 1) for entry in value)


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)


def _cut_json(text: str) -> Any:
    """What can be read of JSON that was cut short; None when ``text`` is no JSON at all."""
    from pydantic_core import from_json

    try:
        part = from_json(text, allow_partial="trailing-strings")
    except ValueError:
        return None
    return part or None
