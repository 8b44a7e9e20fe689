"""Strands Agents with its own GenAI telemetry: an agent with a tool, asked once."""

# mypy: ignore-errors  - the framework is not installed here

from model import ANSWER, QUESTION, SYSTEM, TOOL_OUTPUT, scripted_model
from recording import Recording
from strands import Agent, tool
from strands.models.openai import OpenAIModel

recording = Recording()


@tool
def lookup_order(order: str) -> str:
    """Find an order."""
    return TOOL_OUTPUT


with scripted_model() as url:
    model = OpenAIModel(client_args={"base_url": url, "api_key": "none"}, model_id="scripted-1")
    agent = Agent(model, tools=[lookup_order], system_prompt=SYSTEM, name="help-desk", callback_handler=None)
    said = str(agent(QUESTION)).strip()
assert said == ANSWER
recording.print()
