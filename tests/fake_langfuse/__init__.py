"""A real HTTP server on loopback that answers as Langfuse does, in four generations of it.

In a test::

    with FakeLangfuse(mode="dual") as server:
        ...  # server.url, server.public_key, server.secret_key
        assert server.scores[0]["value"] == 0.25

``dual`` and ``events`` are held to what a running 4.16.0 answered (``test_contract.py``); ``v3`` and
``v4.59`` are built from the OpenAPI file and the SDK's client types and are unverified. In a process of its
own: ``python -m tests.fake_langfuse --help``; tests then steer it by ``/_control`` (``control.py``).
"""

from tests.fake_langfuse.calls import span_id
from tests.fake_langfuse.modes import MODES
from tests.fake_langfuse.observations import Observation
from tests.fake_langfuse.server import FakeLangfuse
from tests.fake_langfuse.wire import Request

__all__ = ["MODES", "FakeLangfuse", "Observation", "Request", "span_id"]
