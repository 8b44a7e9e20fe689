"""Google ADK with its own telemetry: an agent with a tool, asked once. The model is scripted in process."""

# mypy: ignore-errors  - the framework is not installed here

import asyncio
import os
from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from model import ANSWER, QUESTION, SYSTEM, TOOL_OUTPUT, reply
from recording import Recording


class ScriptedLlm(BaseLlm):
    """The scripted model behind ADK's own interface."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """One answer or one tool call."""
        seen = str([content.model_dump() for content in llm_request.contents])
        said, call = reply(list(llm_request.tools_dict), seen)
        part = (
            types.Part(function_call=types.FunctionCall(name=call[0], args={"order": "A-17"}))
            if call
            else types.Part(text=said)
        )
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def lookup_order(order: str) -> str:
    """Find an order."""
    return TOOL_OUTPUT


async def main() -> str:
    """One run of the agent."""
    agent = LlmAgent(
        name="help_desk", model=ScriptedLlm(model="scripted-1"), instruction=SYSTEM, tools=[lookup_order]
    )
    runner = InMemoryRunner(agent, app_name="shop")
    session = await runner.session_service.create_session(app_name="shop", user_id="u-1")
    said = ""
    message = types.Content(role="user", parts=[types.Part(text=QUESTION)])
    async for event in runner.run_async(user_id="u-1", session_id=session.id, new_message=message):
        if event.content and event.content.parts and event.content.parts[0].text:
            said = event.content.parts[0].text
    return said


# Without these ADK records no text at all.
os.environ["OTEL_SEMCONV_STABILITY_OPT_IN"] = "gen_ai_latest_experimental"
os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"
recording = Recording()
said = asyncio.run(main())
assert said == ANSWER
recording.print()
