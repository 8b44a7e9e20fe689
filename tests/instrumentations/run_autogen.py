"""AutoGen AgentChat, with its own telemetry and OpenInference's instrumentation: an agent asked once."""

# mypy: ignore-errors  - the framework is not installed here

import asyncio

from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient
from model import ANSWER, QUESTION, SYSTEM, TOOL_OUTPUT, scripted_model
from openinference.instrumentation.autogen_agentchat import AutogenAgentChatInstrumentor
from recording import Recording


async def lookup_order(order: str) -> str:
    """Find an order."""
    return TOOL_OUTPUT


async def main(url: str) -> str:
    """One run of the agent."""
    info = {"vision": False, "function_calling": True, "json_output": False, "family": "unknown"}
    info |= {"structured_output": False}
    client = OpenAIChatCompletionClient(model="scripted-1", base_url=url, api_key="none", model_info=info)
    agent = AssistantAgent(
        "help_desk", client, tools=[lookup_order], system_message=SYSTEM, reflect_on_tool_use=True
    )
    result = await agent.run(task=QUESTION)
    await client.close()
    return str(result.messages[-1].content)


recording = Recording()
AutogenAgentChatInstrumentor().instrument(tracer_provider=recording.provider)
with scripted_model() as url:
    said = asyncio.run(main(url))
assert said == ANSWER
recording.print()
