"""What is written: documents for programs, reports that fit, no codes where nobody can read them."""

import logging
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import typer

from tests.cli.shop import ANSI, Inside, Shop, strict_json
from tests.fake_openai import FakeOpenAI
from tests.stored import POLITE, RUDE, mixed, trace_id
from tracehooks.cli.verbs import SECTIONS, VERBS

READING = (
    ("plan", "toxicity"),
    ("status",),
    ("report",),
    ("explain", trace_id(0)),
    ("traces",),
    ("scores",),
    ("doctor",),
    ("resume",),
)


FOR_PEOPLE = (("schedule",), ("view",))
"""What runs until it is stopped has no document to print."""


@pytest.fixture
def judged(tmp_path: Path, judge: FakeOpenAI, inside: Inside) -> Shop:
    shop = Shop.at(tmp_path, [*mixed(40, 2), None], url=judge.url)
    inside(shop, "run", "toxicity")
    return shop


def _commands() -> list[tuple[str, ...]]:
    """Every verb, and of those that are groups every verb below them."""
    found: list[tuple[str, ...]] = []
    for verb, (module, _) in VERBS.items():
        command = typer.main.get_command(import_module(f"tracehooks.cli.{module}").app)
        below = getattr(command, "commands", None)
        found += [(verb, each) for each in below] if below else [(verb,)]
    return found


@pytest.mark.parametrize("words", _commands(), ids=" ".join)
def test_every_verb_has_help_with_an_example(tmp_path: Path, inside: Inside, words: tuple[str, ...]) -> None:
    """One line of purpose, the options, and a command to copy."""
    result = inside(Shop.at(tmp_path), *words, "--help")
    assert result.code == 0
    assert "Examples:" in result.out
    assert f"tracehooks {' '.join(words)}" in result.out.partition("Examples:")[2]
    assert "--config" in result.out
    assert "--json" in result.out or words in FOR_PEOPLE


def test_help_lists_every_verb_and_no_other(tmp_path: Path, inside: Inside) -> None:
    """A verb that is not built yet is not listed."""
    out = inside(Shop.at(tmp_path), "--help").out
    for title, verbs in SECTIONS.items():
        assert f"{title}:" in out
        assert all(f"  {verb} " in out for verb in verbs)
    assert "calibrate" not in out


def test_help_loads_nothing_heavy(tmp_path: Path) -> None:
    """The first thing that people type answers at once."""
    script = (
        "import sys; from tracehooks.cli import main; main(['--help']); "
        "heavy = {'pydantic', 'sqlalchemy', 'openai', 'opentelemetry', 'scipy', 'numpy', 'yaml'}; "
        "sys.exit(bool(heavy & set(sys.modules)))"
    )
    assert (
        subprocess.run([sys.executable, "-c", script], cwd=tmp_path, stdout=subprocess.PIPE).returncode == 0
    )


@pytest.mark.parametrize("args", READING, ids=" ".join)
def test_a_document_is_one_valid_document(judged: Shop, inside: Inside, args: tuple[str, ...]) -> None:
    """anvia-hq/anvia#440: no NaN, nothing before or behind it on standard output."""
    assert isinstance(inside(judged, *args, "--json").json, dict)


@pytest.mark.parametrize("args", READING, ids=" ".join)
def test_an_empty_store_is_said_to_be_empty(tmp_path: Path, inside: Inside, args: tuple[str, ...]) -> None:
    """Honest empty states, in words and as documents; looking makes no store."""
    shop = Shop.at(tmp_path)
    assert inside(shop, *args).code in (0, 2, 3)
    assert isinstance(inside(shop, *args, "--json").json, dict)
    assert not (tmp_path / "store.db").exists()


def test_errors_are_documents_too(tmp_path: Path, inside: Inside) -> None:
    """A program that asked for JSON gets JSON, whatever happens."""
    result = inside(Shop.at(tmp_path), "run", "noises", "--json")
    assert result.json["exit_code"] == result.code == 2
    assert "there is no job 'noises'" in result.json["error"]
    assert "there is no job 'noises'" in result.err


def test_planning_writes_nothing(tmp_path: Path, judge: FakeOpenAI, inside: Inside) -> None:
    """It counts what would be asked, and asks nothing."""
    shop = Shop.at(tmp_path, mixed(40, 2), url=judge.url, job="sample: {size: 10}")
    asked = len(judge.requests)
    plan = inside(shop, "plan", "toxicity", "--json").json
    assert (plan["judge_calls"], plan["counts"]["planned"], plan["counts"]["sampled_out"]) == (10, 10, 30)
    assert len(judge.requests) == asked
    with shop.store() as store:
        assert store.runs.list() == []
    assert inside(shop, "plan", "toxicity").out.startswith(
        "PLAN  toxicity would score 10 of 40 calls and ask judge-2026 10 times"
    )


@pytest.mark.parametrize("columns", [60, 120])
def test_a_terminal_gets_lines_that_fit(judged: Shop, columns: int) -> None:
    """In a real terminal, also a narrow one: only commands to copy and cursors may be longer than a line."""
    for args in (("status",), ("traces", "--limit", "5"), ("scores", "--limit", "5")):
        _, text = judged.terminal(*args, columns=columns)
        lines = [line.rstrip() for line in ANSI.sub("", text).splitlines()]
        free = ("more: add --after", "why")
        assert all(len(line) <= columns for line in lines if not line.startswith(free))
        assert "…" in text


def test_colours_are_for_terminals_only(judged: Shop) -> None:
    """Codes in a terminal; none in a pipe; none anywhere with NO_COLOR."""
    assert ANSI.search(judged.terminal("status")[1])
    assert not ANSI.search(judged.terminal("status", NO_COLOR="1")[1])
    assert not ANSI.search(judged.tracehooks("status").stdout)


def test_a_run_shows_progress_in_a_terminal_and_a_line_a_stage_in_a_pipe(
    tmp_path: Path, judge: FakeOpenAI
) -> None:
    """How far, how fast and how long still where somebody watches; what it begins in a log."""
    shop = Shop.at(tmp_path, mixed(60, 1), url=judge.url, job="gate: {max_rate: 0.2}")
    piped = shop.tracehooks("run", "toxicity", "--json")
    assert [line.split()[1] for line in piped.stderr.splitlines()] == ["reading", "planning", "judging"]
    assert strict_json(piped.stdout)["counts"]["scored"] == 60
    code, text = shop.terminal("run", "toxicity", "--rescore", columns=100)
    assert code == 0
    shown = ANSI.sub("", text)
    assert "judging" in shown
    assert "0/?" not in shown
    assert "/60" in shown
    assert "PASS" in shown


def test_a_terminal_that_cannot_show_a_character_gets_another(judged: Shop) -> None:
    """An ASCII locale is no reason to fail."""
    result = judged.tracehooks("traces", PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C")
    assert result.returncode == 0
    assert "?" in result.stdout


def test_hostile_text_does_not_reach_the_terminal(tmp_path: Path, inside: Inside) -> None:
    """What an agent said cannot move the cursor, ring the bell, or hide itself."""
    shop = Shop.at(tmp_path, ["\x1b[2J\x1b]0;owned\x07 \u202egnp \x00" + POLITE])
    for args in (("traces",), ("explain", trace_id(0))):
        out = inside(shop, *args).out
        assert not set(out) & {"\x1b", "\x07", "\x00", "\u202e"}
        assert POLITE[:5] in out


def test_markdown_comes_with_the_verdict_first(judged: Shop, inside: Inside) -> None:
    """For a job summary: the same facts, and the run named."""
    out = inside(judged, "report", "--markdown").out
    assert out.startswith("## ")
    assert "### Worst calls" in out
    assert "You are an idiot" in out


def test_a_report_is_found_by_the_beginning_of_its_id(judged: Shop, inside: Inside) -> None:
    """As `status` shows it."""
    run = inside(judged, "status", "--json").json["runs"][0]["run"]
    assert inside(judged, "report", run[:8], "--json").json["run"] == run


def test_a_setting_in_the_environment_is_used(tmp_path: Path) -> None:
    """A container sets one key and needs no file."""
    shop = Shop.at(tmp_path, [RUDE])
    found = shop.tracehooks("plan", "toxicity", "--json", TRACEHOOKS_JOBS__TOXICITY__SAMPLE="{size: 0}")
    assert strict_json(found.stdout)["counts"]["planned"] == 0


def test_a_log_line_names_us_once(tmp_path: Path, inside: Inside, capsys: pytest.CaptureFixture[str]) -> None:
    """Also one that names us by itself, as those of an application's own log do."""
    inside(Shop.at(tmp_path), "status")
    for said in ("tracehooks: sending failed", "sending failed"):
        logging.getLogger("tracehooks").warning(said)
        assert capsys.readouterr().err == "tracehooks: sending failed\n"
