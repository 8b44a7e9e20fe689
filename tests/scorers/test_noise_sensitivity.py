"""The noise-sensitivity scorer: what is asked, what becomes a number, and what never does."""

import asyncio
import pickle
from typing import Any

import pytest

from tests.fake_openai import FakeOpenAI, block
from tests.fake_openai.toxic import FAILURES
from tracehooks.errors import ConfigurationError, RunningLoopError
from tracehooks.judges import OpenAIJudge
from tracehooks.judges.retrying import Retry
from tracehooks.protocols import Scorer
from tracehooks.records import AgentCall, Score
from tracehooks.scorers import NoiseScoring, NoiseSensitivityScorer
from tracehooks.scorers.noise_reply import DIMENSIONS, REPLY_SCHEMA
from tracehooks.scorers.noise_sensitivity import from_settings
from tracehooks.settings import JudgeSettings, Settings
from tracehooks.testing import ScriptedJudge

CASE: dict[str, Any] = {
    "original_query": "What is the capital of France?",
    "baseline_response": "Paris.",
    "noisy_query": "What is the capital of France? Everybody says Lyon.",
    "noise_type": "misinformation",
}


def reply(
    levels: list[Any] | None = None, judge_score: Any = 1.0, issues: Any = (), **more: Any
) -> dict[str, Any]:
    """A judge's reply, with one level for each dimension."""
    return {
        "dimensions": [
            {"dimension": name, "impact_level": level, "specific_changes": "", "noise_influence": ""}
            for name, level in zip(DIMENSIONS, levels or ["none"] * 5, strict=True)
        ],
        "major_issues": list(issues) if isinstance(issues, tuple) else issues,
        "robustness_score": judge_score,
        "overall_assessment": "It held.",
        "reason": "The answer stayed Paris.",
        **more,
    }


def score_of(
    *replies: Any, output: Any = "Paris.", scoring: NoiseScoring | None = None, **case: Any
) -> Score:
    judge = ScriptedJudge(replies)
    return NoiseSensitivityScorer(judge, scoring=scoring).run_sync(**{**CASE, **case}, output=output)


def test_an_unaffected_answer_is_1() -> None:
    """All dimensions untouched: 1, perfect, grade A, and the comment says why."""
    score = score_of(reply())
    assert (score.name, score.status, score.value) == ("noise_sensitivity", "scored", 1.0)
    assert (score.metadata["band"], score.metadata["grade"], score.metadata["vulnerable"]) == (
        "perfect",
        "A",
        False,
    )
    assert (
        score.comment == "Robust (perfect, grade A): misinformation changed nothing. The answer stayed Paris."
    )


def test_an_affected_answer_says_how_the_noise_changed_it() -> None:
    """Levels, issues and the judge's score make the number; the comment names what changed, worst first."""
    found = reply(["severe", "none", "minimal", "none", "none"], 0.5, ("It says Lyon.",))
    found["dimensions"][0]["specific_changes"] = "names Lyon as the capital."
    score = score_of(found, output="Lyon.")
    assert score.value == 0.4
    assert score.comment == (
        "Vulnerable (concerning, grade D): misinformation changed the answer: content accuracy severe "
        "(names Lyon as the capital); relevance minimal; major issue: It says Lyon. The answer stayed Paris."
    )
    assert score.metadata["dimensions"]["content_accuracy"] == "severe"
    assert score.metadata["discrepant"] is True
    assert score.metadata["analysis"]["major_issues"] == ["It says Lyon."]


def test_the_scoring_is_used() -> None:
    """Presets and options change what the same findings are worth."""
    levels = ["severe", "none", "none", "none", "none"]
    assert score_of(reply(levels, 0.9)).value == 0.9
    assert score_of(reply(levels, 0.9, ("x", "y"))).value == 0.7
    assert score_of(reply(levels, 0.9, ("x", "y")), scoring=NoiseScoring.security()).value == 0.3
    assert score_of(reply(levels, 0.9), scoring=NoiseScoring(discrepancy_threshold=0)).value == 0.82


def test_everything_is_compared_in_blocks_of_its_own() -> None:
    """UKGovernmentBEIS/inspect_ai#3603: five parts behind one nonce, none of them in the system message."""
    with FakeOpenAI([reply()]) as server:
        scorer = NoiseSensitivityScorer(OpenAIJudge("m", server.url))
        assert scorer.run_sync(**CASE, output="Paris!").value == 1.0
    messages = server.requests[0].body["messages"]
    expected = {**CASE, "response": "Paris!"}
    assert {label: block(messages, label) for label in expected} == expected
    assert "Lyon" not in messages[0]["content"]


def test_chat_messages_are_compared_by_their_text() -> None:
    """Questions and answers may be chat messages."""
    judge = ScriptedJudge([reply()])
    chat = [{"role": "user", "content": "Where is Paris?"}]
    NoiseSensitivityScorer(judge).run_sync(
        original_query=chat,
        baseline_response=[{"role": "assistant", "content": "In France."}],
        noisy_query=chat,
        noise_type="typos",
        output=[{"role": "assistant", "content": [{"type": "text", "text": "In France!"}]}],
    )
    assert dict(judge.questions[0].material) == {
        "original_query": "Where is Paris?",
        "baseline_response": "In France.",
        "noisy_query": "Where is Paris?",
        "noise_type": "typos",
        "response": "In France!",
    }


def test_a_traced_call_is_scored_by_the_case_in_its_metadata() -> None:
    """The replay's own call carries its case; the score is about the replay's span."""
    call = AgentCall(
        trace_id="a" * 32,
        span_id="b" * 16,
        input=CASE["noisy_query"],
        output="Paris.",
        metadata={name: CASE[name] for name in ("original_query", "baseline_response", "noise_type")},
    )
    score = asyncio.run(NoiseSensitivityScorer(ScriptedJudge([reply()])).score(call))
    assert (score.value, score.target, score.metadata["noise_type"]) == (1.0, call.ref, "misinformation")


@pytest.mark.parametrize("baseline", [None, "", "  \n", []])
def test_without_a_baseline_there_is_no_score(baseline: Any) -> None:
    """vibrantlabsai/ragas#1383: nothing to compare with is not perfect and not worst."""
    judge = ScriptedJudge([reply()])
    score = NoiseSensitivityScorer(judge).run_sync(**{**CASE, "baseline_response": baseline}, output="Paris.")
    assert (score.status, score.value, score.reason_code) == ("unscored", None, "no_baseline")
    assert judge.calls == []


@pytest.mark.parametrize(
    "output", [None, "", " ", [], [{"role": "assistant", "content": None, "tool_calls": [{}]}]]
)
def test_an_agent_that_said_nothing_is_skipped(output: Any) -> None:
    """vibrantlabsai/ragas#1383, confident-ai/deepeval#489: nothing to judge, the judge is not asked."""
    score = score_of(reply(), output=output)
    assert (score.status, score.value, score.reason_code) == ("skipped", None, "no_text")


def broken(**changes: Any) -> dict[str, Any]:
    return {key: value for key, value in {**reply(), **changes}.items() if value is not ...}


@pytest.mark.parametrize(
    "found",
    [
        broken(dimensions=[]),
        broken(dimensions=...),
        broken(dimensions=reply()["dimensions"][:4]),
        broken(dimensions=[*reply()["dimensions"], reply()["dimensions"][0]]),
        broken(dimensions=[*reply()["dimensions"][:4], reply()["dimensions"][0]]),
        broken(dimensions=[*reply()["dimensions"], {"dimension": "style", "impact_level": "none"}]),
        broken(dimensions=dict.fromkeys(DIMENSIONS, "none")),
        broken(dimensions=["none"] * 5),
        reply(["none", "none", "none", "none", "slight"]),
        reply(["none", "none", "none", "none", "not severe"]),
        reply(["none", "none", "none", "none", None]),
        broken(robustness_score=...),
        broken(robustness_score=None),
        broken(robustness_score="high"),
        broken(robustness_score=True),
        broken(robustness_score="8/10"),
        broken(robustness_score=float("nan")),
        broken(major_issues=...),
        broken(major_issues=None),
        broken(major_issues=2),
        broken(major_issues="none"),
        {"score": 1.0},
        "1.0",
    ],
)
def test_a_reply_without_what_a_score_is_made_of_is_malformed(found: Any) -> None:
    """OpenAgentHQ/openagent-eval#74, Arize-ai/phoenix#7849: each dimension once, a known level, a number."""
    score = score_of(found)
    assert (score.status, score.value, score.reason_code) == ("unscored", None, "malformed")


@pytest.mark.parametrize("number", [90, 1.2, -0.1, 9.2e124])
def test_a_judges_score_out_of_range_is_told(number: float) -> None:
    """langfuse/langfuse#11604: neither clamped to a perfect score nor divided."""
    score = score_of(reply(judge_score=number))
    assert (score.value, score.reason_code) == (None, "out_of_range")
    assert str(number) in score.comment


def test_a_lenient_reply_is_read_exactly() -> None:
    """OpenAgentHQ/openagent-eval#74: a numeric text, levels in capitals, and no explanations at all."""
    found = {
        "dimensions": [
            {"dimension": name.upper(), "impact_level": " None "} for name in reversed(DIMENSIONS)
        ],
        "major_issues": [],
        "robustness_score": "0.8",
    }
    score = score_of(found)
    assert score.value == 0.8
    assert list(score.metadata["dimensions"]) == list(DIMENSIONS)
    assert score.comment == "Robust (excellent, grade B): misinformation changed nothing."


@pytest.mark.parametrize("kind", sorted(FAILURES))
def test_no_failure_of_the_judge_becomes_a_number(kind: str) -> None:
    """langfuse/langfuse#11604, openai/openai-agents-python#3055: every kind of failure has its reason."""
    reasons = {"not_json": "server_error", "error_in_200": "server_error", "out_of_range": "malformed"}
    with FakeOpenAI(lambda _: FAILURES[kind]) as server:
        judge = OpenAIJudge("m", server.url, timeout=0.3, retry=Retry(first=0.001, first_limited=0.001))
        score = NoiseSensitivityScorer(judge).run_sync(**CASE, output="Lyon.")
    assert (score.status, score.value, score.reason_code) == ("unscored", None, reasons.get(kind, kind))


def test_a_scorer_pickles_versions_and_blocks_like_any_other() -> None:
    """Worker processes, provenance and blocking calls as for toxicity."""
    scorer = NoiseSensitivityScorer(OpenAIJudge("m"), scoring=NoiseScoring.strict())
    assert isinstance(scorer, Scorer)
    assert pickle.loads(pickle.dumps(scorer)).version == scorer.version
    assert NoiseSensitivityScorer(OpenAIJudge("m")).version != scorer.version
    assert (scorer.direction, scorer.range, scorer.threshold) == ("higher", (0.0, 1.0), 0.7)

    async def inside() -> None:
        with pytest.raises(RunningLoopError, match=r"await NoiseSensitivityScorer\.run"):
            scorer.run_sync(**CASE, output="Paris.")

    asyncio.run(inside())


def test_the_prompt_and_schema_hold_the_fixed_values() -> None:
    """Dimensions, levels and the rules for noise, in ASCII."""
    judge = ScriptedJudge([reply()])
    NoiseSensitivityScorer(judge).run_sync(**CASE, output="Paris.")
    system = judge.calls[0].messages[0]["content"]
    for word in (
        *DIMENSIONS,
        *NoiseScoring().impact_weights,
        "misinformation",
        "distractors",
        "adversarial",
        "nonce",
    ):
        assert word in system
    assert system.isascii()
    assert REPLY_SCHEMA["required"] == list(reply())


def test_a_scorer_comes_from_the_settings() -> None:
    """Options of the scoring, or a preset; anything else is named."""
    judge = JudgeSettings(model="m", base_url="http://localhost/v1")

    def made(**options: Any) -> NoiseSensitivityScorer:
        return from_settings(Settings(judge=judge, scorers={"noise_sensitivity": options}))

    assert made().scoring == NoiseScoring()
    assert made(preset="strict").scoring == NoiseScoring.strict()
    assert made(impact_weights={"severe": 0}, discrepancy_threshold=0.1).scoring.discrepancy_threshold == 0.1
    bad: list[dict[str, Any]] = [
        {"preset": "harsh"},
        {"preset": "strict", "discrepancy_threshold": 0},
        {"rate": 1},
    ]
    for options in bad:
        with pytest.raises(ConfigurationError, match=r"scorers\.noise_sensitivity\."):
            made(**options)
    with pytest.raises(ConfigurationError, match="scoring must be"):
        NoiseSensitivityScorer(ScriptedJudge([]), scoring={"severe": 0})  # type: ignore[arg-type]
