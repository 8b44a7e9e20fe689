"""OpenAI Agents SDK, instrumented by Logfire: an agent with a tool, asked once."""

# mypy: ignore-errors  - the framework is not installed here

import logfire
from agents import Agent, Runner, function_tool, set_default_openai_client
from model import ANSWER, QUESTION, SYSTEM, TOOL_OUTPUT, scripted_model
from openai import AsyncOpenAI
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from recording import Recording


@function_tool
def lookup_order(order: str) -> str:
    """Find an order."""
    return TOOL_OUTPUT


exporter = InMemorySpanExporter()
processors = [SimpleSpanProcessor(exporter)]
logfire.configure(send_to_logfire=False, console=False, additional_span_processors=processors)
logfire.instrument_openai_agents()
with scripted_model() as url:
    set_default_openai_client(AsyncOpenAI(base_url=url, api_key="none"), use_for_tracing=False)
    agent = Agent(name="help-desk", instructions=SYSTEM, tools=[lookup_order], model="scripted-1")
    result = Runner.run_sync(agent, QUESTION)
assert result.final_output == ANSWER
Recording.of(exporter).print()
