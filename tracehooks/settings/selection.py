"""The settings of which calls a night judges."""

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from tracehooks.settings.section import Section
from tracehooks.settings.values import Count, Fraction


class SampleSettings(Section):
    """How calls are drawn: ``size`` calls, or a ``rate`` of them; stratified shares ``size`` among agents."""

    strategy: Literal["uniform", "stratified"] = "uniform"
    size: Count | None = None
    rate: Fraction | None = None

    @model_validator(mode="after")
    def _one_of(self) -> "SampleSettings":
        if self.size is not None and self.rate is not None:
            raise ValueError("give size or rate, not both")
        if self.strategy == "stratified" and self.size is None:
            raise ValueError("stratified sampling needs a size")
        return self


Level = Literal["DEBUG", "DEFAULT", "WARNING", "ERROR"]


class FilterSettings(Section):
    """Which calls count. Lists match any of their values; all given keys must match.

    ``level`` is Langfuse's; of calls that came another way only ERROR is told from the others.
    """

    environment: tuple[str, ...] = ()
    name: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    user_id: tuple[str, ...] = ()
    session_id: tuple[str, ...] = ()
    version: tuple[str, ...] = ()
    level: tuple[Level, ...] = ()
    metadata: dict[str, Any] = Field(default_factory=dict)

    @field_validator(
        "environment", "name", "tags", "user_id", "session_id", "version", "level", mode="before"
    )
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value
