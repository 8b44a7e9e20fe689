"""OpenAI Agents SDK, instrumented by OpenInference: an agent with a tool, asked once."""

# mypy: ignore-errors  - the framework is not installed here

from agents import Agent, Runner, function_tool, set_default_openai_client
from model import ANSWER, QUESTION, SYSTEM, TOOL_OUTPUT, scripted_model
from openai import AsyncOpenAI
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor
from recording import Recording


@function_tool
def lookup_order(order: str) -> str:
    """Find an order."""
    return TOOL_OUTPUT


recording = Recording()
OpenAIAgentsInstrumentor().instrument(tracer_provider=recording.provider)
with scripted_model() as url:
    set_default_openai_client(AsyncOpenAI(base_url=url, api_key="none"), use_for_tracing=False)
    agent = Agent(name="help-desk", instructions=SYSTEM, tools=[lookup_order], model="scripted-1")
    result = Runner.run_sync(agent, QUESTION)
assert result.final_output == ANSWER
recording.print()
