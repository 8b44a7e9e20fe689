"""The report as one file: whole in itself, small, and without texts where that is asked for."""

from pathlib import Path
from typing import Any

from tests.stored import RUDE
from tests.web.conftest import Site


def _written(site: Site, folder: Path, run: str, *args: str) -> Path:
    file = folder / "out" / "night.html"
    done = site.shop.tracehooks("report", run, "--html", str(file), *args)
    assert done.returncode == 0, done.stderr
    assert str(file) in done.stderr
    return file


def test_it_opens_from_the_disk_and_loads_nothing(chromium: Any, site: Site, tmp_path: Path) -> None:
    """Verdict first, the picture, the worst calls with their words, counts that add up."""
    file = _written(site, tmp_path, site.toxicity)
    tab = chromium.new_page()
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(file.as_uri())
    assert asked == [file.as_uri()]
    text = tab.locator("main").inner_text()
    assert text.split()[0] in ("PASS", "FAIL", "INCONCLUSIVE")
    assert RUDE[:20] in text
    assert tab.locator("svg.chart").count() == 1
    assert tab.locator("main script, main img").count() == 0
    assert "planned" in text
    tab.close()


def test_a_noise_run_shows_cases_by_type_and_the_lowest_answers(site: Site, tmp_path: Path) -> None:
    """What fell, with the question, the noise and the answer."""
    text = _written(site, tmp_path, site.noise).read_text(encoding="utf-8")
    assert len(text) < 1_000_000
    for words in ("returns", "misinformation", "A forum says 5 days", "Within 5 days, as the forum says."):
        assert words in text


def test_redacted_it_holds_no_text_of_any_call(site: Site, tmp_path: Path) -> None:
    """Neither what agents and people said nor a comment that may quote it."""
    for run in (site.toxicity, site.noise):
        text = _written(site, tmp_path, run, "--redact").read_text(encoding="utf-8")
        assert "Texts are left out" in text
        for words in (RUDE[:20], "owned", "forum says", "Where is order", "said:"):
            assert words not in text


def test_redact_alone_is_refused(site: Site) -> None:
    """It would leave the texts in what is shown."""
    done = site.shop.tracehooks("report", "--redact")
    assert (done.returncode, "--html" in done.stderr) == (2, True)
