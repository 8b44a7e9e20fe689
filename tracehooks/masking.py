"""Masking: what looks like a secret is blanked out before a text leaves for somebody else."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

MASKED = "[masked]"

# Regular expressions for secrets, each with texts in lower case of which one must be there for it to match:
# looking for those costs a hundredth of looking for the pattern. A pattern with a group named `secret` loses
# only that group; any other loses its whole match.
_SECRETS: dict[str, tuple[str, ...]] = {
    # a private key in PEM, whole or cut off
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?:(?!-----BEGIN )[\s\S])*?"
    r"(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)": ("private key-----",),
    # a JSON web token
    r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]+)?": ("eyj",),
    # keys that begin with their issuer's mark: OpenAI, Anthropic, Langfuse, Stripe, LangSmith
    r"\b(?:sk|pk|rk|lsv2)[-_][\w-]{16,}": ("sk-", "sk_", "pk-", "pk_", "rk-", "rk_", "lsv2"),
    # GitHub, GitLab, Hugging Face, npm, PyPI
    r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|hf_[A-Za-z0-9]{20,}"
    r"|npm_[A-Za-z0-9]{20,}|pypi-[\w-]{20,})": (
        *("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "hf_", "npm_", "pypi-"),
    ),
    # Slack, Google, SendGrid, DigitalOcean, Groq, xAI
    r"\b(?:xox[abeoprs]-[\w-]{10,}|xapp-[\w-]{10,}|AIza[\w-]{30,}|ya29\.[\w-]{20,}"
    r"|SG\.[\w-]{16,}\.[\w-]{16,}|dop_v1_[a-f0-9]{32,}|gsk_\w{20,}|xai-\w{20,})": (
        *("xox", "xapp-", "aiza", "ya29.", "sg.", "dop_v1_", "gsk_", "xai-"),
    ),
    # AWS access key ids
    r"\b(?:AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{16}\b": ("akia", "asia", "agpa", "aida", "aroa"),
    # Authorization headers
    r"(?i)\b(?:bearer|basic)\s+(?P<secret>[\w~+/.=-]{16,})": ("bearer", "basic"),
    # the password in a connection string
    r"\b[a-zA-Z][\w+.-]*://[^\s:/@]*:(?P<secret>[^\s@/]+)@": ("://",),
    # a key, token or password that is named as such and given a value
    r"(?i)(?:api[_-]?key|(?:secret|access|private)[_-]?key|client[_-]?secret"
    r"|(?:access|refresh|auth|api|bot)[_-]?token|password|passwd|pwd)"
    r"[\"']?\s*[:=]\s*[\"']?(?P<secret>[^\s\"',;&]{6,})": (*("key", "secret", "token", "passw", "pwd"),),
}

SECRET_PATTERNS: tuple[str, ...] = tuple(_SECRETS)


@dataclass(frozen=True)
class Masker:
    """Replaces whatever its patterns match by ``[masked]``. Picklable."""

    patterns: tuple[str, ...]
    _rules: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rules = tuple((re.compile(pattern), _SECRETS.get(pattern, ())) for pattern in self.patterns)
        object.__setattr__(self, "_rules", rules)

    def __call__(self, text: str) -> str:
        """``text`` with every match replaced."""
        lower = text.lower()
        for pattern, signs in self._rules:
            if not signs or any(sign in lower for sign in signs):
                text = pattern.sub(_blank, text)
        return text


def _blank(match: re.Match[str]) -> str:
    if match.re.groupindex.get("secret") is None or match["secret"] is None:
        return MASKED
    whole, start = match[0], match.start()
    return whole[: match.start("secret") - start] + MASKED + whole[match.end("secret") - start :]


def masker(patterns: Sequence[str]) -> Callable[[str], str]:
    """A function that replaces what the regular expressions match by ``[masked]``.

    A pattern with a group named ``secret`` loses only that group: ``token=(?P<secret>\\w+)``. Raises
    ValueError naming the pattern that is not a regular expression.
    """
    if isinstance(patterns, str):
        raise ValueError(f"mask patterns must be a list of regular expressions, got the text {patterns!r}")
    for pattern in patterns:
        try:
            re.compile(pattern)
        except (re.error, TypeError) as error:
            raise ValueError(f"mask pattern {pattern!r} is not a regular expression: {error}") from None
    return Masker(tuple(patterns))


def judge_masker(setting: str | Sequence[str]) -> Callable[[str], str] | None:
    """What the setting ``judge.mask`` means: ``secrets``, ``none`` (gives None), or a list of patterns.

    Raises ValueError for anything else.
    """
    if setting == "none":
        return None
    if setting == "secrets":
        return masker(SECRET_PATTERNS)
    if isinstance(setting, str):
        raise ValueError(f"mask must be 'secrets', 'none' or a list of regular expressions, got {setting!r}")
    return masker(setting)
