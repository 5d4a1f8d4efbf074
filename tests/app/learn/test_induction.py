"""The page on induction heads without a browser: its sentences say what compute returns."""

from attnviz.app.learn.induction.compute import measured, repeated, without_path
from attnviz.app.learn.induction.sections import OPENING, random_words
from attnviz.text import head_name, percent
from tests.app.shown import buttons, clean, press, sent, token_bars, visit, words

WORDS = ("lamp", "key", "map", "pen", "toy", "rope")


def test_the_picture_has_the_heads_that_were_found_by_measure() -> None:
    message, found, roles = (
        sent(visit("induction"), "repeated_words"),
        repeated(tuple(OPENING.split())),
        measured(),
    )
    for role, heads, weights in (
        ("back", roles.previous_word_heads, found.back),
        ("match", roles.induction_heads, found.match),
    ):
        shown = {head["name"]: head["weights"] for head in message["heads"] if head["role"] == role}
        assert shown == {head_name(*head): weights[head].tolist() for head in heads}
    assert [each["right"] for each in message["expected"]] == found.right.tolist()


def test_own_words_and_another_of_them() -> None:
    app = visit("induction", said_twice="Lamp key  map pen TOY rope", said_again="2 key")
    message, found = sent(app, "repeated_words"), repeated(WORDS)
    assert (tuple(message["words"]), message["place"]) == (WORDS, 1)
    head = measured().induction_heads[0]
    assert f"With no head silenced, it gives **{percent(float(found.match[*head, 1]))}** to `map`" in words(
        press(app, "Reveal")
    )


def test_silenced_heads_add_nothing_and_the_page_tells_what_is_left() -> None:
    names = [head_name(*head) for head in measured().previous_word_heads]
    told, now = words(visit("induction", silenced=names)), measured(tuple(sorted(names)))
    assert f"{names[0]} silenced" in told
    assert f"goes from {percent(float(measured().prefix_matching.max()))} to" in told
    assert f"to **{percent(float(now.prefix_matching.max()))}**, and of the words said again" in told


def test_every_head_was_silenced_alone() -> None:
    told = words(visit("induction"))
    roles = [measured().previous_word_heads, measured().induction_heads]
    written = lambda head: head_name(*head)  # noqa: E731
    means = [percent(measured(tuple(map(written, heads)), mean=True).right) for heads in roles]
    assert (
        f"{means[0]} without the previous-word heads, {means[1]} without the induction heads: **copying"
        in told
    )
    for head in ("1-1", "1-4", "2-2"):
        left = measured((head,))
        assert f"{percent(float(left.prefix_matching.max()))} | {percent(left.right)} |" in told


def test_the_ways_of_the_previous_word_heads_are_cut_one_by_one() -> None:
    app, back = visit("induction"), tuple(head_name(*head) for head in measured().previous_word_heads)
    readers = measured().induction_heads
    bars = {bar["label"]: bar["written"][0] for bar in token_bars(app)[0]["rows"]}
    assert bars == {
        "queries": percent(without_path(back, "query", readers)),
        "keys": percent(without_path(back, "key", readers)),
        "values": percent(without_path(back, "value", readers)),
    }
    assert "**it is the keys**" in words(app)


def test_four_layers_have_heads_of_their_own() -> None:
    roles = measured(model="storyteller-4-layers")
    back = head_name(*roles.previous_word_heads[0])
    app = visit("induction", size="4 layers", silenced=[back, "9-9"])
    assert app.multiselect(key="silenced").value == [back]
    message = sent(app, "repeated_words")
    assert {head["name"] for head in message["heads"]} == {
        head_name(*head) for head in (*roles.previous_word_heads, *roles.induction_heads)
    }
    mean = percent(measured((back,), mean=True, model="storyteller-4-layers").right)
    assert f"| {mean} |" in words(app)
    assert "4 layers of 4 heads" in words(app)


def test_other_words_are_drawn() -> None:
    app = visit("induction")
    assert "Other words" in buttons(app)
    assert clean(press(app, "Other words")).session_state["said_twice"] == random_words(4)


def test_the_same_is_asked_of_bert() -> None:
    assert "**None** reaches 40 %." in words(visit("induction", open="In BERT"))
