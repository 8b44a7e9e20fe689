"""Pydantic AI with its own instrumentation: an agent with a tool, asked once."""

# mypy: ignore-errors  - the framework is not installed here

from model import ANSWER, QUESTION, SYSTEM, TOOL_OUTPUT, scripted_model
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from recording import Recording

recording = Recording()
Agent.instrument_all()
with scripted_model() as url:
    model = OpenAIChatModel("scripted-1", provider=OpenAIProvider(base_url=url, api_key="none"))
    agent = Agent(model, name="help-desk", system_prompt=SYSTEM)

    @agent.tool_plain
    def lookup_order(order: str) -> str:
        """Find an order."""
        return TOOL_OUTPUT

    result = agent.run_sync(QUESTION)
assert result.output == ANSWER
recording.print()
