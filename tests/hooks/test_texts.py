"""What a scorer reads: the whole text, also where the recorded attribute had to be cut."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from opentelemetry.sdk.trace import SpanLimits, TracerProvider

import tracehooks
from tests.hooks.counting import ALWAYS, Seen, scores_of
from tracehooks import ScoringHook, traced
from tracehooks.store import Store, open_store

Start = Callable[..., None]

LIMITED = """
import sys
import tracehooks
from tracehooks import ScoringHook, traced

tracehooks.init({"store": sys.argv[1]})

def length(call):
    return float(len(call.output))

@traced(hooks=[ScoringHook(length)])
def agent(question):
    return {"text": "y" * 500, "id": 7}

agent("q" * 500)
assert tracehooks.flush(20)
"""


def test_with_an_attribute_limit_the_whole_text_is_judged(tmp_path: Path, url: str) -> None:
    """langfuse/langfuse#6517, traceloop/openllmetry#3212: what is stored says that it was cut."""
    limited = {**os.environ, "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "64"}
    done = subprocess.run([sys.executable, "-c", LIMITED, url], env=limited, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with open_store(url) as store:
        (score,) = scores_of(store)
        (call,) = store.calls.iterate(*ALWAYS)
        (span,) = store.spans.of_trace(call.trace_id)
    assert score.value == 500.0
    recorded = span.attributes["tracehooks.output"]
    assert len(recorded) <= 64
    assert orjson.loads(recorded)["truncated"] is True
    assert orjson.loads(recorded)["length"] == len(b'{"text":"","id":7}') + 500
    assert call.truncated


def test_the_whole_text_is_judged_for_hooks_of_the_settings_too(start: Start, recorded: Seen) -> None:
    """With the limit on the provider; the call does not claim to be cut."""
    limits = SpanLimits(max_span_attribute_length=100)
    start(TracerProvider(span_limits=limits, shutdown_on_exit=False), hooks=[{"scorer": "recorded"}])

    @traced
    def agent(question: str) -> str:
        return "answer " * 100

    agent("question " * 100)
    assert tracehooks.flush(20)
    (call,) = recorded.calls
    assert (call.output, call.input) == ("answer " * 100, "question " * 100)
    assert not call.truncated


def test_a_long_stream_is_judged_whole(start: Start) -> None:
    """Chunk by chunk, beyond what is recorded."""
    start(capture={"max_bytes": 200})
    seen = Seen()

    @traced(hooks=[ScoringHook(seen)])
    def agent(question: str) -> object:
        for _ in range(80):
            yield "word "

    assert len(list(agent("q"))) == 80  # type: ignore[call-overload]
    assert tracehooks.flush(20)
    assert seen.outputs == ["word " * 80]


@pytest.mark.parametrize("output", ["", "  \n", None, "\u200b", " \ufeff\u2060\n"])
def test_where_nothing_was_said_nobody_is_asked(start: Start, stored: Store, output: str | None) -> None:
    """vibrantlabsai/ragas#1383: skipped, which is counted apart and never a score."""
    from tracehooks.scorers import ToxicityScorer
    from tracehooks.testing import ScriptedJudge

    start()
    judge = ScriptedJudge([])

    @traced(hooks=[ScoringHook(ToxicityScorer(judge))])
    def agent(question: str) -> str | None:
        return output

    agent("q")
    assert tracehooks.flush(20)
    assert judge.calls == []
    assert tracehooks.stats()["skipped"] == {"no_text": 1}
    (score,) = scores_of(stored)
    assert (score.status, score.value) == ("skipped", None)


def test_what_the_mask_hides_reaches_no_scorer(start: Start) -> None:
    """Texts are masked before they become anything."""
    start(mask={"patterns": ["canary-[0-9]+"]})
    seen = Seen()

    @traced(hooks=[ScoringHook(seen)])
    def agent(question: str) -> str:
        return f"your key is canary-42 {'x' * 300_000}"

    agent("mine is canary-41")
    assert tracehooks.flush(20)
    assert "canary" not in str(seen.calls)
    assert len(str(seen.calls[0].output)) > 300_000


def test_a_teams_own_path_says_where_the_answer_is(start: Start, stored: Store) -> None:
    """The hook and the store read the same text, from the place that the setting names."""
    seen = Seen()

    @traced(hooks=[ScoringHook(seen)])
    def agent(question: str) -> dict[str, str]:
        return {"answer": "an internal note", "reply": f"Hello, {question}."}

    start(text="$.output.reply")
    agent("you")
    assert tracehooks.flush(20)
    assert [call.output for call in seen.calls] == ["Hello, you."]
    (call,) = stored.calls.iterate(*ALWAYS)
    assert (call.output, call.text_source) == ("Hello, you.", "$.output.reply (the setting text)")
