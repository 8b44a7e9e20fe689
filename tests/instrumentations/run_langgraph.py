"""LangGraph through create_agent, instrumented by OpenInference: an agent with a tool, asked once."""

# mypy: ignore-errors  - the framework is not installed here

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from model import ANSWER, QUESTION, SYSTEM, TOOL_OUTPUT, scripted_model
from openinference.instrumentation.langchain import LangChainInstrumentor
from recording import Recording


def lookup_order(order: str) -> str:
    """Find an order."""
    return TOOL_OUTPUT


recording = Recording()
LangChainInstrumentor().instrument(tracer_provider=recording.provider)
with scripted_model() as url:
    model = ChatOpenAI(model="scripted-1", base_url=url, api_key="none")
    agent = create_agent(model, tools=[lookup_order], system_prompt=SYSTEM)
    state = agent.invoke({"messages": [{"role": "user", "content": QUESTION}]})
assert state["messages"][-1].content == ANSWER
recording.print()
