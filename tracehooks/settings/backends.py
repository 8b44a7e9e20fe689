"""The settings of where spans and scores go besides the store."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field, SecretStr

from tracehooks.settings.section import Section
from tracehooks.settings.values import Duration


class JsonlSettings(Section):
    """Where the ``jsonl`` sink writes: one score a line, appended."""

    path: str = ".tracehooks/scores.jsonl"


class LangfuseSettings(Section):
    """The Langfuse project that spans and scores go to, once both keys are there.

    ``spans`` sends every agent's spans there. ``prescreen`` sends the local pre-screen's scores too, which
    otherwise stay here. ``release`` goes onto every span. No ``base_url`` means Langfuse Cloud in the EU.
    ``confirm_after`` is how long the server may take until a score that it accepted can be read back.
    ``review_queue`` names the annotation queue into which calls scored toxic and calls that the judge failed
    at are put.
    """

    base_url: Annotated[str, Field(pattern=r"^https?://[^/\s]+")] | None = None
    public_key: SecretStr | None = None
    secret_key: SecretStr | None = None
    spans: bool = True
    prescreen: bool = False
    release: str | None = None
    confirm_after: Annotated[Duration, Field(gt=timedelta(0))] = timedelta(seconds=7)
    review_queue: str | None = None

    @property
    def has_keys(self) -> bool:
        """Whether both keys are there."""
        return all(key is not None and key.get_secret_value() for key in (self.public_key, self.secret_key))


class OtlpSettings(Section):
    """One more backend that gets every agent's spans, over OTLP (http/protobuf)."""

    endpoint: Annotated[str, Field(pattern=r"^https?://[^/\s]+")]
    headers: dict[str, SecretStr] = Field(default_factory=dict)
