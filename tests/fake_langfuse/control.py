"""``/_control``: what the Python object does, over HTTP, for tests that started the server as a process."""

from typing import TYPE_CHECKING, Any

from tests.fake_langfuse.wire import Answer, Request

if TYPE_CHECKING:
    from tests.fake_langfuse.server import FakeLangfuse

_CALLS = (
    "fail",
    "clear",
    "down",
    "skew",
    "advance",
    "duplicate_rows",
    "arriving",
    "add_calls",
    "delays",
    "upgrade",
)


def answer(server: "FakeLangfuse", request: Request) -> Answer:
    """``GET /_control``: the state. ``POST /_control`` with ``{"call": name, "arguments": {...}}``: does
    it.
    """
    if request.method == "GET":
        return Answer(200, _state(server, request))
    asked = request.json
    if not isinstance(asked, dict) or asked.get("call") not in _CALLS:
        return Answer(400, {"message": f"call is one of {', '.join(_CALLS)}"})
    arguments = asked.get("arguments") or {}
    if asked["call"] == "down" and "seconds" not in arguments:
        return Answer(400, {"message": "down needs seconds here: nobody could say up again"})
    return Answer(200, {"result": getattr(server, asked["call"])(**arguments)})


def _state(server: "FakeLangfuse", request: Request) -> dict[str, Any]:
    """``?what=scores,observations,requests,dropped`` chooses; scores and counts without it."""
    what = (request.one("what") or "scores").split(",")
    said: dict[str, Any] = {"mode": server.mode.name, "observationCount": len(server.observations)}
    if "scores" in what:
        said["scores"] = server.scores
    if "observations" in what:
        said["observations"] = server.observations
    if "dropped" in what:
        said["dropped"] = [{"body": body, "reason": reason} for body, reason in server.dropped]
    if "requests" in what:
        said["requests"] = [
            {"method": one.method, "path": one.path, "query": one.query_string, "status": one.status}
            for one in list(server.requests)
        ]
    return said
