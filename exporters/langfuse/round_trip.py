"""A round trip: a score is written, read back and deleted, which is all that delivery needs.

A second one is written with the public key alone. When that one is not to be found with the secret key, the
two keys are those of different projects, which no reply would ever tell.
"""

import secrets
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from tracehooks.exporters.langfuse.client import Client
from tracehooks.exporters.langfuse.letters import letter
from tracehooks.exporters.langfuse.reading import read_scores
from tracehooks.exporters.langfuse.server import Server, ServerFacts
from tracehooks.exporters.langfuse.writing import Writer
from tracehooks.protocols import Finding, ScoreRow
from tracehooks.store.encoding import to_micros

ABOUT = "round trip"
NAME = "tracehooks_doctor"
PATIENCE = 20.0  # seconds until a score must be there
PAUSE = 0.5


def round_trip(
    client: Client, server: Server, sleep: Callable[[float], None] = time.sleep
) -> Iterator[Finding]:
    """Write a score, read it back, have it deleted."""
    ours, public = _score(), _score()
    facts = server.facts()
    (receipt,) = Writer(client, server).write([letter(ours)])
    if not receipt.accepted:
        yield Finding(
            "bad", ABOUT, f"a score was not taken: {receipt.error}", "what the server says tells why"
        )
        return
    body = letter(public).body
    sent = b"[%b]" % body if facts.writes == "list" else body
    by_public_key = client.as_public_key("POST", "/scores", sent).ok
    wanted = [ours.id, public.id] if by_public_key else [ours.id]
    begun = time.monotonic()
    found = _wait_for(client, facts, wanted, sleep)
    for one in wanted:
        client.delete(f"/scores/{one}")
    yield _finding(ours.id in found, public.id in found or not by_public_key, time.monotonic() - begun)


def _finding(ours: bool, public: bool, seconds: float) -> Finding:
    if not ours:
        return Finding(
            "bad",
            ABOUT,
            f"a score was taken and could not be read back within {PATIENCE:.0f} s",
            "look at the logs of Langfuse's worker, and at its queue",
        )
    if not public:
        remedy = "copy both keys from the same project's settings"
        return Finding("bad", "langfuse keys", "the two keys are of different projects", remedy)
    return Finding("ok", ABOUT, f"a score was written, read back after {seconds:.0f} s, and deleted")


def _wait_for(client: Client, facts: ServerFacts, ids: list[str], sleep: Callable[[float], None]) -> set[str]:
    end = time.monotonic() + PATIENCE
    while len(found := set(read_scores(client, facts, ids))) < len(ids) and time.monotonic() < end:
        sleep(PAUSE)
    return found


def _score() -> ScoreRow:
    """On a trace that nobody has, so that nobody sees it even while it is there."""
    now = to_micros(datetime.now(UTC))
    return ScoreRow(
        id=secrets.token_hex(16),
        trace_id=secrets.token_hex(16),
        span_id=secrets.token_hex(8),
        name=NAME,
        number=1.0,
        text=None,
        data_type="NUMERIC",
        comment="Written by `tracehooks doctor`, which deletes it again.",
        metadata="{}",
        environment="default",
        call_start=now,
        scorer_version="",
        run_id=None,
        probability=None,
        scored_at=now,
    )
