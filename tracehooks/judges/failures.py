"""Telling the ways apart in which a request to an OpenAI-compatible server fails."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from tracehooks.judges.completions import CompletionFailed
from tracehooks.judges.retrying import retry_after
from tracehooks.records import Reason

Scrub = Callable[[str], str]

_FILTER_CODES = frozenset({"content_filter", "content_policy_violation", "responsibleaipolicyviolation"})
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_LIMIT_CODES = frozenset({"rate_limit_exceeded", "rate_limit_error", "too_many_requests"})


def failure_of(error: Exception, scrub: Scrub = str) -> CompletionFailed:
    """The failure that an exception means, raised by a client in place of a reply."""
    if isinstance(error, CompletionFailed):
        return error
    if isinstance(getattr(error, "status_code", None), int):
        response = getattr(error, "response", None)
        body = {"error": getattr(error, "body", None) or {"message": str(error)}}
        return failure_of_status(error.status_code, body, getattr(response, "headers", {}), scrub)  # type: ignore[attr-defined]
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if kinds & {"TimeoutError", "TimeoutException", "APITimeoutError"}:
        return CompletionFailed(Reason.TIMEOUT, "the judge did not answer in time", retry=True)
    said = scrub(str(error.__cause__ or error) or type(error).__name__)
    if kinds & {"ConnectionError", "TransportError", "APIConnectionError", "gaierror"}:
        detail = f"the judge's server cannot be reached: {said}"
        return CompletionFailed(Reason.UNREACHABLE, detail, retry=True)
    if "OpenAIError" in kinds:
        return CompletionFailed(Reason.REJECTED, f"the request was not sent: {said}")
    return CompletionFailed(Reason.SCORER_ERROR, f"{type(error).__name__}: {said}")


def failure_of_status(status: int, body: Any, headers: Mapping[str, str], scrub: Scrub) -> CompletionFailed:
    """The failure that an answer with HTTP ``status`` means. ``body`` is its decoded JSON, or its text.

    ``scrub`` takes secrets out of what the server said, which ends in the score's comment.
    """
    reason, again = _judged(status, _codes(body))
    detail = f"the judge's server answered {status}{_named(body, scrub)}"
    wait = retry_after(headers) if again else None
    # a 5xx may stand for a proxy that gave up on a model that went on
    return CompletionFailed(reason, detail, retry=again, wait=wait, free=status < 500)


def failure_in_reply(error: Any, scrub: Scrub) -> CompletionFailed:
    """The failure that an ``error`` inside a reply with status 200 means, as gateways send it."""
    codes = _codes({"error": error})
    number = next((int(code) for code in codes if code.isdecimal() and len(code) == 3), 500)
    status = 429 if codes & _LIMIT_CODES else number
    reason, again = _judged(status, codes)
    detail = f"the judge's server answered 200 with an error{_named({'error': error}, scrub)}"
    return CompletionFailed(reason, detail, retry=again)


def complaint(body: Any) -> str:
    """All that an error's body says, in lower case, to look words up in."""
    return (body if isinstance(body, str) else json.dumps(body, default=str)).casefold()


def _judged(status: int, codes: frozenset[str]) -> tuple[Reason, bool]:
    """The reason, and whether the same request may succeed later."""
    if codes & _FILTER_CODES:
        return Reason.CONTENT_FILTERED, False
    if codes & _QUOTA_CODES or status == 402:
        return Reason.QUOTA, False
    if status == 429:
        return Reason.RATE_LIMITED, True
    if status == 408:
        return Reason.TIMEOUT, True
    if status >= 500 or status == 409:
        return Reason.SERVER_ERROR, True
    return Reason.REJECTED, False


def _codes(body: Any) -> frozenset[str]:
    """The codes and types of an error, in lower case, wherever a server puts them."""
    error = _error(body)
    inner = error.get("innererror")
    places = (error, inner if isinstance(inner, Mapping) else {})
    found = (place.get(key) for place in places for key in ("code", "type"))
    return frozenset(str(code).casefold() for code in found if isinstance(code, str | int))


def _error(body: Any) -> Mapping[str, Any]:
    error = body.get("error", body) if isinstance(body, Mapping) else body
    return error if isinstance(error, Mapping) else {"message": error if isinstance(error, str) else None}


def _named(body: Any, scrub: Scrub) -> str:
    """What the server said, short and without secrets: ``: code: message``."""
    error = _error(body)
    message = error.get("message") or error.get("detail")
    code = error.get("code") or error.get("type")
    words = [str(word) for word in (code, message) if isinstance(word, str | int) and word != ""]
    if not words or str(words[-1]).lstrip().startswith("<"):
        return ""
    return f": {scrub(': '.join(words))}"
