"""Every number on the page is the model's own: compared with a forward pass without attnviz."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

from tests.browser.explore import (
    NARROW,
    TIRED,
    Explore,
    assert_printed,
    assert_ranked,
    eventually,
    strongest,
    value,
    values,
)
from tests.browser.reference import Array, Forward, Shown, forward, names
from tests.browser.server import Server

PIECES = "The unbelievable tokenization was unhappier than the tokenization, 1234567 times."
SHORT = "Why?"

RANKED = 8


def close(exact: object) -> Any:
    """As near as two orders of adding up float32 numbers come."""
    return pytest.approx(exact, rel=1e-4, abs=2e-5)


@pytest.fixture
def explore(page: Page, server: Server) -> Explore:
    return Explore(page, server.url)


def check_lines(explore: Explore, labels: tuple[str, ...], row: Array, least: float = 0.005) -> None:
    """Every key's number; a share below half a percent is left blank."""
    shown = explore.rows(explore.keys)
    assert [label for label, _ in shown] == list(labels)
    for (_, text), exact in zip(shown, row, strict=True):
        if text:
            assert_printed(text, exact)
        else:
            assert abs(exact) < least + 1e-6


def check_sentence(explore: Explore, query: str, largest: Sequence[tuple[str, float]]) -> None:
    """ "it looks at dog 65.8 %, road 12.4 %, the 5.4 %": the largest, and their numbers."""
    [(name, _), *named] = explore.sentence()
    assert name == query
    assert_ranked(named, largest)


def check_ranking(explore: Explore, link: Array, open_head: str) -> None:
    """The heads with the largest numbers, and the place of the open one."""
    order = np.argsort(-np.abs(link), axis=None, kind="stable")
    named = [(f"{at // link.shape[1] + 1}-{at % link.shape[1] + 1}", float(link.flat[at])) for at in order]
    assert_ranked(explore.ranked(), named[:RANKED])
    place = [name for name, _ in named].index(open_head)
    said = explore.page.get_by_text(re.compile(f"^The open head, {open_head}, is number")).inner_text()
    number, of, text = re.findall(r"number (\d+) of (\d+): (.*)\.$", said)[0]
    assert (int(number), int(of)) == (place + 1, link.size)
    assert_printed(text, named[place][1])


def check_arithmetic(
    explore: Explore, read: Forward, layer: int, head: int, query: int, key: int, result: float, nth: int = 0
) -> None:
    """Vectors, products, sum, score, the whole row and the weight between two tokens of the text, from 0."""
    shown = explore.arithmetic.nth(nth)
    at = (layer - 1, head - 1)
    vectors = read.query[at][query], read.key[at][key]
    for name, vector in zip(("query", "key", "products"), (*vectors, vectors[0] * vectors[1]), strict=True):
        bars = shown.locator(f"[data-part={name}] rect").evaluate_all(
            "all => all.map(one => Number(one.dataset.value))"
        )
        assert bars == close(vector.tolist())
    scores, weights = read.scores[at][query], read.weights[at][query]
    assert value(shown, "dot-product") == close(read.dot_products[at][query, key])
    assert value(shown, "score") == close(scores[key])
    listed = [
        int(index)
        for index in shown.locator("[data-part=row]").evaluate_all("a => a.map(x => x.dataset.index)")
    ]
    assert values(shown, "row-score") == close(scores[listed].tolist())
    assert values(shown, "row-exponential") == close(np.exp(scores[listed] - scores.max()).tolist())
    assert values(shown, "row-weight") == close(weights[listed].tolist())
    assert value(shown, "row-sum") == close(np.exp(scores - scores.max()).sum())
    assert value(shown, "weight") == close(weights[key])
    assert value(shown, "result") == close(result)
    for name, exact in (("score", scores[key]), ("dot-product", read.dot_products[at][query, key])):
        assert_printed(shown.locator(f"[data-part={name}]").inner_text(), exact)
    for name, exact in (("weight", weights[key]), ("result", result)):
        assert_printed(shown.locator(f"[data-part={name}]").inner_text(), exact)


def check_all(
    explore: Explore, read: Forward, shown: Shown, layer: int, head: int, query: int, key: int
) -> None:
    """Lines, sentence, ranking and arithmetic of one head and one shown pair, counted from 0."""
    weights = shown.weights[layer - 1, head - 1]

    def check() -> None:
        explore.page.mouse.move(0, 0)  # so that no token is pointed at
        check_lines(explore, shown.labels, weights[query])
        check_sentence(explore, shown.names[query], strongest(weights[query], shown.names))
        check_ranking(explore, shown.weights[:, :, query, key], f"{layer}-{head}")
        pair = shown.positions[query], shown.positions[key]
        check_arithmetic(explore, read, layer, head, *pair, weights[query, key])

    eventually(check)


def test_lines_sentence_ranking_and_arithmetic(explore: Explore) -> None:
    explore.open(text=PIECES)
    read = forward(PIECES)
    shown = read.shown()
    assert any(token.startswith("##") for token in shown.labels)
    assert len(set(shown.labels)) < len(shown.labels)
    for layer, head, query, key in ((4, 2, 4, 12), (1, 3, 13, 5), (6, 12, 0, len(shown.labels) - 1)):
        explore.open_head(layer, head)
        explore.pick(query, key)
        check_all(explore, read, shown, layer, head, query, key)


def test_hiding_rescales_and_merging_adds_up(explore: Explore) -> None:
    read = forward(PIECES)
    hidden, merged = read.shown(hide=True), read.shown(merge=True)
    query, key = hidden.labels.index("than"), hidden.labels.index("times")
    explore.open(
        text=PIECES, hide="true", layer=2, head=9, query=hidden.options[query], key=hidden.options[key]
    )
    check_all(explore, read, hidden, 2, 9, query, key)
    explore.toggle("Hide special tokens")
    explore.toggle("Merge pieces")
    [first, second] = [at for at, label in enumerate(merged.labels) if label == "tokenization"]
    for query, key in ((merged.labels.index("unhappier"), first), (second, merged.labels.index("than"))):
        explore.pick(query, key)
        check_all(explore, read, merged, 2, 9, query, key)
    explore.toggle("Hide special tokens")
    both = read.shown(hide=True, merge=True)
    assert both.weights.shape[-1] < merged.weights.shape[-1] < hidden.weights.shape[-1]
    check_all(
        explore,
        read,
        both,
        2,
        9,
        both.options.index(merged.options[query]),
        both.options.index(merged.options[key]),
    )


def test_the_shortest_text_and_our_own_transformer(explore: Explore) -> None:
    explore.open(text=SHORT, model="minilm-scratch", layer=5, head=7)
    read = forward(SHORT)
    shown = read.shown()
    explore.pick(1, 2)
    check_all(explore, read, shown, 5, 7, 1, 2)


def test_the_readout_of_the_matrix(explore: Explore) -> None:
    explore.open(view="Matrix", layer=3, head=5, also=[9])
    read = forward(TIRED)
    count = len(read.tokens)
    for query, key in ((0, 0), (9, 2), (count - 1, 12), (6, count - 1)):
        panel = explore.matrix.first
        box = panel.bounding_box()
        assert box is not None
        x, y = (key + 0.5) * box["width"] / count, (query + 0.5) * box["height"] / count
        panel.hover(position={"x": x, "y": y})
        [looks, (looked_at, numbers)] = explore.sentence()
        called = names(read.tokens)
        assert (looks[0], looked_at) == (called[query], called[key])
        assert [head for head, _ in re.findall(r"head (\d+) (.*? %)", numbers)] == ["5", "9"]
        for head, text in re.findall(r"head (\d+) (.*? %)", numbers):
            assert_printed(text, read.weights[2, int(head) - 1, query, key])


def test_the_change_is_the_second_sentence_minus_the_first(explore: Explore) -> None:
    explore.open(show="change")
    before, after = forward(TIRED), forward(NARROW)
    change = after.weights - before.weights
    labels = tuple(a if a == b else f"{a} → {b}" for a, b in zip(before.tokens, after.tokens, strict=True))
    query = labels.index("it")

    def check(key: int) -> None:
        explore.page.mouse.move(0, 0)
        row = change[3, 1, query]
        check_lines(explore, labels, row)
        largest = sorted(zip(names(labels), row, strict=True), key=lambda named: -abs(named[1]))[:3]
        check_sentence(explore, "it", largest)
        check_ranking(explore, change[:, :, query, key], "4-2")
        for nth, read in enumerate((before, after)):
            check_arithmetic(explore, read, 4, 2, query, key, read.weights[3, 1, query, key], nth)

    eventually(lambda: check(labels.index("dog")))
    explore.pick(key=labels.index("tired → narrow"))
    eventually(lambda: check(labels.index("tired → narrow")))


@pytest.mark.parametrize("hide", [False, True])
def test_the_stages(explore: Explore, hide: bool) -> None:
    read = forward(TIRED)
    kept = [at for at, special in enumerate(read.special) if not (hide and special)]
    labels = tuple(read.tokens[at] for at in kept)
    called = names(labels, kept)
    query = labels.index("it")
    explore.open(stage="dot product", layer=6, head=1, hide=str(hide).lower())

    def check(numbers: Array) -> None:
        row = numbers[5, 0, kept[query], kept]
        check_lines(explore, labels, row)
        check_sentence(explore, "it", strongest(row, called))
        check_arithmetic(
            explore,
            read,
            6,
            1,
            kept[query],
            kept[int(row.argmax())],
            read.shown(hide).weights[5, 0, query, row.argmax()],
        )

    eventually(lambda: check(read.dot_products))
    for stage in ("scaled", "masked"):
        explore.choose("Stage", stage)
        eventually(lambda: check(read.scores))
    explore.choose("Stage", "weights")
    eventually(lambda: check_lines(explore, labels, read.shown(hide).weights[5, 0, query]))


def test_the_sentence_beside_the_heatmap(explore: Explore) -> None:
    explore.open(view="Heatmap", layer=4, head=8)
    read = forward(TIRED)
    said = explore.page.get_by_text(re.compile("In head 4-8,"))
    named = said.locator("code").all_inner_texts()
    numbers = said.locator("strong").all_inner_texts()
    row = read.weights[3, 7, read.tokens.index("it")]
    expected = strongest(row, names(read.tokens))
    assert named[0] == "it"
    assert_ranked(list(zip(named[1:], numbers, strict=True)), expected[: len(numbers)])
    assert all(weight < 0.05 + 1e-6 for _, weight in expected[len(numbers) :])


def test_the_dog_and_the_road_in_one_click(explore: Explore) -> None:
    explore.open()
    assert explore.page.get_by_role("heading", name="Layer 4 · Head 2").is_visible()
    assert explore.head(4, 2).get_attribute("aria-selected") == "true"
    assert (
        explore.queries.get_by_text("it", exact=True).locator("xpath=..").get_attribute("aria-pressed")
        == "true"
    )

    def number(label: str) -> float:
        [text] = [text for name, text in explore.rows(explore.keys) if name == label]
        return float(text.split()[0].replace("−", "-"))

    assert number("dog") > number("road")
    explore.choose("Show", "narrow")
    eventually(lambda: _assert_greater(number("road"), number("dog")))
    explore.choose("Show", "change")
    eventually(lambda: _assert_greater(number("road"), 0))
    assert number("dog") < 0
    assert explore.rows(explore.keys)[2][1].startswith("−")
    assert explore.rows(explore.keys)[7][1].startswith("+")


def _assert_greater(larger: float, smaller: float) -> None:
    assert larger > smaller
