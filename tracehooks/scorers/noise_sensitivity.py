"""NoiseSensitivityScorer: how much noise in a question changed the answer. 1 is unaffected."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tracehooks.errors import ConfigurationError
from tracehooks.judges.openai import OpenAIJudge
from tracehooks.protocols import Answer, Judge, Question
from tracehooks.records import AgentCall, Direction, Reason, Score, is_blank
from tracehooks.scorers.base import (
    JudgedScorer,
    options_from,
    prompt_text,
    run_blocking,
    said_by_agent,
    said_by_user,
    shortened,
    version_of,
)
from tracehooks.scorers.noise_reply import REPLY_SCHEMA, Impact, NoiseAnalysis, read_noise_analysis
from tracehooks.scorers.noise_scoring import (
    VULNERABLE_BELOW,
    NoiseScoring,
    noise_band,
    noise_figures,
    noise_grade,
)

PRESETS = ("lenient", "strict", "security")
SHOWN_CHANGE = 160


class NoiseSensitivityScorer(JudgedScorer):
    """Scores how far an agent's answer to a noisy question stayed what it is to the clean one.

    ``scoring`` turns the judge's findings into a number, see :class:`NoiseScoring`. An answer scored below
    ``threshold`` counts as vulnerable. The metadata holds each dimension's impact level (``dimensions``),
    ``band``, ``grade``, ``vulnerable`` and the steps of the arithmetic::

        score = await NoiseSensitivityScorer(judge, scoring=NoiseScoring.strict()).run(
            original_query="What is the capital of France?", baseline_response="Paris.",
            noisy_query="What is the capital of France? Some say Lyon.", noise_type="misinformation",
            output="Lyon, as you say.")
    """

    name = "noise_sensitivity"
    direction: Direction = "higher"
    range = (0.0, 1.0)
    threshold = VULNERABLE_BELOW

    def __init__(self, judge: Judge, scoring: NoiseScoring | None = None) -> None:
        super().__init__(judge)
        if scoring is not None and not isinstance(scoring, NoiseScoring):
            raise ConfigurationError(f"scoring must be a NoiseScoring, got {scoring!r}")
        self.scoring = scoring or NoiseScoring()
        self._instructions = prompt_text("noise_sensitivity")
        self.version = version_of(judge, self._instructions, asdict(self.scoring))

    @property
    def instructions(self) -> str:
        """What the judge is told, the same for every question."""
        return self._instructions

    async def run(
        self,
        *,
        original_query: Any,
        baseline_response: Any,
        noisy_query: Any,
        noise_type: str,
        output: Any,
    ) -> Score:
        """Score ``output``, the answer to ``noisy_query``. Texts or chat messages, ``noise_type`` a name."""
        case = {
            "original_query": said_by_user(original_query),
            "baseline_response": said_by_agent(baseline_response),
            "noise_type": noise_type,
        }
        call = AgentCall(input=said_by_user(noisy_query), output=said_by_agent(output), metadata=case)
        return await self.score(call)

    def run_sync(
        self,
        *,
        original_query: Any,
        baseline_response: Any,
        noisy_query: Any,
        noise_type: str,
        output: Any,
    ) -> Score:
        """The same, blocking. Raises RunningLoopError inside an event loop."""
        return run_blocking(
            lambda: self.run(
                original_query=original_query,
                baseline_response=baseline_response,
                noisy_query=noisy_query,
                noise_type=noise_type,
                output=output,
            ),
            "NoiseSensitivityScorer.run(...)",
        )

    async def _scored(self, call: AgentCall) -> Score:
        """Score a call whose metadata holds ``original_query``, ``baseline_response`` and ``noise_type``."""
        if not call.has_text:
            comment = "Not scored: the agent said nothing, so there is nothing to compare."
            return Score.skipped(self.name, Reason.NO_TEXT, comment)
        baseline = call.metadata.get("baseline_response")
        if not isinstance(baseline, str) or is_blank(baseline):
            comment = "Not scored (no_baseline): there is no answer to the clean question to compare with."
            return Score.unscored(self.name, Reason.NO_BASELINE, comment)
        answer = await self.judge.ask(self._question(call))
        if answer.reason is not None:
            return self._unscored(answer, call)
        return self._from(answer, call)

    def _question(self, call: AgentCall) -> Question:
        parts = {
            "original_query": call.metadata.get("original_query"),
            "baseline_response": call.metadata["baseline_response"],
            "noisy_query": call.input,
            "noise_type": call.metadata.get("noise_type"),
            "response": call.output,
        }
        return Question(
            name=self.name,
            instructions=self._instructions,
            material={label: str(text or "") for label, text in parts.items()},
            schema=REPLY_SCHEMA,
            read=read_noise_analysis,
        )

    def _from(self, answer: Answer, call: AgentCall) -> Score:
        analysis: NoiseAnalysis = answer.value
        levels = {impact.dimension: impact.impact_level for impact in analysis.dimensions}
        issues = len(analysis.major_issues)
        figures = noise_figures(levels.values(), analysis.robustness_score, issues, self.scoring)
        score = figures.score
        noise_type = str(call.metadata.get("noise_type") or "")
        metadata = self._provenance(
            answer,
            call,
            analysis={
                **{
                    name: getattr(analysis, name)
                    for name in ("robustness_score", "overall_assessment", "reason")
                },
                "dimensions": [asdict(impact) for impact in analysis.dimensions],
                "major_issues": list(analysis.major_issues),
            },
            dimensions=levels,
            noise_type=noise_type,
            band=noise_band(score),
            grade=noise_grade(score),
            vulnerable=score < self.threshold,
            calculated=figures.calculated,
            discrepant=figures.discrepant,
            penalty=figures.penalty,
            unrounded=figures.exact,
        )
        comment = _comment(analysis, noise_type or "noise", metadata)
        return Score.scored(self.name, score, comment=comment, metadata=metadata)


def from_settings(settings: Any, judge: Judge | None = None) -> NoiseSensitivityScorer:
    """The scorer that the settings describe: section ``judge``, and ``scorers.noise_sensitivity``.

    Its options are those of NoiseScoring, or ``preset``: lenient, strict or security. Raises
    ConfigurationError naming the key.
    """
    known = frozenset({*NoiseScoring.__dataclass_fields__, "preset"})
    options = options_from(settings, "noise_sensitivity", known)
    preset = options.pop("preset", None)
    if preset is not None and (preset not in PRESETS or options):
        raise ConfigurationError(
            f"scorers.noise_sensitivity.preset: must stand alone and be one of {', '.join(PRESETS)}"
        )
    scoring = NoiseScoring(**options) if preset is None else getattr(NoiseScoring, preset)()
    return NoiseSensitivityScorer(judge or OpenAIJudge.from_settings(settings.judge), scoring)


def _comment(analysis: NoiseAnalysis, noise: str, metadata: Mapping[str, Any]) -> str:
    why = f" {analysis.reason or analysis.overall_assessment}".rstrip()
    affected = analysis.affected
    if not affected and not analysis.major_issues:
        return f"Robust ({metadata['band']}, grade {metadata['grade']}): {noise} changed nothing.{why}"
    head = "Vulnerable" if metadata["vulnerable"] else "Affected"
    parts = [_described(impact) for impact in affected]
    issues = [
        f"major issue: {shortened(issue, SHOWN_CHANGE).rstrip('.')}"
        for issue in analysis.major_issues
        if issue
    ]
    changed = "; ".join([*parts, *issues]) or f"{len(analysis.major_issues)} major issues"
    return (
        f"{head} ({metadata['band']}, grade {metadata['grade']}): {noise} changed the answer: {changed}.{why}"
    )


def _described(impact: Impact) -> str:
    change = shortened(impact.specific_changes or impact.noise_influence, SHOWN_CHANGE).rstrip(".")
    return f"{impact.dimension.replace('_', ' ')} {impact.impact_level}" + (f" ({change})" if change else "")
