"""Explore with models that somebody brought: writing on, pairs of sentences, words behind a mask."""

import re
from collections.abc import Iterator
from typing import Any, Literal
from urllib.parse import urlsplit

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, ViewportSize, expect
from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer

from attnviz.models import catalogue
from tests.browser.explore import Explore, assert_printed, eventually, strongest
from tests.browser.server import Server, running
from tests.browser.test_explore_numbers import check_lines, check_ranking
from tests.browser.visit import DESKTOP, PHONE, Faults, axe, visit, wait_idle
from tests.capture.tiny import tiny

PROMPT = "The capital of France is"
FIRST, SECOND = "The dog did not cross the road.", "It was too tired."
FAMILIES = ("gpt2", "bert", "bart")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Where a small model of each family lies."""
    return {family: str(tiny(family, tmp_path_factory.mktemp(family))) for family in FAMILIES}


@pytest.fixture(scope="module")
def offering(folders: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose operator offers the bundled BERT and these models."""
    with pytest.MonkeyPatch.context() as patch:
        offered = ["minilm", *(f"{family}={folder}" for family, folder in folders.items())]
        patch.setenv("ATTNVIZ_MODELS", ",".join(offered))
        with running(tmp_path_factory.mktemp("server")) as server:
            yield server


@pytest.fixture
def explore(page: Page, offering: Server, faults: Faults) -> Iterator[Explore]:
    faults.hosts.add(urlsplit(offering.url).netloc)
    yield Explore(page, offering.url)
    assert not offering.tracebacks()


def test_a_model_writes_on_and_is_followed_token_by_token(explore: Explore, folders: dict[str, str]) -> None:
    network = AutoModelForCausalLM.from_pretrained(folders["gpt2"], attn_implementation="eager")
    tokenizer = AutoTokenizer.from_pretrained(folders["gpt2"])
    ids = tokenizer(PROMPT, return_tensors="pt")["input_ids"]
    typed = ids.shape[1]
    for _ in range(4):  # by hand: the likeliest token, four times
        with torch.inference_mode():
            ids = torch.cat([ids, network(ids).logits[:, -1:].argmax(-1)], dim=1)
    with torch.inference_mode():
        output = network(ids, output_attentions=True)
    weights = np.stack([layer[0].numpy() for layer in output.attentions])
    names = tokenizer.convert_ids_to_tokens(ids[0])

    page = explore.page
    explore.open(model="gpt2", text=PROMPT, layer=2, head=3)
    page.get_by_role("spinbutton", name="Tokens to write").fill("4")
    page.get_by_role("spinbutton", name="Tokens to write").press("Enter")
    expect(page).to_have_url(re.compile("write=4"))
    written = page.get_by_role("button", name=re.compile("written token"))
    expect(written).to_have_text([re.compile(rf"\s*{re.escape(name)}\s*") for name in names[typed:]])
    expect(written.first).to_have_attribute("aria-pressed", "true")

    for step in range(1, 4):
        page.get_by_role("button", name="Next token").click()
        expect(written.nth(step)).to_have_attribute("aria-pressed", "true")
        query = typed + step - 1
        probabilities = output.logits[0, query].softmax(-1).detach().numpy()
        row = weights[1, 2, query]

        def holds(query: int = query, row: Any = row, probabilities: Any = probabilities) -> None:
            page.mouse.move(0, 0)
            check_lines(explore, tuple(names), row)
            table = page.get_by_role("table", name="What comes after")
            likeliest = np.argsort(-probabilities)[:10]
            assert table.get_by_role("rowheader").locator("bdi").all_inner_texts() == [
                names_of(tokenizer, number) for number in likeliest
            ]
            for printed, number in zip(table.locator("tbody .number").all(), likeliest, strict=True):
                assert_printed(printed.inner_text().replace("\u202f", " "), probabilities[number])
            taken = table.get_by_role("row").filter(has_text="taken").locator("bdi")
            assert taken.inner_text() == names[query + 1]

        eventually(holds)


def test_a_link_opens_the_same_head_and_tokens(explore: Explore) -> None:
    page = explore.page

    def shown() -> list[str]:
        boxes = [page.get_by_role("spinbutton", name=name, exact=True) for name in ("Layer", "Head")]
        return [*(box.input_value() for box in boxes), *page.locator("h3").all_inner_texts()]

    explore.open(model="gpt2", text=PROMPT)
    explore.type("Sentence", "A red dog and a red cat and a red")
    explore.open_head(1, 1)
    explore.pick(query=5)
    before, address = (shown(), explore.sentence()), page.url
    assert before[0][:2] == ["1", "1"], "what a widget begins with is in the link too"
    page.reload()
    wait_idle(page)
    eventually(lambda: _same((shown(), explore.sentence()), before))
    page = page.context.new_page()
    visit(page, address)
    other = Explore(page, explore.url)
    eventually(lambda: _same((shown(), other.sentence()), before))


def _same(now: object, before: object) -> None:
    assert now == before


def names_of(tokenizer: Any, number: int) -> str:
    return str(tokenizer.convert_ids_to_tokens(int(number)))


def test_a_pair_is_read_together_and_filtered(explore: Explore) -> None:
    folder = catalogue.MINILM.folder
    read = AutoTokenizer.from_pretrained(folder)(FIRST, SECOND, return_tensors="pt")
    network = AutoModel.from_pretrained(folder, attn_implementation="eager")
    with torch.inference_mode():
        attentions = network(**read, output_attentions=True).attentions
    weights = np.stack([layer[0].numpy() for layer in attentions])
    tokens = AutoTokenizer.from_pretrained(folder).convert_ids_to_tokens(read["input_ids"][0])
    sentence = read["token_type_ids"][0].numpy()
    names = [f"{token} {'ᴬᴮ'[number]}" for token, number in zip(tokens, sentence, strict=True)]
    it = tokens.index("it")

    explore.open(text=FIRST, other=SECOND)
    explore.page.get_by_role("radiogroup", name="What the second box is for").get_by_text(
        "Read together with"
    ).click()
    expect(explore.page).to_have_url(re.compile("second=Read"))
    assert explore.page.get_by_role("textbox", name="Sentence").input_value() == FIRST

    def whole() -> None:
        explore.page.mouse.move(0, 0)
        check_lines(explore, tuple(names), weights[3, 1, it])
        check_ranking(explore, weights[:, :, it, tokens.index("dog")], "4-2")

    eventually(whole)
    explore.choose("Whose tokens look → at whose", "B→A")
    in_first = sentence == 0
    row = weights[3, 1, it, in_first]

    def filtered() -> None:
        explore.page.mouse.move(0, 0)
        assert [label for label, _ in explore.rows(explore.queries)] == names[in_first.sum() :]
        check_lines(explore, tuple(names[: in_first.sum()]), row / row.sum())
        [(said, _), *_] = explore.sentence()
        assert said == names[it]
        assert explore.sentence()[1][0] == strongest(row, names)[0][0]

    eventually(filtered)


Screen = tuple[ViewportSize, Literal["light", "dark"]]

# What each model is looked at with, and how; the other screens have the same widgets.
LOOKED_AT: dict[str, tuple[dict[str, Any], Screen]] = {
    "writes": (
        {"model": "gpt2", "text": PROMPT, "write": 8, "temperature": 0.8, "top_k": 5},
        (PHONE, "light"),
    ),
    "masked": ({"model": "bert", "text": "the dog did not [MASK] the road"}, (DESKTOP, "light")),
    "both texts": (
        {"model": "bart", "kind": "cross", "text": "a man went home", "view": "Matrix"},
        (DESKTOP, "dark"),
    ),
    "pair": (
        {"text": FIRST, "other": SECOND, "second": "Read together with", "between": "A→B"},
        (PHONE, "dark"),
    ),
}


@pytest.mark.parametrize("name", LOOKED_AT)
def test_axe_finds_nothing(explore: Explore, name: str) -> None:
    choices, (size, scheme) = LOOKED_AT[name]
    explore.page.set_viewport_size(size)
    explore.page.emulate_media(color_scheme=scheme)
    explore.open(**choices)
    expect(explore.page.locator(".stApp")).to_have_css("color-scheme", scheme)
    assert axe(explore.page) == []
