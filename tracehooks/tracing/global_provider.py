"""Learning when the application sets its global tracer provider, of which OpenTelemetry tells nobody.

Spans of other instrumentations do not come by us, so whoever sets the provider after ``init()`` would have
spans that no hook ever hears of.
"""

from collections.abc import Callable
from typing import Any

from opentelemetry import trace as otel_trace

from tracehooks.tracing.trouble import trouble

ONCE = "_TRACER_PROVIDER_SET_ONCE"  # there is no public way; without it the next traced call finds out
TELLING = "_tracehooks_is_told"


def tell_when_set(tell: Callable[[], object]) -> None:
    """Call ``tell()`` on the thread that sets the global tracer provider, after it is set."""
    once: Any = getattr(otel_trace, ONCE, None)
    do_once = getattr(once, "do_once", None)
    if do_once is None or hasattr(do_once, TELLING):
        return

    def telling(function: Callable[[], None]) -> bool:
        done = bool(do_once(function))
        if done:
            try:
                tell()
            except Exception as error:
                trouble("joining the application's provider", error)
        return done

    setattr(telling, TELLING, True)
    once.do_once = telling
