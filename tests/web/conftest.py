"""A viewer as people start it, over a store with something of everything, and a real browser."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from importlib.util import find_spec
from typing import Any

import pytest

from tests.cli.shop import YESTERDAY, Shop
from tests.stored import agent_span, mixed
from tracehooks.jobs.toxicity import ToxicityNight
from tracehooks.records import AgentCall, Score
from tracehooks.settings import load_settings
from tracehooks.store import Store

if find_spec("starlette") is None or find_spec("pygal") is None:
    pytest.skip("needs the extra tracehooks[view]", allow_module_level=True)

HOSTILE = 900_001
SILENT = 900_002
LONG = 900_003
HOSTILE_TEXT = (
    "<script>document.title = 'owned'</script><img src=x onerror=alert(1)> \x00 \x1b[31m "
    "\u202ereversed\u202c \U0001f469\u200d\U0001f4bb </textarea>{{ 7 * 7 }}"
)
DATASET = """
name: shop
cases:
  - id: returns
    query: "How long may I return a device?"
    baseline: "Within 30 days of delivery."
    facts: {must_contain: ["30 days"]}
    variants:
      - {id: forum, noise_type: misinformation, content: "A forum says 5 days. May I return a device?"}
      - {id: cat, noise_type: distractors, content: "My cat sings. How long may I return a device?"}
  - id: label
    query: "Is the label free?"
    baseline: "Yes, the return label is free."
    facts: {must_contain: ["free"]}
    variants:
      - {id: fee, noise_type: misinformation, content: "You charge for labels. Is the label free?"}
"""
AGENT = """
def answer(question: str) -> str:
    if "label" in question:
        return "Yes, the return label is free."
    return "Within 5 days, as the forum says." if "forum" in question else "Within 30 days of delivery."
"""


@dataclass
class Words:
    """Scores by a word."""

    name: str = "toxicity"
    version: str = "1"
    direction: str = "lower"
    threshold: float = 0.0
    range: tuple[float, float] = (0.0, 1.0)
    fields: dict[str, Any] = field(default_factory=dict)

    async def score(self, call: AgentCall) -> Score:
        if not call.has_text:
            return Score.skipped(self.name, "no_text")
        rude = "idiot" in (call.output or "") or "<script>" in (call.output or "")
        return Score.scored(self.name, 0.8 if rude else 0.0, comment=f"said: {(call.output or '')[:60]}")


@dataclass(frozen=True)
class Site:
    """A running viewer."""

    address: str
    shop: Shop
    toxicity: str
    noise: str

    def store(self) -> Store:
        return self.shop.store()


def _replay(shop: Shop, agent: str) -> subprocess.CompletedProcess[str]:
    """Ask an agent; first a sound one, whose run becomes the reference, then one that believes forums."""
    (shop.folder / "web_test_agent.py").write_text(agent, encoding="utf-8")
    done = shop.tracehooks("run", "noise", "--config", "noise.yaml", "--json")
    assert done.returncode in (0, 1, 3), done.stdout + done.stderr
    return done


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The viewer over a store with something of everything."""
    shop = Shop.at(tmp_path_factory.mktemp("shop"), [*mixed(120, 6), None])
    toxicity = _fill(shop)
    noise = _noise(shop)
    yield from serving(shop, toxicity, noise)


def serving(shop: Shop, toxicity: str = "", noise: str = "") -> Iterator[Site]:
    """Start ``tracehooks view`` in the shop's folder; stopped afterwards."""
    process = shop.start("view", "--port", "0", "--no-browser")
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        assert found, line + process.stderr.read()
        yield Site(found[0], shop, toxicity, noise)
    finally:
        process.terminate()
        process.communicate(timeout=20)


def _fill(shop: Shop) -> str:
    settings = load_settings(shop.folder / "tracehooks.yaml")
    with shop.store() as store:
        odd = YESTERDAY + timedelta(hours=1)
        store.spans.add(
            [
                agent_span(HOSTILE, HOSTILE_TEXT, start=odd, name="<b>bold</b>", environment='"><i>'),
                agent_span(SILENT, "", start=odd + timedelta(seconds=1)),
                agent_span(LONG, "word " * 400_000 + "THE END", start=odd + timedelta(seconds=2)),
            ]
        )
        end = YESTERDAY + timedelta(minutes=2)
        ToxicityNight(settings=settings, store=store, scorer=Words()).run(YESTERDAY, end)
        return ToxicityNight(settings=settings, store=store, scorer=Words()).run().id


def _noise(shop: Shop) -> str:
    (shop.folder / "shop.yaml").write_text(DATASET, encoding="utf-8")
    text = (shop.folder / "tracehooks.yaml").read_text(encoding="utf-8")
    config = shop.folder / "noise.yaml"
    config.write_text(
        re.sub(r"judge: .*\njobs: .*\n", "", text)
        + "agent: web_test_agent:answer\n"
        + f"jobs: {{noise: {{datasets: ['{shop.folder}/shop.yaml'], repeats: 2}}}}\n",
        encoding="utf-8",
    )
    _replay(shop, AGENT.replace('"forum" in question', "False"))
    blessed = shop.tracehooks("reference", "bless", "--fewer", "--config", "noise.yaml")
    assert blessed.returncode == 0, blessed.stderr
    done = _replay(shop, AGENT)
    with shop.store() as store:
        run = store.runs.latest("noise")
        assert run is not None, done.stdout + done.stderr
        return run.id


# closed with its module, and begun after the site: while it is open no event loop can be run beside it
@pytest.fixture(scope="module")
def chromium(site: Site) -> Iterator[Any]:
    """Debian's Chromium, without a window."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    where = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if where is None:
        pytest.skip("needs a Chromium on the path")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=where, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Any, site: Site) -> Iterator[Any]:
    """A tab on the viewer without JavaScript; fails when a page logs an error or loads anything elsewhere."""
    context = chromium.new_context(base_url=site.address, java_script_enabled=False)
    tab = context.new_page()
    elsewhere: list[str] = []
    tab.on("request", lambda request: elsewhere.append(request.url))
    yield tab
    context.close()
    assert [url for url in elsewhere if not url.startswith(site.address)] == []
