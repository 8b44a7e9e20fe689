"""Decoding judges' replies: forgiving about the wrapping, never about the content."""

import math
import pickle
from typing import Any

import pytest

from tracehooks.judges.replies import decode, read_choice, read_number, sanitized
from tracehooks.protocols import BadReply
from tracehooks.records import Reason

REPLY = '{"score": 0.2, "reason": "ok"}'


@pytest.mark.parametrize(
    "reply",
    [
        REPLY,
        f"```json\n{REPLY}\n```",
        f"```JSON\n{REPLY}\n```",
        f"```\n{REPLY}\n```",
        f"```json\n{REPLY}",
        f"```json {REPLY}```",
        f"~~~json\n{REPLY}\n~~~",
        f"```json\r\n{REPLY}\r\n```\r\n",
        "\ufeff" + REPLY,
        "\ufeff```json\n" + REPLY + "\n```",
        f"Sure, here it is: {REPLY}",
        f"Sure {{as asked}}, see [1]:\n{REPLY}",
        f"{REPLY}\nI hope that this helps!",
        '{"score": 0.2, "reason": "ok",}',
        '```json\n{"score": 0.2, "reason": "ok" , }\n```',
        '{"score": 0.2, "reason": "ok", "more": [1, 2, ],}',
        '\n\n  {\n  "score" : 0.2 }\t',
        "<think>A first thought: 0.9, or {maybe} less.</think>" + REPLY,
        '<think>Draft: {"score": 0.9}</think>\n' + REPLY,
    ],
)
def test_a_correct_reply_is_read_in_any_wrapping(reply: str) -> None:
    """Mercor-Intelligence/archipelago#97, lightspeed-core/lightspeed-evaluation#285, IBM/ai4rag#107: fences,
    preambles and trailing commas do not turn a verdict into an error or a zero."""
    assert decode(reply).value["score"] == 0.2


@pytest.mark.parametrize(
    "reply",
    [
        "{'score': 0.2}",
        '"{\\"score\\": 0.2}"',
        '[{"score": 0.2}]',
        '[{"score": 0.2},',
        '{"score": 0.2} {"score": 0.9}',
        '```json\n{"score": 0.2}\n```\nor rather\n```json\n{"score": 0.9}\n```',
        '{"score": 0.2, "score": 0.9}',
        '{"a": {"score": 0.2, "score": 0.2}}',
        '{"outer": {"score": 0.2}, "cut',
        "{outer: {" + REPLY + "}",
        "{'outer': " + REPLY + "}",
        '{"score": NaN}',
        '{"score": Infinity}',
        '{"score": -Infinity}',
        '{"score": 0,2}',
        '{"score": 20%}',
        '{"score": .2}',
        '<think>{"score": 0.2}',
        '{"a":' * 100_000,
        "[[" * 100_000,
        "null",
        "0.2",
        "true",
    ],
)
def test_a_reply_that_could_mean_two_things_or_nothing_is_malformed(reply: str) -> None:
    """Mercor-Intelligence/archipelago#97: whatever is not read is malformed, and never another number."""
    with pytest.raises(BadReply) as caught:
        decode(reply)
    assert caught.value.reason is Reason.MALFORMED
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "reply",
    [
        "There are 3 reasons; score 0.9",
        "On a 0-1 scale: 0.2",
        "2.0",
        "85%",
        "8/10",
        "not excellent",
        "[ERROR] 429 after 3 tries",
        "",
        "score: 0.2",
        "{score}",
        "**0.2**",
        "Rating: [[0.2]]",
    ],
)
def test_no_number_is_guessed_out_of_prose(reply: str) -> None:
    """OpenAgentHQ/openagent-eval#74, cvs-health/uqlm#468, mem0ai/mem0#5655: prose is malformed."""
    with pytest.raises(BadReply) as caught:
        decode(reply)
    assert caught.value.reason is Reason.MALFORMED


def test_only_commas_outside_texts_are_repaired() -> None:
    """A comma before a bracket inside a quoted statement stays as the judge wrote it."""
    assert decode('{"statement": "see [a,] and {b,}", "list": [1,],}').value == {
        "statement": "see [a,] and {b,}",
        "list": [1],
    }


def test_line_breaks_inside_texts_are_forgiven() -> None:
    """Models write raw line breaks inside JSON strings."""
    assert decode('{"reason": "one\ntwo\tthree"}').value == {"reason": "one\ntwo\tthree"}


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (0, 0.0),
        (1, 1.0),
        (0.0, 0.0),
        (0.8, 0.8),
        ("0.8", 0.8),
        (" 1 ", 1.0),
        ("8e-1", 0.8),
        ("-0", 0.0),
        (1.0, 1.0),
    ],
)
def test_numbers_and_numeric_texts_are_read_exactly(value: Any, number: float) -> None:
    """OpenAgentHQ/openagent-eval#74: "0.8" is 0.8; langfuse/langfuse#7626: the ends are in range."""
    assert read_number(value, "score", 0, 1) == number


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        "",
        "85%",
        "8/10",
        "0,8",
        "high",
        "0.8 or so",
        "nan",
        "inf",
        "٠",
        "1_0",
        "0x1",
        [0.8],
        {},
    ],
)
def test_what_is_no_number_is_malformed(value: Any) -> None:
    """anvia-hq/anvia#440, microsoft/PyRIT#2703: True is not 1, missing is not 0, nan is no number."""
    with pytest.raises(BadReply) as caught:
        read_number(value, "score", 0, 1)
    assert caught.value.reason is Reason.MALFORMED


@pytest.mark.parametrize(
    ("literal", "shown"),
    [
        ("90", "90"),
        ("1.2", "1.2"),
        ("-0.1", "-0.1"),
        ("-1e-9", "-1e-09"),
        ("1.000000001", "1.000000001"),
        ("1e400", "1e400"),
        ("-1e400", "-1e400"),
        ("9.2e124", "9.2e+124"),
        ('"90"', "90"),
        ('"1e400"', "1e400"),
        ("9" * 5000, "999"),
    ],
)
def test_a_number_out_of_range_is_neither_clamped_nor_divided(literal: str, shown: str) -> None:
    """langfuse/langfuse#11604, modelscope/evalscope#1575, opendatahub-io/agent-eval-harness#182: out of
    range is a reason of its own, and the message holds the value."""
    score = decode(f'{{"score": {literal}}}').value["score"]
    with pytest.raises(BadReply) as caught:
        read_number(score, "score", 0, 1)
    assert caught.value.reason is Reason.OUT_OF_RANGE
    assert shown in str(caught.value)


def test_the_range_is_the_scorers_own() -> None:
    """langfuse/langfuse#11604: a scorer from 1 to 5 takes 5 and refuses 0."""
    assert read_number(5, "score", 1, 5) == 5.0
    with pytest.raises(BadReply, match="within 1 to 5, got 0") as caught:
        read_number(0, "score", 1, 5)
    assert caught.value.reason is Reason.OUT_OF_RANGE


@pytest.mark.parametrize("word", ["yes", " YES ", "Yes", "yes\n", "\tyEs"])
def test_a_choice_is_read_whatever_its_case_and_spaces(word: str) -> None:
    """confident-ai/deepeval#3283: case and spaces around a verdict do not change it."""
    assert read_choice(word, "verdict", ("yes", "no")) == "yes"


@pytest.mark.parametrize(
    "word",
    [
        *(
            "Yes, it insults the reader",
            "no doubt it is toxic",
            "Not safe",
            "n/a",
            "",
            "unsure",
            "yes/no",
            "yes.",
        ),
        *("nope", "y", "true", "1", "ja", "да", "noyes", "non", None, True, 1, ["yes"], {"verdict": "yes"}),
    ],
)
def test_a_longer_text_is_no_choice(word: Any) -> None:
    """confident-ai/deepeval#3283: a sentence that holds yes, or begins with no, is neither."""
    with pytest.raises(BadReply) as caught:
        read_choice(word, "verdict", ("yes", "no"))
    assert caught.value.reason is Reason.MALFORMED


@pytest.mark.parametrize(
    "word", ["not toxic", "nontoxic", "toxic/non-toxic", "detoxicated", "LABEL: non-toxic because..."]
)
def test_a_label_inside_another_is_not_found(word: str) -> None:
    """Arize-ai/phoenix#7849, Arize-ai/phoenix#7499: no label is searched for inside a text."""
    assert read_choice("non-toxic", "label", ("toxic", "non-toxic")) == "non-toxic"
    with pytest.raises(BadReply):
        read_choice(word, "label", ("toxic", "non-toxic"))


def test_texts_are_made_valid_utf_8() -> None:
    """mlflow/mlflow#24123, simonw/llm#546: a lone surrogate is replaced, an emoji in two halves is joined."""
    assert sanitized("ok \ud83e") == "ok \ufffd"
    assert sanitized("\ud83e\udd23 \U0001f923 é") == "\U0001f923 \U0001f923 é"
    assert decode('{"reason": "ok \\ud83e", "\\ud83e": ["\\ud83e\\udd23"]}').value == {
        "reason": "ok \ufffd",
        "\ufffd": ["\U0001f923"],
    }


def test_a_number_beyond_floats_shows_as_it_was_written() -> None:
    """1e400 is beyond every bound, and its message does not say inf."""
    number = decode('{"score": 1e400}').value["score"]
    assert math.isinf(number)
    assert repr(number) == "1e400"
    assert repr(pickle.loads(pickle.dumps(number))) == "1e400"
