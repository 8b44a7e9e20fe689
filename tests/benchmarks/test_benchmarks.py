"""Every benchmark runs, on a tiny size. What it measures is no test: machines differ."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("benchmarks", reason="benchmarks/ is no part of the installed package")

from benchmarks import decorator, environments, imports, judge, night, outbox, report, sampling, store
from benchmarks.__main__ import main
from benchmarks.cases import CASES
from benchmarks.decorator import FORMS, Form, ProbeError
from benchmarks.effort import QUICK
from benchmarks.figures import Ratio, Row, Table, compared, ratio_of
from benchmarks.root import ROOT
from benchmarks.timing import rounds
from benchmarks.workloads import DOCUMENTS, TEXT

TINY = replace(QUICK, rounds=1, turn_seconds=0.0005, imports=1, judge_rounds=1, spans=300)


def say_nothing(what: str) -> None:
    """Progress that nobody looks at."""


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_each_form_of_the_decorator_is_measured_in_its_cases(form: Form) -> None:
    """A probe measures every case of a form: the function, the bare span, the decorator."""
    lines = decorator.probe("tracehooks", form.cases, TINY, form=form.name)
    assert [line["case"] for line in lines] == list(form.cases)
    assert all(line["bare"] > 0 and line["subject"] > 0 and line["calls"] >= 8 for line in lines)
    assert {line["is_itself"] for line in lines} == {form.name == "disabled"}


def test_a_probe_that_fails_says_why() -> None:
    """A subject that cannot be measured is reported with the last thing that its process said."""
    with pytest.raises(ProbeError, match="no_such_form"):
        decorator.probe("tracehooks", ("sync",), TINY, form="no_such_form")


def test_a_peer_that_cannot_be_installed_is_skipped_by_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without its packages a product has a row that says so, and the others are measured."""
    monkeypatch.setenv("TRACEHOOKS_BENCHMARKS", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    table = decorator.measure_peers(TINY, say_nothing, ["openinference"])
    (ours, skipped) = (table.rows[0], table.rows[-1])
    assert ours.ratio is not None
    assert skipped.name.startswith("openinference")
    assert "not installed" in str(skipped.skipped)


def test_every_peer_has_a_subject_and_pinned_requirements() -> None:
    """What is compared is the same tomorrow."""
    subjects = Path(ROOT, "benchmarks", "subjects")
    for peer in environments.PEERS:
        assert (subjects / f"{peer}.py").is_file()
        lines = (environments.REQUIREMENTS / f"{peer}.txt").read_text().split()
        assert all("==" in line for line in lines)


def test_imports_are_measured() -> None:
    """Each statement runs in a fresh process and is compared with the SDK's import."""
    table = imports.measure(TINY, say_nothing)
    assert [row.name for row in table.rows] == list(imports.STATEMENTS)
    assert all(row.ratio is not None and row.ratio.rounds == 1 for row in table.rows)


def test_the_judge_is_measured_at_both_concurrencies() -> None:
    """Our scorer and the plain client ask the same server the same."""
    table = judge.measure(replace(TINY, judged=8), say_nothing)
    assert [row.name for row in table.rows] == ["an item at concurrency 50", "an item at concurrency 200"]
    assert all(row.ours and row.theirs for row in table.rows)


def test_the_store_is_measured() -> None:
    """Spans go in, their calls come out, in both stores."""
    table = store.measure(TINY, say_nothing)
    assert len(table.rows) == 3
    assert all(row.ours and row.theirs for row in table.rows)


def test_delivery_is_measured_by_what_arrived() -> None:
    """All scores of the outbox are at the server, and read back; the same bytes are posted by hand."""
    rows = outbox.measure(replace(TINY, delivered=120), say_nothing).rows
    assert all(row.ours and row.theirs for row in rows)
    assert [row.reach for row in rows] == [1.5, None, None]


def test_sampling_is_measured_against_reading_the_same_pages() -> None:
    """Both ways list all calls of the server."""
    table = sampling.measure(replace(TINY, listed=1200), say_nothing)
    assert [row.reach for row in table.rows] == [1.2, 1.0]


def test_a_night_is_measured_in_time_and_memory() -> None:
    """With a judge that answers 429 now and then, all that were to be judged are."""
    table = night.measure(replace(TINY, night_calls=60, night_judged=25), say_nothing)
    assert [row.theirs for row in table.rows] == [600.0, 500.0]
    assert all(row.ours and row.is_met for row in table.rows)


def test_what_is_reached_and_what_is_not_is_said_in_words() -> None:
    """Beside each figure, and once for all."""
    rows = tuple(
        Row(name, 1.0, 1.0, Ratio(at, at, at, 1), reach=1.0) for name, at in (("a", 0.5), ("b", 1.5))
    )
    tables = [Table("t", "T", "ours", "theirs", "µs", rows)]
    text = report.as_markdown(tables, report.machine())
    assert "Reached: 1 of 2; not reached: b (1.50, <= 1)." in text
    assert "| 0.50-0.50 | <= 1 reached |" in text
    assert "| 1.50-1.50 | <= 1 NOT reached |" in text


def test_the_command_prints_json_and_tables(capsys: pytest.CaptureFixture[str]) -> None:
    """One command measures; its result is a table, JSON or Markdown, and the progress is elsewhere."""
    assert main(["store", "--quick", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [table["name"] for table in document["tables"]] == ["store"]
    assert document["machine"]["cores"] >= 1
    assert main(["store", "--quick", "--markdown"]) == 0
    assert "| ratio |" in capsys.readouterr().out
    assert main(["store", "--quick"]) == 0
    assert "middle 80 %" in capsys.readouterr().out


def test_the_noise_gates_figures_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """``python -m benchmarks noise`` shows the simulation, with its seed and what is asked of it."""
    assert main(["noise", "--quick", "--json"]) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    assert "seed" in table["title"]
    found = {row["name"]: (row["ours"], row["theirs"]) for row in table["rows"]}
    assert found["level 0.05, one type down 0.10: failed"][1] == 99.0
    kinds = [f"level 0.05, nothing changed: {one}" for one in ("failed", "passed", "inconclusive")]
    assert sum(found[kind][0] for kind in kinds) == pytest.approx(100)
    assert main(["noise", "--quick", "--markdown"]) == 0
    assert "| level 0.05, nothing changed: passed |" in capsys.readouterr().out


def test_the_canaries_figures_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """``python -m benchmarks canaries`` shows both sets: what is found, and what is doubted wrongly."""
    assert main(["canaries", "--quick", "--json"]) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    found = {row["name"]: (row["ours"], row["theirs"]) for row in table["rows"]}
    for score in ("toxicity", "noise_sensitivity"):
        assert found[f"{score}: broken prompt, after 14 nights, % found"] == (100.0, 100.0)
        assert f"{score}: the same judge, mean false alarms in 200 nights" in found
    assert len(table["rows"]) == len(found)


def test_the_command_is_found_as_a_module() -> None:
    """``python -m benchmarks`` is what the documentation says."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--help"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert "--quick" in done.stdout


def test_sizes_are_what_the_titles_say() -> None:
    """1 KB is 1024 characters, 50 KB is a nested value of that much JSON."""
    assert len(TEXT) == 1024
    assert 50_000 <= len(json.dumps(DOCUMENTS, separators=(",", ":"))) <= 52_000
    assert sum(1 for _ in CASES["generator"].function(TEXT)) == 100


def test_ways_take_turns_in_alternating_order() -> None:
    """A machine that slows down, slows all ways down alike."""
    order: list[str] = []
    ways = {name: lambda calls, name=name: order.append(name) for name in ("a", "b", "c")}
    turns = list(rounds(ways, 1, 2))
    assert order == ["a", "b", "c", "c", "b", "a"]
    assert [list(turn) for turn in turns] == [["a", "b", "c"]] * 2


def test_a_ratio_is_the_median_of_paired_ratios() -> None:
    """Each round is a pair of its own, so that load common to both cancels out."""
    row = compared("x", [2.0, 30.0, 4.0], [1.0, 10.0, 4.0], scale=1, reach=2.0)
    assert row.ratio is not None
    assert row.ratio.median == 2.0
    assert row.is_met
    assert ratio_of([1.5]) == Ratio(1.5, 1.5, 1.5, 1)
    assert Row("no reach", ratio=Ratio(9, 9, 9, 1)).is_met is None
