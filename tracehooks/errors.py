"""Every error that tracehooks raises.

::

    TracehooksError
    ├── ConfigurationError     a setting, file or argument is wrong; names it, exit code 2
    │   └── MissingExtraError  an optional package is needed
    ├── StoreError             the local store cannot be opened, read or written
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


class InvalidScoreError(TracehooksError, ValueError):
    """A score was refused: not finite, out of its range, or of another type than its name declares."""


class RunningLoopError(TracehooksError, RuntimeError):
    """A blocking call was made where an event loop is running; the message names what to await instead."""
