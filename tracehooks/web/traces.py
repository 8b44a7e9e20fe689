"""The listing of traces: searched, filtered, page by page."""

import re

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from tracehooks.reports.pages import render
from tracehooks.store import Store
from tracehooks.web.listed import rows
from tracehooks.web.queries import STATUSES, address, asked

PAGE = 50
_IDENTITY = re.compile(r"[0-9a-f]{6,32}")


def page(store: Store, request: Request) -> Response:
    """The calls that the address asks for. The beginning of a trace id leads straight to its trace."""
    search = asked(request.query_params)
    word = search.query.words.lower()
    if _IDENTITY.fullmatch(word):
        known = store.overview.trace_ids(word, limit=2)
        if len(known) == 1:
            return RedirectResponse(f"/traces/{known[0]}", 303)
    found = store.search.calls(search.query, search.after, PAGE)
    values = {
        "place": store.url,
        "here": "traces",
        "fields": search.fields,
        "problems": search.problems,
        "names": store.search.names(),
        "statuses": STATUSES,
        "rows": rows(store, found.calls),
        "narrowed": any(search.fields.values()),
        "first": search.after is None,
        "beginning": "/traces" + address(search.fields),
        "next": "/traces" + address(search.fields, found.next) if found.next else "",
        "looked_until": found.looked_until,
        "status_code": 400 if search.problems else 200,
    }
    return HTMLResponse(render("traces.html", values), 400 if search.problems else 200)
