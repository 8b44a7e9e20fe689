"""MLflow's tracing decorator and its OpenAI autologging: an agent with a tool, asked once."""

# mypy: ignore-errors  - the framework is not installed here

import json
import os

import mlflow
from mlflow.entities import SpanType
from model import ANSWER, QUESTION, SYSTEM, TOOL_OUTPUT, scripted_model
from openai import OpenAI
from recording import Recording

recording = Recording()
os.environ["MLFLOW_USE_DEFAULT_TRACER_PROVIDER"] = "false"
mlflow.openai.autolog()


@mlflow.trace(span_type=SpanType.TOOL)
def lookup_order(order: str) -> str:
    """Find an order."""
    return TOOL_OUTPUT


@mlflow.trace(name="help-desk", span_type=SpanType.AGENT)
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


with scripted_model() as url:
    # The scripted server takes the traces too: MLflow wants somewhere to send them.
    os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = f"{url}/traces"
    os.environ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"] = "http/protobuf"
    said = answer(QUESTION, url)
    recording.provider.force_flush()
assert said == ANSWER
recording.print()
