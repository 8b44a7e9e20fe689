"""An application with many calls, in a process of its own: ``CONFIG COUNT``.

It says ``stored`` once all is in its store, and returns when a line comes on its input; or it is killed.
"""

import sys

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Link, SpanContext, SpanKind, TraceFlags

import tracehooks
from tracehooks import runtime, traced
from tracehooks.settings import load_settings

REPLY = {
    "choices": [{"message": {"role": "assistant", "content": "Tomorrow."}}],
    "usage": {"prompt_tokens": 11, "completion_tokens": 7},
}
provider = TracerProvider(shutdown_on_exit=False)
foreign = provider.get_tracer("openinference.instrumentation.openai", "1.2.3", attributes={"flavour": "new"})
elsewhere = SpanContext(1, 2, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))


@traced(kind="tool")
def look_up(order: int) -> dict[str, object]:
    return {"order": order, "state": "sent\u0000"}


@traced(kind="generation")
def ask_model(messages: list[dict[str, str]]) -> object:
    return REPLY


@traced(name="help-desk", version="7")
def answer(number: int) -> object:
    person = {"session_id": f"s-{number % 7}", "user_id": f"u-{number % 5}"}
    with tracehooks.trace_attributes(**person, tags=["beta", "eu"], metadata={"plan": "pro"}):
        look_up(number)
        reply = ask_model([{"role": "user", "content": f"Where is order {number}?"}])
        theirs = {"openinference.span.kind": "LLM", "llm.model_name": "gpt", "input.value": f"{number}"}
        with foreign.start_as_current_span(
            "ChatCompletion",
            kind=SpanKind.CLIENT,
            attributes=theirs,
            links=[Link(elsewhere, {"why": "retry"})],
        ) as span:
            span.add_event("first token", {"after": 0.25})
        if number % 10 == 0:
            raise ValueError(f"no order {number}")
        return reply  # which tells the tokens of the generation again


def main(config: str, count: str) -> None:
    tracehooks.init(load_settings(config, {}), tracer_provider=provider)
    for number in range(int(count)):
        try:
            answer(number)
        except ValueError:
            continue
    pipeline = runtime.pipeline()
    assert pipeline is not None
    assert pipeline.flush(60)
    print("stored", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main(*sys.argv[1:])
