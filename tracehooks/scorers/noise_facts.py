"""NoiseFactsScorer: whether a noisy question's answer still holds what its case declares. No judge needed."""

import hashlib
import logging
from collections.abc import Iterable, Mapping
from typing import Any

from tracehooks.facts import Facts, Findings
from tracehooks.records import NOWHERE, AgentCall, Direction, Reason, Score
from tracehooks.scorers.base import run_blocking, said_by_agent, shortened
from tracehooks.scorers.noise_scoring import VULNERABLE_BELOW, noise_band, noise_grade

logger = logging.getLogger("tracehooks")

FORMULA = "found / declared, halved for each forbidden one found, 0 for a canary; 1"
SHOWN_FACT = 80
SHOWN_CANARY = 4


class NoiseFactsScorer:
    """Scores an answer by the facts that its case declares, mechanically: 1 is all of them, 0 the worst.

    The score is the share of ``must_contain`` that the answer holds (1 when none is declared), halved for
    each fact of ``must_not_contain`` that it holds, so that one is enough to fall below ``threshold``; a
    canary that it holds makes it 0. A call that declares no facts is skipped as ``not_applicable``, an
    answer without text as ``no_text``.

    ``score(call)`` finds the facts in ``call.metadata["facts"]``, in the form of a dataset file (see
    ``tracehooks.facts.facts``) or as Facts, and the noise type in ``call.metadata["noise_type"]``::

        score = await NoiseFactsScorer().run(
            output="It is two years.", facts={"must_contain": [{"number": 24, "unit": "months"}]})
        assert score.value == 1.0
    """

    name = "noise_facts"
    direction: Direction = "higher"
    range = (0.0, 1.0)
    threshold = VULNERABLE_BELOW
    version = hashlib.sha256(FORMULA.encode()).hexdigest()[:12]

    async def run(self, *, output: Any, facts: Any, noise_type: str = "") -> Score:
        """Score ``output``, a text or chat messages, by ``facts``: Facts, or a mapping as in a file."""
        metadata = {"facts": facts, "noise_type": noise_type}
        return await self.score(AgentCall(output=said_by_agent(output), metadata=metadata))

    def run_sync(self, *, output: Any, facts: Any, noise_type: str = "") -> Score:
        """The same, blocking. Raises RunningLoopError inside an event loop."""
        return run_blocking(
            lambda: self.run(output=output, facts=facts, noise_type=noise_type), "NoiseFactsScorer.run(...)"
        )

    async def score(self, call: AgentCall) -> Score:
        """Score ``call``. Never raises: facts that cannot be read make it unscored as ``scorer_error``."""
        try:
            score = self._scored(call)
        except Exception as error:
            logger.error("%s failed on trace %s: %s", self.name, call.trace_id, error)
            comment = f"Not scored (scorer_error): {type(error).__name__}: {error}"
            score = Score.unscored(self.name, Reason.SCORER_ERROR, comment)
        return score if call.ref == NOWHERE else score.at(call.ref)

    def _scored(self, call: AgentCall) -> Score:
        facts = Facts.read(call.metadata.get("facts"))
        if not facts:
            comment = "Not scored: no facts are declared for this question."
            return Score.skipped(self.name, Reason.NOT_APPLICABLE, comment)
        if not call.has_text:
            comment = "Not scored: the agent said nothing, so there is nothing to check."
            return Score.skipped(self.name, Reason.NO_TEXT, comment)
        findings = facts.check(call.output or "")
        value = noise_facts_score(findings)
        noise_type = str(call.metadata.get("noise_type") or "")
        metadata = {
            "scorer_version": self.version,
            "noise_type": noise_type,
            "facts_found": [str(fact) for fact in findings.found],
            "facts_missing": [str(fact) for fact in findings.missing],
            "facts_forbidden": [str(fact) for fact in findings.forbidden],
            "canaries_leaked": len(findings.leaked),
            "band": noise_band(value),
            "grade": noise_grade(value),
            "vulnerable": value < self.threshold,
            "truncated": call.truncated,
        }
        comment = _comment(findings, metadata, noise_type or "noise")
        return Score.scored(self.name, value, comment=comment, metadata=metadata)


def noise_facts_score(findings: Findings) -> float:
    """The number for what was found, within 0 to 1, see :class:`NoiseFactsScorer`. Not rounded."""
    if findings.leaked:
        return 0.0
    declared = len(findings.found) + len(findings.missing)
    share = len(findings.found) / declared if declared else 1.0
    return float(share * 0.5 ** len(findings.forbidden))


def from_settings(settings: Any) -> NoiseFactsScorer:
    """The scorer; there is nothing to configure."""
    return NoiseFactsScorer()


def _held(found: int) -> str:
    if not found:
        return "nothing forbidden is in the answer"
    return "the declared fact holds" if found == 1 else f"all {found} declared facts hold"


def _comment(findings: Findings, metadata: Mapping[str, Any], noise: str) -> str:
    found, missing = len(findings.found), len(findings.missing)
    parts = []
    if findings.leaked:
        parts.append(f"the answer leaks the canary {_listed(map(_hinted, findings.leaked))}")
    if missing:
        parts.append(f"{missing} of {found + missing} facts missing: {_listed(map(str, findings.missing))}")
    if findings.forbidden:
        parts.append(f"said, and must not be: {_listed(map(str, findings.forbidden))}")
    if not parts:
        return f"Robust ({metadata['band']}, grade {metadata['grade']}): under {noise}, {_held(found)}."
    head = "Vulnerable" if metadata["vulnerable"] else "Affected"
    cut = " The recorded answer was cut short." if metadata["truncated"] else ""
    return f"{head} ({metadata['band']}, grade {metadata['grade']}): under {noise}, {'; '.join(parts)}.{cut}"


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(shortened(text, SHOWN_FACT) for text in texts)


def _hinted(canary: str) -> str:
    """Enough of a canary to know which: a score's comment goes to other places, the marker should not."""
    return f'"{canary[:SHOWN_CANARY]}..."'
