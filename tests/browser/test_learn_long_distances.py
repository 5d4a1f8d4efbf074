"""The page on long distances in a browser: the LSTM writes what numpy makes of the same weights."""

import re

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Page, expect
from safetensors.numpy import load_file

from attnviz.trained.translator import distance
from attnviz.trained.translator.vocabulary import ENGLISH, FRENCH
from tests.browser.server import Server
from tests.browser.visit import visit, wait_idle

Array = NDArray[np.float64]


class Lstm:
    """Two LSTMs by the published formulas (Gers et al. 2000), from the shipped numbers."""

    def __init__(self) -> None:
        tensors = load_file(distance.weights_of("recurrent"))
        self.numbers: dict[str, Array] = {name: tensor.astype(np.float64) for name, tensor in tensors.items()}

    def step(self, part: str, word: Array, hidden: Array, cell: Array) -> tuple[Array, Array]:
        names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
        inward, inner, bias, more = (self.numbers[f"{part}.{name}"] for name in names)
        i, f, g, o = np.split(inward @ word + inner @ hidden + bias + more, 4)
        i, f, o = (1 / (1 + np.exp(-gate)) for gate in (i, f, o))
        cell = f * cell + i * np.tanh(g)
        return o * np.tanh(cell), cell

    def translate(self, english: list[str]) -> list[str]:
        source, target = self.numbers["source_table.weight"], self.numbers["target_table.weight"]
        hidden = cell = np.zeros(self.numbers["encoder.weight_hh_l0"].shape[1])
        for number in ENGLISH.ids([*english, "[END]"]):
            hidden, cell = self.step("encoder", source[number], hidden, cell)
        written = ["[START]"]
        while written[-1] != "[END]" and len(written) <= 2 * (len(english) + 1):
            hidden, cell = self.step("decoder", target[FRENCH.ids(written[-1:])[0]], hidden, cell)
            logits = target @ (self.numbers["to_word.weight"] @ hidden + self.numbers["to_word.bias"])
            logits[FRENCH.ids(["[PAD]", "[START]"])] = -np.inf
            written.append(FRENCH.word(int(logits.argmax())))
        return [word for word in written[1:] if word != "[END]"]


def english(page: Page) -> list[str]:
    """The sentence as the picture shows it, without [END]."""
    return page.get_by_label("English", exact=True).locator("bdi").all_inner_texts()[:-1]


def french(page: Page, network: str) -> list[str]:
    """What the network wrote."""
    return (
        page.get_by_label(network, exact=True)
        .locator("[data-mark]:not([data-mark=missing]) bdi")
        .all_inner_texts()
    )


def test_a_sentence_is_stretched_by_keyboard_and_the_lstms_words_are_right(
    page: Page, server: Server
) -> None:
    visit(page, f"{server.url}/long_distances?clauses=0")
    expect(page.get_by_role("heading", name="7 words from noun to it")).to_be_visible(timeout=30_000)
    assert (
        " ".join(french(page, "Transformer"))
        == "le chien n' a pas traversé la route car il était trop fatigué"
    )
    slider = page.get_by_role("slider", name="Clauses put in between the noun and “it”")
    lstm = Lstm()
    seen = [len(english(page))]
    for _ in range(2):
        slider.press("ArrowRight")
        wait_idle(page)
        slider.press("ArrowRight")
        wait_idle(page)
        words = english(page)
        seen.append(len(words))
        assert french(page, "LSTM, no attention") == lstm.translate(words)
    assert seen == sorted(set(seen))
    expect(page).to_have_url(re.compile(re.escape("clauses=4")))
    keeps = page.get_by_label("LSTM, no attention", exact=True).locator("[data-part=keeps]")
    expect(keeps).to_have_text("keeps 2 × 128 = 256 numbers, however long the sentence")


def test_a_sentence_that_cannot_be_stretched_and_back(page: Page, server: Server) -> None:
    visit(page, f"{server.url}/long_distances?clauses=1&english=The+road+was+narrow.")
    box = page.get_by_role("textbox", name="English sentence")
    expect(page.get_by_text("This sentence cannot be stretched here.")).to_be_visible()
    expect(page.get_by_role("button", name="SVG").first).to_be_visible()  # what was measured is still drawn
    box.fill("The cow did not cross the field because it was too muddy.")
    box.press("Enter")
    wait_idle(page)
    assert " ".join(french(page, "Transformer")).startswith("la vache n' a pas traversé le champ")
