"""A real OpenAI-compatible HTTP server on loopback: follows a script, and fails in every way one can.

In a test::

    with FakeOpenAI([chat({"verdicts": [...]}), status(429, retry_after="1"), HANG]) as server:
        judge = OpenAIJudge("m", server.url, "key")
        ...
        assert server.peak <= 4

In a process of its own: ``python -m tests.fake_openai --help``.
"""

from tests.fake_openai.batches import Batches
from tests.fake_openai.replies import HANG, RESET, Reply, Wire, chat, html, raw, slow, status
from tests.fake_openai.server import FakeOpenAI, Request
from tests.fake_openai.toxic import Held, ToxicWords, block

__all__ = [
    "HANG",
    "RESET",
    "Batches",
    "FakeOpenAI",
    "Held",
    "Reply",
    "Request",
    "ToxicWords",
    "Wire",
    "block",
    "chat",
    "html",
    "raw",
    "slow",
    "status",
]
