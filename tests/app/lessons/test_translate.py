"""The lesson "Translate" without a browser: it shows the computed values, and reads what is typed."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app import markdown
from attnviz.app.lessons import measured
from attnviz.app.lessons.english import built, by_kind, readings
from attnviz.app.lessons.translate.values import translate
from attnviz.models import catalogue
from attnviz.text import percent
from attnviz.trained.translator.variants import VARIANTS
from attnviz.trained.translator.vocabulary import ENGLISH, FRENCH
from tests.app.shown import clean, opened, press, sent, try_page, visit, words

TIRED = "The dog did not cross the road as it was too tired."
NARROW = TIRED.replace("tired", "narrow")


def architecture(app: AppTest) -> str:
    """The diagram's HTML."""
    (html,) = [each.proto.body for each in app.get("html") if 'class="architecture"' in each.proto.body]
    return str(html)


def test_one_click_gives_the_other_reading_and_its_pronoun() -> None:
    app = visit("translate", french="3 n'")
    assert app.selectbox(key="french").value == "3 n'"
    assert translate("translator", TIRED).text in [each.value for each in app.header]
    clean(app.button_group(key="menu_reading").set_value("narrow").run())
    assert app.text_input(key="english").value == NARROW
    assert app.selectbox(key="french").value == "10 elle"
    assert translate("translator", NARROW).text in [each.value for each in app.header]


def test_the_diagram_has_the_numbers_of_the_sentence_and_links_to_lessons() -> None:
    html = architecture(visit("translate", french="3 n'"))
    entry, found = catalogue.entry("translator"), translate("translator", TIRED)
    word, probability = found.choices[2][0]
    for numbers in (
        f"{len(found.source)} × {entry.d_model}",
        f"3 × {len(found.source)} weights, {entry.heads} heads",
        f"{percent(probability, 1)} of {len(FRENCH)} words",
    ):
        assert numbers in html
    assert word == "n'"
    lessons = {"positions", "query_key_value", "masks", "cross_attention", "block", "scale"}
    assert set(re.findall(r'href="(\w+)"', html)) == lessons


def test_built_sentences_have_both_readings() -> None:
    dice = Random(7)  # noqa: S311
    for _ in range(40):
        text = built(dice)
        found = readings(text)
        assert len(found) == 2
        assert text in found.values()
        assert all(map(readings, found.values()))
    assert not readings("The dog was tired.")


def test_the_tables_have_every_head() -> None:
    app = visit("translate")
    shown, trace = words(app).replace("\\", ""), translate("translator", TIRED).trace
    for block in trace.blocks:
        for head, weights in enumerate(block.weights):
            row = weights[8 if block.kind == "encoder" else 9]
            token = re.escape(block.key_tokens[int(row.argmax())].text)
            line = rf"\| {block.layer + 1}-{head + 1} \| `{token}[^|]*` {percent(float(row.max()))}"
            assert re.search(line, shown), (block.kind, head)


def test_a_sentence_unlike_the_training_set_is_marked() -> None:
    assert visit("translate", english="the road the dog").warning


@pytest.mark.parametrize("english", ["dog", "The dog was tired.", "the " * 39])
def test_without_a_pronoun_there_is_no_question(english: str) -> None:
    app = visit("translate", english=english)
    assert not [each for each in app.get("button_group") if each.key == "guess_translate"]
    assert len(sent(app, "translation")["written"]) == len(translate("translator", english).written)


def test_an_unknown_word_is_refused_and_another_sentence_can_be_built() -> None:
    app = opened(visit("translate"), "english_examples")
    app.text_input(key="english").set_value("The zebra was tired.").run()
    assert app.error
    clean(press(app, "Build a sentence"))
    assert readings(str(app.text_input(key="english").value))


def test_every_english_word_is_listed_once() -> None:
    listed = [word for words in by_kind().values() for word in words]
    assert sorted(listed) == sorted(ENGLISH.words[3:])


FIGURES = {
    "variant": "guided",
    "shipped": True,
    "exact": {"pair": 0.9912, "description": 0.9876, "triple": 0.9753},
    "pronoun": 0.9642,
    "layer": 2,
    "head": 3,
    "seed": "0",
    "subject": {"found": 0.93},
    "object": {"found": 0.88},
    "ablated": {"pronoun": 0.5, "rest": 1},
    "moved": {"changed": 1, "rest": 1},
    "familiarity": {"sentences": 600, "num_near_duplicates": 312},
}


@pytest.fixture
def figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file in the place of the shipped figures."""
    monkeypatch.setattr(measured, "_FILE", tmp_path / "figures.json")
    measured.held_out.cache_clear()
    yield tmp_path / "figures.json"
    measured.held_out.cache_clear()


def test_the_accuracy_is_that_of_the_shipped_weights(figures: Path) -> None:
    other = {**FIGURES, "variant": "unguided", "pronoun": 0.1}
    figures.write_text(json.dumps([other, {**FIGURES, "shipped": False, "pronoun": 0.2}, FIGURES]), "utf-8")
    app = visit("translate")
    for number in (
        "99.1 %",
        "98.8 %",
        "97.5 %",
        "96.4 %",
        "head 2-3",
        "93 %",
        "88 %",
        "Of these 600 sentences, 312 equal",
    ):
        assert number in words(app).replace("\\", "")
    assert app.selectbox(key="encoder_head").value == "2-3"


def test_the_figures_that_ship_are_read() -> None:
    runs = measured.held_out()
    shipped = [run.variant for run in runs if run.shipped]
    assert shipped == ["guided", "training-wheels", "candidates", "unguided", "decorative"]
    written = json.loads(measured._FILE.read_text("utf-8"))
    assert [run.redirected for run in runs] == [each["moved"]["changed"] for each in written]


def test_missing_figures_are_named(figures: Path) -> None:
    app = try_page("translate")
    assert "figures.json" in app.error[0].value.replace("\\", "")
    for content in ("", "[", "[1]", '[{"variant": "unguided"}]'):
        figures.write_text(content, "utf-8")
        measured.held_out.cache_clear()
        assert app.run().error
        assert not app.exception


@pytest.mark.parametrize("name", ["translator", "translator-unguided"])
def test_each_translator_opens_with_its_description_and_its_heads(name: str) -> None:
    entry = catalogue.entry(name)
    app = visit("translate", translator=entry.title)
    assert not app.warning
    assert markdown.plain(entry.description) in app.selectbox(key="translator").help
    variant = VARIANTS[measured.variant_of(name)]
    assert markdown.plain(variant.description) in words(app)
    heads = len(translate(name, TIRED).trace.block("cross", 0).weights)
    assert app.selectbox(key="cross_head").options == ["all", *(str(head + 1) for head in range(heads))]
    best = measured.shipped(measured.variant_of(name)).head
    assert app.selectbox(key="encoder_head").value == best
