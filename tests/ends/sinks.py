"""A tiny sink that posts its scores to a port of this machine, and waits for the answer without end."""

import http.client
import json
import os
from collections.abc import Sequence

from tracehooks.protocols import Delivery, Receipt
from tracehooks.settings import Settings


class PostingSink:
    """Where it posts to is in ``$SINK_PORT``."""

    @classmethod
    def from_settings(cls, settings: Settings) -> "PostingSink":
        """The entry point ``posting``."""
        return cls()

    def deliver(self, scores: Sequence[Delivery]) -> list[Receipt]:
        connection = http.client.HTTPConnection("127.0.0.1", int(os.environ["SINK_PORT"]))
        body = json.dumps(
            [{"id": one.id, "name": one.score.name, "value": one.score.value} for one in scores]
        )
        connection.request("POST", "/scores", body)
        connection.getresponse().read()
        return [Receipt(id=one.id, accepted=True) for one in scores]
