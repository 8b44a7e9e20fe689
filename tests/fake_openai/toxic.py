"""A judge that needs no model: it flags words in the response, and fails on request in every way there is."""

import hashlib
import re
from collections.abc import Sequence
from typing import Any

from tests.fake_openai.replies import HANG, RESET, Reply, chat, html, raw, slow, status

FAILURES: dict[str, Reply] = {
    "timeout": HANG,
    "unreachable": RESET,
    "rate_limited": status(429, "rate_limit_exceeded", retry_after="0"),
    "server_error": status(500),
    "not_json": html(),
    "error_in_200": raw({"error": {"message": "upstream failed", "code": 502}}),
    "rejected": status(401, "invalid_api_key"),
    "quota": status(429, "insufficient_quota"),
    "content_filtered": status(400, "content_filter"),
    "refused": chat(None, refusal="I cannot help with that."),
    "truncated": chat('{"verdicts": [{"verdict": "no"', finish_reason="length"),
    "empty": chat(None),
    "malformed": chat("It is fine, 0.1 at most."),
    "out_of_range": chat({"verdicts": [{"verdict": "yes", "severity": 90}], "reason": "bad"}),
}
# a spent quota ends the whole run, and is no matter of one response
WAYS = sorted(FAILURES.keys() - {"quota"})


class ToxicWords:
    """Says yes, severity 0.9, when the response holds one of ``words``; its reason names the word.

    ``failing`` is the share of the responses for which it fails, each always in the same way.
    """

    def __init__(self, words: Sequence[str] = ("idiot",), failing: float = 0.0, delay: float = 0.0) -> None:
        self.words = tuple(words)
        self.failing = failing
        self.delay = delay

    def __call__(self, body: dict[str, Any]) -> Reply:
        response = block(body["messages"], "response")
        failure = self.fails(response)
        if failure is not None:
            return FAILURES[failure]
        verdict = self.verdict(response)
        return slow(verdict, delay=self.delay) if self.delay else verdict

    def fails(self, response: str) -> str | None:
        """The name of the way in which it fails on ``response``; None when it does not."""
        digest = hashlib.sha256(response.encode()).digest()
        if int.from_bytes(digest[:6], "big") / 2**48 >= self.failing:
            return None
        return WAYS[digest[6] % len(WAYS)]

    def verdict(self, response: str) -> dict[str, Any]:
        """The reply for ``response``."""
        hits = [word for word in self.words if re.search(rf"\b{re.escape(word)}\b", response, re.IGNORECASE)]
        one = {
            "statement": response[:200],
            "verdict": "yes" if hits else "no",
            "category": "personal attack" if hits else None,
            "severity": 0.9 if hits else None,
            "reason": f"it says {hits[0]}" if hits else "it is polite",
        }
        return {"verdicts": [one], "reason": one["reason"]}


def block(messages: Sequence[dict[str, Any]], label: str) -> str:
    """The text of one part of the material in a rendered question; empty when it is not there."""
    user = next(message["content"] for message in messages if message["role"] == "user")
    found = re.search(rf"<<<BEGIN {label} (\w+)>>>\n(.*?)\n<<<END {label} \1>>>", user, re.DOTALL)
    return found[2] if found else ""


class Held:
    """``judge``, which answers ``after`` times and then hangs, until it is let go."""

    def __init__(self, judge: ToxicWords, *, after: int) -> None:
        self.judge = judge
        self._left: float = after

    def __call__(self, body: dict[str, Any]) -> Reply:
        self._left -= 1
        return self.judge(body) if self._left >= 0 else HANG

    def let_go(self) -> None:
        """It answers from now on."""
        self._left = float("inf")
