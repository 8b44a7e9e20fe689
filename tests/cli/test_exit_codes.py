"""The exit code says what happened, and nothing that a user does ends in a traceback."""

import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.shop import Inside, Shop, command, environment, strict_json
from tests.fake_openai import FakeOpenAI, Held, ToxicWords
from tests.stored import POLITE, RUDE, mixed
from tracehooks.store import Store

PASSING, FAILING = mixed(100, 0), [RUDE] * 30


def test_a_clean_night_passes_with_0(tmp_path: Path, judge: FakeOpenAI) -> None:
    """promptfoo/promptfoo#335: a pass is 0."""
    result = Shop.at(tmp_path, PASSING, url=judge.url).tracehooks("run", "toxicity")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("PASS  toxicity: 0 of 100")
    stages = [line.split()[1] for line in result.stderr.splitlines()]
    assert stages == ["reading", "planning", "judging"]


def test_a_toxic_night_fails_with_1(tmp_path: Path, judge: FakeOpenAI, inside: Inside) -> None:
    """promptfoo/promptfoo#345: CI goes red when the verdict is fail."""
    result = inside(Shop.at(tmp_path, FAILING, url=judge.url), "run", "toxicity")
    assert result.code == 1, result.err
    assert result.out.startswith("FAIL  toxicity: 30 of 30")


def test_a_judge_that_is_down_is_undecided_with_3(tmp_path: Path, inside: Inside) -> None:
    """promptfoo/promptfoo#7040: an outage of the judge is no quality failure, and no pass."""
    result = inside(Shop.at(tmp_path, PASSING), "run", "toxicity")
    assert result.code == 3, result.err
    assert result.out.startswith("INCONCLUSIVE  coverage: 0 of 100")
    assert "unreachable" in result.out


def test_nothing_to_judge_is_undecided_unless_allowed(tmp_path: Path, inside: Inside) -> None:
    """agentclash/agentclash#901: an empty window is 3, and 0 only where somebody said so."""
    shop = Shop.at(tmp_path)
    result = inside(shop, "run", "toxicity")
    assert result.code == 3
    assert "no_data" in result.out
    allowed = inside(shop, "run", "toxicity", "--allow-empty")
    assert allowed.code == 0
    assert "allowed by --allow-empty" in allowed.out


def test_a_sample_of_none_asks_nobody_and_is_skipped(
    tmp_path: Path, judge: FakeOpenAI, inside: Inside
) -> None:
    """langfuse/langfuse-python#1784: 0 is 0, not everything."""
    before = len(judge.requests)
    shop = Shop.at(tmp_path, PASSING, url=judge.url, job="sample: {size: 0}")
    document = inside(shop, "run", "toxicity", "--json").json
    assert (document["state"], document["exit_code"]) == ("skipped", 3)
    assert len(judge.requests) == before


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("run", "toxicity", "--config", "missing.yaml"), "missing.yaml: no such settings file"),
        (("run", "noises"), "known are toxicity, noise, nightly"),
        (("run", "noise"), "agent: no agent is set"),
        (("run", "noise", "--window", "all"), "--window goes with the toxicity job"),
        (("run", "toxicity", "--case", "one"), "--case goes with the noise job"),
        (("plan", "noise", "--agent", "nobody"), "there is no agent 'nobody'"),
        (("plan", "noise", "--agent", "no_such_module:answer"), "--agent: the agent no_such_module:answer"),
        (("run", "toxicity", "--window", "yesterday"), "--window 'yesterday'"),
        (("run", "toxicity", "--from", "soon"), "'soon' is not a time"),
        (("run", "toxicity", "--from", "2026-12-01", "--to", "2026-11-01"), "before it starts"),
        (("run",), "JOB"),
        (("run", "toxicity", "--no-such-option"), "--no-such-option"),
        (("runn", "toxicity"), "did you mean run?"),
        (("report", "0123456789abcdef"), "there is no run"),
        (("resume", "0123456789abcdef"), "there is no run"),
        (("explain", "not-a-trace"), "is no trace id"),
        (("traces", "--status", "great"), "known are scored, unscored, skipped, none"),
        (("traces", "--after", "nonsense"), "is no cursor"),
        (("traces", "--limit", "0"), "--limit"),
        (("scores", "--status", "none"), "known are scored, unscored, skipped"),
        (("traces", "prune", "--older-than", "long"), "is not a duration"),
    ],
)
def test_a_wrong_argument_is_2_and_one_sentence(
    tmp_path: Path, inside: Inside, args: tuple[str, ...], says: str
) -> None:
    """promptfoo/promptfoo#345: a typing error is not a verdict, and the sentence says what would be right."""
    result = inside(Shop.at(tmp_path), *args)
    assert result.code == 2
    assert says in result.err
    assert (result.out, result.err.count("\n")) == ("", 1)


def test_a_wrong_setting_names_file_line_and_key(tmp_path: Path, inside: Inside) -> None:
    """promptfoo/promptfoo#345: what is wrong is found where it is written."""
    result = inside(Shop.at(tmp_path, job="gate: {max_rat: 0.1}"), "status")
    assert result.code == 2
    assert "tracehooks.yaml:5: jobs.toxicity.gate.max_rat: unknown key; did you mean max_rate?" in result.err


def test_a_secret_is_in_no_message(tmp_path: Path, inside: Inside) -> None:
    """The key of the judge stays out of errors and reports."""
    shop = Shop.at(tmp_path, PASSING[:3])
    for args in (("run", "toxicity"), ("report", "--json"), ("doctor", "--json"), ("doctor", "--debug")):
        result = inside(shop, *args)
        assert "key-TEST-123" not in result.out + result.err


def test_a_store_that_is_no_database_is_2(tmp_path: Path, inside: Inside) -> None:
    """One sentence about the file, no traceback."""
    shop = Shop.at(tmp_path)
    (tmp_path / "store.db").write_text("this is a shopping list, not a database\n" * 100)
    result = inside(shop, "status")
    assert result.code == 2
    assert "store.db" in result.err


def test_an_unexpected_error_is_a_sentence_and_a_traceback_on_request(
    tmp_path: Path, inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What we did not foresee is told by its type; --debug shows where."""
    shop = Shop.at(tmp_path, PASSING[:3])
    monkeypatch.setattr("tracehooks.jobs.toxicity.resolve_window", None)
    result = inside(shop, "plan", "toxicity")
    assert result.code == 2
    assert result.err.startswith("tracehooks: unexpected TypeError: ")
    assert result.err.count("\n") == 1
    with pytest.raises(TypeError):
        inside(shop, "plan", "toxicity", "--debug")


@pytest.mark.parametrize(("outputs", "code"), [(PASSING, 0), (FAILING, 1)])
def test_a_reader_that_goes_away_does_not_change_the_verdict(
    tmp_path: Path, judge: FakeOpenAI, outputs: list[str | None], code: int
) -> None:
    """promptfoo/promptfoo#335: `| head -1` gives the same code as without it."""
    shop = Shop.at(tmp_path, outputs, url=judge.url)
    for args in (("run", "toxicity"), ("status", "--json")):
        run = subprocess.Popen(
            command(*args), cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert run.stdout is not None
        run.stdout.close()  # as head does, only sooner
        _, errors = run.communicate(timeout=60)
        assert run.returncode == code
        assert b"Traceback" not in errors
        assert b"Broken pipe" not in errors
    with shop.store() as store:
        assert store.runs.latest() is not None


def test_closed_and_full_outputs_are_survived(tmp_path: Path, judge: FakeOpenAI) -> None:
    """No descriptor at all keeps the verdict's code; a full disk is an error that is told."""
    Shop.at(tmp_path, FAILING, url=judge.url)
    closed = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *command("run", "toxicity")],
        cwd=tmp_path,
        env=environment(),
        timeout=60,
    )
    assert closed.returncode == 1
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            command("status"),
            cwd=tmp_path,
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
        )
    assert result.returncode == 2
    assert b"standard output cannot be written" in result.stderr


def _wait_for_scores(store: Store, n: int) -> None:
    deadline = time.monotonic() + 60
    while store.overview.counts()["scores"] < n:
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("number", "code", "ignoring"),
    [(signal.SIGINT, 130, False), (signal.SIGTERM, 143, False), (signal.SIGTERM, 143, True)],
)
def test_an_interrupted_night_is_put_away_and_resumed(
    tmp_path: Path, number: signal.Signals, code: int, ignoring: bool
) -> None:
    """promptfoo/promptfoo#335: 130 for Ctrl-C; the run is marked, its claims are free, nothing is lost."""
    answers = Held(ToxicWords(), after=8)
    with FakeOpenAI(answers) as slow:
        shop = Shop.at(tmp_path, mixed(60, 1), url=slow.url, job="gate: {max_rate: 0.2}")
        before = signal.signal(signal.SIGINT, signal.SIG_IGN if ignoring else signal.default_int_handler)
        try:
            run = shop.start("run", "toxicity", "--json")
        finally:
            signal.signal(signal.SIGINT, before)
        with shop.store() as store:
            _wait_for_scores(store, 5)
            run.send_signal(number)
            out, errors = run.communicate(timeout=60)
            assert run.returncode == code
            assert "interrupted with" in errors
            assert "`tracehooks resume` goes on" in errors
            assert strict_json(out)["exit_code"] == code
            (record,) = store.runs.list()
            assert record.state == "interrupted"
            assert store.items.owners(record.id) == []
            done = store.overview.counts()["scores"]
        status = shop.document("status")
        assert (status["exit_code"], status["runs"][0]["state"]) == (3, "interrupted")
        asked = len(slow.requests)
        answers.let_go()
        resumed = shop.document("resume")
        assert (resumed["exit_code"], resumed["counts"]["scored"]) == (0, 60)
        assert len(slow.requests) - asked == 60 - done


def test_nothing_to_resume_is_0(tmp_path: Path, judge: FakeOpenAI, inside: Inside) -> None:
    """A sentence, not an error: a job may always call it."""
    shop = Shop.at(tmp_path, PASSING, url=judge.url)
    first = inside(shop, "resume")
    assert (first.code, first.out) == (0, "Nothing to resume: there is no unfinished run.\n")
    inside(shop, "run", "toxicity")
    assert inside(shop, "resume", "--json").json["resumed"] is None


def test_a_second_run_judges_nothing_and_repeats_the_verdict(
    tmp_path: Path, judge: FakeOpenAI, inside: Inside
) -> None:
    """langfuse/langfuse#13823: the same command again costs nothing and says the same."""
    shop = Shop.at(tmp_path, [*PASSING, RUDE], url=judge.url, job="gate: {max_rate: 0.1}")
    first = inside(shop, "run", "toxicity", "--json").json
    asked = len(judge.requests)
    second = inside(shop, "run", "toxicity", "--json").json
    assert len(judge.requests) == asked
    assert (second["verdict"], second["exit_code"]) == (first["verdict"], first["exit_code"]) == ("pass", 0)
    assert second["figures"]["rate"] == first["figures"]["rate"]
    assert (second["counts"]["already_scored"], second["counts"]["planned"]) == (101, 0)


def test_rescore_asks_again(tmp_path: Path, judge: FakeOpenAI, inside: Inside) -> None:
    """Judging again is explicit."""
    shop = Shop.at(tmp_path, [POLITE] * 5, url=judge.url)
    inside(shop, "run", "toxicity")
    asked = len(judge.requests)
    inside(shop, "run", "toxicity", "--rescore")
    assert len(judge.requests) - asked == 5


def test_the_bare_command_shows_its_help_and_is_no_pass(tmp_path: Path, inside: Inside) -> None:
    """A script that forgot the verb must not go green."""
    result = inside(Shop.at(tmp_path))
    assert result.code == 2
    assert result.out.startswith("Usage: tracehooks")


def test_strict_does_not_pass_over_lost_spans(tmp_path: Path, judge: FakeOpenAI, inside: Inside) -> None:
    """langfuse/langfuse#1499, langfuse/langfuse-js#832: 1 where spans were lost, and only when asked for."""
    shop = Shop.at(tmp_path, PASSING, url=judge.url)
    assert inside(shop, "run", "toxicity", "--strict").code == 0
    with shop.store() as store:
        store.losses.add(7)
    result = inside(shop, "run", "toxicity")
    assert result.code == 0
    assert "7 spans never reached the store" in result.out
    strict = inside(shop, "run", "toxicity", "--strict")
    assert strict.code == 1
    assert "--strict: 7 spans were lost before they reached the store" in strict.err


def test_a_plan_over_what_is_scored_already_says_how_to_judge_it_again(
    tmp_path: Path, judge: FakeOpenAI, inside: Inside
) -> None:
    """Over all calls there would be no more to do."""
    shop = Shop.at(tmp_path, PASSING, url=judge.url)
    inside(shop, "run", "toxicity", "--window", "all")
    planned = inside(shop, "plan", "toxicity", "--window", "all").out
    assert "tracehooks run toxicity --window all --rescore" in planned
