"""Agno, instrumented by OpenInference: an agent with a tool, asked once."""

# mypy: ignore-errors  - the framework is not installed here

from agno.agent import Agent
from agno.models.openai.like import OpenAILike
from model import ANSWER, QUESTION, SYSTEM, TOOL_OUTPUT, scripted_model
from openinference.instrumentation.agno import AgnoInstrumentor
from recording import Recording


def lookup_order(order: str) -> str:
    """Find an order."""
    return TOOL_OUTPUT


recording = Recording()
AgnoInstrumentor().instrument(tracer_provider=recording.provider)
with scripted_model() as url:
    model = OpenAILike(id="scripted-1", base_url=url, api_key="none")
    agent = Agent(model=model, name="help-desk", instructions=SYSTEM, tools=[lookup_order], telemetry=False)
    said = agent.run(QUESTION).content
assert said == ANSWER
recording.print()
