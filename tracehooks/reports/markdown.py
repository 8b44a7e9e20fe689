"""Markdown for a pull request or a chat: texts that nobody vouches for are quoted, and not obeyed."""

import re

from tracehooks.reports.wording import excerpt, plain

SIGNS = {"PASS": "✅", "FAIL": "❌", "INCONCLUSIVE": "⚠️"}
_OBEYED = re.compile(r"([\\`*_{}\[\]<>|~$])")
# GitHub looks for these after Markdown is done: a mark that nobody sees keeps them from being found
_REFERENCES = re.compile(r"([@#])")


def escaped(text: object) -> str:
    """``text`` on one line as prose: no markup, HTML, mention or reference in it works."""
    return _REFERENCES.sub("\\1\u200b", _OBEYED.sub(r"\\\1", plain(text)))


def quoted(text: object, length: int = 200) -> str:
    """The beginning of a text that nobody vouches for, as a code span: nothing in it is obeyed."""
    flat = excerpt(text, length).replace("|", "\\|")
    if not flat:
        return ""
    fence = "`" * (max(map(len, re.findall("`+", flat)), default=0) + 1)
    return f"{fence} {flat} {fence}" if "`" in flat else f"{fence}{flat}{fence}"


def step_line(command: str, purpose: str) -> str:
    """What to do next, with its command when there is one."""
    return f"{escaped(purpose)} `{command}`" if command else escaped(purpose)
