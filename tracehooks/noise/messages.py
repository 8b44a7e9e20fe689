"""Chat messages around a question: turns before it, other words for it, a conversation as one text."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracehooks.calls.messages import turns_of

Messages = list[dict[str, Any]]


def as_messages(query: str | Sequence[Mapping[str, Any]]) -> Messages:
    """``query`` as chat messages; a text is what the user says."""
    if isinstance(query, str):
        return [{"role": "user", "content": query}]
    return [dict(message) for message in query]


def before_question(query: str | Sequence[Mapping[str, Any]], turn: Any) -> Messages:
    """``query`` with ``turn`` (a text, or messages) before the message that holds the question."""
    messages = as_messages(query)
    last = _question_at(messages)
    return [*messages[:last], *as_messages(turn), *messages[last:]]


def with_question(query: str | Sequence[Mapping[str, Any]], change: Callable[[str], str]) -> str | Messages:
    """``query`` with its question's text changed; what else there is stays as it is."""
    if isinstance(query, str):
        return change(query)
    messages = as_messages(query)
    last = _question_at(messages)
    messages[last] = {**messages[last], "content": change(_text(messages[last]))}
    return messages


def question_of(query: str | Sequence[Mapping[str, Any]]) -> str:
    """The question's text: of chat messages, the user's last."""
    if isinstance(query, str):
        return query
    messages = as_messages(query)
    return _text(messages[_question_at(messages)])


def flattened(query: str | Sequence[Mapping[str, Any]]) -> str:
    """A conversation as one text, for agents that take no messages and for people."""
    if isinstance(query, str):
        return query
    turns = turns_of(as_messages(query)) or []
    return "\n\n".join(f"{turn.role.capitalize()}: {turn.text}" for turn in turns if turn.text)


def _question_at(messages: Messages) -> int:
    """Where the question is: the user's last message, or else the last of all."""
    users = [number for number, message in enumerate(messages) if message.get("role") == "user"]
    return users[-1] if users else len(messages) - 1


def _text(message: Mapping[str, Any]) -> str:
    turns = turns_of([message])
    return (turns[-1].text if turns else None) or ""
