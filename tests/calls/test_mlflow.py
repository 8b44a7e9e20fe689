"""Spans of MLflow's tracing."""

from tests.calls.making import span
from tracehooks.calls import agent_calls, is_agent_span


def test_an_agent_is_the_call_and_its_outputs_the_text() -> None:
    """Types, inputs and outputs are JSON."""
    attributes = {
        "mlflow.spanType": '"AGENT"',
        "mlflow.spanInputs": '{"question": "hi", "limit": 3}',
        "mlflow.spanOutputs": '"hello"',
    }
    chain = {"mlflow.spanType": '"CHAIN"', "mlflow.spanOutputs": '"outer"'}
    (call,) = agent_calls([span("a", "c", attributes=attributes), span("c", attributes=chain)])
    assert (call.name, call.input, call.output) == ("a", "hi", "hello")


def test_responses_and_messages_are_read() -> None:
    """What MLflow's own agent interfaces return."""
    for outputs in (
        '{"output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hello"}]}]}',
        '{"messages":[{"role":"assistant","content":"hello"}]}',
        '{"choices":[{"message":{"role":"assistant","content":"hello"}}]}',
    ):
        attributes = {"mlflow.spanType": '"AGENT"', "mlflow.spanOutputs": outputs}
        (call,) = agent_calls([span("a", attributes=attributes)])
        assert call.output == "hello"


def test_a_function_without_a_type_is_a_call_where_no_agent_is() -> None:
    """The plain decorator's type is UNKNOWN; the model below is heard when it returns nothing."""
    plain = {"mlflow.spanType": '"UNKNOWN"', "mlflow.spanOutputs": "null"}
    model = {
        "mlflow.spanType": '"CHAT_MODEL"',
        "mlflow.spanOutputs": '{"choices":[{"message":{"role":"assistant","content":"hello"}}]}',
    }
    (call,) = agent_calls([span("f", attributes=plain), span("m", "f", attributes=model)])
    assert call.output == "hello"
    assert not is_agent_span(span("f", attributes=plain))
