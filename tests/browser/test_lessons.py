"""One journey through each Learn page: its main control by keyboard or mouse, its numbers, and its link.

That a computed number is the model's own is proved below `tests/app/learn`, and what the pages say in words.
"""

import math
import re
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Locator, Page, expect

import attnviz
from attnviz.app.folded import EVERYTHING
from attnviz.app.learn.block import compute as block
from attnviz.app.learn.cause.compute import experiment
from attnviz.app.learn.compute import tokens
from attnviz.app.learn.cross_attention.compute import cross
from attnviz.app.learn.induction.compute import measured
from attnviz.app.learn.many_heads.compute import at_token
from attnviz.app.learn.masks import compute as masks
from attnviz.app.learn.positions.compute import set_experiment
from attnviz.app.learn.query_key_value import compute as query_key_value
from attnviz.app.learn.scale import values as scale
from attnviz.app.learn.translate.values import translate
from attnviz.app.learn.weighted_average.compute import average
from attnviz.app.learn.write.sections import EXAMPLES as STORIES
from attnviz.app.state.choices import OPEN
from attnviz.capture.model import Writing
from attnviz.models.catalogue import STORYTELLER, TRANSLATOR
from attnviz.text import head_name
from tests.browser.explore import Explore, value, values
from tests.browser.server import Server
from tests.browser.visit import (
    PHONE,
    box_of,
    eventually,
    everybody_can_use,
    first_visit,
    middle,
    press,
    reveal,
    type_into,
    wait_idle,
)
from tests.browser.widgets import Widgets

TIRED = "The dog did not cross the road as it was too tired."
NARROW = "The dog did not cross the road as it was too narrow."
WRITTEN = STORIES["Said again"]
HOSTILE = "The <u>dog</u> saw it too."  # so few tokens that every picture shows all of them
LAYER, HEAD = 3, 1  # from 0


MOVING = ("query_key_value", "block", "cause")


def lesson(page: Page, server: Server, name: str, **choices: Any) -> Locator:
    """Open the page by a link, with its answer and all sections; return the part that is not the menu."""
    if name in MOVING:
        page.emulate_media(reduced_motion="no-preference")
    everything = {"open": EVERYTHING} if name in OPEN.pages else {}
    main = first_visit(page, server, name, **everything, **choices)
    reveal(page)
    return main


def labels(text: str) -> list[str]:
    """What BERT's tokens of a text are called."""
    return [token.text for token in tokens(text)]


def assert_asked(page: Page, **choices: str) -> None:
    """The address names these choices."""
    for name, chosen in choices.items():
        expect(page).to_have_url(re.compile(re.escape(urlencode({name: chosen}))))


def data(where: Locator) -> list[list[float]]:
    """Of each row of a table, the unrounded numbers of its cells."""
    found: list[list[float]] = where.evaluate_all(
        "rows => rows.map(row => [...row.querySelectorAll('td[data-value]')].map(c => +c.dataset.value))"
        ".filter(row => row.length)"
    )
    return found


def as_number(text: str) -> float:
    return float(text.replace("\u2007", "").strip(" ()").replace("−", "-"))


def test_weighted_average(page: Page, server: Server) -> None:
    main = lesson(page, server, "weighted_average", text=HOSTILE, scoring="Cosine", split="Characters")
    names = [token.label for token in average(HOSTILE, "Cosine", 1).tokens]
    it, table = names.index("it"), page.locator(".average")

    @eventually
    def shows(temperature: float, query: int) -> None:
        found = average(HOSTILE, "Cosine", temperature)
        np.testing.assert_allclose(values(table, "weight"), found.weights[query], atol=1e-5)

    assert table.locator("tbody th").all_inner_texts() == names
    slider = page.get_by_role("slider", name="Temperature T")
    slider.press("Home")
    wait_idle(page)
    shows(0, it)
    assert_asked(page, softmax_temperature="0")
    slider.press("ArrowRight")
    wait_idle(page)
    temperature = float(str(slider.get_attribute("aria-valuetext")))
    assert temperature > 0
    shows(temperature, it)

    looking = page.get_by_role("group", name="Which token looks")
    looking.get_by_role("button", name="it", exact=True).focus()
    press(page, "Home", "ArrowRight", "Enter")
    wait_idle(page)
    shows(temperature, 1)
    expect(looking.get_by_role("button").nth(1)).to_have_attribute("aria-pressed", "true")
    found = average(HOSTILE, "Cosine", temperature)
    places = [names.index(name) for name in dict.fromkeys(names)]  # the second "the" is the same word
    for column, expected in (("before", found.fixed_similarity), ("after", found.mixed_similarity)):
        cells = page.locator(f".nearness td.{column}")
        shown = cells.evaluate_all("all => all.map(one => Number(one.dataset.value))")
        np.testing.assert_allclose(shown, expected[1, places], atol=1e-5)

    # The lines of the sum are one tab stop; each number of the mix can be read off.
    table.get_by_role("button", name=":").first.focus()
    press(page, "ArrowDown", "ArrowRight")
    expect(table.locator(".readout")).to_contain_text(re.compile(r"gives.*Number 2:", re.DOTALL))
    np.testing.assert_allclose(values(table, "value"), found.vectors[:, 1], atol=1e-6)
    np.testing.assert_allclose(values(table, "mixed"), found.output[1, 1], atol=1e-6)
    pieces = page.locator(".pieces")
    expect(pieces.get_by_role("button")).to_have_count(len(HOSTILE))
    expect(pieces.locator(".typed")).to_have_text(HOSTILE)
    assert main.locator("u").count() == 0
    page.get_by_role("heading", level=1).click()  # no line has the focus any more
    everybody_can_use(page)


def test_scale(page: Page, server: Server) -> None:
    main = lesson(page, server, "scale", d=64, vectors_seed=5, text=HOSTILE)

    @eventually
    def shows(table: Locator, row: scale.Row) -> None:
        expected = np.column_stack([row.dot_products, row.plain.weights, row.scaled.weights])
        np.testing.assert_allclose(data(table.locator("tbody tr")), expected, rtol=1e-3, atol=2e-5)
        entropies = [f"{column.entropy:.2f}" for column in (row.plain, row.scaled)]
        assert table.locator("tfoot td").all_inner_texts() == entropies

    random = page.get_by_role("table", name="random keys")
    slider = page.get_by_role("slider", name="d: how many entries")
    slider.press("ArrowRight")
    wait_idle(page)
    assert slider.get_attribute("aria-valuetext") == "128"
    shows(random, scale.row(128, 1024, 8, 5))
    page.get_by_role("button", name="Draw again").press("Enter")
    wait_idle(page)
    shows(random, scale.row(128, 1024, 8, 6))
    assert_asked(page, d="128", vectors_seed="6")
    names = labels(HOSTILE)
    it = names.index("it")
    real = page.get_by_role("table", name="the query it in head 4-2")
    shows(real, scale.in_bert(HOSTILE, LAYER, HEAD, it).row)
    assert real.locator("tbody th bdi").all_inner_texts() == names
    assert main.locator("u").count() == 0
    everybody_can_use(page)


def walked(page: Page, part: str) -> list[float]:
    """The unrounded numbers of this part of the picture of the six steps."""
    return values(page.locator(".walk"), part)


def written(page: Page, part: str) -> list[float]:
    """The same as printed."""
    return [as_number(text) for text in page.locator(f".walk [data-part={part}]").all_inner_texts()]


def assert_step(page: Page, number: int) -> None:
    expect(page.locator(f'.walk[data-step="{number}"]')).to_be_visible()


def test_query_key_value(page: Page, server: Server) -> None:
    main = lesson(page, server, "query_key_value", text=HOSTILE)
    it, detail = labels(HOSTILE).index("it"), page.locator(".walk .detail")
    steps = query_key_value.walk(HOSTILE, LAYER, HEAD, it)
    page.get_by_role("button", name="Next →").click()
    assert_step(page, 2)
    keys = page.locator('.walk [data-name="keys"]')
    box = box_of(keys)
    dog = labels(HOSTILE).index("dog")
    high = box["height"] / len(steps.keys)
    keys.hover(position={"x": 4.5 * box["width"] / 32, "y": (dog + 0.5) * high})
    expect(detail.locator("h3")).to_have_text("Number 5 of the key of dog")
    assert walked(page, "result") == pytest.approx([steps.keys[dog, 4]], abs=1e-5)
    page.locator('.walk [data-move="-1"]').focus()
    for number in range(3, 7):
        press(page, "ArrowRight")
        assert_step(page, number)
    press(page, "ArrowRight")  # there is no step 7
    assert_step(page, 6)
    wait_idle(page)
    assert_asked(page, step_of_six="6")
    for name in ("dot_products", "scores", "weights"):
        np.testing.assert_allclose(walked(page, f"{name}-cell"), getattr(steps, name), atol=1e-4)
    for matrix in ("query", "keys", "values", "dot_products", "output"):
        page.locator(f'.walk [data-name="{matrix}"]').focus()
        for key in ("Home", "ArrowRight", "ArrowDown", "End"):
            press(page, key)
            expect(detail).to_have_attribute("data-cell", re.compile(f"^{matrix} "))
            # Every printed sum can be checked with a calculator.
            texts = page.locator('.walk [data-part="product"]').all_inner_texts()
            products = written(page, "product")
            for left, right, product, text in zip(
                written(page, "left"), written(page, "right"), products, texts, strict=True
            ):
                decimals = len(text.strip(" ()\u2007").partition(".")[2])
                assert abs(left * right - product) <= 0.5000001 * 10**-decimals, (left, right)
            total = sum([*products, *written(page, "others"), *written(page, "bias")])
            [result] = written(page, "result")
            assert total == pytest.approx(result, abs=0.00050001), (matrix, key)
    assert walked(page, "result") == pytest.approx([steps.model_output[-1]], abs=1e-5)
    page.locator('.walk [data-name="scores"]').focus()
    [dot_product], [score] = written(page, "dot-product"), written(page, "result")
    assert abs(dot_product / np.sqrt(32) - score) <= 0.0006

    def table() -> Any:
        """[row, column], without the sums at its ends."""
        size = len(steps.keys)
        return np.array([row[:size] for row in data(page.locator(".weights-table tbody tr"))[:size]])

    rows = table()
    np.testing.assert_allclose(rows, steps.model_weights, atol=1e-5)
    page.get_by_role("radiogroup", name="Convention").get_by_text("columns").click()
    expect(page.locator(".weights-table .corner")).to_have_text("query (looks) →key (is looked at) ↓")
    np.testing.assert_array_equal(table(), rows.T)
    assert main.locator("u").count() == 0
    everybody_can_use(page)


def test_many_heads(page: Page, server: Server) -> None:
    main = lesson(page, server, "many_heads", text=HOSTILE, layer=4, head=8)
    names = labels(HOSTILE)
    rows = page.get_by_role("group", name="Heads", exact=True).get_by_role("button")

    @eventually
    def shows(heads: int) -> None:
        found = at_token(HOSTILE, LAYER, names.index("it"), heads)
        expect(rows).to_have_count(heads)
        assert values(main, "share") == pytest.approx(found.shares.tolist(), abs=1e-5)
        assert values(main, "length") == pytest.approx(found.lengths.tolist(), abs=1e-5)
        assert values(main, "weight") == pytest.approx(found.weights.max(axis=-1).tolist(), abs=1e-5)
        assert value(main, "bias-share") == pytest.approx(found.bias_share, abs=1e-5)
        printed = main.locator("[data-part=share]").all_inner_texts()
        assert [as_number(text.strip(" %")) for text in printed] == pytest.approx(
            100 * found.shares, abs=0.051
        )

    shows(12)
    expect(rows.nth(7)).to_have_attribute("aria-pressed", "true")
    weights = at_token(HOSTILE, LAYER, names.index("it"), 12).weights[1]
    word = rows.nth(1).locator(".word")
    box = box_of(rows.nth(1).locator(".strip"))
    for at in (names.index("dog"), names.index("it")):
        page.mouse.move(box["x"] + box["width"] * (at + 0.5) / len(weights), box["y"] + 5)
        expect(word.locator("bdi")).to_have_text(names[at])
        assert value(word, "weight") == pytest.approx(weights[at], abs=1e-5)
    number = page.get_by_role("spinbutton", name="Head", exact=True)
    rows.nth(2).click()
    expect(number).to_have_value("3")
    rows.nth(2).press("ArrowDown")
    press(page, "Enter")
    expect(number).to_have_value("4")
    wait_idle(page)
    expect(rows.nth(3)).to_be_focused()
    worked = as_number_list(main.locator("[data-part=worked]").inner_text())
    length, cosine, whole, share = worked
    assert round(100 * length * cosine / whole, 1) == share
    page.get_by_role("radiogroup", name="Number of heads").get_by_role("radio", name="12", exact=True).focus()
    press(page, *6 * ["ArrowLeft"], "Space")
    expect(rows).to_have_count(1)
    wait_idle(page)
    shows(1)
    assert_asked(page, heads_of_384="1", head="4")
    assert main.locator("u").count() == 0
    everybody_can_use(page)


def as_number_list(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"[+-]?[\d.]+", text.replace("−", "-"))]


def mask_editor(page: Page) -> Locator:
    return page.get_by_role("grid", name="Mask: who may look at whom")


def assert_masked(page: Page, mask: NDArray[np.bool_]) -> None:
    """The open cells, and no others, show the model's weights under this mask."""
    cells = mask_editor(page).get_by_role("gridcell")
    expect(cells).to_have_count(mask.size)
    shown = cells.evaluate_all(
        "all => all.map(cell => [cell.ariaSelected, cell.dataset.value, cell.textContent])"
    )
    assert [selected == "true" for selected, _, _ in shown] == mask.ravel().tolist()
    expected = masks.weights(TIRED, mask, HEAD)[LAYER].ravel()
    for (_, exact, printed), is_open, weight in zip(shown, mask.ravel(), expected, strict=True):
        if is_open:
            assert float(exact) == pytest.approx(weight, abs=1e-5)
            assert abs(float(printed or 0) - 100 * weight) <= 0.5 + 1e-3
        else:
            assert (exact, printed) == (None, "")


def below_the_title(page: Page) -> float:
    """How far the mask stands below the page's title."""
    return box_of(mask_editor(page))["y"] - box_of(page.get_by_role("heading", level=1))["y"]


def assert_outputs_moved(page: Page) -> None:
    """As far as was computed, where "cat" stands for "dog"."""
    reach = masks.reach(TIRED, TIRED.replace("dog", "cat"))
    for title, change in (
        ("Encoder: no mask, as in BERT", reach.encoder),
        ("Decoder: causal mask, as in GPT", reach.decoder),
    ):
        shown = page.get_by_role("list", name=title).get_by_role("listitem")
        moved = shown.evaluate_all("all => all.map(one => Number(one.dataset.distance))")
        assert moved == pytest.approx(change.distance.tolist(), abs=1e-5)
        same = shown.evaluate_all("all => all.map(one => one.textContent.endsWith('= same'))")
        assert same == change.unchanged.tolist()


def test_masks(page: Page, server: Server) -> None:
    changed = {"edited": "3 dog", "replacement": "cat"}
    lesson(page, server, "masks", mask="window", mask_size=2, mask_after=1, **changed)
    assert_outputs_moved(page)
    mask = masks.cells("window", 15, 2, 1).copy()
    assert_masked(page, mask)
    before = below_the_title(page)
    it, dog = 9, 2
    mask_editor(page).get_by_role("gridcell", name="it → it:").focus()
    press(page, "Space", *(it - dog) * ["ArrowLeft"], "Enter", "ArrowDown", "Space")
    mask[it, it], mask[it, dog], mask[it + 1, dog] = False, True, True
    wait_idle(page)
    assert_masked(page, mask)
    expect(mask_editor(page).locator(":focus")).to_have_accessible_name(re.compile("^was → dog: open, "))
    # The first stroke does not move the cells away.
    assert below_the_title(page) == pytest.approx(before, abs=8)

    cells = mask_editor(page).get_by_role("gridcell")
    cells.last.scroll_into_view_if_needed()
    for key, act in ((it + 2, page.mouse.down), (it + 4, page.mouse.up)):
        page.mouse.move(*middle(cells.nth(it * 15 + key)), steps=9)
        act()
    mask[it, it + 2 : it + 5] = True
    wait_idle(page)
    assert_masked(page, mask)
    assert_asked(page, cells=masks.written(mask))
    everybody_can_use(page)

    # A row without an open cell is refused, and no number is left.
    row = mask_editor(page).get_by_role("button", name="dog: the whole row of dog, query", exact=True)
    row.press("Enter")
    row.press("Enter")
    wait_idle(page)
    expect(page.get_by_role("alert").filter(has_text="Not computed.")).to_contain_text("token 3 look nowhere")
    assert set(cells.all_inner_texts()) == {""}
    expect(mask_editor(page).get_by_role("button", name="⚠ dog, looks nowhere")).to_be_visible()


def test_positions(page: Page, server: Server) -> None:
    main = lesson(page, server, "positions", text=HOSTILE, order=3, dimension_pair=3)
    names, rows = labels(HOSTILE), page.locator("tr[data-token]")

    @eventually
    def shows(order: str) -> None:
        assert_asked(page, order=order)
        found = set_experiment(HOSTILE, int(order))
        assert rows.locator("bdi").all_inner_texts() == [names[token] for token in found.order]
        for column, compared in ((1, found.without), (2, found.with_positions)):
            cells = rows.locator(f"td:nth-of-type({column}) .verdict")
            shown = cells.evaluate_all(
                "all => all.map(({ dataset: d }) => [Number(d.difference), Number(d.cosine)])"
            )
            np.testing.assert_allclose(
                shown, np.transpose([compared.differences, compared.cosines]), atol=1e-4
            )

    shows("3")
    number = page.get_by_role("spinbutton", name="Order")
    number.press("ArrowUp")
    number.press("Enter")
    shows("4")
    page.get_by_role("button", name="Shuffle").press("Enter")
    expect(number).to_have_value("5")
    shows("5")
    tokens_in_order = rows.get_by_role("button")
    at = set_experiment(HOSTILE, 5).order.index(names.index("it"))
    expect(tokens_in_order.nth(at)).to_have_attribute("aria-pressed", "true")
    tokens_in_order.nth(at).press("End")
    press(page, "ArrowUp", "Enter")
    wait_idle(page)
    last = len(names) - 2
    expect(page.get_by_text(re.compile(rf"^Without positions, .*, now token {last + 1}\)"))).to_be_visible()
    expect(tokens_in_order.nth(last)).to_be_focused()
    for kind in ("Learned", "Rotary", "ALiBi"):
        page.get_by_role("radio", checked=True).last.press("ArrowRight")
        press(page, "Enter")
        wait_idle(page)
        assert_asked(page, encoding=kind)
    expect(page.get_by_text("0.5, 0.25, 0.125, 0.0625")).to_be_visible()
    assert main.locator("u").count() == 0
    everybody_can_use(page)


def test_cross_attention(page: Page, server: Server) -> None:
    reader = "A <u>hound</u> was too tired to walk over the street."
    lesson(page, server, "cross_attention", text=TIRED, reader=reader)
    type_into(page, "Reader", "")
    expect(page.get_by_text("There is nothing here for the model to read.")).to_be_visible()
    type_into(page, "Reader", reader)
    wait_idle(page)
    page.get_by_role("radio", name="Lines").press("Space")
    wait_idle(page)
    found, explore = cross(reader, TIRED, 6), Explore(page, "")
    names = [token.text for token in found.query_tokens]
    expect(explore.queries).to_have_text(names)
    explore.queries.first.press("End")
    last = len(names) - 1
    explore.queries.nth(last).press("ArrowUp")
    explore.queries.nth(last - 1).press("ArrowUp")
    explore.queries.nth(last - 2).press("Enter")
    wait_idle(page)
    assert_asked(page, reads=f"{last - 1} street")
    row = found.weights[0, last - 2]
    most = found.key_tokens[int(row.argmax())].text
    told = page.get_by_test_id("stMarkdown").filter(has_text=f"street reads {most} {100 * row.max():.0f} %")
    expect(told.first).to_be_visible()
    assert dict(explore.rows(explore.keys))[most] == f"{100 * row.max():.0f} %"
    worked = page.get_by_label(f"Why does street look at {most}")
    assert value(worked, "result") == pytest.approx(row.max(), abs=1e-4)
    explore.keys.nth(3).press("Enter")
    wait_idle(page)
    worked = page.get_by_label("Why does street look at did")
    assert value(worked, "result") == pytest.approx(row[3], abs=1e-4)
    assert page.get_by_role("main").locator("u").count() == 0
    everybody_can_use(page)


STEPS = ("came_in", "attention", "first_sum", "attended", "feed_forward", "second_sum", "came_out")


def test_block(page: Page, server: Server) -> None:
    main = lesson(page, server, "block", layer=5, text=HOSTILE)
    it = labels(HOSTILE).index("it")
    way = block.walk(HOSTILE, 4, it)

    def part(name: str) -> Locator:
        return main.locator(f"[data-part={name}]")

    def near(number: float) -> Any:
        return pytest.approx(number, abs=2e-4)

    def printed(name: str) -> float:
        return as_number(part(name).inner_text())

    @eventually
    def assert_dimension(at: int) -> None:
        """Every step's number of one dimension; they add up as they are printed."""
        for name in STEPS:
            assert value(main, f"{name}-result") == near(getattr(way, name).values[at])
        for name in ("first_sum", "second_sum"):
            total = printed(f"{name}-old") + printed(f"{name}-update")
            assert total == pytest.approx(printed(f"{name}-result"), abs=0.005001)
        for name, norm in (("attended", way.first_norm), ("came_out", way.second_norm)):
            assert value(main, f"{name}-gain") == near(norm.gain[at])
            assert value(main, f"{name}-sum-variance") == near(norm.variance)
            parts = ("sum", "sum-mean", "sum-variance", "gain", "offset")
            total, mean, variance, gain, offset = (printed(f"{name}-{one}") for one in parts)
            result = (total - mean) / math.sqrt(variance) * gain + offset
            assert result == pytest.approx(printed(f"{name}-result"), abs=0.005001)

    expect(part("attention")).to_be_hidden()
    page.get_by_role("button", name="1 The token comes in").press("ArrowRight")
    expect(page.get_by_role("button", name="2 Attention")).to_be_focused()
    expect(part("attention")).to_be_visible()
    expect(part("first_sum")).to_be_hidden()
    press(page, *4 * ["ArrowDown"])
    expect(page.get_by_role("button", name="6 Add")).to_have_attribute("aria-current", "step")
    press(page, "ArrowDown")
    expect(part("came_out")).to_be_visible()
    wait_idle(page)
    assert_asked(page, stage_in_block="7")
    for name in STEPS:
        assert value(main, f"{name}-length") == near(getattr(way, name).length)
    assert value(main, "firing") == way.firing
    slider = page.get_by_role("slider", name="Dimension")
    strongest = int(abs(way.attention.values).argmax())
    expect(slider).to_have_attribute("aria-valuenow", str(strongest + 1))
    assert_dimension(strongest)
    slider.press("Control+End")
    expect(slider).to_have_attribute("aria-valuenow", "384")
    assert_dimension(383)
    second = page.get_by_role("button", name=re.compile(r"^\d+: ")).nth(1)
    second.click()
    expect(second).to_have_attribute("aria-pressed", "true")
    neuron, fires = way.strongest(2)[1]
    assert value(main, "expanded-result") == near(way.expanded.values[neuron])
    assert value(main, "activated-result") == near(fires)
    product = printed("activated-before") * printed("activated-share")
    assert product == pytest.approx(printed("activated-result"), abs=0.005001)
    part("feed_forward").hover(position={"x": 1, "y": 1})
    expect(slider).to_have_attribute("aria-valuenow", "1")
    assert main.locator("u").count() == 0
    everybody_can_use(page)
    # What goes out of a layer comes into the next.
    out = value(main, "came_out-length")
    page.get_by_role("button", name="On to layer 6").click()
    expect(page.get_by_role("spinbutton", name="Layer")).to_have_value("6")
    expect(part("attention")).to_be_hidden()
    wait_idle(page)
    assert value(main, "came_in-length") == out


def test_translate(page: Page, server: Server) -> None:
    lesson(page, server, "translate")
    picture = page.locator(".translation")

    @eventually
    def shows(text: str, row: int) -> None:
        """What the row chose, what it read, and what that had read."""
        found = translate(TRANSLATOR, text)
        chosen = [probability for _, probability in found.choices[row]]
        assert values(picture, "choice") == pytest.approx(chosen, abs=1e-4)
        across = found.trace.stack("cross")[0, :, row]
        before = found.trace.stack("encoder")[1, 0, int(across[0].argmax())]
        for kind, weights in (("across", across[0]), ("before", before)):
            shares = str(picture.locator(f".bundle.{kind}").last.get_attribute("data-weights"))
            assert float(shares.split(maxsplit=1)[0]) == pytest.approx(weights.max(), abs=1e-4)
        read, meant = (found.source[int(one.argmax())].text for one in (across[0], before))
        expect(picture.locator(".told")).to_contain_text(f"read {read}")
        expect(picture.locator(".told")).to_contain_text(f"had read {meant}")

    expect(page.get_by_role("heading", name="il était trop fatigué.")).to_be_visible()
    expect(page.get_by_role("radio", name="il, word 10")).to_be_checked()
    shows(TIRED, 9)
    page.get_by_role("radio", name="too narrow").press("Space")
    wait_idle(page)
    expect(page.get_by_role("heading", name="elle était trop étroite.")).to_be_visible()
    elle = page.get_by_role("radio", name="elle, word 10")
    expect(elle).to_be_checked()
    elle.press("ArrowLeft")
    shows(NARROW, 8)
    page.wait_for_url(lambda url: "french=9+car" in url)
    wait_idle(page)
    expect(page.get_by_role("radio", name="car, word 9")).to_be_focused()
    everybody_can_use(page)


@pytest.mark.parametrize("viewport", [PHONE])
def test_translate_on_a_phone(page: Page, server: Server) -> None:
    lesson(page, server, "translate", english=NARROW)
    page.get_by_role("radio", name="chien, word 2").tap()
    expect(page.locator(".translation .doing")).to_contain_text("choosing chien")
    wait_idle(page)
    assert_asked(page, french="2 chien")
    type_into(page, "English", "The zebra did not cross the road.")
    expect(page.get_by_test_id("stAlert")).to_contain_text("zebra")
    wait_idle(page)
    box = page.get_by_role("textbox", name="English")
    expect(box).to_have_value("The zebra did not cross the road.")
    expect(page.locator(".st-key-slide-picture")).to_be_hidden()  # an empty frame would say nothing
    page.get_by_text("All the words it knows").click()
    expect(page.get_by_text("Animals: dog, cat")).to_be_visible()


def test_cause(page: Page, server: Server) -> None:
    lesson(page, server, "cause", edit="dog to road")
    expect(page.get_by_text("“dog to road” is no edit")).to_be_visible()
    picture = page.locator(".root.arrow").first
    it, dog, road = 8, 1, 6

    @eventually
    def shows(*edits: str) -> None:
        """The translation, and both probabilities."""
        expect(page.locator("[data-pending]")).to_have_count(0)
        wait_idle(page)
        found = experiment(TRANSLATOR, TIRED, "encoder", 1, 0, it, edits)
        assert found.gender
        said = page.locator(".writes.now p").first
        told = (said.text_content() or "").lower().rstrip(".").replace("'", "' ").split()
        assert told == list(found.words_now)
        marked = [mark.text_content() for mark in said.locator("mark").all()]
        assert marked == [
            new for new, old in zip(found.words_now, found.words_before, strict=True) if new != old
        ]
        for word, exact in zip(("il", "elle"), found.gender.now, strict=True):
            shown = picture.locator(f'[data-word="{word}"] .is[data-value]').get_attribute("data-value")
            assert float(shown or "nan") == pytest.approx(exact, abs=1e-5)

    shows()
    pin = picture.get_by_role("slider")
    expect(pin).to_have_attribute("aria-valuetext", re.compile("^dog, "))
    for _ in range(road - dog):
        pin.press("ArrowRight")
    pin.press("Enter")
    shows(f"encoder 2-1 {it + 1} {dog + 1}>{road + 1}")
    expect(page.get_by_text("il became elle")).to_be_visible()
    assert_asked(page, edit=f"encoder 2-1 {it + 1} {dog + 1}>{road + 1}")
    for button, *edits in (
        ("Silence the row of it", f"encoder 2-1 {it + 1}"),
        ("Silence the whole head", "encoder 2-1"),
        ("Let it go back",),
    ):
        picture.get_by_role("button", name=button).click()
        shows(*edits)
    everybody_can_use(page)


def test_write(page: Page, server: Server) -> None:
    lesson(page, server, "write", write=2, temperature="0.8", seed=4)
    story = page.locator(".root.passage")
    bars = page.locator(".root.share-table")

    @eventually
    def shows(words: int, word: int) -> None:
        """The story so far, and what the word was chosen from."""
        how = Writing(words, temperature=0.8, seed=4)
        found = attnviz.trace(WRITTEN, STORYTELLER, writing=how)
        expect(story.locator("button.written")).to_have_count(words + 1)
        assert (
            "".join(story.locator(".text > button").all_text_contents()) == f"{found.text} …"[len(WRITTEN) :]
        )
        chosen = attnviz.predictions(WRITTEN, STORYTELLER, writing=how)[word - words - 2]
        shares = [[each.probability, each.share] for each in chosen.candidates]
        np.testing.assert_allclose(data(bars.locator("tbody tr"))[: len(shares)], shares, atol=1e-6)

    shows(2, 1)
    expect(story.locator(".place")).to_have_text("token 1 of 2")  # what comes next is no token yet
    page.get_by_role("button", name="One more word").click()
    shows(3, 3)
    assert_asked(page, write="3", written_word="3")
    story.get_by_role("button", name="Previous token").click()
    shows(3, 2)
    assert_asked(page, written_word="2")
    heads = page.locator(".st-key-what-the-heads-read")
    expect(heads.get_by_text("rows: heads, layer-head")).to_be_visible()
    type_into(page, "The story begins", "Mary saw a zebra.")
    expect(page.get_by_test_id("stAlert")).to_contain_text("zebra")
    page.get_by_role("button", name="Examples").click()
    page.get_by_role("button", name="Two friends").or_(page.get_by_role("radio", name="Two friends")).click()
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("stAlert")).to_have_count(0)
    wait_idle(page)
    everybody_can_use(page)


# What the mask editor shows before Python has answered.

CAUSAL = [1, 0, 0, 0.4, 0.6, 0, 0.2, 0.3, 0.5]


def draw(widgets: Widgets, mask: str, with_mask: list[float]) -> None:
    names = [{"label": label, "name": label, "title": "", "special": False} for label in "abc"]
    facts = {"tokens": names, "without": [0.2, 0.3, 0.5] * 3, "shows": "with mask", "query": 1}
    widgets.mount("mask_editor", {**facts, "mask": mask, "with_mask": with_mask})


def test_until_python_answers_the_numbers_of_the_former_mask_are_gone(widgets: Widgets) -> None:
    page, editor = widgets.page, mask_editor(widgets.page)
    cells = editor.get_by_role("gridcell")
    draw(widgets, "8-c-e", CAUSAL)
    assert cells.all_text_contents() == ["100", "", "", "40", "60", "", "20", "30", "50"]
    page.get_by_role("gridcell", name="a → b:").click()
    assert ["draw", {"mask": "c-c-e"}] in widgets.said()
    expect(page.get_by_role("gridcell", name="a → b: open")).to_be_visible()
    assert cells.all_text_contents() == [""] * 9
    # A second stroke, and then the answer to the first one: the second stays, still without numbers.
    page.get_by_role("gridcell", name="b → c:").click()
    draw(widgets, "c-c-e", [0.5, 0.5, 0, *CAUSAL[3:]])
    expect(page.get_by_role("gridcell", name="b → c: open")).to_be_visible()
    assert cells.all_text_contents() == [""] * 9
    draw(widgets, "c-e-e", [0.5, 0.5, 0, 0.1, 0.2, 0.7, *CAUSAL[6:]])
    assert cells.all_text_contents() == ["50", "50", "", "10", "20", "70", "20", "30", "50"]
    for _ in range(2):
        editor.get_by_role("button", name="c: the whole column of c, key").click()
    editor.get_by_role("button", name="all: open every cell").click()
    assert [said["mask"] for _, said in widgets.said()[-3:]] == ["e-e-e", "c-c-c", "e-e-e"]


def test_induction(page: Page, server: Server) -> None:
    lesson(page, server, "induction", said_again="3 basket")
    picture = page.locator(".root.repeated-words")
    chosen = picture.get_by_role("button", name="basket", exact=True)
    expect(chosen).to_have_attribute("aria-pressed", "true")
    chosen.press("ArrowDown")
    picture.get_by_role("button", name="thanked", exact=True).press("Enter")
    assert_asked(page, said_again="4 thanked")
    name = head_name(*measured().previous_word_heads[0])
    head = picture.get_by_role("button", name=f"Silence head {name}")
    head.press("Enter")
    assert_asked(page, silenced=name)
    expect(head).to_have_attribute("aria-pressed", "true")
    expect(head).to_be_focused()
    expect(picture.locator("path.closed")).to_have_count(1)
    expect(page.get_by_text(f"without {name}: the highest prefix-matching score")).to_be_visible()
    picture.get_by_role("button", name="Leo", exact=True).click()
    assert_asked(page, said_again="5 Leo", silenced=name)
    everybody_can_use(page)
