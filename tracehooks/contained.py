"""Code of others, awaited so that it fails like any other code and ends nothing but itself."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

R = TypeVar("R")


class EndedItself(RuntimeError):  # noqa: N818 - it says what it did
    """What was called left by SystemExit, or cancelled itself."""


async def contained(work: Awaitable[R]) -> R:
    """What ``work`` returns or raises, but EndedItself where it calls ``sys.exit`` or cancels itself.

    ``sys.exit(0)`` in an agent or a scorer would end a night with the exit code of a pass. A cancellation
    from outside, and KeyboardInterrupt, go on as what they are.
    """
    try:
        return await work
    except SystemExit as error:
        raise EndedItself(f"it called sys.exit({error.code!r})") from error
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise EndedItself("it cancelled itself") from error
