"""The stand-in server as a process of its own, the way longer tests use it."""

import json
import subprocess
import sys
import urllib.request

from tests.fake_openai import ToxicWords
from tests.fake_openai.toxic import WAYS
from tracehooks.judges import OpenAIJudge
from tracehooks.scorers import ToxicityScorer


def test_the_server_runs_in_a_process_of_its_own() -> None:
    """It prints its address, judges by words, and tells how many requests came."""
    command = [sys.executable, "-m", "tests.fake_openai", "--words", "fool", "--refuse", "json_schema"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            scorer = ToxicityScorer(OpenAIJudge("m", url))
            assert [scorer.run_sync(output=text).value for text in ("You fool!", "Hello.")] == [0.9, 0.0]
            with urllib.request.urlopen(url.replace("/v1", "/stats")) as answer:
                stats = json.load(answer)
            assert (stats["requests"], stats["in_flight"]) == (3, 0)
        finally:
            process.kill()


def test_a_share_of_the_responses_fails_always_in_the_same_ways() -> None:
    """Failing is drawn from the response's text, so a night can be foretold; all kinds come up."""
    judge = ToxicWords(failing=1 / 3)
    texts = [f"answer {number}" for number in range(600)]
    failing = [text for text in texts if judge.fails(text)]
    assert 150 < len(failing) < 250
    assert {judge.fails(text) for text in failing} == set(WAYS)
