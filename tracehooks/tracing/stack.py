"""Stack traces as the application would see them without us."""

import traceback
from collections.abc import Iterator
from pathlib import Path

_OURS = str(Path(__file__).parent)


def stack_lines(error: BaseException) -> Iterator[str]:
    """The lines of an exception's stack trace, its causes included, without the frames of this package."""
    told = traceback.TracebackException(type(error), error, error.__traceback__)
    waiting: list[traceback.TracebackException | None] = [told]
    while waiting:
        one = waiting.pop()
        if one is not None:
            one.stack[:] = [frame for frame in one.stack if not frame.filename.startswith(_OURS)]
            waiting += [one.__cause__, one.__context__, *(getattr(one, "exceptions", None) or ())]
    return told.format()
