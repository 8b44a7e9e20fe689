"""OpenTelemetry's exporters tell of each failure on loggers of their own; of ours we tell once, and count."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_quiet: ContextVar[bool] = ContextVar("tracehooks-otlp-quiet", default=False)


@contextmanager
def quiet(exporter: type) -> Iterator[None]:
    """What the module of ``exporter`` logs on this thread meanwhile is left out; the application's is not."""
    logger = logging.getLogger(exporter.__module__)
    if not any(isinstance(one, _OurAffair) for one in logger.filters):
        logger.addFilter(_OurAffair())
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


class _OurAffair(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return not _quiet.get()
