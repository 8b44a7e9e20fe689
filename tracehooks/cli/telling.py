"""Telling how runs ended: OpenTelemetry, and the channels of the settings."""

from collections.abc import Sequence
from datetime import UTC, datetime

from tracehooks.reports.run import RunReport
from tracehooks.settings import Settings
from tracehooks.store import Store


def tell(settings: Settings, store: Store, reports: Sequence[RunReport], *, wanted: bool) -> None:
    """Tell OpenTelemetry how the runs ended, and the channels of the settings where that is ``wanted``.

    A run that waits for its batch has not ended.
    """
    from tracehooks.jobs.telemetry import Telemetry

    ended = [report.run for report in reports if not report.run.waiting]
    telemetry = Telemetry()
    for run in ended:
        telemetry.record(run)
    telemetry.close()
    if not wanted:
        return
    from tracehooks.jobs.notify import Notifier

    notifier = Notifier(settings, store, clock=lambda: datetime.now(UTC))
    for run in ended:
        notifier.about(run)
    notifier.send()
