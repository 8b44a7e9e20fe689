"""The application's mask, applied to each text of a value before anything is recorded, and failing closed.

A mask sees texts as they are, not as JSON writes them: every string, key and long number of a value apart,
and a named text also together with its name (``password: hunter2``), so that patterns that go by the name
find it. What comes out is always valid JSON.
"""

import logging
from collections.abc import Callable
from itertools import count
from typing import Any

from tracehooks.tracing.encode import clean, dumps, loads
from tracehooks.tracing.interrupts import let_through

FAILED = "[mask failed]"  # stands for a text whose mask raised
HIDDEN = "[masked]"  # stands for a text that is secret only together with its name
LONG_NUMBER = 10_000  # integers below are no secrets
PROBE = 256  # characters of a text that are shown together with its name, to see whether that tells a secret

logger = logging.getLogger("tracehooks")


class Mask:
    """A mask that cannot fail: a text whose mask raises is replaced by ``[mask failed]`` and counted."""

    def __init__(self, function: Callable[[str], str]) -> None:
        self.function = function
        self.failures = 0
        self._warnings = count()

    def __call__(self, text: str) -> str:
        """``text`` masked."""
        try:
            masked = self.function(text)
        except BaseException as error:
            let_through(error)
            return self._fail(type(error).__name__)
        if not isinstance(masked, str):
            return self._fail(f"it gave {type(masked).__name__}, not str")
        return clean(masked)

    def _fail(self, why: str) -> str:
        self.failures += 1
        if next(self._warnings) == 0:
            logger.warning("tracehooks: the mask failed (%s); such texts are recorded as %s", why, FAILED)
        return FAILED

    def json(self, encoded: bytes, name: str | None = None) -> bytes:
        """The JSON ``encoded`` with each of its texts masked; ``name`` is what the value is called."""
        return dumps(_Masking(self, loads(encoded), name).masked)


class _Masking:
    """One value on its way through the mask. A text that occurs often is masked once."""

    def __init__(self, mask: Mask, value: Any, name: str | None) -> None:
        self._mask = mask
        self._known: dict[str, str] = {}
        self._named: list[str] = []
        self._by_name = False
        self.masked = self._of(value, name)
        # One question for all named texts together; only if there is a secret among them, one for each.
        together = "\n".join(self._named)
        if self._named and mask(together) != together:
            self._by_name = True
            self.masked = self._of(value, name)

    def _of(self, value: Any, name: str | None) -> Any:
        if isinstance(value, str):
            return self._text(value, name)
        if isinstance(value, dict):
            return {self._plain(key): self._of(item, key) for key, item in value.items()}
        if isinstance(value, list):
            return [self._of(item, None) for item in value]
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= LONG_NUMBER:
            masked = self._text(str(value), name)
            return value if masked == str(value) else masked
        return value

    def _plain(self, text: str) -> str:
        masked = self._known.get(text)
        if masked is None:
            masked = self._known[text] = self._mask(text)
        return masked

    def _text(self, text: str, name: str | None) -> str:
        masked = self._plain(text)
        if name is None or masked != text:
            return masked
        if not self._by_name:
            self._named.append(f"{name}: {text[:PROBE]}")
            return text
        return self._with_name(text, name)

    def _with_name(self, text: str, name: str) -> str:
        prefix = f"{name}: "
        both = self._plain(prefix + text)
        if both == prefix + text or self._plain(name) != name:
            return text
        return both[len(prefix) :] if both.startswith(prefix) else HIDDEN
