"""Which agent a verb asks: the settings' own, one of several by name, or one given by path or address."""

from typing import TYPE_CHECKING, Annotated

import typer

from tracehooks.errors import ConfigurationError
from tracehooks.settings import Settings

if TYPE_CHECKING:
    from tracehooks.replay import Agent

AgentOption = Annotated[
    str | None,
    typer.Option(
        "--agent",
        metavar="AGENT",
        help="A name of agents in the settings, module:function, or an http address.",
    ),
]


def chosen_agent(settings: Settings, wanted: str | None) -> "Agent":
    """The agent to ask. Raises ConfigurationError when none is named, or it cannot be loaded."""
    from tracehooks.replay import load_agent

    name, target, key = _target(settings, wanted)
    job = settings.jobs.noise
    return load_agent(target, timeout=job.timeout.total_seconds(), takes=job.takes, key=key, name=name)


def _target(settings: Settings, wanted: str | None) -> tuple[str | None, str, str]:
    """Its name, where there is one, where it is found, and the key that errors name."""
    if wanted in settings.agents:
        return wanted, settings.agents[wanted], f"agents.{wanted}"
    if wanted is not None:
        if ":" not in wanted:
            known = f"; known are {', '.join(sorted(settings.agents))}" if settings.agents else ""
            raise ConfigurationError(f"--agent {wanted!r}: the settings name no such agent{known}")
        return None, wanted, "--agent"
    if settings.agent:
        return None, settings.agent, "agent"
    if len(settings.agents) == 1:
        return next((name, target, f"agents.{name}") for name, target in settings.agents.items())
    which = (
        f"say which with --agent: {', '.join(sorted(settings.agents))}" if settings.agents else "set agent"
    )
    raise ConfigurationError(f"it is not clear whom to ask; {which} (such as agent: my_app.agents:answer)")
