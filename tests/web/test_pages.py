"""The viewer's pages in a real browser without JavaScript: found, read, filtered, paged, linked."""

import re
from typing import Any

from tests.stored import RUDE, trace_id
from tests.web.conftest import HOSTILE, LONG, SILENT, Site


def test_the_one_toxic_answer_is_three_clicks_away(page: Any) -> None:
    """Overview, run, worst call: there its words and its score are."""
    page.goto("/")
    assert page.locator("h1").inner_text() == "How things stand"
    page.locator("section[aria-label=toxicity] a").click()
    page.locator("td a.id").first.click()
    assert RUDE[:20] in page.content() or "<script>" in page.locator("main").inner_text()
    assert "toxicity: 0.8" in page.locator("main").inner_text()


def test_the_overview_says_what_needs_attention_first(page: Any) -> None:
    """A failed noise run comes before everything else, with the way to it."""
    page.goto("/")
    first = page.locator(".attention li").first
    assert "noise" in first.inner_text()
    first.locator("a").click()
    assert page.url.split("/")[-2] == "runs"


def test_the_trend_is_a_picture_and_a_table(page: Any) -> None:
    """Both nights with their intervals, for eyes and for screen readers."""
    page.goto("/")
    assert page.locator("svg.chart[role=img][aria-label]").count() >= 1
    page.locator("summary", has_text="the same as a table").first.click()
    assert page.locator("details table tbody tr").count() >= 2


def test_traces_are_searched_by_words(page: Any) -> None:
    """What the agent said is found, whatever the case of the letters."""
    page.goto("/traces")
    page.get_by_label("words in question or answer").fill("AN IDIOT")
    page.get_by_role("button", name="Search").click()
    assert page.locator("tbody tr").count() == 6


def test_the_beginning_of_a_trace_id_leads_to_its_trace(page: Any) -> None:
    """A pasted id needs no field of its own."""
    page.goto("/traces")
    page.get_by_label("words in question or answer").fill(trace_id(3)[:10])
    page.get_by_role("button", name="Search").click()
    assert page.url.endswith(f"/traces/{trace_id(3)}")


def test_traces_are_filtered_by_score_status_and_value(page: Any, site: Site) -> None:
    """The address holds the search, so it can be pasted."""
    page.goto("/traces?score=toxicity&above=0.5")
    assert page.locator("tbody tr").count() == 7
    page.goto("/traces?score=toxicity&status=skipped")
    assert page.locator("tbody tr").count() == 2
    page.goto("/traces?agent=support-*&environment=production")
    assert page.locator("tbody tr").count() == 50
    page.goto("/traces?agent=nobody")
    assert "No call matches" in page.locator("main").inner_text()


def test_a_wrong_filter_is_told_and_not_obeyed(page: Any) -> None:
    """The page stays, with what was wrong."""
    assert page.goto("/traces?above=much&from=never").status == 400
    alerts = page.locator("[role=alert]").all_inner_texts()
    assert any("above" in each for each in alerts)
    assert any("from" in each for each in alerts)


def test_paging_shows_each_trace_once(page: Any) -> None:
    """From the newest to the oldest, nothing twice and nothing left out."""
    page.goto("/traces?environment=production")
    seen: list[str] = []
    while True:
        seen += [link.get_attribute("href") for link in page.locator("td.when a").all()]
        further = page.locator("a[rel=next]")
        if not further.count():
            break
        further.click()
    assert len(seen) == len(set(seen)) == 123


def test_a_trace_shows_spans_conversation_and_scores(page: Any) -> None:
    """The tree, what was said, the score with its reason and who made it."""
    page.goto(f"/traces/{trace_id(0)}")
    text = page.locator("main").inner_text()
    assert "Where is order 0?" in text
    assert RUDE[:20] in text
    assert "scored" in text
    assert page.locator("ol.tree li").count() == 1
    page.locator("ol.tree summary").first.click()
    assert "gen_ai.agent.name" in page.locator("ol.tree").inner_text()


def test_a_hostile_trace_is_only_text(page: Any, chromium: Any, site: Site) -> None:
    """Markup, terminal codes, null bytes and marks that turn the direction are shown and not obeyed."""
    page.goto(f"/traces/{trace_id(HOSTILE)}")
    text = page.locator("main").inner_text()
    assert "<script>document.title = 'owned'</script>" in text
    assert "{{ 7 * 7 }}" in text
    assert "\x00" not in page.content()
    assert "␛[31m" in text
    assert "⟨U+202E⟩reversed" in text
    assert "\U0001f469\u200d\U0001f4bb" in text
    assert page.locator("main script, main img").count() == 0
    scripted = chromium.new_context(base_url=site.address).new_page()
    for path in (
        f"/traces/{trace_id(HOSTILE)}",
        "/traces?q=<script>alert(1)</script>",
        f"/runs/{site.toxicity}",
    ):
        scripted.goto(path)
        assert scripted.title() != "owned"
    scripted.context.close()


def test_two_megabytes_are_cut_with_a_way_to_the_rest(page: Any) -> None:
    """The page stays small; the whole text is plain text behind a link."""
    page.goto(f"/traces/{trace_id(LONG)}")
    assert len(page.content()) < 400_000
    assert "THE END" not in page.content()
    page.get_by_role("link", name="The whole text").click()
    assert page.content().count("word ") >= 40_000


def test_a_silent_call_says_why_it_has_no_score(page: Any) -> None:
    """Skipped, in words."""
    page.goto(f"/traces/{trace_id(SILENT)}")
    text = page.locator("main").inner_text()
    assert "skipped" in text
    assert "said nothing" in text


def test_noise_shows_cases_by_type_and_answers_beside_the_baseline(page: Any, site: Site) -> None:
    """The case that fell for the forum comes first, coloured; its page marks what changed."""
    page.goto("/noise")
    assert page.url.endswith(site.noise)
    assert page.locator("table.heat tbody th").first.inner_text() == "returns"
    lost = page.locator("h2", has_text="Against the reference").locator("xpath=following::tbody[1]/tr")
    assert lost.all_inner_texts() == ["returns\tmisinformation\t1"]
    cell = page.locator("table.heat td.heat-0 a").first
    assert cell.inner_text() == "0"
    cell.click()
    assert "Within 30 days of delivery." in page.locator("main").inner_text()
    assert "5" in page.locator("ins").first.inner_text() + page.locator("ins").last.inner_text()
    assert page.locator("del").count() >= 1


def test_nothing_is_wider_than_a_phone(chromium: Any, site: Site) -> None:
    """At 390 pixels no page scrolls sideways, in either colour scheme."""
    paths = ["/", "/traces", "/runs", "/noise", f"/runs/{site.toxicity}", f"/runs/{site.noise}"]
    paths += [f"/traces/{trace_id(n)}" for n in (0, HOSTILE, LONG)] + ["/nowhere"]
    context = chromium.new_context(base_url=site.address, viewport={"width": 390, "height": 800})
    tab = context.new_page()
    for path in paths:
        tab.goto(path)
        wide, seen = tab.evaluate(
            "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        assert wide <= seen, path
    context.close()


def test_every_page_is_reached_by_the_keyboard(chromium: Any, site: Site) -> None:
    """The first tab stop skips the navigation; every field has a label."""
    context = chromium.new_context(base_url=site.address)
    tab = context.new_page()
    tab.goto("/traces")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "Skip to the content"
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/traces#main")
    unnamed = "[...document.querySelectorAll('input, select')].filter(each => !each.labels.length).length"
    assert tab.evaluate(unnamed) == 0
    context.close()


def test_what_is_not_there_is_said_plainly(page: Any) -> None:
    """An unknown run, trace or page is a 404 with a way back."""
    for path in ("/runs/ffffffffffffffff", f"/traces/{'f' * 32}", "/elsewhere", "/noise/ffff"):
        assert page.goto(path).status == 404
        assert re.search("Overview", page.locator("main").inner_text())
