"""Which path leads where, who may ask, and what each mode does not have."""

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote

from tests.fake_langfuse import (
    configs,
    datasets,
    experiments,
    observation_lists,
    observation_reads,
    queues,
    runs,
    score_lists,
    score_reads,
    trace_reads,
    writes,
)
from tests.fake_langfuse.modes import Mode
from tests.fake_langfuse.project import Project
from tests.fake_langfuse.wire import Answer, RefusedError, Request, plain, refuse

PREFIX = "/api/public/"
_MB = 1024 * 1024
_LIMITS = {"scores": ("1mb", _MB), "otel/v1/traces": ("", 0)}  # the rest: 4.5mb; 0: no limit
_GONE = (
    "This endpoint is not available on deployments running in Langfuse v4 events_only mode. "
    "Learn more about Langfuse v4 at: https://langfuse.com/docs/v4"
)
_HTML = (
    "<!DOCTYPE html><html><head><title>404</title></head><body>This page could not be found.</body></html>"
)

Handler = Callable[..., Answer]


@dataclass(frozen=True)
class Route:
    """One method of one path. ``needs``: ``v1`` or ``v2`` reads, or nothing."""

    method: str
    path: re.Pattern[str]
    handler: Handler
    needs: str = ""
    open: bool = False  # no key asked for


def route(method: str, path: str, handler: Handler, needs: str = "", *, open_: bool = False) -> Route:
    pattern = re.compile(re.sub(r"\{\w+\}", "([^/]+)", path))
    return Route(method, pattern, handler, needs, open_)


def health(project: Project, request: Request) -> Answer:
    return Answer(200, {"status": "OK", "version": project.mode.version})


def projects(project: Project, request: Request) -> Answer:
    said = {
        "id": project.id,
        "name": "LabProject",
        "organization": {"id": "lab-org", "name": "LabOrg"},
        "metadata": {},
    }
    return Answer(200, {"data": [said]})


_BASE = [
    route("GET", "health", health, open_=True),
    route("GET", "ready", health, open_=True),
    route("GET", "projects", projects),
    route("POST", "otel/v1/traces", writes.spans),
    route("POST", "ingestion", writes.ingestion),
    route("POST", "scores", writes.scores),
    route("GET", "scores", score_lists.v1, "v1"),
    route("GET", "scores/{id}", score_lists.one_v1, "v1"),
    route("DELETE", "scores/{id}", writes.delete_score),
    route("GET", "v2/scores", score_lists.v2, "v1"),
    route("GET", "v2/scores/{id}", score_lists.one_v2, "v1"),
    route("GET", "v3/scores", score_reads.v3, "v2"),
    route("GET", "v2/observations", observation_reads.listing, "v2"),
    route("GET", "traces", trace_reads.traces, "v1"),
    route("GET", "traces/{id}", trace_reads.trace, "v1"),
    route("GET", "observations", observation_lists.observations, "v1"),
    route("GET", "observations/{id}", observation_lists.observation, "v1"),
    route("GET", "sessions", trace_reads.sessions, "v1"),
    route("GET", "sessions/{id}", trace_reads.session, "v1"),
    route("GET", "v2/datasets", datasets.listing),
    route("POST", "v2/datasets", datasets.create),
    route("GET", "v2/datasets/{name}", datasets.one),
    route("POST", "datasets", datasets.create_v1),
    route("GET", "datasets/{name}", datasets.one_v1),
    route("GET", "datasets/{name}/runs", runs.listing, "v1"),
    route("GET", "datasets/{name}/runs/{run}", runs.one, "v1"),
    route("DELETE", "datasets/{name}/runs/{run}", runs.delete, "v1"),
    route("GET", "dataset-items", datasets.items),
    route("POST", "dataset-items", datasets.create_item),
    route("GET", "dataset-items/{id}", datasets.item),
    route("DELETE", "dataset-items/{id}", datasets.delete_item),
    route("GET", "dataset-run-items", runs.items, "v1"),
    route("POST", "dataset-run-items", runs.create_item),
    route("GET", "experiments", experiments.listing, "v2"),
    route("GET", "experiment-items", experiments.items, "v2"),
    route("GET", "score-configs", configs.listing),
    route("POST", "score-configs", configs.create),
    route("GET", "score-configs/{id}", configs.one),
    route("PATCH", "score-configs/{id}", configs.change),
    route("GET", "annotation-queues", queues.listing),
    route("POST", "annotation-queues", queues.create),
    route("GET", "annotation-queues/{id}", queues.one),
    route("GET", "annotation-queues/{id}/items", queues.items),
    route("POST", "annotation-queues/{id}/items", queues.create_item),
    route("GET", "annotation-queues/{id}/items/{item}", queues.item),
    route("PATCH", "annotation-queues/{id}/items/{item}", queues.change_item),
    route("DELETE", "annotation-queues/{id}/items/{item}", queues.delete_item),
    route("GET", "comments", queues.comments),
    route("POST", "comments", queues.comment),
    route("GET", "comments/{id}", queues.one_comment),
    route("DELETE", "traces", writes.delete_traces),
    route("DELETE", "traces/{id}", writes.delete_trace),
]


class Routes:
    """All routes of one server, and the two keys of each of its projects."""

    def __init__(self, project: Project, public_key: str, secret_key: str) -> None:
        self._project = project
        self._by_public, self._by_secret = {public_key: project}, {secret_key: project}
        self._routes = _BASE

    def add(self, project: Project, public_key: str, secret_key: str) -> None:
        """One more project, with its keys."""
        self._by_public[public_key] = self._by_secret[secret_key] = project

    def answer(self, request: Request) -> Answer:
        """The answer to ``request``, refusals included, in the order in which the server looks."""
        try:
            return self._answer(request)
        except RefusedError as refused:
            return refused.answer

    def _answer(self, request: Request) -> Answer:
        name = request.path.removeprefix(PREFIX)
        found = [(one, match) for one in self._routes if (match := one.path.fullmatch(name))]
        if not request.path.startswith(PREFIX) or not found:
            return _missing()
        self._check_body(name, request)
        asked = next(((one, match) for one, match in found if one.method == request.method), None)
        if asked and not _has(self._project.mode, asked[0]):
            return _missing() if asked[0].needs == "v2" else Answer(404, {"message": _GONE})
        if asked is None:
            raise refuse(405, "Method not allowed", "MethodNotAllowedError")
        chosen, match = asked
        project = self._project if chosen.open else self._of_key(name, request)
        project.settle()
        return chosen.handler(project, request, *(unquote(part) for part in match.groups()))

    def _check_body(self, name: str, request: Request) -> None:
        text, limit = _LIMITS.get(name, ("4.5mb", int(4.5 * _MB)))
        if limit and len(request.body) > limit:
            raise RefusedError(plain(413, f"Body exceeded {text} limit"))
        if limit and "json" in request.headers.get("content-type", ""):
            try:
                _ = request.json
            except ValueError:
                raise RefusedError(plain(400, "Invalid JSON")) from None

    def _of_key(self, name: str, request: Request) -> Project:
        """The project. Only the secret is looked up: a wrong public key with a right secret passes."""
        header = request.headers.get("authorization")
        if header is None:
            raise _unauthorized(name, "No authorization header")
        scheme, _, said = header.partition(" ")
        if scheme == "Bearer":
            return self._of_bearer(name, request, said)
        if scheme != "Basic":
            raise _unauthorized(name, "Invalid authorization header")
        if ":" not in _decoded(said):
            raise _unauthorized(name, "Invalid character. Confirm that you've configured the correct host.")
        project = self._by_secret.get(_decoded(said).partition(":")[2])
        if project is None:
            raise _unauthorized(name, _BAD_KEY)
        return project

    def _of_bearer(self, name: str, request: Request, said: str) -> Project:
        """The public key alone may post scores, and nothing else."""
        if said not in self._by_public:
            raise _unauthorized(name, _BAD_KEY.replace("credentials", "public key"))
        if (request.method, name) != ("POST", "scores"):
            raise refuse(403, "Access denied - insufficient permissions for this endpoint")
        return self._by_public[said]


_BAD_KEY = "Invalid credentials. Confirm that you've configured the correct host."


def _has(mode: Mode, one: Route) -> bool:
    return {"v1": mode.v1_reads, "v2": mode.v2_reads}.get(one.needs, True)


def _missing() -> Answer:
    return Answer(404, _HTML.encode(), content_type="text/html; charset=utf-8")


def _unauthorized(name: str, message: str) -> RefusedError:
    return refuse(401, message, "UnauthorizedError" if name == "ingestion" else None)


def _decoded(said: str) -> str:
    try:
        return base64.b64decode(said, validate=True).decode()
    except (binascii.Error, ValueError):
        return ""


def keyed(public_key: str, secret_key: str) -> str:
    """The ``Authorization`` header of two keys."""
    return "Basic " + base64.b64encode(f"{public_key}:{secret_key}".encode()).decode()
