"""The lesson "Induction heads" without a browser: the page shows the computed values."""

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.lessons.document import document
from attnviz.app.lessons.induction.page import OPENING, random_words
from attnviz.app.lessons.induction.values import measured, measured_after_start, repeated, without_path
from attnviz.text import head_name, percent
from tests.app.shown import clean, labels, press, sent, visit, words

WORDS = ("lamp", "key", "map", "pen", "toy", "rope")
LABEL = document("induction").label


def text(app: AppTest) -> str:
    """Return all Markdown on the page without escapes."""
    return words(app).replace("\\", "")


def shown(share: float, digits: int = 0) -> str:
    return percent(share, digits).replace("\u00a0", " ")


def test_the_picture_has_the_measured_heads_and_the_stripe() -> None:
    app, found, roles = visit("induction"), repeated(tuple(OPENING.split())), measured()
    message = sent(app, "repeated_words")
    for role, heads, weights in (
        ("back", roles.previous_word_heads, found.back),
        ("match", roles.induction_heads, found.match),
    ):
        arrows = {head["name"]: head["weights"] for head in message["heads"] if head["role"] == role}
        assert arrows == {head_name(*head): weights[head].tolist() for head in heads}
    assert [each["right"] for each in message["expected"]] == found.right.tolist()
    stripe = sent(app, "head_view")
    assert (stripe["layer"] - 1, stripe["heads"][0] - 1) == roles.induction_heads[0]
    assert labels(stripe["key_tokens"]) == ["[CHANT]", *OPENING.split() * 2]


def test_own_words_and_another_of_them() -> None:
    app = visit("induction", words_twice="Lamp key  map pen TOY rope", repeated_word="2 key")
    message, found = sent(app, "repeated_words"), repeated(WORDS)
    assert (tuple(message["words"]), message["place"]) == (WORDS, 1)
    assert sent(app, "head_view")["query"] == 1 + len(WORDS) + 1
    head = measured().induction_heads[0]
    app.button_group(key="guess_induction").set_value("the word after it, the first time").run()
    assert f"**{shown(float(found.match[*head, 1]))}** to `map`" in words(app)


def test_copying_with_and_without_the_heads_is_in_sight() -> None:
    names = [head_name(*head) for head in measured().previous_word_heads]
    told = text(visit("induction", ablated=names, open=[]))
    whole, induction = measured(), tuple(head_name(*head) for head in measured().induction_heads)
    assert f"| all heads | **{shown(whole.right, 1)}** |" in told
    assert f"| without the induction heads | **{shown(measured(induction).right, 1)}** |" in told
    assert f"| without {names[0]} | **{shown(measured(tuple(names)).right, 1)}** |" in told
    assert f"[CHANT] | {shown(measured_after_start().right, 1)} |" in told


@pytest.mark.parametrize("head", ["1-1", "1-4", "2-2"])
def test_every_head_is_ablated_alone(head: str) -> None:
    left, mean = measured((head,)), measured((head,), mean=True)
    [row] = [row for row in text(visit("induction")).splitlines() if row.startswith(f"| {head} |")]
    _, role, *cells = row.strip("| ").split(" | ")
    expected = [shown(float(left.prefix_matching.max())), shown(left.right)]
    assert cells == expected + ([shown(mean.right)] if role else [])


def test_the_paths_are_cut_one_by_one() -> None:
    told, back = text(visit("induction")), tuple(head_name(*head) for head in measured().previous_word_heads)
    for part, name in (("query", ":blue[queries]"), ("key", ":red[keys]"), ("value", ":green[values]")):
        left = without_path(back, part, measured().induction_heads)  # type: ignore[arg-type]
        assert f"| {name} | {shown(left)} |" in told


def test_four_layers_have_other_heads() -> None:
    roles = measured(model="storyteller-4-layers")
    back = head_name(*roles.previous_word_heads[0])
    app = visit("induction", size="4 layers", ablated=[back, "9-9"])
    assert app.multiselect(key="ablated").value == [back]
    message = sent(app, "repeated_words")
    assert {head["name"] for head in message["heads"]} == {
        head_name(*head) for head in (*roles.previous_word_heads, *roles.induction_heads)
    }
    assert "4 layers of 4 heads" in words(app)


def test_other_words_are_drawn() -> None:
    app = press(visit("induction"), LABEL("other_words"))
    assert clean(app).session_state["words_twice"] == random_words(4)
