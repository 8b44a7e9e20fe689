"""CrewAI, instrumented by OpenInference: a crew of one agent with a tool, asked once."""

# mypy: ignore-errors  - the framework is not installed here

import os

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false"}

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool
from model import ANSWER, QUESTION, SYSTEM, TOOL_OUTPUT, scripted_model
from openinference.instrumentation.crewai import CrewAIInstrumentor
from recording import Recording


@tool
def lookup_order(order: str) -> str:
    """Find an order."""
    return TOOL_OUTPUT


recording = Recording()
CrewAIInstrumentor().instrument(tracer_provider=recording.provider, skip_dep_check=True)
with scripted_model() as url:
    model = LLM(model="openai/scripted-1", base_url=url, api_key="none")
    agent = Agent(role="help-desk", goal=SYSTEM, backstory=SYSTEM, tools=[lookup_order], llm=model)
    task = Task(description=QUESTION, expected_output="An answer", agent=agent)
    said = Crew(agents=[agent], tasks=[task]).kickoff().raw
assert said == ANSWER, said
recording.print()
