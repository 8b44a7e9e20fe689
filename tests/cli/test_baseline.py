"""`baseline capture` and `baseline review`: asking a real agent, writing real files."""

import json
from pathlib import Path

from tests.cli.shop import Inside, Shop
from tests.cli.test_datasets import shop_with
from tracehooks.noise.reading import read_dataset

FILE = "config/datasets/desk.yaml"
DATASET = """\
name: desk
cases:
  - id: warranty    # asked most
    query: How long is the warranty?
    facts: {must_contain: [{number: 24, unit: months}]}
  - id: hours
    query: When are you open?
    baseline: From 9 to 5.
  - id: old
    query: Is it old?
    archived: true
"""
AGENT = '''\
"""The shop's agent."""

import os


def answer(question: str) -> str:
    """Answer by the words."""
    if "warranty" in question:
        return os.environ.get("WARRANTY", "It is 24 months, password: hunter22secret.")
    if "open" in question:
        return os.environ.get("HOURS", "From 9 to 5.")
    raise LookupError("no such page")
'''


def shop_at(folder: Path, dataset: str = DATASET) -> Shop:
    shop = shop_with(folder, desk_yaml=dataset)
    (folder / "shop_agent.py").write_text(AGENT)
    with (folder / "tracehooks.yaml").open("a") as file:
        file.write("agent: shop_agent:answer\n")
    return shop


def test_what_an_agent_prints_is_not_in_the_document(tmp_path: Path) -> None:
    """Standard output is one JSON document, whatever the agent's module and the agent print."""
    shop = shop_at(tmp_path)
    agent = AGENT.replace("    if", "    print('thinking')\n    if", 1) + "\n\nprint('loading')\n"
    (tmp_path / "shop_agent.py").write_text(agent)
    result = shop.tracehooks("baseline", "capture", "--json")
    assert json.loads(result.stdout)["exit_code"] == 0
    # two threads may print at the same time, and a line's end is a piece of its own
    assert result.stderr.replace("\n", "") == "loading" + "thinking" * 2


def test_answers_become_baselines_with_their_provenance(tmp_path: Path) -> None:
    """The clean question is asked, secrets are masked, and the rest of the file stays as it is."""
    shop = shop_at(tmp_path)
    result = shop.tracehooks("baseline", "capture")
    assert result.returncode == 0, result.stderr
    assert "Stored 1 baseline; 1 are the same as before." in result.stdout
    case = read_dataset(tmp_path / FILE).cases[0]
    assert case.baseline == "It is 24 months, password: [masked]"
    source = case.provenance["baseline"]
    assert (source["by"], source["agent"]) == ("tracehooks baseline capture", "answer")
    assert len(source["dataset_hash"]) == 16
    assert source["captured"].endswith("Z")
    text = (tmp_path / FILE).read_text()
    assert [line for line in DATASET.splitlines() if line not in text.splitlines()] == []
    assert "hunter22secret" not in text


def test_nothing_is_overwritten_silently(tmp_path: Path) -> None:
    """What differs is shown and kept; --overwrite replaces it, and the review shows both."""
    shop = shop_at(tmp_path)
    before = (tmp_path / FILE).read_text()
    result = shop.tracehooks("baseline", "capture", "--case", "hours", HOURS="From 10 to 4.")
    assert result.returncode == 0
    assert "hours: differs\n  - From 9 to 5.\n  + From 10 to 4." in result.stdout
    assert "Kept 1 baseline that differ" in result.stdout
    assert (tmp_path / FILE).read_text() == before
    result = shop.tracehooks("baseline", "capture", "--case", "hours", "--overwrite", HOURS="From 10 to 4.")
    assert "Stored 1 baseline" in result.stdout
    assert read_dataset(tmp_path / FILE).cases[1].baseline == "From 10 to 4."
    review = shop.tracehooks("baseline", "review", "--case", "hours")
    assert "question: When are you open?" in review.stdout
    assert (
        "  - From 9 to 5.\n  + From 10 to 4.\n  from: by tracehooks baseline capture, agent answer"
        in review.stdout
    )


def test_a_dry_run_asks_and_writes_nothing(tmp_path: Path) -> None:
    """To look first."""
    shop = shop_at(tmp_path)
    result = shop.tracehooks("baseline", "capture", "--dry-run")
    assert "Would store 1 baseline" in result.stdout
    assert (tmp_path / FILE).read_text() == DATASET


def test_what_cannot_be_right_is_not_stored(tmp_path: Path) -> None:
    """An answer against the case's facts, silence, and an agent that fails: each named, exit 3."""
    shop = shop_at(tmp_path, DATASET + "  - {id: prices, query: What does it cost?}\n")
    result = shop.tracehooks("baseline", "capture", WARRANTY="It is 36 months.", HOURS=" ")
    assert result.returncode == 3
    assert (
        "warranty: the answer fails the facts that the case declares (missing: the number 24 months)"
        in result.stdout
    )
    assert "hours: the agent said nothing" in result.stdout
    assert "prices: the agent failed: LookupError: no such page" in result.stdout
    assert "3 cases got no baseline: warranty, hours, prices" in result.stdout
    assert [case.baseline for case in read_dataset(tmp_path / FILE).cases] == [
        None,
        "From 9 to 5.",
        None,
        None,
    ]


def test_it_must_be_clear_whom_to_ask(tmp_path: Path, inside: Inside) -> None:
    """No agent, an unknown one, one that cannot be loaded: a sentence each."""
    shop = shop_with(tmp_path, desk_yaml=DATASET)
    for args, says in (
        ((), "agent: no agent is set"),
        (("--agent", "sales"), "there is no agent 'sales'"),
        (("--agent", "nowhere.agents:answer"), "the agent nowhere.agents:answer cannot be loaded"),
    ):
        result = inside(shop, "baseline", "capture", *args)
        assert result.code == 2
        assert says in result.err
    assert inside(shop, "baseline", "review", "--case", "hours", "--json").json["cases"] == [
        {
            "file": FILE,
            "case": "hours",
            "question": "When are you open?",
            "baseline": "From 9 to 5.",
            "before": None,
            "provenance": {},
        }
    ]
