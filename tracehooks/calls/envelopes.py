"""Frameworks' own wrappings of messages, rewritten as the messages that everybody knows.

Events of OpenAI's streamed responses, and its assistants' threads; Letta; A2A tasks; Haystack's answers;
AG2's chat results; Semantic Kernel in .NET; Griptape's artifacts; smolagents' last steps; AutoGen's bare
tool calls.
"""

from collections.abc import Mapping
from typing import Any

Item = Mapping[str, Any]

_LETTA = {"assistant_message": "assistant", "user_message": "user", "system_message": "system"}
_TOOL_CALL = frozenset(("id", "name", "arguments"))


def rewritten(item: Item) -> list[Any] | None:
    """The messages in ``item``, for one of these frameworks' objects; None for anything else."""
    for one in (
        _event,
        _letta,
        _task,
        _answers,
        _chat_result,
        _thread,
        _dotnet,
        _artifact,
        _last_step,
        _tool_call,
    ):
        if (found := one(item)) is not None:
            return found
    return None


def _said(content: Any, role: str = "assistant") -> list[Any]:
    return [{"role": role, "content": content}]


def _event(item: Item) -> list[Any] | None:
    """A text that is done, and the whole response at the end; deltas stand in both again."""
    kind = item.get("type")
    if kind in ("response.output_text.done", "response.refusal.done"):
        return _said(item.get("text", item.get("refusal")))
    response = item.get("response") if kind in ("response.completed", "response.incomplete") else None
    return _list(response.get("output")) if isinstance(response, Mapping) else None


def _letta(item: Item) -> list[Any] | None:
    """Letta says what a message is under ``message_type``; reasoning and tools have types of their own."""
    kind = item.get("message_type")
    if not isinstance(kind, str) or not kind.endswith("_message"):
        return None
    return _said(item.get("content"), _LETTA.get(kind, "tool"))


def _task(item: Item) -> list[Any] | None:
    """An A2A task: its artifacts are the answer, else what the agent says of its status."""
    if item.get("kind") != "task" or not isinstance(status := item.get("status"), Mapping):
        return None
    artifacts = [each for each in _list(item.get("artifacts")) if isinstance(each, Mapping)]
    parts = [part for artifact in artifacts for part in _list(artifact.get("parts"))]
    if parts:
        return _said(parts)
    message = status.get("message")
    return [*_list(item.get("history")), *([message] if isinstance(message, Mapping) else [])]


def _answers(item: Item) -> list[Any] | None:
    """Haystack: ``{"answers": [{"data"}]}``, and ``[{"answer"}]`` of its first generation; the best one."""
    first = next(iter(_list(item.get("answers"))), None)
    if isinstance(first, Mapping) and isinstance(inner := first.get("init_parameters"), Mapping):
        first = inner
    if not isinstance(first, Mapping):
        return None
    text = first.get("data", first.get("answer"))
    return _said(text) if isinstance(text, str) else None


def _chat_result(item: Item) -> list[Any] | None:
    """AG2: its history has the roles as the one who began it sees them, so the agent is the user there."""
    if not {"chat_history", "summary", "cost"} <= item.keys():
        return None
    return _said(item["summary"])


def _thread(item: Item) -> list[Any] | None:
    """A listing of an assistant's thread; the newest message comes first."""
    messages = _list(item.get("data"))
    if item.get("object") != "list" or not messages or not all(map(_is_of_thread, messages)):
        return None
    return messages[::-1] if _created(messages[0]) >= _created(messages[-1]) else messages


def _is_of_thread(message: Any) -> bool:
    return isinstance(message, Mapping) and message.get("object") == "thread.message"


def _created(message: Item) -> float:
    created = message.get("created_at")
    return created if isinstance(created, int | float) else 0


def _dotnet(item: Item) -> list[Any] | None:
    """Semantic Kernel's ``{"Role": {"Label"}, "Items": [{"$type", "Text"}]}``, whose keys are capitals."""
    if not isinstance(item.get("Role"), str | Mapping) or item.keys().isdisjoint(("Items", "Content")):
        return None
    small = _lowered(item)
    return [{**small, "role": _lowered(small["role"]), "items": [*map(_lowered, _list(small.get("items")))]}]


def _lowered(value: Any) -> Any:
    return {str(key).lower(): entry for key, entry in value.items()} if isinstance(value, Mapping) else value


def _artifact(item: Item) -> list[Any] | None:
    return _said(item.get("value")) if item.get("type") == "TextArtifact" else None


def _last_step(item: Item) -> list[Any] | None:
    """smolagents: what the last step gives out is the answer; what earlier ones do, a tool's output."""
    is_last = item.get("is_final_answer") is True and "action_output" in item
    return _said(item["action_output"]) if is_last else None


def _tool_call(item: Item) -> list[Any] | None:
    return _said(None, "tool") if item.keys() == _TOOL_CALL and isinstance(item["arguments"], str) else None


def _list(value: Any) -> list[Any]:
    return [*value] if isinstance(value, list | tuple) else []
