"""The page on writing without a browser: what it writes, word by word, and what it says of each."""

import pytest

import attnviz
from attnviz.app.learn.write.sections import EXAMPLES
from attnviz.capture.model import Prediction, Writing
from attnviz.models.catalogue import STORYTELLER
from attnviz.text import percent
from attnviz.trained.storyteller.grammar import TOKEN_LIMIT
from tests.app.shown import (
    all_sent,
    buttons,
    charts,
    clean,
    opened,
    press,
    row_of_buttons,
    sent,
    try_page,
    visit,
    words,
)

OPENING = EXAMPLES["Said again"]
FULL = "Mary was " * 47  # 95 tokens with [START]


def expected(how: Writing) -> tuple[Prediction, ...]:
    return attnviz.predictions(OPENING, STORYTELLER, writing=how)


def test_each_word_is_told_with_what_it_was_chosen_from() -> None:
    app = visit("write", write="3", written_word="2", temperature="0.7", top_k="4", seed="5")
    prediction = expected(Writing(3, 0.7, 4, 1.0, 5))[-3]
    assert prediction.actual
    shown = sent(app, "share_table")
    assert shown["columns"] == ["probability", "after temperature, top k and top p"]
    assert [row["shares"] for row in shown["rows"]] == [
        [each.probability, each.share] for each in prediction.candidates
    ]
    assert [row["label"] for row in shown["rows"] if row["mark"]] == [prediction.actual.text]
    assert shown["file"]["about"] == f"“{OPENING}” · {STORYTELLER}"
    trace = attnviz.trace(OPENING, STORYTELLER, writing=Writing(3, 0.7, 4, 1.0, 5))
    story = sent(app, "passage")
    assert story["chosen"] == 1
    assert story["typed"] + "".join(story["tokens"]) == f"{trace.text} …"
    row = len(trace.blocks[0].query_tokens) - 3
    for layer, block in enumerate(trace.blocks):
        for head, weights in enumerate(block.weights[:, row]):
            if weights.max() > 0.5:
                read = block.key_tokens[int(weights.argmax())].text
                assert f"- {layer + 1}-{head + 1}: `{read}" in words(app)
                assert f"**{percent(float(weights.max()))}**" in words(app)


def test_one_word_more_to_the_end_and_again() -> None:
    app = press(visit("write", write="2"), "One more word")
    assert (app.number_input(key="write").value, app.session_state["written_word"]) == (3, 3)
    press(app, "To the end of the story")
    end = clean(app).session_state["written_word"]
    written = sent(app, "passage")["tokens"]
    assert end == len(written) == attnviz.trace(OPENING, STORYTELLER, writing=Writing(100)).written + 1
    assert app.number_input(key="write").value == end  # and not so many of another story
    ended = expected(Writing(100))[-1].actual is not None
    assert (written[-1].strip() == "[END]") == ended
    why = f"It ended its story after {end - 1} words." if ended else f"more than {TOKEN_LIMIT} tokens"
    assert why in words(app)
    assert all(
        each.disabled for each in app.button if each.label in ("One more word", "To the end of the story")
    )
    press(app, "Start again")
    assert sent(app, "passage")["tokens"] == [" …"]
    assert "a chart counts what it took" in words(app)
    assert row_of_buttons(opened(app, "prompt_examples"), "prompt_example").value == "Said again"


def test_the_next_word_has_the_filters_too() -> None:
    app = visit("write", write="0", temperature="2")
    [prediction] = expected(Writing(0, 2.0))[-1:]
    assert [row["shares"] for row in sent(app, "share_table")["rows"]] == [
        [each.probability, each.share] for each in prediction.candidates
    ]
    hot, cool = (prediction.candidates[0].share, prediction.candidates[0].probability)
    assert hot < cool


@pytest.mark.parametrize(("prompt", "written"), [(FULL, 1), (f"{FULL} sad", 0)])
def test_no_more_is_written_than_it_can_read(prompt: str, written: int) -> None:
    app = visit("write", prompt=prompt, write="100", temperature="10", seed="1")
    assert f"It cannot read more than {TOKEN_LIMIT} tokens" in words(app)
    assert len(sent(app, "passage")["tokens"]) == written + 1
    assert "One more word" in buttons(app)


def test_a_larger_one_writes_too() -> None:
    app = visit("write", write="3", size="4 layers")
    trace = attnviz.trace(OPENING, "storyteller-4-layers", writing=Writing(3))
    story = sent(app, "passage")
    assert story["typed"] + "".join(story["tokens"]) == f"{trace.text} …"
    assert "in each of 16 heads" in words(app)


def test_below_what_cannot_be_read_is_the_way_on() -> None:
    app = try_page("write", prompt="Mary saw a zebra")
    assert "zebra" in app.error[0].value
    assert any(link.proto.label.startswith("Next: ") for link in app.get("page_link"))


def test_what_need_not_be_computed_again_is_counted() -> None:
    app = visit("write", write="3")
    # 14 tokens stand there at first: 14 + 15 + 16 rows, or 14 + 1 + 1.
    assert "For 3 words, with nothing kept: **45 rows**" in words(app)
    assert "With keys and values kept: **16 rows**" in words(app)
    nothing, kept = charts(app)["What each word takes"]["lines"]
    assert nothing["y"][0] == kept["y"][0]
    assert kept["y"][1] < nothing["y"][1] / 10
    assert len(all_sent(app, "head_view")) == 1
