"""The chunks of OpenAI's streams, recognised by their shape: dicts and objects of any client alike.

Chat completions: chunks with ``choices``, whose deltas carry text, tool calls or a refusal; the last one may
have no choices and the usage. Completions: choices with ``text``. Responses: events whose ``type`` begins
with ``response.``.
"""

from typing import Any

from tracehooks.tracing.fields import field, usage

Tokens = tuple[int | None, int | None]


class Delta:
    """What one chunk adds: texts by choice, tool calls by index, a refusal."""

    __slots__ = ("refusal", "texts", "tools")

    def __init__(self) -> None:
        self.texts: list[tuple[int, str]] = []
        self.tools: list[tuple[int, str | None, str | None, str]] = []
        self.refusal = ""

    @property
    def size(self) -> int:
        """Its characters."""
        return (
            sum(len(text) for _, text in self.texts) + sum(len(t[3]) for t in self.tools) + len(self.refusal)
        )


def delta_of(chunk: Any) -> Delta | None:
    """The delta of a chunk; None when it is none of OpenAI's."""
    choices = field(chunk, "choices")
    if isinstance(choices, list | tuple):
        return _of_choices(choices)
    kind = field(chunk, "type")
    if isinstance(kind, str) and kind.startswith("response."):
        return _of_event(kind, field(chunk, "delta"))
    return None


def tokens_of(chunk: Any) -> Tokens | None:
    """The usage that a chunk reports, itself or in the response it completes."""
    return usage(chunk) or usage(field(chunk, "response"))


def assembled(deltas: list[Delta]) -> Any:
    """What the deltas amount to: a text, a list of texts for several choices, a message with tool calls."""
    texts: dict[int, list[str]] = {}
    for delta in deltas:
        for index, text in delta.texts:
            texts.setdefault(index, []).append(text)
    joined = ["".join(texts[index]) for index in sorted(texts)]
    tools = _tool_calls(deltas)
    if tools:
        return {"role": "assistant", "content": joined[0] if joined else None, "tool_calls": tools}
    if len(joined) > 1:
        return joined
    return (joined[0] if joined else "") or "".join(delta.refusal for delta in deltas)


def _of_choices(choices: list[Any] | tuple[Any, ...]) -> Delta | None:
    delta = Delta()
    for position, choice in enumerate(choices):
        said, text = field(choice, "delta"), field(choice, "text")
        if said is None and not isinstance(text, str) and field(choice, "finish_reason") is None:
            return None  # something else that happens to have choices
        index = field(choice, "index")
        index = index if type(index) is int else position
        content = text if isinstance(text, str) else field(said, "content")
        if isinstance(content, str):
            delta.texts.append((index, content))
        if isinstance(refusal := field(said, "refusal"), str):
            delta.refusal += refusal
        delta.tools.extend(_tools(field(said, "tool_calls")))
    return delta


def _tools(calls: Any) -> list[tuple[int, str | None, str | None, str]]:
    found = []
    for position, call in enumerate(calls if isinstance(calls, list) else []):
        function, index = field(call, "function"), field(call, "index")
        arguments = field(function, "arguments")
        found.append(
            (
                index if type(index) is int else position,
                field(call, "id"),
                field(function, "name"),
                arguments if isinstance(arguments, str) else "",
            )
        )
    return found


def _of_event(kind: str, said: Any) -> Delta:
    delta = Delta()
    if isinstance(said, str) and kind == "response.output_text.delta":
        delta.texts.append((0, said))
    elif isinstance(said, str) and kind == "response.refusal.delta":
        delta.refusal = said
    return delta


def _tool_calls(deltas: list[Delta]) -> list[dict[str, Any]]:
    calls: dict[int, dict[str, Any]] = {}
    for delta in deltas:
        for index, identity, name, arguments in delta.tools:
            call = calls.setdefault(
                index, {"id": None, "type": "function", "function": {"name": None, "arguments": ""}}
            )
            call["id"] = call["id"] or identity
            call["function"]["name"] = call["function"]["name"] or name
            call["function"]["arguments"] += arguments
    return [calls[index] for index in sorted(calls)]
