"""Inputs and outputs as the messages of the GenAI conventions, where their shape says that they are some.

A message is ``{"role", "parts": [{"type": "text", "content"}, ...]}``; the conventions' JSON schemas are at
https://github.com/open-telemetry/semantic-conventions-genai. What has no such shape gives None: a guess
would be worse than the plain ``tracehooks.input`` and ``tracehooks.output``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tracehooks.tracing.encode import dumps, loads
from tracehooks.tracing.fields import field

# The names under which functions take what the user said, the likeliest first.
TEXT_NAMES = (
    *("messages", "question", "query", "prompt", "user_input", "user_message", "message", "input", "text"),
    *("request", "content", "task", "instruction", "utterance"),
)
# The messages of one text, before and after its JSON.
USER_SAID = ('[{"role":"user","parts":[{"type":"text","content":', "}]}]")
AGENT_SAID = ('[{"role":"assistant","parts":[{"type":"text","content":', '}],"finish_reason":"stop"}]')
AGENT_BROKE_OFF = (AGENT_SAID[0], "}]}]")

_RANK = {name: rank for rank, name in enumerate(TEXT_NAMES)}
_TEXT_PARTS = frozenset({"text", "input_text", "output_text"})


def user_argument(arguments: Sequence[tuple[str, Any]]) -> int | None:
    """Which argument is what the user said: a chat, a text of a usual name, or the only text there is."""
    if len(arguments) == 1:
        value = arguments[0][1]
        return 0 if type(value) is str or is_chat(value) else None
    texts = [n for n, (_, value) in enumerate(arguments) if type(value) is str or is_chat(value)]
    if len(texts) <= 1:
        return texts[0] if texts else None
    ranked = [(_RANK[arguments[n][0]], n) for n in texts if arguments[n][0] in _RANK]
    if ranked:
        return min(ranked)[1]
    chats = [n for n in texts if type(arguments[n][1]) is not str]
    return chats[0] if len(chats) == 1 else None


def is_chat(value: Any) -> bool:
    """Whether ``value`` is a list of messages: dicts or objects that have a role."""
    if type(value) is not list or not value:
        return False
    return isinstance(field(value[0], "role"), str) and isinstance(field(value[-1], "role"), str)


def input_messages(value: Any, encoded: bytes) -> bytes | None:
    """The input messages of ``value``, whose JSON is ``encoded``; None when it is neither text nor a chat."""
    if type(value) is str:
        return encoded.decode().join(USER_SAID).encode()
    return _chat(loads(encoded))


def output_messages(value: Any, encoded: bytes, *, complete: bool = True) -> bytes | None:
    """The output messages of ``value``: a text, a message, a chat, or a reply of OpenAI's; else None."""
    if type(value) is str:
        return encoded.decode().join(AGENT_SAID if complete else AGENT_BROKE_OFF).encode()
    if is_chat(value):
        return _chat(loads(encoded))
    if not any(field(value, name) is not None for name in ("role", "choices", "output")):
        return None
    return _reply(loads(encoded))


def _reply(value: Any) -> bytes | None:
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("role"), str):
        return _chat([value])
    if isinstance(choices := value.get("choices"), list):
        return _choices(choices)
    said = value.get("output")
    items = [item for item in said if isinstance(item, dict)] if isinstance(said, list) else []
    return _chat([item for item in items if item.get("type") == "message"])


def _choices(choices: list[Any]) -> bytes | None:
    messages = []
    for choice in choices:
        message = _message(choice.get("message")) if isinstance(choice, dict) else None
        if message is None:
            return None
        if isinstance(choice.get("finish_reason"), str):
            message["finish_reason"] = choice["finish_reason"]
        messages.append(message)
    return dumps(messages) if messages else None


def _chat(value: Any) -> bytes | None:
    messages = [_message(item) for item in value] if isinstance(value, list) else []
    return None if not messages or None in messages else dumps(messages)


def _message(message: Any) -> dict[str, Any] | None:
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        return None
    if isinstance(message.get("parts"), list):
        return message
    role, content = message["role"], message.get("content")
    if role == "tool":
        part = {"type": "tool_call_response", "id": message.get("tool_call_id"), "response": content}
        return {"role": role, "parts": [part]}
    parts = [*_content(content), *_content(message.get("refusal")), *_tool_calls(message.get("tool_calls"))]
    return {"role": role, "parts": parts}


def _content(content: Any) -> list[dict[str, Any]]:
    if content is None:
        return []
    if not isinstance(content, list):
        return [_text(content)]
    return [_part(part) for part in content]


def _part(part: Any) -> dict[str, Any]:
    if not isinstance(part, Mapping):
        return _text(part)
    kind = part.get("type")
    if kind in _TEXT_PARTS or (kind is None and "text" in part):
        return _text(part.get("text"))
    return dict(part) if isinstance(kind, str) else _text(part)


def _text(content: Any) -> dict[str, Any]:
    return {"type": "text", "content": content if isinstance(content, str) else dumps(content).decode()}


def _tool_calls(calls: Any) -> list[dict[str, Any]]:
    found = []
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            name, arguments = function.get("name"), function.get("arguments")
            found.append({"type": "tool_call", "id": call.get("id"), "name": name, "arguments": arguments})
    return found
