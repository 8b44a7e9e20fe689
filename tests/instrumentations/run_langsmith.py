"""LangGraph through create_agent, exported by LangSmith as OpenTelemetry spans: asked once."""

# mypy: ignore-errors  - the framework is not installed here

import os
import time

from recording import Recording

os.environ |= {"LANGSMITH_TRACING": "true", "LANGSMITH_OTEL_ENABLED": "true", "LANGSMITH_OTEL_ONLY": "true"}
os.environ |= {"LANGSMITH_API_KEY": "none", "LANGSMITH_ENDPOINT": "http://127.0.0.1:9"}
recording = Recording()

from langchain.agents import create_agent  # noqa: E402
from langchain_core.tracers.langchain import wait_for_all_tracers  # noqa: E402
from langchain_openai import ChatOpenAI  # noqa: E402
from model import ANSWER, QUESTION, SYSTEM, TOOL_OUTPUT, scripted_model  # noqa: E402


def lookup_order(order: str) -> str:
    """Find an order."""
    return TOOL_OUTPUT


with scripted_model() as url:
    model = ChatOpenAI(model="scripted-1", base_url=url, api_key="none")
    agent = create_agent(model, tools=[lookup_order], system_prompt=SYSTEM)
    state = agent.invoke({"messages": [{"role": "user", "content": QUESTION}]})
    wait_for_all_tracers()
    for _ in range(100):
        if any(span.name == "LangGraph" for span in recording.exporter.get_finished_spans()):
            break
        time.sleep(0.1)
assert state["messages"][-1].content == ANSWER
recording.print()
