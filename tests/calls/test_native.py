"""The text of our own spans."""

from typing import Any

import orjson
import pytest

from tests.calls.making import native, span, span_id
from tracehooks.calls import agent_call, agent_calls


def said(output: Any) -> str | None:
    (call,) = agent_calls([native("a", output=output)])
    return call.output


def asked(recorded: Any) -> str | None:
    (call,) = agent_calls([native("a", attributes={"tracehooks.input": orjson.dumps(recorded).decode()})])
    return call.input


@pytest.mark.parametrize(
    "output", ["hello", " hello\n", "[1, 2, 3]", "42", "true", "{curly}", '"quoted', "日本"]
)
def test_a_text_is_the_text(output: str) -> None:
    """A function's string is what the agent said, to the letter, whatever it looks like."""
    assert said(output) == output


@pytest.mark.parametrize("output", [None, "", "  \n", 42, True, 0.5, [], {}, [1, 2], {"n": 1, "ok": False}])
def test_nothing_said_is_no_text(output: Any) -> None:
    """vibrantlabsai/ragas#1383, confident-ai/deepeval#489: blank, none, numbers: nothing to judge."""
    call = agent_calls([native("a", output=output)])[0]
    assert call.output is None
    assert call.text_source is None
    assert not call.has_text


@pytest.mark.parametrize(
    "output",
    [
        {"output": "hello"},
        {"answer": "hello", "sources": ["a.md"], "score": 0.3},
        {"response": "hello"},
        {"reply": "hello", "status": "ok"},
        {"text": "hello"},
        {"content": "hello"},
        {"message": "hello"},
        {"message": {"role": "assistant", "content": "hello"}},
        {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]},
        {"result": {"answer": "hello"}},
        {"final_output": "hello", "output": "draft"},
        {"answer": "", "text": "hello"},
        {"result": 3, "text": "hello"},
        [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}],
        {"role": "assistant", "content": "hello"},
        ["hello"],
        '{"answer": "hello"}',
        '"{\\"answer\\": \\"hello\\"}"',
        {"answer": '{"text": "hello"}'},
    ],
)
def test_the_answer_is_found_under_the_usual_keys(output: Any) -> None:
    """A dict, messages, or JSON of either inside a string."""
    assert said(output) == "hello"


def test_an_object_of_another_shape_is_given_whole_when_it_holds_text() -> None:
    """Compact JSON, so that nothing that was said goes unjudged."""
    assert said({"joke": "knock knock", "n": 1}) == '{"joke":"knock knock","n":1}'
    assert said([{"verdict": "bad"}, {"verdict": "worse"}]) == '[{"verdict":"bad"},{"verdict":"worse"}]'
    assert said({"joke": " ", "n": 1}) is None


def test_an_empty_answer_is_not_replaced_by_what_lies_beside_it() -> None:
    """The answer's key says that nothing was said."""
    assert said({"answer": "", "model": "gpt"}) is None
    assert said({"content": None, "tool_calls": [{"name": "search"}]}) is None


def test_a_record_that_was_cut_says_so_and_gives_its_preview() -> None:
    """langfuse/langfuse#6517, traceloop/openllmetry#3212: a cut text counts as far as it goes, marked."""
    for preview, expected in [
        ("hello wor", "hello wor"),
        ('"hello wor', "hello wor"),
        ('{"answer":"hello w', "hello w"),
        ('{"joke":"hello w', '{"joke":"hello w"}'),
        (
            '{"messages":[{"role":"system","content":"be kind"},{"role":"assistant","content":"hello w',
            "hello w",
        ),
        ('{"messages":[{"content":"be ki', None),
    ]:
        (call,) = agent_calls([native("a", output={"truncated": True, "length": 900, "preview": preview})])
        assert (call.output, call.truncated) == (expected, True)
    (whole,) = agent_calls([native("a")])
    assert not whole.truncated


def test_a_result_that_only_speaks_of_truncation_is_not_cut() -> None:
    """The mark is the recorder's; an application's own field of that name is its own."""
    (call,) = agent_calls([native("a", output={"truncated": True, "text": "hello"})])
    assert (call.output, call.truncated) == ("hello", False)


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        ({"question": "hi"}, "hi"),
        ({"whatever": "hi"}, "hi"),
        ({"q": "hi", "n": 3}, "hi"),
        ({"system_prompt": "be kind", "question": "hi"}, "hi"),
        (
            {
                "model": "gpt",
                "history": [{"role": "system", "content": "be"}, {"role": "user", "content": "hi"}],
            },
            "hi",
        ),
        ({"messages": [{"role": "user", "content": "old"}, {"role": "assistant", "content": "x"}]}, "old"),
        ({"a": "x", "b": "y"}, '{"a":"x","b":"y"}'),
        ({"n": 3}, None),
        ({}, None),
        ({"question": ""}, None),
        ({"truncated": True, "length": 900, "preview": '{"question":"hi the'}, "hi the"),
    ],
)
def test_the_question_is_the_users_words(recorded: Any, expected: str | None) -> None:
    """The parameter that asks, or the last user message, or all of them; never a system prompt."""
    assert asked(recorded) == expected


def test_an_agent_that_returns_nothing_is_heard_below() -> None:
    """The last words of its generations count: the child that ended last, not the one that started last."""
    spans = [
        native("a", output=None),
        native("1", "a", kind="generation", output="first", start=2, end=3),
        native("2", "a", kind="generation", output="last", start=3, end=8),
        native("3", "a", kind="generation", output="between", start=4, end=7),
    ]
    (call,) = agent_calls(spans)
    assert call.output == "last"
    assert call.text_source == "child span 2: tracehooks.output"


def test_what_a_tool_said_is_not_what_the_agent_said() -> None:
    """Tool and retriever output is left out, and so is whatever an agent inside a tool said."""
    spans = [
        native("a", output=None),
        native("g", "a", kind="generation", output="let me look", end=2),
        native("t", "a", kind="tool", output="tool output", end=5),
        native("b", "t", output="an agent used as a tool", end=4),
        native("r", "a", kind="retriever", output=["document"], end=6),
    ]
    (call,) = agent_calls(spans)
    assert call.output == "let me look"


def test_a_blank_answer_is_the_answer_whatever_was_said_below() -> None:
    """The function returned it; that a generation said more before is not what the user got."""
    (call,) = agent_calls([native("a", output=""), native("g", "a", kind="generation", output="draft")])
    assert call.output is None


def test_the_question_is_found_below_where_the_top_has_none() -> None:
    """The first request's last user message."""
    messages = orjson.dumps(
        [
            {"role": "system", "parts": [{"type": "text", "content": "be kind"}]},
            {"role": "user", "parts": [{"type": "text", "content": "hi"}]},
        ]
    ).decode()
    request = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": messages}
    call = agent_calls([native("a"), span("chat", "a", attributes=request)])[0]
    assert call.input == "hi"


def test_a_lone_surrogate_in_a_record_hurts_nothing() -> None:
    """mlflow/mlflow#24123, simonw/llm#546: text that is no JSON is taken as it is."""
    record = native("a", attributes={"tracehooks.output": "not json at all {"})
    assert agent_call(record).output == "not json at all {"
    assert agent_call(record).span_id == span_id("a")
