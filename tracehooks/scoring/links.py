"""Where a run's calls and experiments can be looked at elsewhere, as backends tell by an entry point."""

import logging
from importlib.metadata import entry_points
from typing import Any

from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store

logger = logging.getLogger("tracehooks")

GROUP = "tracehooks.links"


def links_of(settings: Settings, run: RunRecord) -> dict[str, Any]:
    """What the installed backends say: backend -> ``{"trace": pattern, "experiments": {dataset: address}}``.

    The pattern has ``{trace_id}`` and ``{span_id}``. Never raises: a report without links is a report.
    """
    found = {}
    for point in entry_points(group=GROUP):
        try:
            if said := point.load()(settings, run):
                found[point.name] = said
        except Exception as error:
            logger.warning("no links to %s: %s: %s", point.name, type(error).__name__, error)
    return found


def with_links(settings: Settings, store: Store, run_id: str) -> RunRecord:
    """The run, with links in its report. The last thing that a job does: a backend may be slow."""
    run = store.runs.get(run_id)
    links = links_of(settings, run)
    return store.runs.update(run.id, report={**run.report, "links": links}) if links else run
