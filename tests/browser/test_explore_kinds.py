"""Explore with the translator: the numbers of all three kinds of attention are those of numpy."""

import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.explore import Explore, eventually, strongest, value
from tests.browser.reference import Array, names
from tests.browser.server import Server
from tests.browser.test_explore_numbers import check_lines, check_ranking, check_sentence
from tests.translator_reference import translation

TIRED = "The dog did not cross the road as it was too tired."
ENGLISH = ["the", "dog", "did", "not", "cross", "the", "road", "as", "it", "was", "too", "tired"]
FRENCH = ["le", "chien", "n'", "a", "pas", "traversé", "la", "route", "car", "il", "était", "trop", "fatigué"]


@pytest.fixture
def explore(page: Page, server: Server) -> Explore:
    return Explore(page, server.url)


def forward() -> dict[str, Array]:
    """[layer, head, query, key] of each kind."""
    found = translation(TIRED)
    assert found.words == tuple(FRENCH)
    return {"encoder": found.encoder, "decoder": found.decoder[None], "cross": found.cross[None]}


def check(explore: Explore, weights: Array, layer: int, head: int, query: int) -> None:
    """Lines, sentence, ranking and the worked-out weight of what one query (from 0) looks at most."""
    english, french = (*ENGLISH, "[END]"), ("[START]", *FRENCH)
    by_length = {len(english): english, len(french): french}
    queries, keys = (by_length[length] for length in weights.shape[2:])
    row = weights[layer - 1, head - 1, query]
    key = int(row.argmax())

    def holds() -> None:
        explore.page.mouse.move(0, 0)
        check_lines(explore, keys, row)
        check_sentence(explore, names(queries)[query], strongest(row, names(keys)))
        check_ranking(explore, weights[:, :, query, key], f"{layer}-{head}")
        assert value(explore.arithmetic, "result") == pytest.approx(float(row[key]), abs=1e-4)

    eventually(holds)


def test_every_kind_shows_its_own_numbers(explore: Explore) -> None:
    assert len(ENGLISH) + 1 != len(FRENCH) + 1, "rows and columns can be told apart"
    weights = forward()
    explore.open(model="translator", text=TIRED, kind="cross", layer=1, head=2)
    expect(
        explore.page.get_by_text("Le chien n'a pas traversé la route car il était trop fatigué.")
    ).to_be_visible()
    check(explore, weights["cross"], 1, 2, FRENCH.index("il"))
    explore.open_head(1, 4)
    explore.pick(query=FRENCH.index("route") + 1)
    check(explore, weights["cross"], 1, 4, FRENCH.index("route") + 1)

    explore.choose("Attention", "decoder")
    expect(explore.page).to_have_url(re.compile("kind=decoder"))
    explore.pick(query=FRENCH.index("était") + 1)
    check(explore, weights["decoder"], 1, 4, FRENCH.index("était") + 1)

    explore.choose("Attention", "encoder")
    explore.open_head(2, 1)
    explore.pick(query=ENGLISH.index("it"))
    check(explore, weights["encoder"], 2, 1, ENGLISH.index("it"))
    row = weights["encoder"][1, 0, ENGLISH.index("it")]
    assert row[ENGLISH.index("dog")] > np.delete(row, ENGLISH.index("dog")).sum(), "it is the dog"


def test_a_masked_cell_of_the_decoder_says_so(explore: Explore) -> None:
    explore.open(model="translator", text=TIRED, kind="decoder", view="Matrix", query="2 le", key="5 a")
    expect(explore.words).to_have_text("le → a masked")
    expect(explore.page.get_by_text("The mask forbids")).to_be_visible()
