"""A POST to an address that a user gave, and what its server said, in words for a person to read."""

import html
import re
import urllib.request
from email.message import Message
from http.client import HTTPMessage
from typing import IO, Any
from urllib.parse import urlsplit

WORDS = 200
_UNSEEN = re.compile(r"<!--.*?(-->|\Z)|<(script|style)\b.*?(</\2\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"</?[a-z!?][^>]*(>|\Z)", re.IGNORECASE)


class _Nowhere(urllib.request.HTTPRedirectHandler):
    """A redirect is an error: what it leads to would be asked with GET, and without what was posted."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> None:
        return None


def post(address: str, body: bytes, headers: dict[str, str], *, timeout: float) -> Any:
    """The open answer of the server at ``address``, for a ``with``; ``timeout`` is in seconds.

    Raises HTTPError for a status other than 2xx, redirects among them: they are not followed.
    """
    request = urllib.request.Request(address, data=body, headers=headers, method="POST")  # noqa: S310 - callers allow http only
    return urllib.request.build_opener(_Nowhere()).open(request, timeout=timeout)


def redirected(headers: Message) -> str:
    """Where an answer sends on to, without what else is in that address; empty when it does not."""
    found = urlsplit(headers.get("Location") or "")
    return f"{found.scheme}://{found.netloc}{found.path}" if found.netloc else found.path


def plain_words(text: str, most: int = WORDS) -> str:
    """The beginning of what a server said, on one line, without the tags of a web page."""
    if text.lstrip().startswith("<"):
        text = html.unescape(_TAG.sub(" ", _UNSEEN.sub(" ", text)))
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"
