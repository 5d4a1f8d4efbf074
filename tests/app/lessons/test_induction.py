"""The lesson "Induction heads" without a browser: the page shows the computed values."""

import re

import numpy as np
from streamlit.testing.v1 import AppTest

from attnviz.app.lessons.document import document
from attnviz.app.lessons.induction.page import OPENING, random_words
from attnviz.app.lessons.induction.values import measured, measured_after_start, repeated
from attnviz.text import head_name, percent
from attnviz.trained.storyteller.copying import Heads
from tests.app.shown import clean, labels, message_to, messages_to, page_text, press, stored_arrays, visit

WORDS = ("lamp", "key", "map", "pen", "toy", "rope")
LABEL = document("induction").label


def text(app: AppTest) -> str:
    """Return all Markdown on the page, without backslashes."""
    return page_text(app).replace("\\", "")


def ablations(heads: Heads) -> list[str]:
    return [f"decoder {head_name(*head)}" for head in heads]


def percent_text(share: float, digits: int = 0) -> str:
    return percent(share, digits).replace("\u00a0", " ")


def test_pictures_and_table_have_the_measured_heads() -> None:
    app, found, roles = visit("induction"), repeated(tuple(OPENING.split())), measured()
    heads = (roles.previous_word_heads[0], roles.induction_heads[0])
    expected = [found.previous_word_weights[heads[0]], found.induction_weights[heads[1]], found.right]
    table = message_to(app, "share_table")
    shown = [row["shares"] for row in table["rows"]]
    assert np.transpose(shown).tolist() == [each.tolist() for each in expected]
    stripe, previous = messages_to(app, "head_view")
    for picture, head, column in zip((previous, stripe), heads, table["columns"], strict=False):
        assert head_name(*head) in column
        assert (picture["layer"] - 1, picture["heads"][0] - 1) == head
        assert labels(picture["key_tokens"]) == ["[CHANT]", *OPENING.split() * 2]
    drawn = stored_arrays(app, "stripe exact")["values"]
    assert np.nan_to_num(drawn[0]).tolist() == found.weights[roles.induction_heads[0]].tolist()


def test_own_words_and_a_selected_word() -> None:
    app = visit("induction", words_twice="Lamp key  map pen TOY rope", repeated_word="2 key")
    found = repeated(WORDS)
    rows = message_to(app, "share_table")["rows"]
    assert [row["label"].split()[0] for row in rows] == list(WORDS[:-1])
    assert [row["place"] for row in rows if row["marked"]] == ["2"]
    stripe, previous = messages_to(app, "head_view")
    assert (stripe["query"], previous["query"]) == (1 + len(WORDS) + 1, 3)
    head = measured().induction_heads[0]
    app.button_group(key="guess_induction").set_value("the word after its first occurrence").run()
    weight = percent_text(float(found.induction_weights[*head, 1]))
    assert re.search(
        rf"`map`, the word after the\sfirst occurrence, has the weight \*\*{weight}\*\*", page_text(app)
    )


def test_copying_with_and_without_the_heads_is_shown() -> None:
    roles = measured()
    names, induction = map(ablations, (roles.previous_word_heads, roles.induction_heads))
    table = text(visit("induction", edits=names, open=[]))
    assert f"| all heads | **{percent_text(roles.right, 1)}** |" in table
    assert f"| induction heads ablated | **{percent_text(measured(induction).right, 1)}** |" in table
    assert f"| {names[0]} ablated | **{percent_text(measured(names).right, 1)}** |" in table
    assert f"[CHANT] | {percent_text(measured_after_start().right, 1)} |" in table


def test_four_layers_have_other_heads() -> None:
    roles = measured(model="storyteller-4-layers")
    back = ablations(roles.previous_word_heads)[0]
    app = visit("induction", size="4 layers", edits=[back, "decoder 9-9"])
    assert app.multiselect(key="edits").value == [back]
    columns = message_to(app, "share_table")["columns"]
    for column, heads in zip(columns, (roles.previous_word_heads, roles.induction_heads), strict=False):
        assert head_name(*heads[0]) in column
    assert "4 layers of 4 heads" in page_text(app)


def test_button_replaces_the_words_with_random_words() -> None:
    app = press(visit("induction"), LABEL("other_words"))
    assert clean(app).session_state["words_twice"] == random_words(4)
