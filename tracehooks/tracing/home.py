"""The context that a generator's body lives in, from its first step to its last.

Undecorated, a generator's body runs in whatever context steps it. That is how an OpenTelemetry span that the
body opens leaks to the caller at each yield, is gone when another task takes the next step, and cannot be
detached there: https://github.com/open-telemetry/opentelemetry-python/issues/2606. So the body gets a context
of its own, and only OpenTelemetry's state is kept apart: every other context variable is carried in and out
at each step, as if there were one context after all.
"""

import contextlib
import contextvars
from contextvars import copy_context
from typing import Any

from opentelemetry.context import Context

from tracehooks.tracing.context import enter, otel_variable
from tracehooks.tracing.interrupts import let_through
from tracehooks.tracing.trouble import trouble

_MISSING = object()


class Home:
    """Runs steps in one context: ``run(function, *args)``.

    ``seen`` is the caller's context and ``kept`` the body's, both as last looked at. Around each step: unless
    ``copy_context() == home.seen``, :meth:`bring_in` before it; unless ``home.context == home.kept``,
    :meth:`bring_out` after it. Both comparisons are of one pointer while nothing changes.
    """

    __slots__ = ("_tokens", "context", "kept", "run", "seen")

    def __init__(self, inside: Context) -> None:
        self.seen = copy_context()
        self.context = copy_context()
        self.run = self.context.run
        self.run(enter, inside)
        self.kept = self.context.copy()
        self._tokens: dict[Any, contextvars.Token[Any]] = {}

    def step(self, function: Any, *args: Any) -> Any:
        """What ``function(*args)`` gives, run with what goes in and out around it."""
        try:
            same = copy_context() == self.seen
        except BaseException as error:  # some variable's value cannot be compared
            let_through(error)
            same = False
        if not same:
            self.bring_in()
        try:
            return self.run(function, *args)
        finally:
            self.settle()

    def bring_in(self) -> tuple[contextvars.Context, contextvars.Context]:
        """Give the body what the caller has set since. Returns ``seen`` and ``kept``."""
        try:
            now = copy_context()
            for variable, value in now.items():
                if variable is not otel_variable and self.seen.get(variable, _MISSING) is not value:
                    self.run(variable.set, value)
            self.seen, self.kept = now, self.context.copy()
        except BaseException as error:
            trouble("carrying context variables", error)
        return self.seen, self.kept

    def bring_out(self) -> tuple[contextvars.Context, contextvars.Context]:
        """Give the caller what the body has set, or set back, since. Returns ``seen`` and ``kept``."""
        try:
            self._bring_out()
        except BaseException as error:
            trouble("carrying context variables", error)
        self.seen, self.kept = copy_context(), self.context.copy()
        return self.seen, self.kept

    def settle(self) -> None:
        """After the last step: :meth:`bring_out`, if there is anything."""
        try:
            same = self.context == self.kept
        except BaseException as error:
            let_through(error)
            same = False
        if not same:
            self.bring_out()

    def _bring_out(self) -> None:
        for variable, value in self.context.items():
            if variable is not otel_variable and self.kept.get(variable, _MISSING) is not value:
                self._tokens.setdefault(variable, variable.set(value))
        for variable in self.kept:
            if variable not in self.context and variable in self._tokens:
                with contextlib.suppress(ValueError):  # it was set in another context
                    variable.reset(self._tokens.pop(variable))
