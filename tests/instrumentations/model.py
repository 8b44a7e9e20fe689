"""A scripted model behind an OpenAI-compatible HTTP server on loopback: chat completions and responses.

Standard library only, for it runs in the environment of each framework. The script is a pure function of the
request: it first calls the tool ``lookup_order``, and once it has seen the tool's output it answers.
"""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SYSTEM = "You are the SYSTEM-CANARY help desk."
QUESTION = "Where is my order A-17?"
TOOL = "lookup_order"
TOOL_OUTPUT = "TOOL-CANARY parcel at depot 9"
ANSWER = "Your order A-17 is on its way; it left the depot this morning."
FINAL_TOOL = "final_answer"


@contextmanager
def scripted_model() -> Iterator[str]:
    """Serve the scripted model; gives the base URL, which ends with ``/v1``."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()


def reply(tools: list[str], seen: str) -> tuple[str | None, tuple[str, str] | None]:
    """What the model says, or the tool it calls with which arguments; ``seen`` is the request as JSON."""
    if "TOOL-CANARY" not in seen and TOOL in tools:
        return None, (TOOL, json.dumps({"order": "A-17"}))
    if FINAL_TOOL in tools:
        return None, (FINAL_TOOL, json.dumps({"answer": ANSWER}))
    return ANSWER, None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        self._send({"object": "list", "data": []})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path.endswith("/traces"):
            return self._send({})
        request = json.loads(body)
        tools = [tool.get("name") or tool["function"]["name"] for tool in request.get("tools") or []]
        seen = json.dumps(request.get("messages") or request.get("input"))
        said, call = reply(tools, seen)
        if self.path.endswith("/responses"):
            events = responses_events(said, call)
            if request.get("stream"):
                return self._stream([(event["type"], event) for event in events])
            return self._send(events[-1]["response"])
        if request.get("stream"):
            return self._stream([(None, chunk) for chunk in chat_chunks(said, call)], done=True)
        return self._send(chat_completion(said, call))

    def _send(self, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, events: list[tuple[str | None, Any]], *, done: bool = False) -> None:
        lines = [
            (f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n" for name, data in events
        ]
        data = ("".join(lines) + ("data: [DONE]\n\n" if done else "")).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def chat_completion(said: str | None, call: tuple[str, str] | None) -> dict[str, Any]:
    """A chat completion as OpenAI's API answers."""
    message: dict[str, Any] = {"role": "assistant", "content": said, "refusal": None}
    if call:
        function = {"name": call[0], "arguments": call[1]}
        message["tool_calls"] = [{"id": f"call_{call[0]}", "type": "function", "function": function}]
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": "tool_calls" if call else "stop",
        "logprobs": None,
    }
    usage = {"prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29}
    return {**_head("chat.completion"), "choices": [choice], "usage": usage}


def chat_chunks(said: str | None, call: tuple[str, str] | None) -> list[dict[str, Any]]:
    """The same as a stream: the words one by one, then the reason why it ended, then the usage."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": "" if said else None}]
    if call:
        function = {"name": call[0], "arguments": call[1]}
        deltas.append(
            {"tool_calls": [{"index": 0, "id": f"call_{call[0]}", "type": "function", "function": function}]}
        )
    deltas += [{"content": piece} for piece in re.findall(r"\S+\s*", said or "")]
    head = _head("chat.completion.chunk")
    chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    end = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if call else "stop"}
    usage = {"prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29}
    return [*chunks, {**head, "choices": [end]}, {**head, "choices": [], "usage": usage}]


def responses_events(said: str | None, call: tuple[str, str] | None) -> list[dict[str, Any]]:
    """The events of a streamed response; the last one holds the whole response."""
    if call:
        item = {"type": "function_call", "id": "fc_1", "call_id": f"call_{call[0]}", "name": call[0]}
        item |= {"arguments": call[1], "status": "completed"}
    else:
        part = {"type": "output_text", "text": said, "annotations": []}
        item = {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [part],
        }
    usage = {"input_tokens": 20, "output_tokens": 9, "total_tokens": 29}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    response = {"id": "resp_1", "object": "response", "created_at": 1750000000, "model": "scripted-1"}
    response |= {"status": "completed", "output": [item], "usage": usage, "parallel_tool_calls": True}
    response |= {"tool_choice": "auto", "tools": [], "instructions": SYSTEM, "error": None, "metadata": {}}
    response |= {"incomplete_details": None, "temperature": 1.0, "top_p": 1.0}
    started = {**response, "status": "in_progress", "output": [], "usage": None}
    events = [
        {"type": "response.created", "response": started},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response},
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _head(kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1750000000, "model": "scripted-1"}
