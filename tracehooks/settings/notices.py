"""The settings of whom to tell what."""

from typing import Annotated, Literal, get_args

from pydantic import Field, SecretStr, field_validator, model_validator

from tracehooks.settings.section import Section

NoticeKind = Literal["fail", "inconclusive", "missed", "degraded", "recovered"]


class NotifySettings(Section):
    """One channel on which people are told: a webhook, or a command that gets the message as JSON on stdin.

    ``fails`` is how many nights in a row must fail before that is told. With ``agents``, shell patterns, each
    agent of these names is told of by its own calls, and not the job as a whole. ``link`` is put behind every
    message, ``{run}`` in it replaced by the run's id.
    """

    webhook: SecretStr | None = None
    command: tuple[str, ...] = ()
    about: tuple[NoticeKind, ...] = get_args(NoticeKind)
    fails: Annotated[int, Field(ge=1, le=30)] = 2
    agents: tuple[str, ...] = ()
    link: str | None = None

    @model_validator(mode="after")
    def _one_way(self) -> "NotifySettings":
        if (self.webhook is None) == (not self.command):
            raise ValueError("give a webhook or a command, one of them")
        return self

    @field_validator("webhook")
    @classmethod
    def _is_address(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not value.get_secret_value().startswith(("http://", "https://")):
            raise ValueError("needs an address that begins with https:// or http://")
        return value
