"""The lesson "Writing" without a browser: the generated words, and the numbers for each word."""

import pytest

import attnviz
from attnviz.app.lessons.document import document
from attnviz.app.lessons.write import values
from attnviz.app.lessons.write.page import NUM_OPTIONS, PROMPTS
from attnviz.capture.model import Prediction, Writing
from attnviz.models.catalogue import STORYTELLER
from attnviz.text import percent, scientific
from attnviz.trained.storyteller.grammar import TOKEN_LIMIT
from tests.app.shown import clean, labels, message_to, page_text, press, visit

OPENING = PROMPTS["repeated_word"]
FULL = "Mary was " * 47  # 95 tokens with [START]
LABEL = document("write").label


def expected_predictions(writing: Writing) -> tuple[Prediction, ...]:
    return attnviz.predictions(OPENING, STORYTELLER, writing=writing)


def test_selected_word_has_probabilities_and_a_row_of_every_head() -> None:
    app = visit("write", write="3", written_word="2", temperature="0.7", top_k="4", seed="5")
    prediction = expected_predictions(Writing(3, 0.7, 4, 1.0, 5))[-3]
    assert prediction.actual
    shown = message_to(app, "share_table")
    assert [row["shares"] for row in shown["rows"]] == [
        [each.probability, each.share] for each in prediction.candidates[:NUM_OPTIONS]
    ]
    assert [row["label"] for row in shown["rows"] if row["mark"]] == [prediction.actual.text]
    trace = attnviz.trace(OPENING, STORYTELLER, writing=Writing(3, 0.7, 4, 1.0, 5))
    story = message_to(app, "passage")
    assert story["chosen"] == 1
    assert story["typed"] + "".join(story["tokens"]) == f"{trace.text} …"
    row = len(trace.blocks[0].query_tokens) - 3
    heads = message_to(app, "head_view")
    assert labels(heads["query_tokens"]) == [f"{layer}-{head}" for layer in (1, 2) for head in (1, 2, 3, 4)]
    assert len(heads["key_tokens"]) == row + 1
    weights = values.head_rows(trace, row)
    assert weights.shape == (2, 4, row + 1)
    assert weights[1, 2].tolist() == trace.blocks[1].weights[2, row, : row + 1].tolist()


def test_buttons_add_one_word_write_to_the_end_and_restart() -> None:
    app = press(visit("write", write="2"), LABEL("one_more"))
    assert (app.number_input(key="write").value, app.session_state["written_word"]) == (3, 3)
    press(app, LABEL("to_the_end"))
    end = clean(app).session_state["written_word"]
    written = message_to(app, "passage")["tokens"]
    assert end == len(written) == attnviz.trace(OPENING, STORYTELLER, writing=Writing(100)).written + 1
    assert (
        app.number_input(key="write").value == end
    )  # not the maximum, which would also apply to a new story
    ended = expected_predictions(Writing(100))[-1].actual is not None
    assert (written[-1].strip() == "[END]") == ended
    continue_buttons = {LABEL("one_more"), LABEL("to_the_end")}
    assert all(each.disabled for each in app.button if each.label in continue_buttons)
    press(app, LABEL("again"))
    assert message_to(app, "passage")["tokens"] == [" …"]


@pytest.mark.parametrize(("prompt", "written"), [(FULL, 1), (f"{FULL} sad", 0)])
def test_writing_stops_at_the_models_token_limit(prompt: str, written: int) -> None:
    app = visit("write", prompt=prompt, write="100", temperature="10", seed="1")
    assert f"at most {TOKEN_LIMIT} tokens" in page_text(app)
    assert len(message_to(app, "passage")["tokens"]) == written + 1


def test_sections_show_the_computed_values() -> None:
    app = visit("write", write="3")
    trace = attnviz.trace(OPENING, STORYTELLER, writing=Writing(3))
    found = values.read(tuple(token.id for token in trace.blocks[0].query_tokens))
    shown = page_text(app)
    assert f"| token vectors computed | {14 + 15 + 16} | {14 + 1 + 1} |" in shown
    assert f"| weights | {scientific(found.weight_difference)} |" in shown
    variants = (found.one_pass, found.stepwise, found.unmasked)
    last = " | ".join(percent(float(variant[-1]), 1) for variant in variants).replace("\u00a0", " ")
    assert f"`{trace.blocks[0].query_tokens[-1].text}` | {last} |" in shown
