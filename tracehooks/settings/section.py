"""What all sections of the settings have in common: unknown keys are errors, and nothing changes later."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """One section of the settings, frozen. What was given never stands in its errors: it may be a secret."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
