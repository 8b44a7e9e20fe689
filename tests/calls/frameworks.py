"""What frameworks write beside the words of an agent and its user; none of it may be taken for those."""

from typing import Any

SYSTEM = "SYSTEM-CANARY"
TOOL = "TOOL-CANARY"
THOUGHT = "THOUGHT-CANARY"


def lc(name: str, content: Any, **more: Any) -> dict[str, Any]:
    """A message as LangChain's constructor serialisation writes it."""
    kwargs = {"content": content, "type": name[:2].lower(), **more}
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": kwargs}


CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": "x"}'}}
