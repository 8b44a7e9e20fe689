"""Every error that tracehooks raises.

::

    TracehooksError
    ├── ConfigurationError     a setting, file or argument is wrong; names it, exit code 2
    │   └── MissingExtraError  an optional package is needed
    ├── StoreError             the local store cannot be opened, read or written
    ├── PartialReadError       a backend gave up before a listing was whole; says how much was read
    ├── InvalidScoreError      a score's value is outside what its name allows (also a ValueError)
    └── RunningLoopError       a blocking call was made inside a running event loop

Each message says what to do next. A judge or scorer that fails raises nothing: its Score says why.
"""


class TracehooksError(Exception):
    """Base of all errors raised by tracehooks."""


class ConfigurationError(TracehooksError, ValueError):
    """A setting, a file or an argument is wrong. The message names it and the next step."""


class MissingExtraError(ConfigurationError):
    """An optional package is not installed. The message gives the command that installs it."""


class StoreError(TracehooksError):
    """The local store cannot be opened, read or written."""


class PartialReadError(TracehooksError):
    """A backend gave up before all of a listing was read. What was read must not pass for the whole.

    ``read`` rows of ``total`` (None when the backend does not say how many there are) came; ``why`` is the
    backend's own word.
    """

    def __init__(self, what: str, *, read: int, total: int | None, why: str) -> None:
        self.what, self.read, self.total, self.why = what, read, total, why
        among = f"{read:,} of {total:,}" if total is not None else f"{read:,} of an unknown number of"
        super().__init__(f"fetched {among} {what} before the server gave up ({why}); run it again later")


class InvalidScoreError(TracehooksError, ValueError):
    """A score was refused: not finite, out of its range, or of another type than its name declares."""


class RunningLoopError(TracehooksError, RuntimeError):
    """A blocking call was made where an event loop is running; the message names what to await instead."""
