"""The lesson "Translate" without a browser: the values for example sentences and typed sentences."""

import re

import pytest

from attnviz.app import markdown
from attnviz.app.lessons import measured
from attnviz.app.lessons.translate.values import translate
from attnviz.models import catalogue
from attnviz.text import percent
from attnviz.trained.translator.variants import VARIANTS
from attnviz.trained.translator.vocabulary import FRENCH
from tests.app.shown import (
    button_row,
    clean,
    message_to,
    messages_to,
    open_menu,
    page_text,
    press,
    stored_arrays,
    visit,
)

TIRED = "The dog did not cross the road as it was too tired."
NARROW = TIRED.replace("tired", "narrow")


def test_button_switches_to_the_other_reading() -> None:
    app = visit("translate")
    assert app.selectbox(key="french").value == "10 il"
    assert translate("translator", TIRED).text in [each.value for each in app.header]
    clean(button_row(app, "menu_reading").set_value("too narrow").run())
    assert app.text_input(key="english").value == NARROW
    assert app.selectbox(key="french").value == "10 elle"
    assert translate("translator", NARROW).text in [each.value for each in app.header]


def test_pictures_have_the_weights_of_cross_attention_and_encoder() -> None:
    app, found = visit("translate", french="2 chien"), translate("translator", TIRED)
    cross, encoder = messages_to(app, "head_view")
    assert (cross["query"], encoder["query"]) == (1, 1)
    weights = stored_arrays(app, "translation cross exact")["values"]
    assert weights.tolist() == found.trace.block("cross", 0).weights[:1].tolist()
    weights = stored_arrays(app, "translation encoder exact")["values"]
    assert weights.tolist() == found.trace.block("encoder", 1).weights[:1].tolist()
    [row, *_] = message_to(app, "share_table")["rows"]
    assert (row["label"], row["shares"]) == (found.choices[1][0][0], [found.choices[1][0][1]])


def test_diagram_has_the_sentences_numbers_and_links_to_lessons() -> None:
    app, found = visit("translate", french="3 n'"), translate("translator", TIRED)
    [html] = [each.proto.body for each in app.get("html") if 'class="architecture"' in each.proto.body]
    assert f"3 × {len(found.source)} weights" in html
    assert f"{len(FRENCH)} words; " in html
    assert f": {percent(found.choices[2][0][1], 1)}" in html
    lessons = {"positions", "query_key_value", "masks", "cross_attention", "block", "scale"}
    assert set(re.findall(r'href="(\w+)"', html)) == lessons


def test_sentence_unlike_the_training_set_shows_a_warning() -> None:
    assert visit("translate", english="the road the dog").warning


@pytest.mark.parametrize("english", ["dog", "The dog was tired.", "the " * 39])
def test_sentence_without_a_pronoun_has_no_question(english: str) -> None:
    app = visit("translate", english=english)
    assert not [each for each in app.get("button_group") if each.key == "guess_translate"]
    assert len(message_to(app, "head_view")["query_tokens"]) == len(translate("translator", english).written)


def test_unknown_word_is_refused_and_a_sentence_can_be_built() -> None:
    app = open_menu(visit("translate"), "english_examples")
    app.text_input(key="english").set_value("The zebra was tired.").run()
    assert app.error
    clean(press(app, "Random sentence"))
    assert str(app.text_input(key="english").value).startswith("The ")


def test_accuracy_was_measured_with_the_shipped_weights() -> None:
    app, run = visit("translate"), measured.bundled_results("guided")
    shown = page_text(app).replace("\\", "").replace("\N{NO-BREAK SPACE}", " ")
    for share in (*run.exact.values(), run.pronoun):
        assert percent(share, 1).replace("\N{NO-BREAK SPACE}", " ") in shown
    assert f"head {run.head}" in shown


@pytest.mark.parametrize("name", ["translator", "translator-unguided"])
def test_each_translator_opens_with_its_description_and_its_heads(name: str) -> None:
    entry = catalogue.entry(name)
    app = visit("translate", translator=entry.title)
    assert not app.warning
    assert markdown.plain(entry.description) in app.selectbox(key="translator").help
    variant = VARIANTS[measured.variant_of(name)]
    assert markdown.plain(variant.description) in page_text(app)
    cross, encoder = messages_to(app, "head_view")
    heads = translate(name, TIRED).trace.block("cross", 0).weights
    assert len(cross["heads"]) == (1 if name == "translator" else len(heads))
    assert (
        f"{encoder['layer']}-{encoder['heads'][0]}"
        == measured.bundled_results(measured.variant_of(name)).head
    )
