"""The viewer as an ASGI application: its routes, what it refuses, and what its errors look like."""

from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from tracehooks.errors import ConfigurationError, StoreError
from tracehooks.reports.pages import render, style
from tracehooks.store import Store
from tracehooks.web import noise, overview, runs, trace, traces

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}

View = Callable[[Store, Request], Response]


def make_app(store: Store, *, hosts: tuple[str, ...] = LOOPBACK, hint: str = "") -> Starlette:
    """The viewer over ``store``. It answers only requests that name one of ``hosts``, and only reads.

    A page of another site that finds its way to the port by DNS is refused by its host's name. ``hint`` is
    what the commands on the pages need behind them, to read the same settings.
    """
    pages: dict[str, View] = {
        "/": overview.page,
        "/traces": traces.page,
        "/traces/{trace_id}": trace.page,
        "/traces/{trace_id}/{span_id}/{side}.txt": trace.text,
        "/runs": runs.listing,
        "/runs/{run_id}": runs.page,
        "/noise": noise.latest,
        "/noise/{run_id}": noise.page,
        "/noise/{run_id}/case": noise.case,
    }
    routes = [Route(path, _served(view, store), methods=["GET"]) for path, view in pages.items()]
    app = Starlette(
        routes=[*routes, Route("/style.css", _style, methods=["GET"])],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False),
            Middleware(BaseHTTPMiddleware, dispatch=_guarded),
        ],
        exception_handlers={
            HTTPException: _refused(store),
            ConfigurationError: _refused(store),
            StoreError: _refused(store),
            500: _refused(store),
        },
    )
    app.state.hint = hint
    return app


def _served(view: View, store: Store) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        return await run_in_threadpool(view, store, request)

    return endpoint


async def _guarded(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
    response = await go_on(request)
    response.headers.update(HEADERS)
    return response


async def _style(_: Request) -> Response:
    return PlainTextResponse(style(), media_type="text/css")


def _refused(store: Store) -> Callable[[Request, Exception], Response]:
    def handler(_: Request, error: Exception) -> Response:
        status, what = _why(error)
        page = render("error.html", {"place": store.url, "here": "", "status": status, "what": what})
        return HTMLResponse(page, status, headers=HEADERS)

    return handler


def _why(error: Exception) -> tuple[int, str]:
    if isinstance(error, HTTPException):
        return error.status_code, error.detail
    if isinstance(error, ConfigurationError):
        return 404, str(error)
    if isinstance(error, StoreError):
        return 503, str(error)
    return 500, f"the page could not be made: {type(error).__name__}: {error}"
