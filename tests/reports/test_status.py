"""How things stand, and the exit code that a check gets."""

import pytest

from tests.reports.nights import LATER, drawn, run_night
from tests.stored import NOON, POLITE, RUDE, fill, mixed
from tracehooks.records import Verdict
from tracehooks.reports.status import status_dict, status_renderable, status_report
from tracehooks.store import Store

DEAD = "another-host-is-never-dead:1:1"


@pytest.mark.parametrize(
    ("outputs", "code"),
    [(mixed(300, 2), 0), ([RUDE] * 30, 1), ([POLITE] * 3, 3), (["broken"] * 30, 3)],
)
def test_the_exit_code_is_that_of_the_last_verdict(store: Store, outputs: list[str], code: int) -> None:
    """promptfoo/promptfoo#335, promptfoo/promptfoo#7040: pass, fail, undecided each have a code."""
    fill(store, outputs)
    run_night(store)
    assert status_report(store, stored=True).exit_code == code


def test_an_empty_store_is_undecided_and_says_where_to_begin(store: Store) -> None:
    """agentclash/agentclash#901: nothing judged is not a pass."""
    status = status_report(store, stored=False)
    assert status.exit_code == 3
    text = drawn(status_renderable(status, 80))
    assert text.startswith("NO RUNS  nothing has been judged yet")
    assert "there is none yet" in text
    assert "tracehooks demo" in text


def test_an_unfinished_run_is_not_hidden_by_an_older_pass(store: Store) -> None:
    """agronholm/apscheduler#652: last night's verdict does not speak for tonight."""
    fill(store, mixed(300, 2))
    run_night(store)
    plan = {"score_name": "toxicity"}
    run = store.runs.open("toxicity", NOON, NOON.replace(hour=13), plan=plan, owner=DEAD)
    store.runs.update(run.id, state="interrupted", started=LATER.replace(year=2027))
    status = status_report(store, stored=True)
    assert status.exit_code == 3
    assert f"tracehooks resume {run.id}" in drawn(status_renderable(status, 80))


def test_a_run_whose_process_is_gone_is_said_to_have_died(store: Store) -> None:
    """A killed process writes no farewell."""
    import socket

    owner = f"{socket.gethostname()}:999999999:1"
    store.runs.open("toxicity", NOON, LATER, plan={"score_name": "toxicity"}, owner=owner)
    status = status_report(store, stored=True)
    assert status_dict(status)["runs"][0]["state"] == "died"
    assert drawn(status_renderable(status, 80)).startswith("DIED")


def test_the_document_holds_figures_and_runs(store: Store) -> None:
    """For a monitor: counts by name, runs newest first."""
    fill(store, mixed(300, 2))
    run = run_night(store)
    document = status_dict(status_report(store, stored=True))
    assert document["verdict"] == Verdict.PASS
    assert document["store"]["calls"] == document["store"]["scores"] == 300
    assert [entry["run"] for entry in document["runs"]] == [run.id]
