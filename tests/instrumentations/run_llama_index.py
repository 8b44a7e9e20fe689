"""LlamaIndex, instrumented by OpenInference: a function-calling agent, asked once."""

# mypy: ignore-errors  - the framework is not installed here

import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai_like import OpenAILike
from model import ANSWER, QUESTION, SYSTEM, TOOL_OUTPUT, scripted_model
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
from recording import Recording


def lookup_order(order: str) -> str:
    """Find an order."""
    return TOOL_OUTPUT


async def main(url: str) -> str:
    """One run of the agent."""
    options = {"is_chat_model": True, "is_function_calling_model": True}
    model = OpenAILike(model="scripted-1", api_base=url, api_key="none", **options)
    agent = FunctionAgent(name="help-desk", tools=[lookup_order], llm=model, system_prompt=SYSTEM)
    return str(await agent.run(QUESTION))


recording = Recording()
LlamaIndexInstrumentor().instrument(tracer_provider=recording.provider)
with scripted_model() as url:
    said = asyncio.run(main(url))
assert said == ANSWER
recording.print()
