"""Asking for structured output: by JSON schema, and with less where a server lacks that."""

from collections.abc import Mapping
from typing import Any

from tracehooks.judges.completions import Messages

# what the most tokens of a reply is called: by OpenAI now, and by older servers
_LIMITS = ("max_completion_tokens", "max_tokens")
_STEPS = ("json_schema", "json_object", "text")
_SAID_OF_NO = (400, 404, 415, 422, 501)
_ABOUT_FORMAT = (
    "response_format",
    "json_schema",
    "json_object",
    "json schema",
    "json mode",
    "structured output",
    "guided",
    "grammar",
)


class RequestForm:
    """What a server has been found to accept. Starts with everything and only ever asks for less.

    One per judge, shared by its threads: two that learn the same thing at once agree.
    """

    def __init__(self, model: str, temperature: float | None, max_output_tokens: int | None = None) -> None:
        self.model = model
        self.step = 0
        self.temperature = temperature
        self.max_output_tokens = max_output_tokens
        self.limit_step = 0

    def body(self, messages: Messages, schema: Mapping[str, Any], name: str = "reply") -> dict[str, Any]:
        """The request for ``messages``, a reply of ``schema`` asked for as far as the server can."""
        body: dict[str, Any] = {"model": self.model, "messages": messages}
        if self.temperature is not None:
            body["temperature"] = self.temperature
        if self.max_output_tokens is not None and self.limit_step < len(_LIMITS):
            body[_LIMITS[self.limit_step]] = self.max_output_tokens
        if _STEPS[self.step] == "json_schema":
            asked = {"name": name, "schema": schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": asked}
        elif _STEPS[self.step] == "json_object":
            body["response_format"] = {"type": "json_object"}
        return body

    def give_way(self, body: Mapping[str, Any], status: int, complaint: str) -> bool:
        """Ask for less from now on, when ``complaint`` is about something in ``body`` that can be left out.

        True when the request is worth sending again. ``complaint`` is the server's error in lower case.
        """
        if status not in _SAID_OF_NO:
            return False
        if "response_format" in body and any(words in complaint for words in _ABOUT_FORMAT):
            used = _STEPS.index(body["response_format"]["type"])
            self.step = max(self.step, used + 1)
            return True
        if "temperature" in body and "temperature" in complaint:
            self.temperature = None
            return True
        for step, limit in enumerate(_LIMITS):
            if limit in body and limit in complaint:
                self.limit_step = max(self.limit_step, step + 1)
                return True
        return False


def limit_in(body: Mapping[str, Any]) -> int | None:
    """The most tokens of a reply that a request asks for; None when it sets no limit."""
    return next((body[name] for name in _LIMITS if name in body), None)
