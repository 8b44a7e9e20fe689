"""For the API pages: what our docstrings have of reStructuredText, as the Markdown that mkdocs reads."""

import re
from typing import Any

import griffe

_ROLE = re.compile(r":[a-z]+:`~?(?:[\w.]*\.)?(\w+)`")  # :meth:`~a.b.c` -> `c`
_CODE_FOLLOWS = re.compile(r"(?<=\S)::$", re.MULTILINE)
_ONLY_CODE_FOLLOWS = re.compile(r"^::$\n?", re.MULTILINE)


class Markdown(griffe.Extension):
    """Rewrites each docstring once it is collected."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called by griffe for everything that it has read."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """``text`` without roles, and without the second colon before a block of code."""
    plain = _CODE_FOLLOWS.sub(":", _ONLY_CODE_FOLLOWS.sub("", text))
    return _ROLE.sub(r"`\1`", plain)
