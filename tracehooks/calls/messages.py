"""Conversations: from the message shapes of many frameworks to turns of (role, text).

Known: OpenAI chat and responses, GenAI semantic conventions (messages and event bodies), LangChain and
LangGraph (plain and constructor-serialised), Pydantic AI, Google contents, Bedrock converse, Anthropic,
LlamaIndex, Vercel AI, AutoGen, Semantic Kernel, Haystack.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tracehooks.calls.parts import content_text, join_parts

_ROLES = {
    "assistant": "assistant ai model bot chatbot agent aimessage aimessagechunk",
    "user": "user human customer humanmessage humanmessagechunk",
    "system": "system developer platform systemmessage systemmessagechunk",
    "tool": "tool function ipython observation environment tool_result tool_call tool-call tool-response "
    "tool_response toolmessage toolmessagechunk functionmessage function_call function_call_output remove "
    "removemessage reasoning file_search_call web_search_call computer_call computer_call_output mcp_call "
    "mcp_list_tools mcp_approval_request code_interpreter_call local_shell_call image_generation_call "
    "custom_tool_call custom_tool_call_output handoff_call",
}
ROLES = {word: role for role, words in _ROLES.items() for word in words.split()}
"""Every word for a role that frameworks use -> assistant, user, system or tool."""

_EVENTS = {
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.choice": "assistant",
    "gen_ai.system.message": "system",
    "gen_ai.tool.message": "tool",
}
_AUTOGEN_WORDS = frozenset(
    {"TextMessage", "StopMessage", "HandoffMessage", "MultiModalMessage", "StructuredMessage"}
)
_PYDANTIC_PARTS = {"text": "assistant", "user-prompt": "user", "system-prompt": "system"}


class Turn(NamedTuple):
    """One message: ``role`` is assistant, user, system or tool; ``text`` is None when it has no words."""

    role: str
    text: str | None


def turns_of(items: Iterable[Any]) -> list[Turn] | None:
    """The turns of ``items`` when any of them is a message, else None; other items are passed over."""
    turns: list[Turn] = []
    pieces: list[str] = []
    known = False
    for item in items:
        if (piece := _delta(item)) is not None:
            known = True
            pieces.append(piece)
        elif (found := _turns(item)) is not None:
            known = True
            turns.extend(found)
    if pieces:
        turns.append(Turn("assistant", "".join(pieces)))
    return turns if known else None


def role_of(word: Any) -> str | None:
    """The role that ``word`` names, or None. ``MessageRole.USER``, ``human``, ``{"value": "user"}``: user."""
    if isinstance(word, Mapping):
        word = word.get("value")
    if not isinstance(word, str):
        return None
    return ROLES.get(word) or ROLES.get(word.lower().rpartition(".")[2])


def _turns(item: Any) -> list[Turn] | None:
    if isinstance(item, Mapping):
        return _from_mapping(item)
    if isinstance(item, list | tuple):
        if len(item) == 2 and isinstance(item[1], str) and (role := role_of(item[0])):
            return [Turn(role, item[1])]
        return turns_of(item) if item and not isinstance(item[0], str) else None
    return None


def _from_mapping(item: Mapping[str, Any]) -> list[Turn] | None:
    if item.get("lc") is not None and isinstance(kwargs := item.get("kwargs"), Mapping):
        return _constructed(item.get("id"), kwargs)
    if "kind" in item and isinstance(parts := item.get("parts"), list | tuple):
        return _pydantic(parts)
    if (role := _EVENTS.get(item.get("event.name") or item.get("name") or "")) is not None:
        return _event(role, item)
    if (role := _stated_role(item)) is not None:
        return _said(role, item)
    if "source" in item and "content" in item and isinstance(item.get("type"), str):
        return _autogen(item)
    return _wrapped(item)


def _stated_role(item: Mapping[str, Any]) -> str | None:
    """The role that a message states as its role or, as LangChain and OpenAI responses do, as its type."""
    for key in ("role", "_role"):
        if key in item:
            return role_of(item[key])
    kind = item.get("type")
    if not isinstance(kind, str) or kind.lower() not in ROLES:
        return None
    return ROLES[kind.lower()]


def _said(role: str, item: Mapping[str, Any]) -> list[Turn]:
    for key in ("parts", "content", "_content", "blocks", "items", "text"):
        if (content := item.get(key)) is not None and (text := content_text(content)) is not None:
            return [Turn(role, text)]
    refusal = item.get("refusal")
    return [Turn(role, refusal if isinstance(refusal, str) else None)]


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
    return [Turn(role, message)] if isinstance(message, str) else _said(role, item)


def _pydantic(parts: Any) -> list[Turn]:
    """One Pydantic AI message; a request mixes system, user and tool parts, a response speaks as a whole."""
    turns = []
    for part in parts:
        if isinstance(part, Mapping):
            role = _PYDANTIC_PARTS.get(part.get("part_kind") or "")
            turns.append(Turn(role, content_text(part.get("content"))) if role else Turn("tool", None))
    said = [turn.text for turn in turns if turn.role == "assistant" and turn.text]
    return [turn for turn in turns if turn.role != "assistant"] + (
        [Turn("assistant", "".join(said))] if said else []
    )


def _autogen(item: Mapping[str, Any]) -> list[Turn]:
    if item["type"] not in _AUTOGEN_WORDS:
        return [Turn("tool", None)]
    content = item["content"]
    return [Turn("user" if item["source"] == "user" else "assistant", content_text(content))]


def _wrapped(item: Mapping[str, Any]) -> list[Turn] | None:
    """A choice, candidate or event around a message: ``{"message": {}}``, ``{"content": {"parts": []}}``."""
    message = item.get("message")
    if isinstance(message, Mapping):
        return _from_mapping(message)
    content = item.get("content")
    if isinstance(content, Mapping) and "parts" in content:
        return _said(role_of(content.get("role")) or "assistant", content)
    return None


def _delta(item: Any) -> str | None:
    """The piece of text in a chunk of a stream of OpenAI chat completions; "" for one without text."""
    if not isinstance(item, Mapping) or not isinstance(choices := item.get("choices"), list | tuple):
        return None
    if not choices:
        return "" if item.get("object") == "chat.completion.chunk" else None
    delta = choices[0].get("delta") if isinstance(choices[0], Mapping) else None
    return join_parts([delta.get("content")]) if isinstance(delta, Mapping) else None
