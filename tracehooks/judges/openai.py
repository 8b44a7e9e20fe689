"""OpenAIJudge: any OpenAI-compatible server as the judge."""

from collections.abc import Sequence
from typing import Any

from tracehooks.judges.asking import BaseJudge


class OpenAIJudge(BaseJudge):
    """A judge on the chat completions of any OpenAI-compatible server."""

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key: Any = None,
        *,
        mask: str | Sequence[str] = "secrets",
        timeout: float = 30.0,
        attempts: int = 3,
        concurrency: int = 16,
    ) -> None:
        super().__init__(mask=mask)
        self.model = model

    @classmethod
    def from_settings(cls, settings: Any) -> "OpenAIJudge":
        """The judge that the ``judge`` section of the settings describes."""
        raise NotImplementedError
