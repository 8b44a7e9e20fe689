"""The outbox: scores on their way to the sinks."""

from collections.abc import Sequence
from datetime import timedelta

from tracehooks.protocols import Delivery, Receipt


class Outbox:
    """One row for each score and sink: pending, accepted, confirmed or dead."""

    def pending(self, sink: str, limit: int, owner: str, lease: timedelta) -> list[Delivery]:
        """Take at most ``limit`` deliveries that are due; no one else gets them before ``lease`` is over."""
        raise NotImplementedError

    def settle(self, sink: str, receipts: Sequence[Receipt], deliveries: Sequence[Delivery]) -> None:
        """Note what the sink said about ``deliveries``.

        Accepted; or not, and due again after a growing pause; or dead when trying again cannot help. A
        receipt for a revision that was replaced meanwhile changes nothing: the newer one is still pending.
        """
        raise NotImplementedError

    def counts(self) -> dict[str, dict[str, int]]:
        """How many rows each sink has in which state."""
        raise NotImplementedError
