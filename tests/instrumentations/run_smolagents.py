"""smolagents, instrumented by OpenInference: a tool-calling agent, asked once."""

# mypy: ignore-errors  - the framework is not installed here

from model import ANSWER, QUESTION, SYSTEM, TOOL_OUTPUT, scripted_model
from openinference.instrumentation.smolagents import SmolagentsInstrumentor
from recording import Recording
from smolagents import OpenAIServerModel, ToolCallingAgent, tool


@tool
def lookup_order(order: str) -> str:
    """Find an order.

    Args:
        order: The order's number.
    """
    return TOOL_OUTPUT


recording = Recording()
SmolagentsInstrumentor().instrument(tracer_provider=recording.provider)
with scripted_model() as url:
    model = OpenAIServerModel("scripted-1", api_base=url, api_key="none")
    agent = ToolCallingAgent(tools=[lookup_order], model=model, instructions=SYSTEM, verbosity_level=0)
    said = agent.run(QUESTION)
assert said == ANSWER
recording.print()
