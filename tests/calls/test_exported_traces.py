"""The text in traces as a server exports them: each framework puts question and answer somewhere else.

The shapes in ``data/`` are those of real exports of five frameworks; the texts are our own.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tracehooks.calls.text import agent_words, user_words

DATA = Path(__file__).parent / "data"
QUESTION = "Where is parcel 7 now?"
ANSWER = "Parcel 7 left Hamburg this morning."
NAMES = sorted(path.stem for path in DATA.glob("*.json"))


def exported(name: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    document = json.loads((DATA / f"{name}.json").read_text())
    return document["trace"], document["observations"]


def test_the_five_exports_are_there() -> None:
    """So that the tests below have something to look at."""
    assert NAMES == ["google-gemini", "langgraph", "microsoft-agent", "openai-agents", "pydantic-ai"]


@pytest.mark.parametrize("name", NAMES)
def test_question_and_answer_are_found_at_the_top_of_a_trace(name: str) -> None:
    """Encoded as JSON once or twice; one framework leaves the top empty, and there is nothing there."""
    trace, _ = exported(name)
    expected = (None, None) if name == "openai-agents" else (QUESTION, ANSWER)
    assert (user_words(trace["input"]).text, agent_words(trace["output"]).text) == expected
    again = json.dumps(trace["input"]), json.dumps(trace["output"])
    assert (user_words(again[0]).text, agent_words(again[1]).text) == expected


@pytest.mark.parametrize("name", NAMES)
def test_the_last_generation_says_the_answer(name: str) -> None:
    """A request that only called a tool says nothing; the last one that spoke says the answer."""
    _, observations = exported(name)
    said = [agent_words(each["output"]).text for each in observations if each["type"] == "GENERATION"]
    assert [text for text in said if text is not None] == [ANSWER]
    asked = {user_words(each["input"]).text for each in observations if each["type"] == "GENERATION"}
    assert asked - {None} == {QUESTION}


@pytest.mark.parametrize("name", NAMES)
def test_nobody_else_is_quoted(name: str) -> None:
    """System prompts and tool output are in no text that the agent or the user is held to have said."""
    _, observations = exported(name)
    for each in observations:
        if each["type"] != "TOOL" and each["name"] != "track":
            words = f"{agent_words(each['output']).text} {user_words(each['input']).text}"
            assert "CANARY" not in words
