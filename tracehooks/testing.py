"""What users need in their own tests: a judge that follows a script."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tracehooks.judges.asking import BaseJudge
from tracehooks.judges.completions import Completion
from tracehooks.protocols import Question

Reply = Mapping[str, Any] | str | BaseException | Completion


class ScriptedJudge(BaseJudge):
    """A judge that gives the replies listed, in order."""

    def __init__(self, replies: Iterable[Reply] | Callable[[Question], Reply]) -> None:
        super().__init__()
        self.calls: list[str] = []
