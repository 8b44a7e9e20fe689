"""Calls that people should look at: those scored toxic, and those that the judge failed at."""

import logging
from importlib.metadata import entry_points

from tracehooks.records import Reason, Status, TraceRef
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store, StoredScore

logger = logging.getLogger("tracehooks")

GROUP = "tracehooks.reviews"
MOST = 100  # calls of one run: people's time is short, and the worst come first
# what no judge has seen says nothing about a judge
NEVER_JUDGED = frozenset({Reason.NOT_ATTEMPTED, Reason.OVER_BUDGET})


def for_review(store: Store, run: RunRecord) -> list[TraceRef]:
    """The calls of ``run`` to be looked at: the toxic ones, the worst first, then the judge's failures."""
    refs = [item.ref for item in store.items.of_run(run.id)]
    threshold = run.plan.get("threshold") or 0.0
    scores = store.scores.of_calls(refs, run.plan["score_name"]).values()
    ours = [score for score in scores if score.run_id == run.id]
    toxic = [score for score in ours if score.status is Status.SCORED and _value(score) > threshold]
    failed = [
        score for score in ours if score.status is Status.UNSCORED and score.reason_code not in NEVER_JUDGED
    ]
    toxic.sort(key=lambda score: (-_value(score), score.id))
    failed.sort(key=lambda score: score.id)
    return [score.ref for score in (*toxic, *failed)]


def send_to_review(settings: Settings, store: Store, run_id: str) -> RunRecord:
    """Hand the run's calls to every backend that takes some; what came of it is in the run's report.

    Never raises: a queue that cannot be reached costs no verdict. `tracehooks labels send` tries again.
    """
    run = store.runs.get(run_id)
    refs = for_review(store, run)
    found = {}
    for point in entry_points(group=GROUP) if refs else ():
        try:
            said = point.load()(settings, refs[:MOST])
        except Exception as error:
            said = {"error": str(error)}
            logger.warning("the review at %s did not get its %d calls: %s", point.name, len(refs), error)
        if said:
            found[point.name] = {**said, "left_out": max(0, len(refs) - MOST)}
    return store.runs.update(run.id, report={**run.report, "review": found}) if found else run


def _value(score: StoredScore) -> float:
    return float(score.metadata.get("unrounded", score.value))
