"""Addresses in Langfuse's pages: of a call's trace, and of what a replay became.

The address of a trace is documented, that of an experiment is the one that Langfuse's SDK gives. A 3.x server
has a run for each repeat; the page of the dataset lists them, so that is where a link leads there.
"""

from collections.abc import Mapping
from contextlib import closing
from typing import Any
from urllib.parse import quote

from tracehooks.errors import TracehooksError
from tracehooks.exporters.langfuse.client import Client
from tracehooks.exporters.langfuse.datasets import LangfuseDatasets
from tracehooks.exporters.langfuse.experiments import experiment_id
from tracehooks.exporters.langfuse.server import Server
from tracehooks.judges.untraced import untraced
from tracehooks.settings import Settings
from tracehooks.store import RunRecord

TIMEOUT = 3.0  # seconds; a night does not wait for its links
EXPERIMENT = "/experiments/results?baseline={id}"
TRACE = "/traces/{trace_id}?observation={span_id}"


def links(settings: Settings, run: RunRecord) -> dict[str, Any]:
    """``trace``, a pattern for the address of a call, and for a noise run ``experiments`` by dataset.

    Nothing when the settings have no keys, or the server gives no answer.
    """
    if not settings.langfuse.has_keys:
        return {}
    client = Client.from_settings(settings, timeout=TIMEOUT, tries=1)
    try:
        with untraced(), closing(client):
            project = _project(client)
            if project is None:
                return {}
            found = {"trace": project + TRACE}
            experiments = _experiments(client, project, run)
            return found | ({"experiments": experiments} if experiments else {})
    except TracehooksError:
        return {}


def _project(client: Client) -> str | None:
    """The address of the project that the keys are for."""
    said = client.get("/projects").json()
    rows = said.get("data") if isinstance(said, dict) else None
    return f"{client.base_url}/project/{quote(str(rows[0]['id']), safe='')}" if rows else None


def _experiments(client: Client, project: str, run: RunRecord) -> dict[str, str]:
    names = run.plan.get("datasets")
    if not isinstance(names, Mapping):
        return {}
    if Server(client).facts().has_experiments:
        return {name: project + EXPERIMENT.format(id=experiment_id(run.id, name)) for name in names}
    store = LangfuseDatasets(client)
    ids = {name: store.dataset_id(name) for name in names}
    return {name: f"{project}/datasets/{quote(key, safe='')}" for name, key in ids.items() if key is not None}
