"""The agent's or the user's words inside a recorded value, whatever framework shaped it.

:func:`agent_words` takes an output, :func:`user_words` an input. Both take the value itself or its JSON,
encoded more than once if need be, and look, in this order, for a conversation (see ``messages.py``), for the
keys under which answers or questions usually are, and for any text at all, which comes as compact JSON.

Of a conversation one turn counts. The agent's is the last one in which it spoke after the user's last
message: an answer from an earlier round is not this call's. System prompts, tool output, tool calls and
reasoning are nobody's words here; a block of ``<think>`` before the answer is reasoning too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from tracehooks.calls.decoding import compact, decode, is_unicode, unicode
from tracehooks.calls.messages import Turn, turns_of
from tracehooks.calls.parts import are_parts, content_text
from tracehooks.calls.reprs import printed_prediction
from tracehooks.records import is_blank

MAX_DEPTH = 12

ANSWER_KEYS = (
    *("final_output", "final_answer", "final_result", "structured_response", "output_text", "output"),
    *("answer", "reply", "response", "raw", "content", "text", "messages", "message", "chat_message"),
    *("choices", "candidates", "generations", "result", "completion", "generated_text", "return_values"),
    *("outputs", "update", "last_message", "outputText", "generation", "results", "completions"),
    *("final_response", "agent_response", "assistant_response", "bot_response", "response_text"),
    *("return_value", "return", "assistant", "predictions", "data", "msgs"),
)
QUESTION_KEYS = (
    *("input", "question", "query", "messages", "message", "user_input", "user_message", "user_prompt"),
    *("user_msg", "new_message", "input_text", "prompt", "contents", "content", "text", "task", "request"),
    *("goal", "topic", "inputs", "args", "kwargs", "chat_history", "update"),
)
_REASONING = (("<think>", "</think>"), ("<thinking>", "</thinking>"))


class Shape(IntEnum):
    """How well the place of the words is known, text or not: the higher, the surer.

    ``unknown``: nothing like an answer. ``json``: an object of some other shape, given whole. ``text``: a
    text, or a key under which answers are. ``chat``: a message.
    """

    UNKNOWN = 0
    JSON = 1
    TEXT = 2
    CHAT = 3


@dataclass(frozen=True, slots=True)
class Words:
    """What was found. ``text`` is None when nobody spoke; ``cut`` says that the record was cut short."""

    text: str | None = None
    shape: Shape = Shape.UNKNOWN
    cut: bool = False


UNKNOWN = Words()
SILENT = Words(shape=Shape.TEXT)


def agent_words(value: Any) -> Words:
    """What the agent said last in ``value``, an output."""
    return _words(value, _ANSWERS)


def user_words(value: Any) -> Words:
    """What the user said last in ``value``, an input."""
    return _words(value, _QUESTIONS)


@dataclass(frozen=True, slots=True)
class _Side:
    """Whose words are sought, and whether in JSON that was cut short.

    What was cut may lack just what says whose words it holds. So the last object of a list is left out there
    unless it is a message, and no object of another shape is given whole.
    """

    role: str
    keys: tuple[str, ...]
    cut: bool = False

    def words(self, value: Any, depth: int) -> Words:
        """The words in ``value``, already decoded."""
        if isinstance(value, str) and (fields := printed_prediction(value)) is not None:
            value = fields
        if isinstance(value, str):
            return Words(spoken(value), Shape.TEXT)
        if depth < MAX_DEPTH and isinstance(value, list | tuple):
            return self._in_list(value, depth)
        if depth < MAX_DEPTH and isinstance(value, Mapping):
            return self._in_mapping(value, depth)
        return UNKNOWN

    def _below(self, value: Any, depth: int) -> Words:
        return self.words(decode(value)[0], depth + 1)

    def _in_list(self, items: list[Any] | tuple[Any, ...], depth: int) -> Words:
        if are_parts(items):
            return Words(spoken(content_text(items)), Shape.CHAT)
        if (turns := turns_of(items)) is not None:
            return Words(self._last(turns), Shape.CHAT)
        if self.cut and items and isinstance(items[-1], Mapping):
            items = items[:-1]
        if len(items) == 1 and (only := self._below(items[0], depth)).shape:
            return only
        if items and all(isinstance(item, str) for item in items):
            return Words(spoken("\n".join(item for item in items if item.strip())), Shape.TEXT)
        found = [self._below(item, depth) for item in items if not isinstance(item, str)]
        if (chat := _last_chat(found)) is not None:
            return chat
        return found[0] if len(found) == len(items) == 1 else UNKNOWN

    def _in_mapping(self, value: Mapping[str, Any], depth: int) -> Words:
        if (turns := turns_of((value,))) is not None:
            return Words(self._last(turns), Shape.CHAT)
        best = UNKNOWN
        for key in self.keys:
            if key in value:
                words = self._under(value[key], depth)
                if words.text is not None or words.shape is Shape.CHAT:
                    return words
                best = max(best, words, key=_surety)
        return best if best.shape else self._elsewhere(value, depth)

    def _under(self, entry: Any, depth: int) -> Words:
        """The words in the entry of a usual key: whatever text it holds, if it has no shape that we know."""
        if entry is None:
            return SILENT
        words = self._below(entry, depth)
        if words.shape or self.cut or not isinstance(entry, list | tuple | Mapping):
            return words
        if not entry:
            return SILENT
        return Words(compact(entry), Shape.JSON)

    def _elsewhere(self, value: Mapping[str, Any], depth: int) -> Words:
        """A conversation below any key, as ``{"agent": {"messages": []}}``; or the user's only text."""
        found = [self._below(entry, depth) for entry in value.values() if not isinstance(entry, str)]
        if (chat := _last_chat(found)) is not None:
            return chat
        texts = [entry for entry in value.values() if isinstance(entry, str) and entry.strip()]
        return self._below(texts[0], depth) if self.role == "user" and len(texts) == 1 else UNKNOWN

    def _last(self, turns: list[Turn]) -> str | None:
        for turn in reversed(turns):
            if turn.role == self.role and (text := spoken(turn.text)) is not None:
                return text
            if self.role == "assistant" and turn.role == "user" and turn.text:
                return None
        return None


_ANSWERS = _Side("assistant", ANSWER_KEYS)
_QUESTIONS = _Side("user", QUESTION_KEYS)


def _words(value: Any, side: _Side) -> Words:
    value, cut = decode(value)
    found = (replace(side, cut=True) if cut else side).words(value, 0)
    if not found.shape and not cut and (whole := compact(value)) is not None:
        found = Words(whole, Shape.JSON)
    if cut or (found.text is not None and not is_unicode(found.text)):
        return Words(unicode(found.text), found.shape, cut)
    return found


def _last_chat(found: list[Words]) -> Words | None:
    chats = [words for words in found if words.shape is Shape.CHAT]
    return next((words for words in reversed(chats) if words.text is not None), chats[-1] if chats else None)


def _surety(words: Words) -> Shape:
    return words.shape


def spoken(text: str | None) -> str | None:
    """``text`` without a leading block of reasoning; None when nothing that is seen is left."""
    if text is None or is_blank(text):
        return None
    head = text.lstrip()
    if head[0] == "<":
        for opening, closing in _REASONING:
            if head.startswith(opening) and closing in head:
                return spoken(head.split(closing, 1)[1].lstrip())
    return text
