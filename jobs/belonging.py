"""Whose a store is: one project's, since neither calls nor what waits for a sink say which they are of."""

from tracehooks.errors import ConfigurationError
from tracehooks.reference.conditions import is_of
from tracehooks.store import RunRecord, Store

LATELY = 50  # runs that are looked at; those that could not even begin do not name a project


def check_project(store: Store, project: str) -> None:
    """Raises ConfigurationError when the store's runs are of another project than ``project``.

    Both would judge the same calls, take each other's runs and due times for their own, and send each
    other's scores to the wrong place.
    """
    runs = store.runs.list(limit=LATELY)
    if (last := next((run for run in runs if run.plan.get("project")), None)) is not None:
        check_run(last, project)


def check_run(run: RunRecord, project: str) -> None:
    """Raises ConfigurationError when the run is of another project than ``project``."""
    if not is_of(project, run.plan):
        theirs = run.plan["project"]
        raise ConfigurationError(
            f"run {run.id} of this store is of the project {theirs!r}, and a store is for one project: set "
            f"`project: {theirs}`, or give {project!r} a store of its own (key `store`)"
        )
