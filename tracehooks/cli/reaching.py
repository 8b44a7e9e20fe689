"""A server that is asked by a verb and gives no answer: what to do next."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def reaching_langfuse(hint: str) -> Iterator[None]:
    """Let a Langfuse that cannot be reached be told with the next step. ``hint``: as of ``config_hint``."""
    from tracehooks.exporters.langfuse.client import Unreachable

    try:
        yield
    except Unreachable as error:
        raise Unreachable(
            f"{error}. `tracehooks doctor{hint}` tells whether langfuse.base_url is right and Langfuse runs; "
            "then run this again: nothing is done twice"
        ) from None
