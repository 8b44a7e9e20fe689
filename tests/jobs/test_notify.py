"""Who is told what of a night: by a webhook or a command, each thing once, with its reason."""

import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.jobs.scheduling import Clock, at
from tracehooks.jobs.notify import Notifier
from tracehooks.records import Verdict
from tracehooks.settings import Settings
from tracehooks.store import RunRecord, Store, open_store
from tracehooks.store.firings import Firing

DAY = timedelta(days=1)
TOKEN = "T0/secret-TEST-123"


class Hook:
    """A webhook as Slack's: takes ``{"text": ...}``; answers with the codes given, then 200."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.codes: list[int] = []
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                code = hook.codes.pop(0) if hook.codes else 200
                if code == 200:
                    hook.bodies.append(body)
                self.send_response(code)
                if code == 302:
                    self.send_header("Location", hook.url)
                self.end_headers()

            def do_GET(self) -> None:
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/{TOKEN}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def texts(self) -> list[str]:
        return [body["text"] for body in self.bodies]


@pytest.fixture
def hook() -> Iterator[Hook]:
    made = Hook()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def clock() -> Clock:
    return Clock(at("2026-12-02T02:00"))


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path}/store.db", clock=clock) as opened:
        yield opened


def notifier(store: Store, clock: Clock, *channels: dict[str, Any]) -> Notifier:
    settings = Settings.model_validate({"project": "shop", "notify": list(channels)})
    return Notifier(settings, store, clock=clock)


def night(store: Store, clock: Clock, verdict: str | None, **more: Any) -> RunRecord:
    """The next night's run, ended with this verdict."""
    clock.pass_(days=1)
    run = store.runs.open("toxicity", clock.now - DAY, clock.now, {"note": more.pop("note", "")})
    fields = {
        "state": "finished",
        "verdict": verdict and Verdict(verdict),
        "reasons": (f"because <{verdict}>",),
    }
    return store.runs.update(run.id, **{**fields, "ended": clock.now, **more})


def test_a_failing_night_is_told_after_two_in_a_row(store: Store, clock: Clock, hook: Hook) -> None:
    """One may be chance; `fails: 1` tells it at once."""
    twice, once = {"webhook": hook.url}, {"webhook": hook.url + "/now", "fails": 1}
    tell = notifier(store, clock, twice, once)
    tell.about(night(store, clock, "fail"))
    assert len(hook.texts) == 1
    tell.about(night(store, clock, "fail"))
    assert len(hook.texts) == 3
    run = night(store, clock, "pass")
    tell.about(run)
    assert all(
        text.startswith("shop: toxicity passes again: because &lt;pass&gt;") for text in hook.texts[3:]
    )
    assert len(hook.texts) == 5
    tell.about(night(store, clock, "fail"))
    assert len(hook.texts) == 6
    assert hook.bodies[0].keys() == {"text"}


def test_the_text_has_reason_note_and_links(store: Store, clock: Clock, hook: Hook) -> None:
    """What happened, what to type, and where to click."""
    tell = notifier(store, clock, {"webhook": hook.url, "link": "https://ci/{run}/log"})
    run = night(store, clock, "inconclusive", note="late 80 min")
    tell.about(run)
    (text,) = hook.texts
    assert text.splitlines() == [
        "shop: toxicity could not decide: because &lt;inconclusive&gt;",
        "Note: late 80 min",
        "Window 2026-12-02 02:00 to 2026-12-03 02:00 UTC",
        f"Look: tracehooks report {run.id}",
        f"https://ci/{run.id}/log",
    ]


def test_each_thing_is_told_once_whoever_finds_it(store: Store, clock: Clock, hook: Hook) -> None:
    """Two schedulers, and one that was started anew."""
    run = night(store, clock, None, state="failed", reasons=("error: ValueError: no judge",))
    missed = [Firing(job="toxicity", slot="2026-12-02T02:00", due=clock.now, noted_at=clock.now)]
    for _ in range(3):
        tell = notifier(store, clock, {"webhook": hook.url})
        tell.about(run)
        tell.about_missed("toxicity", missed)
        tell.send()
    assert len(hook.texts) == 2
    assert hook.texts[0].startswith("shop: toxicity could not decide: error: ValueError: no judge")
    assert "nothing ran it in time at 2026-12-02 02:00" in hook.texts[1]


def test_what_could_not_be_sent_is_sent_later_and_the_address_stays_secret(
    store: Store, clock: Clock, hook: Hook, caplog: pytest.LogCaptureFixture
) -> None:
    """A webhook that fails for a while, or for good, costs no night and no secret."""
    hook.codes = [500, 503]
    tell = notifier(store, clock, {"webhook": hook.url})
    tell.about(night(store, clock, "inconclusive"))
    assert hook.texts == []
    for _ in range(3):
        clock.pass_(minutes=1)
        tell.send()
    assert len(hook.texts) == 1
    hook.server.shutdown()
    hook.server.server_close()
    tell.about(night(store, clock, "inconclusive"))
    assert store.notices.counts() == {"sent": 1, "pending": 1}
    assert "it answered 500" in caplog.text
    assert TOKEN not in caplog.text + repr(Settings.model_validate({"notify": [{"webhook": hook.url}]}))


def test_a_webhook_that_redirects_was_not_told(
    store: Store, clock: Clock, hook: Hook, caplog: pytest.LogCaptureFixture
) -> None:
    """What it leads to would answer a GET with 200, and nobody would have been told."""
    hook.codes = [302]
    tell = notifier(store, clock, {"webhook": hook.url})
    tell.about(night(store, clock, "inconclusive"))
    assert store.notices.counts() == {"pending": 1}
    assert "it answered 302" in caplog.text
    clock.pass_(minutes=1)
    tell.send()
    assert len(hook.texts) == 1


def test_each_agent_is_told_of_by_its_own_calls(store: Store, clock: Clock, hook: Hook) -> None:
    """One agent that fails for two nights is named; one that passes, or of another name, is not."""

    def agents(**verdicts: str) -> dict[str, Any]:
        return {
            name: {"verdict": verdict, "reason": f"{name} is {verdict}", "degraded": False}
            for name, verdict in verdicts.items()
        }

    tell = notifier(store, clock, {"webhook": hook.url, "agents": ["bill*"], "about": ["fail", "recovered"]})
    for _ in range(2):
        report = {"agents": agents(billing="fail", bills="pass", support="fail")}
        tell.about(night(store, clock, "fail", report=report))
    tell.about(night(store, clock, "fail", report={"agents": agents(billing="pass", support="fail")}))
    assert [text.splitlines()[0] for text in hook.texts] == [
        "shop: toxicity of billing FAILED: billing is fail",
        "shop: toxicity of billing passes again: billing is pass",
    ]


def test_a_degraded_pass_is_told_where_that_is_wanted(store: Store, clock: Clock, hook: Hook) -> None:
    """It passed, but not all could be scored."""
    tell = notifier(store, clock, {"webhook": hook.url})
    tell.about(night(store, clock, "pass", report={"degraded": True, "unscored": {"timeout": 3}}))
    assert [text.splitlines()[0] for text in hook.texts] == [
        "shop: toxicity is degraded: 3 calls could not be scored"
    ]


def test_a_command_gets_the_message_as_json(store: Store, clock: Clock, tmp_path: Path) -> None:
    """For pagers that are no webhook; one that fails is tried again."""
    command = ["sh", "-c", f"cat > {tmp_path}/told.json; exit $(cat {tmp_path}/code)"]
    (tmp_path / "code").write_text("3")
    tell = notifier(store, clock, {"command": command})
    run = night(store, clock, "inconclusive")
    tell.about(run)
    document = json.loads((tmp_path / "told.json").read_text())
    assert (document["kind"], document["about"], document["project"]) == ("inconclusive", run.id, "shop")
    assert store.notices.counts() == {"pending": 1}
    (tmp_path / "code").write_text("0")
    clock.pass_(minutes=1)
    tell.send()
    assert store.notices.counts() == {"sent": 1}


@pytest.mark.parametrize("channel", [{}, {"webhook": "ftp://x"}, {"webhook": "http://x", "command": ["y"]}])
def test_a_channel_leads_to_one_place(channel: dict[str, Any]) -> None:
    """A webhook or a command, and an address that can be one."""
    with pytest.raises(ValueError, match=r"webhook"):
        Settings.model_validate({"notify": [channel]})
