"""Conversations: from the message shapes of many frameworks to turns of (role, text).

Known: OpenAI chat, its streams, and responses; GenAI semantic conventions (messages and event bodies);
LangChain and LangGraph (plain, as ``{"type", "data"}``, and constructor-serialised); Pydantic AI; Google
contents; Bedrock converse; Anthropic; LlamaIndex; Vercel AI; AutoGen; Semantic Kernel; Haystack; Microsoft's
Agent Framework; Mastra; what wraps messages in a way of its own (see ``envelopes.py``); chunks (see
``streams.py``); and what Python prints of some of these (see ``reprs.py``).
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tracehooks.calls.envelopes import rewritten
from tracehooks.calls.parts import content_text
from tracehooks.calls.reprs import autogen_role, printed_message
from tracehooks.calls.streams import google_chunks, piece_of

_WORDS = {
    "assistant": "assistant ai model bot chatbot agent aimessage aimessagechunk",
    "user": "user human customer humanmessage humanmessagechunk",
    "system": "system developer platform systemmessage systemmessagechunk",
    "tool": "tool function ipython observation environment tool_result tool_call tool-call tool-response "
    "tool_response toolmessage toolmessagechunk functionmessage remove removemessage",
}
ROLES = {word: role for role, words in _WORDS.items() for word in words.split()}
"""Every word for a role that frameworks use -> assistant, user, system or tool."""

# What the items of OpenAI's responses are called when they are no messages.
_ITEMS = frozenset(
    (
        *("reasoning", "compaction", "tool_search_output", "item_reference"),
        *("mcp_list_tools", "mcp_approval_request", "mcp_approval_response"),
    )
)
_CALLS = ("_call", "_call_output")  # function_call, shell_call_output, and what tools there will be
_EVENTS = {
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.choice": "assistant",
    "gen_ai.system.message": "system",
    "gen_ai.tool.message": "tool",
}
_PYDANTIC_PARTS = {"text": "assistant", "user-prompt": "user", "system-prompt": "system"}
_CONTENTS = ("parts", "content", "_content", "blocks", "items", "contents", "text", "data")
# Keys that no message has: a dict with one of them is an application's own, whatever its role may be.
_FOREIGN = frozenset(("answer", "output", "reply", "response", "result"))


class Turn(NamedTuple):
    """One message: ``role`` is assistant, user, system, tool, or ``peer`` for one more person who takes part.

    ``text`` is None when the message has no words.
    """

    role: str
    text: str | None


def turns_of(items: Iterable[Any]) -> list[Turn] | None:
    """The turns of ``items`` when any of them is a message, else None; other items are passed over."""
    turns: list[Turn] = []
    pieces: list[str] = []
    known = False
    items = tuple(items)
    google = google_chunks(items) > 1
    for item in items:
        if (piece := piece_of(item, google=google)) is not None:
            pieces.append(piece)
        elif (found := _turns(item)) is not None:
            turns.extend(found)
            known = True
    if pieces:
        turns.append(Turn("assistant", "".join(pieces)))
    if turns and turns[0].role == "peer":
        turns[0] = Turn("user", turns[0].text)
    return turns if known or pieces else None


def role_of(word: Any) -> str | None:
    """The role that ``word`` names, or None. ``MessageRole.USER``, ``human``, ``{"value": "user"}``: user."""
    if isinstance(word, Mapping):
        word = word.get("value") or word.get("label")
    if not isinstance(word, str):
        return None
    return ROLES.get(word) or ROLES.get(word.lower().rpartition(".")[2])


def _turns(item: Any) -> list[Turn] | None:
    if isinstance(item, Mapping):
        return _from_mapping(item)
    if isinstance(item, str):
        printed = printed_message(item)
        return [Turn(role_of(printed[0]) or printed[0], printed[1])] if printed else None
    if isinstance(item, list | tuple) and item:
        if len(item) == 2 and isinstance(item[1], str) and (role := role_of(item[0])):
            return [Turn(role, item[1])]
        return turns_of(item)
    return None


def _from_mapping(item: Mapping[str, Any]) -> list[Turn] | None:
    if (messages := rewritten(item)) is not None:
        return turns_of(messages) or []
    if "lc" in item and isinstance(kwargs := item.get("kwargs"), Mapping):
        return _constructed(item.get("id"), kwargs)
    if item.get("kind") in ("request", "response") and isinstance(parts := item.get("parts"), list | tuple):
        return _pydantic(parts)
    if item.get("object") == "response" and isinstance(items := item.get("output"), list | tuple):
        return turns_of(items) or []
    if isinstance(replies := item.get("replies"), list | tuple):
        return turns_of(replies) or [Turn("assistant", content_text(replies))]
    event = item.get("event.name")
    if isinstance(event, str) and event in _EVENTS:
        return _event(_EVENTS[event], item)
    if "source" in item and "content" in item and isinstance(item.get("type"), str):
        part = autogen_role(str(item["source"]), item["type"])
        return [Turn(part, None if part == "tool" else content_text(item["content"]))]
    role = _stated_role(item)
    return _wrapped(item) if role is None else _said(role, item)


def _stated_role(item: Mapping[str, Any]) -> str | None:
    """The role that a message states as its role or, as LangChain and OpenAI's responses do, as its type."""
    for key in ("role", "_role"):
        if key in item:
            return None if _FOREIGN.intersection(item) else role_of(item[key])
    if isinstance(kind := item.get("type"), str):
        if kind in _ITEMS or kind.endswith(_CALLS):
            return "tool"
        return ROLES.get(kind.lower()) if any(key in item for key in _CONTENTS) else None
    return "tool" if "page_content" in item else None


def _said(role: str, item: Mapping[str, Any]) -> list[Turn]:
    if isinstance(data := item.get("data"), Mapping):
        item = data
    for key in _CONTENTS:
        if (content := item.get(key)) is not None and (text := content_text(content)) is not None:
            return [Turn(role, text)]
    audio = item.get("audio")
    spoken = audio.get("transcript") if isinstance(audio, Mapping) else None
    others = (item.get("refusal"), spoken, item.get("message"))
    return [Turn(role, next((text for text in others if isinstance(text, str)), None))]


def _constructed(path: Any, kwargs: Mapping[str, Any]) -> list[Turn] | None:
    """LangChain's ``{"lc": 1, "type": "constructor", "id": [..., "AIMessage"], "kwargs": {...}}``."""
    name = path[-1] if isinstance(path, list | tuple) and path else None
    role = role_of(name) or role_of(kwargs.get("type")) or role_of(kwargs.get("role"))
    return _said(role, kwargs) if role else _wrapped(kwargs)


def _event(role: str, item: Mapping[str, Any]) -> list[Turn]:
    """The body of a GenAI event: the message itself, or a choice that holds it."""
    message = item.get("message")
    if isinstance(message, Mapping):
        return _said(role, message)
    return _said(role, item) if message is None else [Turn(role, content_text(message))]


def _pydantic(parts: Iterable[Any]) -> list[Turn]:
    """One Pydantic AI message; a request mixes system, user and tool parts, a response speaks as a whole."""
    turns = []
    for part in parts:
        if isinstance(part, Mapping):
            role = _PYDANTIC_PARTS.get(str(part.get("part_kind")))
            turns.append(Turn(role, content_text(part.get("content"))) if role else Turn("tool", None))
    said = [turn.text for turn in turns if turn.role == "assistant" and turn.text]
    others = [turn for turn in turns if turn.role != "assistant"]
    return [*others, Turn("assistant", "".join(said))] if said else others


def _wrapped(item: Mapping[str, Any]) -> list[Turn] | None:
    """A choice, candidate or event around a message: ``{"message": {}}``, ``{"content": {"parts": []}}``."""
    message = item.get("message")
    if isinstance(message, Mapping):
        return _from_mapping(message)
    content = item.get("content")
    if isinstance(content, Mapping) and "parts" in content:
        return _said(role_of(content.get("role")) or "assistant", content)
    return None
