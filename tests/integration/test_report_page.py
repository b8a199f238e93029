"""The page of a report in a browser: sorted tables, an arm that is followed, translations that are filtered."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import open_page
from made_runs import REFERENCES, change, make_run, spoilt

from triptych.evaluation.sentence_chrf import sentence_chrf
from triptych.reports.build import report

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_browser")]
ARMS, SEEDS = 36, 2
SOURCES = [f"Quelle {number} " + "wort " * (number % 7) for number in range(1, len(REFERENCES) + 1)]
MARKUP = "<b onclick=alert(1)>bold</b> &amp; the end"


def lines_of(arm: int, seed: int) -> list[str]:
    return [*spoilt(0.02 * arm, seed)[:-1], MARKUP if arm == 1 else REFERENCES[-1]]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of 36 arms with two seeds each."""
    root: Path = tmp_path_factory.mktemp("runs")
    for arm in range(ARMS):
        for seed in range(1, SEEDS + 1):
            name = f"model=arm{arm:02},search.beam_size={arm},seed={seed}-{arm:04}000{seed}"
            folder = make_run(root, name, seed, lines=lines_of(arm, seed), sources=SOURCES)
            (folder / "metrics.csv").write_text(f"step,validation/loss\n10,2.5\n20,{2 + arm / 100}\n")
    path = report(root).write()
    assert path.stat().st_size < 3e6
    return path.as_uri()


@pytest.fixture(params=[(1280, "light"), (390, "dark")], ids=["1280 light", "390 dark"])
def page(request: pytest.FixtureRequest, address: str) -> Iterator[Any]:
    width, scheme = request.param
    with open_page(address, width, scheme) as found:
        found.wait_for_selector("#translations .sentence")
        yield found
        assert found.evaluate("document.documentElement.scrollWidth") <= width


def texts(page: Any, selector: str) -> list[str]:
    return [text.strip() for text in page.locator(selector).all_text_contents()]


def column_of_table(page: Any, place: int) -> list[float]:
    """The numbers in a column, from 1, of the first table."""
    return [float(text.split()[0]) for text in texts(page, f"table >> nth=0 >> tbody td:nth-child({place})")]


def test_a_table_is_sorted_and_an_arm_followed_by_keyboard(page: Any) -> None:
    first = page.locator("table").first
    arms = "table >> nth=0 >> tbody td:first-child"
    given = texts(page, arms)
    header = first.get_by_role("button", name="BLEU").first
    header.focus()
    header.press("Enter")
    column = "th[aria-sort=descending]"
    place = page.evaluate(f"document.querySelector('{column}').cellIndex") + 1
    values = column_of_table(page, place)
    assert values == sorted(values, reverse=True)
    assert values[0] > values[-1]
    header.press("Enter")
    assert column_of_table(page, place) == values[::-1]
    header.press("Enter")
    assert texts(page, arms) == given
    first.get_by_role("button", name="arm07 ").focus()
    page.keyboard.press("Space")
    assert set(texts(page, "tr.followed td:first-child")) == {given[7]}
    assert page.locator("[name=follow]").input_value() == "7"
    assert given[7] in texts(page, ".sentence >> nth=0 >> .names .followed")
    page.keyboard.press("Escape")
    assert page.locator("tr.followed").count() == 0


def test_a_followed_arm_stands_out_in_figures(page: Any) -> None:
    page.wait_for_selector(".js-plotly-plot")
    page.locator("[name=follow]").select_option("3")
    page.wait_for_function(
        "[...document.querySelectorAll('.js-plotly-plot')][0].data.some((trace) => trace.opacity === 0.2)"
    )
    opacities = page.evaluate(
        "[...document.querySelectorAll('.js-plotly-plot')][0].data.map((trace) => [trace.name, trace.opacity])"
    )
    assert {opacity for name, opacity in opacities if name.startswith("arm03 ")} == {1}
    assert {opacity for name, opacity in opacities if not name.startswith("arm03 ")} == {0.2}


def test_what_decides_and_bleu_are_in_sight(page: Any) -> None:
    """Without scrolling; and all arms have a readable line each, which does not break inside a word."""
    for name in ("validation loss", "BLEU"):
        box = page.locator("table").first.get_by_role("button", name=name).first.bounding_box()
        assert box["y"] + box["height"] < 900
        assert box["x"] + box["width"] < page.viewport_size["width"]
    lines = page.locator("table >> nth=0 >> button.arm")
    assert lines.count() == ARMS
    heights = lines.evaluate_all("lines => lines.map((line) => line.getBoundingClientRect().height)")
    assert max(heights) <= 50, "at most two lines of text"


def test_keys_and_buttons_of_figures(page: Any) -> None:
    """Below a figure stands what its curves are, outside of it; its buttons change what it is drawn over."""
    page.wait_for_selector(".key")
    figure, key = page.locator(".js-plotly-plot").first, page.locator(".key").first
    assert len(key.get_by_role("button").all()) == ARMS
    assert key.bounding_box()["y"] >= figure.bounding_box()["y"] + figure.bounding_box()["height"]
    state = "figure => figure.data.filter((trace) => trace.name.startsWith('arm05 ')).map((trace) => trace.visible)"
    key.get_by_role("button", name="arm05").click()
    assert figure.evaluate(state) == [False] * SEEDS
    assert key.get_by_role("button", name="arm05").get_attribute("aria-pressed") == "false"
    key.get_by_role("button", name="arm05").press("Enter")
    assert figure.evaluate(state) == [True] * SEEDS
    buttons = page.locator(".switch").first.get_by_role("button")
    assert buttons.all_inner_texts() == ["steps", "tokens", "FLOPs", "hours"]
    buttons.nth(1).click()
    assert page.locator(".switch >> nth=0 >> [aria-pressed=true]").all_inner_texts() == ["tokens"]
    assert "training tokens" in figure.locator(".xtitle").text_content()


def test_a_click_sorts_and_follows_a_row(page: Any) -> None:
    header = page.locator("table").first.get_by_role("button", name="BLEU").first
    header.click()
    header.click()
    worst = page.locator("table >> nth=0 >> tbody tr >> nth=0 >> button.arm")
    name = worst.inner_text().replace("\n", " ")
    worst.click()
    assert set(texts(page, "tr.followed td:first-child")) == {name}
    assert len(texts(page, "tr.followed")) > 1, "in other tables too"
    assert name in page.locator("[name=follow] option:checked").inner_text()
    worst.click()
    assert page.locator("tr.followed").count() == 0


def test_the_largest_disagreements_come_first(page: Any) -> None:
    shown = range(6)
    scores = [sentence_chrf(lines_of(arm, 1), REFERENCES).round(1) for arm in shown]
    apart = [max(each) - min(each) for each in zip(*scores, strict=True)]
    found = [float(text.split()[0]) for text in texts(page, ".sentence header span:nth-child(2)")]
    assert found == pytest.approx(sorted(apart, reverse=True)[: len(found)], abs=0.051)
    page.locator("#translations [name=seed]").select_option("1")
    others = [sentence_chrf(lines_of(arm, 2), REFERENCES).round(1) for arm in shown]
    largest = max(max(each) - min(each) for each in zip(*others, strict=True))
    assert float(texts(page, ".sentence header span:nth-child(2)")[0].split()[0]) == pytest.approx(largest, abs=0.051)


def test_sentences_are_filtered_by_length_and_text(page: Any) -> None:
    least, most, text = (page.locator(f"#translations [name={name}]") for name in ("least", "most", "text"))
    least.fill("4")
    most.fill("5")
    counts = [len(source.split()) for source in SOURCES if 4 <= len(source.split()) <= 5]
    assert page.locator(".sentence").count() == len(counts)
    assert {text.split()[0] for text in texts(page, ".sentence header span:nth-child(3)")} == {"4", "5"}
    least.fill("")
    most.fill("")
    text.fill("QUELLE 17 ")
    assert texts(page, ".sentence header span:first-child") == ["sentence 17"]
    text.fill("nowhere in any text")
    assert page.locator(".sentence").count() == 0
    assert "0 of 0 sentences" in page.locator("#translations [role=status]").inner_text()


def test_markup_in_text_shows_as_text_and_differences_are_marked(page: Any) -> None:
    page.locator("#translations [name=text]").fill("onclick")
    sentence = page.locator(".sentence")
    shown = [text for text in texts(page, ".sentence dd") if text.startswith(MARKUP)]
    assert len(shown) == 1
    assert sentence.locator("b").count() == 0
    marked = sentence.locator("dd", has_text="onclick").locator("mark")
    assert "bold" in marked.all_text_contents()
    assert "the" not in marked.all_text_contents(), "a word that the reference has there too"
    assert sentence.locator("dd", has_not_text="onclick").locator("mark").count() == 0


def test_arms_are_selected_and_equal_translations_stand_together(page: Any) -> None:
    page.locator(".arms summary").click()
    page.get_by_role("button", name="All", exact=True).click()
    assert "36 of 36" in page.locator(".arms summary").inner_text()
    page.locator("#translations [name=text]").fill("onclick")
    assert page.locator(".sentence .names").count() == 2, "the markup, and the reference of all others"
    assert page.locator(".sentence .names >> nth=0 >> span:not(.dot)").count() == ARMS - 1
    page.get_by_role("button", name="None", exact=True).click()
    page.locator(".arms input").nth(30).check()
    page.locator("#translations [name=text]").fill("")
    assert set(texts(page, ".sentence .names")) == {"arm30 beam_size=30"}
    assert "from the reference" in texts(page, ".sentence header span:nth-child(2)")[0]


def test_a_sentence_is_followed_whatever_the_order(page: Any) -> None:
    third = page.locator(".sentence").nth(2)
    name = third.locator("header span").first.text_content()
    page.locator(".sentence").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert texts(page, ".sentence.followed header span:first-child") == [name]
    for order in ("short", "long", "place"):
        page.locator("[name=order]").select_option(order)
        assert texts(page, ".sentence header span:first-child")[0] == name
    page.locator("#translations [name=text]").fill("nowhere in any text")
    assert texts(page, ".sentence header span:first-child") == [name]
    page.reload()
    page.wait_for_selector("#translations .sentence")
    assert texts(page, ".sentence.followed header span:first-child") == [name], "its address names it"
    page.locator(".sentence.followed button").click()
    assert page.locator(".sentence.followed").count() == 0


def test_ngrams_that_one_arm_misses(page: Any) -> None:
    names = ("one", "other", "length", "least", "most", "text")
    part = {name: page.locator(f"#ngrams [name={name}]") for name in names}
    part["one"].select_option("0")
    part["other"].select_option("35")
    part["text"].fill("sees")
    cells = texts(page, ".pair > div >> nth=0 >> tbody td")
    found = sum(line.split().count("sees") for seed in (1, 2) for line in lines_of(35, seed)) / 2
    assert cells == ["sees", f"{30 - found:.1f}", "30", "30", f"{found:g}"]
    assert texts(page, ".pair > div >> nth=1 >> tbody td") == []
    part["text"].fill("")
    part["least"].fill("30")
    assert "sees" in texts(page, ".pair > div >> nth=0 >> tbody td:first-child")
    part["least"].fill("")
    part["most"].fill("29")
    assert "sees" not in texts(page, ".pair > div >> nth=0 >> tbody td:first-child")
    part["length"].select_option("3")
    assert {len(text.split()) for text in texts(page, ".pair > div >> nth=0 >> tbody td:first-child")} == {3}
    part["other"].select_option("references")
    assert page.locator(".pair > div").count() == 1


def test_a_page_without_sources_says_so(tmp_path: Path) -> None:
    for arm in (0, 1):
        make_run(tmp_path, f"model=arm{arm}-0000000{arm}", lines=spoilt(0.3 * arm))
    with open_page(report(tmp_path).write().as_uri()) as page:
        page.wait_for_selector("#translations .sentence")
        assert "did not store the sources" in page.locator(".no-sources").inner_text()
        assert texts(page, ".sentence >> nth=0 >> dt")[0] == "reference"
        page.locator("#translations [name=most]").fill("5")
        assert page.locator(".sentence").count() == 0, "lengths are those of the references, 11 words"


def test_another_test_set_has_its_own_seeds(tmp_path: Path) -> None:
    """The second set was translated with one seed, and the first is left at its second seed."""
    for seed in (1, 2):
        folder = make_run(tmp_path, f"model=arm,seed={seed}-0000000{seed}", seed, lines=spoilt(0.2, seed))
        if seed == 1:
            for path in (folder / "translations").glob("toy.*"):
                path.with_name(path.name.replace("toy", "zoo")).write_text(path.read_text())
            change(folder, "test", "zoo", to=json.loads((folder / "result.json").read_text())["test"]["toy"])
    with open_page(report(tmp_path).write().as_uri()) as page:
        page.wait_for_selector("#translations .sentence")
        page.locator("#translations [name=seed]").select_option("1")
        page.locator("#translations [name=set]").select_option("1")
        assert "of zoo." in page.locator("#translations [role=status]").inner_text()
        assert page.locator(".sentence .names").count() == page.locator(".sentence").count() > 0
        page.locator("#translations [name=set]").select_option("0")
        assert page.locator("#translations [name=seed] option").count() == 2
