"""One way to trace functions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.bare import NullExporter

Function = Callable[..., Any]


def nothing() -> None:
    """Nothing waits."""


@dataclass(frozen=True, slots=True)
class Subject:
    """``decorate`` traces a function, and its spans come to ``exporter`` (None: there are none).

    ``settle`` waits for what is done in the background; ``check`` raises when work was lost, because a
    benchmark of lost work measures nothing.
    """

    decorate: Callable[[Function], Function]
    exporter: NullExporter | None
    settle: Callable[[], object] = nothing
    check: Callable[[], None] = nothing
    is_sampled: bool = True
