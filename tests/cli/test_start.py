"""The first minutes: `init`, `doctor`, `demo`, in an empty folder."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shop import ANSI, NOWHERE, Inside, Shop, strict_json
from tests.fake_openai import FakeOpenAI, status
from tracehooks.settings import Settings, load_settings

STARTER = (files("tracehooks.config") / "tracehooks.yaml").read_text(encoding="utf-8")


def _findings(inside: Inside, shop: Shop, *args: str) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for finding in inside(shop, "doctor", "--json", *args).json["findings"]:
        found.setdefault(finding["about"], []).append(finding)
    return found


def test_init_writes_the_starter_settings_and_names_the_next_step(tmp_path: Path, inside: Inside) -> None:
    """A file that says everything, in which nothing is changed yet."""
    result = inside(Shop(tmp_path), "init")
    assert (result.code, result.err) == (0, "")
    assert result.out == "Wrote tracehooks.yaml. Next: `tracehooks doctor` checks it.\n"
    assert (tmp_path / "tracehooks.yaml").read_text(encoding="utf-8") == STARTER
    assert load_settings(tmp_path / "tracehooks.yaml", environ={}) == Settings()


def test_init_takes_a_config_folder_that_is_there(tmp_path: Path, inside: Inside) -> None:
    """Where the settings are looked for first."""
    (tmp_path / "config").mkdir()
    assert inside(Shop(tmp_path), "init", "--json").json == {"written": "config/tracehooks.yaml"}
    assert _findings(inside, Shop(tmp_path))["settings"][0]["what"] == "config/tracehooks.yaml"


def test_init_overwrites_only_when_forced(tmp_path: Path, inside: Inside) -> None:
    """Somebody's settings are not lost to a second `init`."""
    mine = tmp_path / "tracehooks.yaml"
    mine.write_text("service: mine\n")
    refused = inside(Shop(tmp_path), "init")
    assert refused.code == 2
    assert "--force overwrites it" in refused.err
    assert mine.read_text() == "service: mine\n"
    assert inside(Shop(tmp_path), "init", "--force").code == 0
    assert mine.read_text() == STARTER


def test_init_does_not_hide_settings_that_are_read_already(tmp_path: Path, inside: Inside) -> None:
    """A second file in a place that is searched earlier would take the first one's part."""
    (tmp_path / "config").mkdir()
    (tmp_path / "tracehooks.yaml").write_text("service: mine\n")
    assert inside(Shop(tmp_path), "init").code == 2
    assert not (tmp_path / "config" / "tracehooks.yaml").exists()


def test_init_says_when_it_cannot_write(tmp_path: Path, inside: Inside) -> None:
    """One sentence that names the file."""
    (tmp_path / "file").write_text("")
    result = inside(Shop(tmp_path), "init", "--config", "file/settings.yaml")
    assert result.code == 2
    assert "file/settings.yaml cannot be written" in result.err


def test_doctor_finds_a_healthy_folder_healthy(tmp_path: Path, judge: FakeOpenAI, inside: Inside) -> None:
    """Everything looked at, nothing bad, and what was found."""
    shop = Shop.at(tmp_path, ["Hello."], url=judge.url)
    result = inside(shop, "doctor")
    assert result.code == 0, result.out
    assert "BAD" not in result.out
    found = _findings(inside, shop)
    assert set(found) == {"python", "packages", "settings", "store", "disk", "scorer", "judge", "sinks"}
    assert found["judge"][0]["what"] == "judge-2026 answers"
    assert "1 span, 1 call, 0 scores, 0 runs" in found["store"][0]["what"]


def test_doctor_asks_no_judge_without_network(tmp_path: Path, inside: Inside) -> None:
    """For a build that has none."""
    found = _findings(inside, Shop.at(tmp_path), "--no-network")
    assert found["judge"] == [
        {"grade": "note", "about": "judge", "what": "not asked (--no-network)", "remedy": None}
    ]


@pytest.mark.parametrize("answer", [None, status(401, "invalid_api_key"), status(500)])
def test_doctor_finds_a_judge_that_does_not_answer(tmp_path: Path, inside: Inside, answer: Any) -> None:
    """Down, refusing or failing: bad, with a remedy; the exit code says so."""
    with FakeOpenAI([answer] * 5) as server:
        shop = Shop.at(tmp_path, url=server.url if answer else NOWHERE)
        (judge,) = _findings(inside, shop)["judge"]
        assert judge["grade"] == "bad"
        assert judge["remedy"]
        assert inside(shop, "doctor").code == 2


@pytest.mark.parametrize(
    ("line", "about", "says"),
    [
        ("agent: nowhere.agents:answer", "agent", "cannot be loaded: ModuleNotFoundError"),
        ("agent: json:missing", "agent", "cannot be loaded: AttributeError"),
        ("agent: json", "agent", "is neither module:function"),
        ("agent: sys:argv", "agent", "name a function, or an object to call"),
        ("sinks: [nowhere]", "settings", "tracehooks.yaml:2: sinks[0]: no sink is named 'nowhere'"),
        ("store: mysql://somewhere/db", "settings", "tracehooks.yaml:2: store: mysql is not supported"),
        ("jobs: {toxicity: {schedule: 0 0 30 2 *}}", "jobs.toxicity.schedule", "is never due"),
        ("nonsense: 1", "settings", "nonsense: unknown key"),
    ],
)
def test_doctor_names_what_is_wrong(tmp_path: Path, inside: Inside, line: str, about: str, says: str) -> None:
    """Each fault where it is, and the others are looked at all the same."""
    (tmp_path / "tracehooks.yaml").write_text(f"judge: {{model: m, base_url: '{NOWHERE}'}}\n{line}\n")
    result = inside(Shop(tmp_path), "doctor", "--no-network", "--json")
    assert result.code == 2
    (bad,) = [finding for finding in result.json["findings"] if finding["grade"] == "bad"]
    assert bad["about"] == about
    assert says in bad["what"]


def test_doctor_imports_the_agent_of_the_folder(tmp_path: Path, inside: Inside) -> None:
    """The user's own module lies where the command is run."""
    (tmp_path / "shop_agent_for_doctor.py").write_text("def answer(question): return 'yes'\n")
    (tmp_path / "tracehooks.yaml").write_text("agents: {shop: 'shop_agent_for_doctor:answer'}\n")
    assert _findings(inside, Shop(tmp_path), "--no-network")["agents.shop"][0]["grade"] == "ok"


def test_doctor_finds_a_damaged_store(tmp_path: Path, inside: Inside) -> None:
    """Before the night does."""
    shop = Shop.at(tmp_path, ["Hello."] * 300)
    path = tmp_path / "store.db"
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"\xff" * 20_000)
    found = _findings(inside, shop, "--no-network")["store"]
    assert any(finding["grade"] == "bad" for finding in found)


def test_the_demo_is_traced_once_and_judged(tmp_path: Path, judge: FakeOpenAI) -> None:
    """No settings, no key: calls are there, and the hint's command works as it stands."""
    shop = Shop(tmp_path)
    first = strict_json(shop.tracehooks("demo", "--limit", "20", "--json").stdout)
    assert first["traced"] == 20
    again = strict_json(shop.tracehooks("demo", "--if-empty", "--json").stdout)
    assert again["traced"] == 0
    assert "the store has 20 calls already" in again["message"]
    night = next(step for step in first["next"] if "run nightly" in step)
    args = night.partition("tracehooks ")[2].split()
    environ = {"TRACEHOOKS_JUDGE__MODEL": "judge-2026", "OPENAI_BASE_URL": judge.url, "OPENAI_API_KEY": "k"}
    words = (*args, "--case", "warranty-router", "--json")
    run, noise = strict_json(shop.tracehooks(*words, **environ).stdout)["runs"]
    assert (run["counts"]["discovered"], run["counts"]["deferred"]) == (20, 0)
    assert noise["counts"]["answered"] == noise["counts"]["planned"] > 0


def test_the_demo_shows_progress_and_where_to_go_on(tmp_path: Path) -> None:
    """In a terminal."""
    code, text = Shop(tmp_path).terminal("demo", "--limit", "20", columns=60)
    assert code == 0
    shown = ANSI.sub("", text)
    assert "Traced 20 calls" in shown
    assert "tracehooks run nightly --config demo" in shown


def test_the_demo_warns_of_a_settle_delay(tmp_path: Path, inside: Inside) -> None:
    """Under one's own settings its traces may have to settle first."""
    inside(Shop(tmp_path), "init")
    out = Shop(tmp_path).tracehooks("demo", "--limit", "5").stdout
    assert "judge them once they have settled (10m):" in out
    assert "tracehooks run toxicity\n" in out  # no agent is set that a replay could ask
