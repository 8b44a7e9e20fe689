"""Haystack, instrumented by OpenInference: an agent with a tool, asked once."""

# mypy: ignore-errors  - the framework is not installed here

from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import tool
from haystack.utils import Secret
from model import ANSWER, QUESTION, SYSTEM, TOOL_OUTPUT, scripted_model
from openinference.instrumentation.haystack import HaystackInstrumentor
from recording import Recording


@tool
def lookup_order(order: str) -> str:
    """Find an order."""
    return TOOL_OUTPUT


recording = Recording()
HaystackInstrumentor().instrument(tracer_provider=recording.provider)
with scripted_model() as url:
    model = OpenAIChatGenerator(model="scripted-1", api_base_url=url, api_key=Secret.from_token("none"))
    agent = Agent(chat_generator=model, tools=[lookup_order], system_prompt=SYSTEM)
    said = agent.run(messages=[ChatMessage.from_user(QUESTION)])["last_message"].text
assert said == ANSWER
recording.print()
