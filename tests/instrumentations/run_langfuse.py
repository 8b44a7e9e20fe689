"""Langfuse's observe and its openai wrapper: an agent with a tool, asked once."""

# mypy: ignore-errors  - the framework is not installed here

import json

from langfuse import Langfuse, observe, propagate_attributes
from langfuse.openai import OpenAI
from model import ANSWER, QUESTION, SYSTEM, TOOL_OUTPUT, scripted_model
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from recording import Recording

recording = Recording()
keys = {"public_key": "pk-test", "secret_key": "sk-test", "base_url": "http://127.0.0.1:9"}
Langfuse(**keys, tracer_provider=recording.provider, span_exporter=InMemorySpanExporter())


@observe(as_type="tool")
def lookup_order(order: str) -> str:
    """Find an order."""
    return TOOL_OUTPUT


@observe(as_type="agent", name="help-desk")
def answer(question: str, url: str) -> str:
    """One run of the agent, with the loop written out."""
    client = OpenAI(base_url=url, api_key="none")
    parameters = {"type": "object", "properties": {"order": {"type": "string"}}}
    tools = [{"type": "function", "function": {"name": "lookup_order", "parameters": parameters}}]
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
    while True:
        reply = client.chat.completions.create(model="scripted-1", messages=messages, tools=tools)
        message = reply.choices[0].message
        if not message.tool_calls:
            return str(message.content)
        call = message.tool_calls[0]
        output = lookup_order(**json.loads(call.function.arguments))
        messages.append(message.model_dump(exclude_none=True))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": output})


@observe()
def handle(question: str, url: str) -> dict[str, str]:
    """What a web framework's handler does around the agent."""
    with propagate_attributes(user_id="u-1", session_id="s-1", tags=["beta"], metadata={"plan": "pro"}):
        return {"status": "done", "body": answer(question, url)}


with scripted_model() as url:
    body = handle(QUESTION, url)["body"]
assert body == ANSWER
recording.print()
