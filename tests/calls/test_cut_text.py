"""Words in texts that a length limit has cut."""

import json
from typing import Any

import pytest

from tests.calls.frameworks import SYSTEM, TOOL, lc
from tracehooks.calls.text import agent_words, user_words

CONVERSATIONS: dict[str, Any] = {
    "openai": [{"role": "system", "content": SYSTEM}, {"role": "assistant", "content": 'hellö, my "friend"'}],
    "langgraph": {
        "messages": [
            {"content": SYSTEM, "additional_kwargs": {}, "type": "system"},
            {"content": "", "tool_calls": [{"name": "find"}], "type": "ai"},
            {"content": TOOL, "tool_call_id": "1", "type": "tool"},
            {"content": 'hellö, my "friend"', "type": "ai"},
        ]
    },
    "serialised": {"messages": [lc("SystemMessage", SYSTEM), lc("AIMessage", 'hellö, my "friend"')]},
    "openai response": {
        "object": "response",
        "output": [
            {"type": "function_call_output", "output": TOOL},
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": 'hellö, my "friend"'}],
            },
        ],
    },
}


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_json_that_was_cut_short_lets_nobody_else_speak(name: str) -> None:
    """langfuse/langfuse#6517: a length limit cuts JSON anywhere; the answer counts as far as it goes."""
    whole = json.dumps(CONVERSATIONS[name])
    found = set()
    for length in range(2, len(whole)):
        words = agent_words(whole[:length])
        assert words.cut
        assert words.text is None or 'hellö, my "friend"'.startswith(words.text)
        assert "CANARY" not in str(user_words(whole[:length]).text)
        found.add(words.text)
    assert 'hellö, my "friend"' in found


def test_what_was_cut_short_says_so() -> None:
    """A cut answer is marked; a text that only begins like JSON is not one."""
    words = agent_words('[{"role": "assistant", "content": "hello, my fri')
    assert (words.text, words.cut) == ("hello, my fri", True)
    for text in ("[1] see the docs", "{name}, hello", '"Hello" she said', "[note: hi"):
        assert agent_words(text).text == text
        assert not agent_words(text).cut
