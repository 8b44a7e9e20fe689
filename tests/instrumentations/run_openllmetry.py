"""LangGraph and the openai client, instrumented by OpenLLMetry, inside its workflow decorator."""

# mypy: ignore-errors  - the framework is not installed here

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from model import ANSWER, QUESTION, SYSTEM, TOOL_OUTPUT, scripted_model
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from recording import Recording
from traceloop.sdk import Traceloop
from traceloop.sdk.decorators import workflow


def lookup_order(order: str) -> str:
    """Find an order."""
    return TOOL_OUTPUT


exporter = InMemorySpanExporter()
Traceloop.init(app_name="shop", processor=SimpleSpanProcessor(exporter), telemetry_enabled=False)
Traceloop.set_association_properties({"user_id": "u-1", "session_id": "s-1"})


@workflow(name="help-desk")
def answer(question: str, url: str) -> str:
    """One run of the agent."""
    model = ChatOpenAI(model="scripted-1", base_url=url, api_key="none")
    agent = create_agent(model, tools=[lookup_order], system_prompt=SYSTEM)
    state = agent.invoke({"messages": [{"role": "user", "content": question}]})
    return str(state["messages"][-1].content)


with scripted_model() as url:
    said = answer(QUESTION, url)
assert said == ANSWER
Recording.of(exporter).print()
