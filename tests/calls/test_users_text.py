"""The user's words in the shapes of many frameworks."""

import json
from typing import Any

import pytest

from tests.calls.frameworks import SYSTEM, TOOL, lc
from tracehooks.calls.text import user_words

QUESTIONS: dict[str, Any] = {
    "text": "hi",
    "openai request": {
        "model": "m",
        "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "hi"}],
    },
    "parts": [
        {"role": "user", "content": [{"type": "image_url", "image_url": {}}, {"type": "text", "text": "hi"}]}
    ],
    "genai": [
        {"role": "system", "parts": [{"type": "text", "content": SYSTEM}]},
        {"role": "user", "parts": [{"type": "text", "content": "hi"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "name": "find"}]},
        {"role": "user", "parts": [{"type": "tool_call_response", "result": TOOL}]},
    ],
    "the last of many": [
        {"role": "user", "content": "old"},
        {"role": "assistant", "content": "answer"},
        {"role": "user", "content": "hi"},
    ],
    "langchain batch": {"messages": [[lc("SystemMessage", SYSTEM), lc("HumanMessage", "hi")]]},
    "google": {
        "model": "g",
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "config": {"system_instruction": SYSTEM},
    },
    "google text": {"model": "g", "contents": "hi"},
    "openllmetry": {
        "inputs": {"messages": [{"role": "user", "content": "hi"}]},
        "tags": [],
        "metadata": {"a": "b"},
    },
    "arguments": {"args": ["hi"], "kwargs": {}},
    "keyword arguments": {"args": [], "kwargs": {"question": "hi"}},
    "smolagents": {"task": "hi", "stream": False, "images": None},
    "vercel": {"system": SYSTEM, "prompt": "hi"},
    "haystack printed": {
        "messages": ["ChatMessage(_role=<ChatRole.USER: 'user'>, _content=[TextContent(text='hi')])"]
    },
    "autogen printed": {
        "messages": ["id='1' source='user' models_usage=None content='hi' type='TextMessage'"]
    },
    "one text of any name": {"customer_words": "hi", "limit": 3},
    "one item": [{"role": "user", "content": "hi"}],
    "pairs": [("system", SYSTEM), ("human", "hi")],
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_users_last_words_are_found(name: str) -> None:
    """Whatever the framework: never the system prompt, never a tool's output."""
    assert user_words(QUESTIONS[name]).text == "hi"
    assert user_words(json.dumps(QUESTIONS[name])).text == "hi"
