"""What Python prints of a framework's message, for instrumentations that record just that.

``ChatMessage(role=<MessageRole.USER: 'user'>, blocks=[TextBlock(block_type='text', text='hi')])`` and the
like: LlamaIndex, Haystack, smolagents, AutoGen and LangChain.
"""

import ast
import re

_LITERAL = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_OBJECT = re.compile(r"[A-Z]\w*\((?:\w+=|\))")
_MESSAGE = re.compile(r"ChatMessage\(_?role=<\w+\.\w+: '([\w-]+)'>")
_LANGCHAIN = re.compile(r"(Human|AI|System|Tool|Function)Message(?:Chunk)?\(content=")
_AUTOGEN = re.compile(r"(?:id='[^']*' )?source='([^']*)' .*type='(\w+)'$", re.DOTALL)
_TEXT = re.compile(r"(?:\btext=|'text': |\bcontent=)" + _LITERAL, re.DOTALL)
_AUTOGEN_WORDS = ("TextMessage", "StopMessage", "HandoffMessage", "MultiModalMessage", "StructuredMessage")
_REASONING = ("reasoning", "rationale", "trajectory", "completions")
_REST = re.compile(r", (?:raw|_meta|tool_calls|token_usage)=")


def is_printed_object(text: str) -> bool:
    """Whether ``text`` is what Python prints of some object, ``AgentOutput(response=...)``."""
    return _OBJECT.match(text) is not None


def printed_message(text: str) -> tuple[str, str | None] | None:
    """The role (as the framework says it) and the text of the first message that ``text`` begins with."""
    if found := _MESSAGE.match(text) or _LANGCHAIN.match(text):
        return found[1].lower(), _texts(text)
    if text.startswith(("id='", "source='")) and (found := _AUTOGEN.match(text)):
        return autogen_role(found[1], found[2]), _texts(text)
    return None


def printed_answer(text: str) -> str | None:
    """The text of the assistant's message somewhere inside ``text``, a printed object; None without one."""
    found = next((each for each in _MESSAGE.finditer(text) if each[1] == "assistant"), None)
    return _texts(text[found.start() :]) if found else None


def printed_prediction(text: str) -> dict[str, str] | None:
    """The fields of what DSPy prints of a prediction, but for its reasoning; None for any other text."""
    if not text.startswith("Prediction("):
        return None
    try:
        printed = ast.parse(text, mode="eval").body
        assert isinstance(printed, ast.Call)
        fields = {each.arg: ast.literal_eval(each.value) for each in printed.keywords if each.arg}
    except (SyntaxError, ValueError, AssertionError, RecursionError, MemoryError):
        return None
    fields = {name: value for name, value in fields.items() if name not in _REASONING}
    only = next(iter(fields.values())) if len(fields) == 1 else None
    return {"answer": only} if isinstance(only, str) else fields


def autogen_role(source: str, kind: str) -> str:
    """The role of AutoGen's message of type ``kind`` from ``source``; what tools said comes as a message too.

    ``peer`` is a person: the user who set the task, or, later in the conversation, one who takes part in it.
    """
    if kind not in _AUTOGEN_WORDS:
        return "tool"
    return "peer" if source.lower() in ("user", "user_proxy", "userproxy") else "assistant"


def _texts(text: str) -> str | None:
    message = _REST.split(text, maxsplit=1)[0]
    texts = [str(ast.literal_eval(literal)) for literal in _TEXT.findall(message)]
    return "\n".join(texts) or None
