"""The page of attention in a browser: read, hovered, dragged and clicked, for three architectures and all kinds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import open_page

from triptych.attention.explorer import Attention
from triptych.attention.views import View
from triptych.runs.demo import demo_names
from triptych.runs.run import load

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_browser")]

SENTENCE = "The schools that I showed him are not new."
TITLES = ["Target to source", "Source to source", "Target to target", "Whole sequence"]
MARKUP = "</script><b>cat</b> & the 'dog'"
QUERY = 3


@pytest.fixture(scope="module")
def models() -> list[Attention]:
    return [load(f"demo:{name}").attention(SENTENCE) for name in demo_names()]


@pytest.fixture(scope="module")
def page_of_all(models: list[Attention], tmp_path_factory: pytest.TempPathFactory) -> str:
    """Address of the page that has all models beside each other."""
    return models[0].write(tmp_path_factory.mktemp("page") / "all.html", *models[1:]).as_uri()


def choose(page: Any, name: str) -> None:
    page.locator("#controls label").filter(has_text=name).click()


def column(page: Any, number: int) -> Any:
    return page.locator(".column").nth(number)


def view_of(model: Attention, title: str) -> View | None:
    kind = ["cross", "encoder", "decoder", "sequence"][TITLES.index(title)]
    return next((view for view in model.views() if view.kind == kind), None)


def layer_of(column: Any) -> int:
    return int(column.locator("input[type=range]").input_value()) - 1


def numbers(panel: Any) -> dict[int, float]:
    """The weights that stand beside the keys of a panel."""
    shown = panel.locator(".token.key").evaluate_all(
        "tokens => tokens.map((token, i) => [i, token.classList.contains('shown') && token.lastChild.textContent])"
    )
    return {i: float(text) for i, text in shown if text}


def largest(panel: Any) -> float:
    """The first weight in the line below a panel."""
    return float(re.findall(r" ([01]\.\d\d)(?: ·|$)", panel.locator(".facts").inner_text())[0])


def require_fitting(page: Any) -> None:
    """Nothing is wider than the window, panels do not overlap, and tokens lie in their panels without overlap."""
    page.wait_for_function("!waiting.length")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    problems = page.evaluate(
        """() => {
          const problems = [];
          const overlap = (a, b, allowed) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > allowed
            && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > allowed;
          const boxes = [...document.querySelectorAll('.panel, .table, .head, .translation, #controls')]
            .filter((one) => !one.closest('dialog')).map((one) => [one.className, one.getBoundingClientRect()]);
          boxes.forEach(([name, box], i) => boxes.slice(i + 1).forEach(([other, second]) =>
            overlap(box, second, 1) && problems.push(`${name} overlaps ${other}`)));
          for (const panel of document.querySelectorAll('#columns .panel')) {
            const outer = panel.getBoundingClientRect(), plot = panel.querySelector('canvas').getBoundingClientRect();
            if (plot.width < 25 || plot.height < 25) problems.push('no room for the weights');
            for (const side of ['query', 'key']) {
              const texts = [...panel.querySelectorAll(`.token.${side} .text`)]
                .filter((one) => one.getClientRects().length)
                .map((one) => one.getBoundingClientRect());
              texts.forEach((box, i) => {
                if (box.left < outer.left - 1 || box.right > outer.right + 1) problems.push(`${side} ${i} sticks out`);
                if (i && overlap(box, texts[i - 1], 4)) problems.push(`${side} ${i} overlaps the one before`);
              });
            }
          }
          return problems;
        }"""
    )
    assert problems == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_every_kind_of_every_model_shows_its_weights(
    page_of_all: str, models: list[Attention], width: int, scheme: str
) -> None:
    with open_page(page_of_all, width, scheme) as page:
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 27)")
        assert page.locator("h1").inner_text() == SENTENCE
        for title in TITLES:
            choose(page, title)
            require_fitting(page)
            for number, model in enumerate(models):
                assert model.target_texts[0] in column(page, number).inner_text()
                view = view_of(model, title)
                assert column(page, number).locator(".panel").count() == (view.weights.shape[1] if view else 0)
                if view is None:
                    assert f"has no attention “{title}”" in column(page, number).inner_text()
                    continue
                for level, weights, labels in (
                    ("Words", view.words(), view.queries.words),
                    ("Pieces", view.weights, view.queries.pieces),
                ):
                    choose(page, level)
                    panels, layer = column(page, number).locator(".panel"), layer_of(column(page, number))
                    panels.nth(0).locator(".token.query").nth(QUERY).hover()
                    assert labels[QUERY] in column(page, number).locator(".readout").inner_text()
                    for head in range(panels.count()):
                        for key, weight in numbers(panels.nth(head)).items():
                            assert weight == pytest.approx(weights[layer, head, QUERY, key], abs=0.0051)
                        assert largest(panels.nth(head)) == pytest.approx(weights[layer, head, QUERY].max(), abs=0.0051)


@pytest.mark.parametrize("width", [1280, 390])
def test_a_heat_map_shows_the_weight_of_a_cell(page_of_all: str, models: list[Attention], width: int) -> None:
    with open_page(page_of_all, width, "light") as page:
        choose(page, "Heat map")
        require_fitting(page)
        assert not page.locator("#threshold").is_visible()
        for number, model in enumerate(models):
            view = view_of(model, TITLES[0])
            assert view is not None
            panel = column(page, number).locator(".panel").last
            canvas = panel.locator("canvas")
            box = canvas.bounding_box()
            rows, columns = view.weights.shape[2:]
            q, k = rows // 2, columns // 3
            canvas.hover(position={"x": box["width"] * (k + 0.5) / columns, "y": box["height"] * (q + 0.5) / rows})
            (text, weight) = panel.locator(".facts").inner_text().rsplit(" ", 1)
            assert text == view.keys.pieces[k]
            layer = layer_of(column(page, number))
            assert float(weight) == pytest.approx(view.weights[layer, -1, q, k], abs=1e-4)


def painted(panel: Any) -> int:
    """Number of pixels that a panel's lines cover."""
    return panel.locator("canvas").evaluate(
        """canvas => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data
             .filter((value, i) => i % 4 === 3 && value > 0).length"""
    )


def drag(page: Any, slider: Any, share: float) -> None:
    """Drag a slider's thumb from where it is to a share of its length."""
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    low, high, value = (float(slider.evaluate(f"slider => slider.{name}")) for name in ("min", "max", "value"))
    thumb, inner = 8, box["width"] - 16
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + thumb + inner * (value - low) / (high - low), middle)
    page.mouse.down()
    page.mouse.move(box["x"] + thumb + inner * share, middle, steps=5)
    page.mouse.up()


def test_sliders_table_and_enlarged_head(page_of_all: str, models: list[Attention]) -> None:
    number = demo_names().index("transformer")
    view = view_of(models[number], TITLES[0])
    assert view is not None
    with open_page(page_of_all) as page:
        own = column(page, number)
        panel = own.locator(".panel").first
        before = painted(panel)
        drag(page, page.locator("#threshold"), 0.9)
        assert float(page.locator("#shown").inner_text()) == pytest.approx(0.9, abs=0.03)
        assert painted(panel) < before
        drag(page, page.locator("#threshold"), 0.0)
        assert painted(panel) > before

        drag(page, own.locator("input[type=range]"), 0.0)
        assert layer_of(own) == 0
        drag(page, own.locator("input[type=range]"), 1.0)
        layer = view.weights.shape[0] - 1
        assert f"{layer + 1} of {layer + 1}" in own.locator(".head").inner_text()
        panel.locator(".token.query").nth(QUERY).hover()
        assert numbers(panel)[int(view.weights[layer, 0, QUERY].argmax())] == pytest.approx(
            view.weights[layer, 0, QUERY].max(), abs=0.0051
        )

        heading = own.get_by_role("button", name="Entropy")
        entropies = []
        for order in ("ascending", "descending"):
            heading.click()
            assert own.locator("th[aria-sort]").get_attribute("aria-sort") == order
            entropies.append([float(text) for text in own.locator("tbody td:nth-child(4)").all_inner_texts()])
        assert entropies[0] == sorted(entropies[1]) == entropies[1][::-1]
        own.locator("tbody tr").last.click()
        assert own.locator(".panel.chosen").count() == 1

        panel.locator("canvas").click()
        assert page.locator("dialog").is_visible()
        page.get_by_role("button", name="Next head").click()
        assert "head 2 of" in page.locator("#large-title").inner_text()
        large = page.locator("dialog .panel")
        large.locator(".token.query").nth(QUERY).hover()
        found = numbers(large)
        expected = {k: float(w) for k, w in enumerate(view.weights[layer, 1, QUERY]) if w >= 0.0051}
        assert found == pytest.approx(expected, abs=0.0051)
        page.keyboard.press("Escape")
        assert not page.locator("dialog").is_visible()


def test_everything_works_by_keyboard(page_of_all: str, models: list[Attention]) -> None:
    with open_page(page_of_all) as page:
        for _ in range(9):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.name") == "kind":
                break
        page.keyboard.press("ArrowRight")
        assert page.locator("#kinds input:checked").get_attribute("value") == "encoder"
        page.keyboard.press("ArrowLeft")
        for _ in range(9):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.classList.contains('token')"):
                break
        page.keyboard.press("ArrowDown")
        view = view_of(models[0], TITLES[0])
        assert view is not None
        assert view.queries.pieces[1] in column(page, 0).locator(".readout").inner_text()
        assert page.locator("#spoken").inner_text().startswith(f"{view.queries.pieces[1]} looks at")
        page.keyboard.press("ArrowRight")
        assert "what looks at it" in column(page, 0).locator(".readout").inner_text()
        page.keyboard.press("Enter")
        assert page.locator("dialog").is_visible()
        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement.closest('.panel') !== null"), "the focus is back at the head"


@pytest.mark.parametrize("width", [1280, 390])
def test_a_head_that_is_off_is_shown_beside_the_model_with_all(
    models: list[Attention], tmp_path: Path, width: int
) -> None:
    ablated = models[demo_names().index("transformer")].without("cross.1.3")
    with open_page(ablated.write(tmp_path / "page.html").as_uri(), width) as page:
        require_fitting(page)
        assert column(page, 1).locator("h2").inner_text() == "transformer without cross.1.3"
        assert column(page, 1).locator(".panel.off").all_inner_texts()[0].startswith("Head 3, off")
        change = column(page, 1).locator(".change").inner_text()
        assert float(change.removesuffix(" nats").replace("−", "-")) == pytest.approx(ablated.changes[0], abs=0.006)
        words = column(page, 1).locator(".words li").all_inner_texts()
        assert [word.split("\n")[0] for word in words][-1] == "</s>"
        drag(page, column(page, 1).locator("input[type=range]"), 1.0)
        assert column(page, 1).locator(".panel.off").count() == 0


def test_markup_shows_as_text_and_long_sentences_fit(tmp_path: Path) -> None:
    run = load("demo:lm4mt")
    several = run.attention([MARKUP, " ".join(["the big cat sees me ,"] * 10)], [MARKUP, " ".join(["le chat"] * 30)])
    path = several.write(tmp_path / "page.html")
    assert path.stat().st_size < 3e6
    with open_page(path.as_uri(), 390) as page:
        assert page.locator("h1").inner_text() == MARKUP
        assert page.locator("b, #columns script").count() == 0
        choose(page, "Words")
        view = several.views(0)[0]
        assert column(page, 0).locator(".panel").first.locator(".token.key .text").all_inner_texts() == view.keys.words
        page.locator("#pair").select_option(index=1)
        assert page.locator("h1").inner_text() == several.source_texts[1]
        choose(page, "Whole sequence")
        choose(page, "Pieces")
        require_fitting(page)
        panels = "[...document.querySelectorAll('#columns .panel')]"
        built = f"{panels}.map((panel) => panel.querySelector('canvas') !== null)"
        assert not all(page.evaluate(f"() => {{ build(); return {built} }}"))  # out of sight: after the frame
        page.wait_for_function("!waiting.length")
        assert page.evaluate(built) == [True] * several.views(1)[1].weights.shape[1]
        whole = several.views(1)[1]
        first = column(page, 0).locator(".panel").first
        first.locator(".token.query").last.hover()
        assert largest(first) == pytest.approx(np.max(whole.weights[layer_of(column(page, 0)), 0, -1]), abs=0.0051)
