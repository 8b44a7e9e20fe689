"""Where a run stands: the verdict that counts, or why there is none."""

from tracehooks.gate import EXIT_CODES
from tracehooks.records import Verdict
from tracehooks.reports.wording import plain
from tracehooks.scoring.coordinator import is_dead
from tracehooks.store import RunRecord

DONE = ("finished", "skipped")
UNDECIDED = 3
FAILURE = "error:"
IN_WORDS = {
    "running": "under way; no verdict yet",
    "died": "its process is gone, so it stopped before it was done; no verdict yet",
    "waiting": "its batch is at the judge's provider; no verdict yet",
    "interrupted": "stopped before it was done; no verdict yet",
    "failed": "failed before it was done; no verdict",
    "timed_out": "ran out of time; no verdict",
    "finished": "finished without a verdict",
    "skipped": "skipped; nothing was judged",
}


def settled(run: RunRecord) -> Verdict | None:
    """The verdict of the run's last pass. One that stands from an earlier pass does not count any more."""
    unfinished = run.state in ("running", "interrupted")
    return None if unfinished or any(reason.startswith(FAILURE) for reason in run.reasons) else run.verdict


def at_work(run: RunRecord) -> bool:
    """Whether a process that is alive, as far as one can tell, works on the run."""
    return run.state == "running" and run.owner is not None and not run.lapsed and not is_dead(run.owner)


def state(run: RunRecord) -> str:
    """The run's state; ``died`` for one that is said to be running and whose process is gone.

    ``waiting`` for one that was put away until its batch is answered.
    """
    if run.waiting:
        return "waiting"
    return "died" if run.state == "running" and not at_work(run) else run.state


def can_be_resumed(run: RunRecord) -> bool:
    """Whether something is left to be done, and nobody does it."""
    return run.state not in DONE and not at_work(run)


def exit_code(run: RunRecord) -> int:
    """The exit code of a run's verdict: 0 pass, 1 fail, 3 could not decide or not decided yet."""
    verdict = settled(run)
    return UNDECIDED if verdict is None else EXIT_CODES[verdict]


def mark(run: RunRecord) -> str:
    """The one word that heads a run: its verdict, or its state while it has none."""
    return (settled(run) or state(run)).upper().replace("_", " ")


def headline(run: RunRecord) -> str:
    """Why the run got its verdict, or why it has none."""
    failures = [reason for reason in run.reasons if reason.startswith(FAILURE)]
    if settled(run) is None and not failures:
        return IN_WORDS[state(run)]
    return plain((failures or run.reasons or (IN_WORDS[state(run)],))[0])
