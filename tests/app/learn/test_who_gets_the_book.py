"""The page that asks who gets the book, without a browser: what is changed, said, and asked by links."""

import numpy as np
import pytest

from attnviz.app.learn.who_gets_the_book import choices, compute
from attnviz.models import catalogue
from attnviz.text import percent
from tests.app.shown import all_sent, clean, press, sent, try_page, visit, words

PAGE = "who_gets_the_book"


def test_the_opening_picture_shows_the_head_that_adds_most() -> None:
    app = visit(PAGE)
    direct = compute.direct(choices.OPENING)
    layer, head = np.unravel_index(int(direct.heads.argmax()), direct.heads.shape)
    assert app.selectbox(key="book_head").value == f"{layer + 1}-{head + 1}"
    data, found = sent(app, "arrow"), compute.experiment(choices.OPENING, int(layer), int(head))
    assert (data["reader"], data["query"], data["exchange"]) == ("to", len(data["words"]) - 1, True)
    assert data["before"] == data["now"] == found.row_before.tolist()
    assert [choice["word"] for choice in data["choices"]] == ["Mary", "John"]
    assert data["translation"] == [{"text": found.written, "differs": False}]
    added, carried = all_sent(app, "head_map")
    np.testing.assert_allclose(added["values"], direct.heads.ravel(), rtol=1e-4)
    np.testing.assert_allclose(
        carried["values"], compute.patched(choices.OPENING).shares, rtol=1e-4, atol=1e-5
    )
    told = words(app)
    many = compute.held_out("gift")
    assert f"the other word is written in **{percent(many.turned_together)}** (" in told
    assert f"the right name is written in **{percent(many.giver.right / many.texts)}** (" in told  # type: ignore[union-attr]
    assert "“the name that came once” is not the whole rule" in told
    assert "no head looks at the deciding word in vain" in told


def test_both_heads_exchange_their_weights_and_another_text_undoes_it() -> None:
    app = visit(PAGE)
    clean(press(app, "Exchange the weights in"))
    edits = str(app.text_input(key="exchanged").value)
    assert len(edits.split(", ")) == 2
    assert "15 3<>11" in edits
    data = sent(app, "arrow")
    layer, head = (int(number) - 1 for number in str(app.selectbox(key="book_head").value).split("-"))
    found = compute.experiment(choices.OPENING, layer, head, edits.split(", "))
    assert data["now"] == found.row_now.tolist()
    assert [choice["now"] for choice in data["choices"]] == list(found.now)
    assert f"→ **{percent(found.now[1], 1)}**" in words(app)
    clean(app.text_input(key="unfinished").set_value(choices.EXAMPLES["she or he"]).run())
    assert app.text_input(key="exchanged").value == ""
    assert sent(app, "arrow")["interference"]["change"] == "none"


@pytest.mark.parametrize(("edit", "change"), [("decoder 2-2 15", "row"), ("decoder 2-2", "head")])
def test_a_row_or_a_head_is_silenced(edit: str, change: str) -> None:
    data = sent(visit(PAGE, exchanged=edit, book_head="2-2"), "arrow")
    assert data["interference"]["change"] == change
    assert not any(data["now"])


def test_agreement_has_causes_that_the_picture_does_not_show() -> None:
    app = visit(PAGE, unfinished="The keys near the book")
    told = words(app)
    assert "Causes with no arrow to the deciding word" in told
    assert "And in GPT-2?" not in told
    assert "we **silence this row**" in told
    assert compute.held_out("agreement").turned_together == 0
    assert "Exchange the weights in" not in " ".join(button.label for button in app.button)


def test_another_size_has_another_head_and_no_changes() -> None:
    app = visit(PAGE, exchanged="decoder 2-2 15 3<>5")
    clean(app.button_group(key="size").set_value("4 layers").run())
    assert app.text_input(key="exchanged").value == ""
    large = "storyteller-4-layers"
    assert app.selectbox(key="book_head").value == choices.first_head(choices.OPENING, large)
    found, parts = compute.held_out("gift", model=large), compute.direct(choices.OPENING, model=large)
    below = percent(float((found.differences < parts.difference).mean()))
    assert f"more than in {below} of these" in words(app)
    told = words(app)
    assert "feed-forward networks" in told
    assert "A picture that alone is hardly a cause" in told
    assert f"at `John` (word {1 + (compute.read(choices.OPENING).gives or 0)})" in told


def test_the_question_is_of_a_head_in_which_it_matters() -> None:
    def asked(text: str, model: str = catalogue.STORYTELLER) -> tuple[bool, bool]:
        first = choices.first_head(text, model)
        of = choices.worth_asking(choices.selected(text, first, model=model))
        return of.name == first, of.edits[0].exchange

    assert asked(choices.OPENING) == (True, True)
    assert asked(choices.EXAMPLES["Karim gives"], "storyteller-4-layers") == (False, True)
    assert asked("The keys near the book") == (True, False)


def test_a_third_giver_is_guessed_and_nothing_is_patched() -> None:
    app = visit(PAGE, unfinished=choices.EXAMPLES["Karim gives"])
    told = words(app)
    assert "`Karim`, who was not named before, gives" in told
    assert "Nobody is named twice here" in told
    assert len(all_sent(app, "head_map")) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("When Mary and Mary went to the shop, Mary gave a book to", "Both people are “Mary”"),
        ("When Mary and Zoe went to the shop, Zoe gave a book to", "Zoe"),
        ("Mary and John were friends.", "Let the text break off"),
        ("One day Mary met John at the park. Karim went to", "Nobody gives here. Let “Karim” give"),
    ],
)
def test_names_that_do_not_do_are_kept_and_answered_with_a_sentence(text: str, said: str) -> None:
    app = try_page(PAGE, unfinished=text)
    assert said in app.error[0].value
    assert app.text_input(key="unfinished").value == text


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ("rubbish <b>", "is no change. Write “decoder"),
        ("decoder 2-2 99", "something else"),
        ("decoder 2-2 15 3>5", "something else"),
        ("decoder 9-1", "layer 9"),
    ],
)
def test_changes_that_cannot_be_made_are_named_and_nothing_is_changed(edit: str, said: str) -> None:
    app = visit(PAGE, exchanged=edit)
    assert "Nothing is changed" in app.warning[0].value
    assert said in app.warning[0].value
    assert sent(app, "arrow")["interference"]["change"] == "none"
