"""The page of the six steps: what a link, a word, a long text and a bad one do."""

import json
import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.examples import OPENING
from attnviz.app.learn.english import OPENING as ENGLISH_OPENING
from attnviz.app.learn.query_key_value.compute import MOST_ROWS, walk
from attnviz.models.catalogue import TRANSLATOR
from attnviz.trace import Floats, Kind
from tests.app.shown import clean, labels, sent, visit, words

PAGE = "query_key_value"
TWO_SENTENCES = f"{ENGLISH_OPENING} {ENGLISH_OPENING}"
FORTY = " ".join(["dog"] * 38)  # and [CLS] and [SEP]


def weights(app: AppTest) -> Floats:
    """The grid of weights as [row, column]; forbidden ones are 0."""
    grid = sent(app, "head_map")
    found: Floats = np.nan_to_num(np.array(grid["values"], np.float32)).reshape(-1, grid["heads"])
    return found


def assert_rows_sum_to_1(app: AppTest) -> None:
    """What is shown of the weights, and what is left out."""
    np.testing.assert_allclose(weights(app).sum(axis=1), 1, atol=1e-4)


def assert_divides(said: str, dot_product: float, size: int, score: float) -> None:
    """What is printed divides out: the dot product ÷ √size is the score."""
    found = re.findall(r"([-\d.]+) ÷ ([\d.]+) = ([-\d.]*\d)", said.replace("−", "-"))
    [(dot, root)] = {(float(a), float(b)) for a, b, c in found if c == f"{score:.2f}"}
    assert [dot, root] == pytest.approx([dot_product, size**0.5], abs=0.01)
    assert f"{dot / root:.2f}" == f"{score:.2f}"


def test_it_opens_with_it_in_head_4_2_and_its_numbers() -> None:
    app, done = visit(PAGE), walk(OPENING.text, 3, 1, 9)
    message, said, dog = sent(app, "steps"), words(app), 2
    assert (message["step"], message["total"], message["rest"]) == (1, 15, None)
    assert message["tokens"][message["query"]]["label"] == "it"
    assert len(message["steps"]) == 6
    assert_divides(said, float(done.dot_products[dog]), 32, float(done.scores[dog]))
    assert f":red[**dog**] {100 * done.weights[dog]:.0f} %" in said
    assert f"{done.model_scores[9, dog]:.2f}" in said
    assert f"{done.model_scores[dog, 9]:.2f}" in said
    assert f"{done.model_weights[:, dog].sum():.2f} in all" in said
    assert "only possible weights" not in said


def test_a_link_opens_any_step_of_any_token_and_the_controls_change_it() -> None:
    app = visit(PAGE, step_of_six="5", layer="1", head="12", query="3 dog")
    assert not app.warning
    message = sent(app, "steps")
    assert message["step"] == 5
    assert message["tokens"][message["query"]]["label"] == "dog"
    app.segmented_control(key="step_of_six").set_value("4").run()
    assert sent(app, "steps")["step"] == 4
    expected = walk(OPENING.text, 0, 11, 2).model_weights
    np.testing.assert_allclose(weights(app), expected, atol=1e-5)
    clean(app.segmented_control(key="convention").set_value("columns").run())
    np.testing.assert_allclose(weights(app), expected.T, atol=1e-5)


def test_of_a_long_text_the_page_says_what_it_shows() -> None:
    app = visit(PAGE, text=FORTY, query="5 dog")
    message = sent(app, "steps")
    assert (len(message["tokens"]), message["total"]) == (MOST_ROWS, 40)
    done = walk(FORTY, 3, 1, 4)
    left_out = [token for token in range(40) if token not in done.rows]
    assert message["rest"]["count"] == len(left_out)
    assert message["rest"]["weight"] == pytest.approx(float(done.weights[left_out].sum()), abs=1e-6)
    said = words(app)
    assert ("only possible weights" in said) == (done.free_directions > 0)
    assert f"This text has 40 tokens: the rows are `dog (token 5)` and the {MOST_ROWS - 1} tokens" in said
    assert_rows_sum_to_1(app)


ENGLISH = "Translator: English reads English"
FRENCH = "Translator: French reads French"
ACROSS = "Translator: French reads English"


def steps_of(app: AppTest) -> list[str]:
    """What is said about each step in the picture."""
    return [
        "".join(part if isinstance(part, str) else part["text"] for part in step["sentence"])
        for step in sent(app, "steps")["steps"]
    ]


def all_words(app: AppTest) -> str:
    """All that the page itself says, without the glossary that every Learn page has."""
    own = [element.value for element in app.markdown if not element.value.startswith("- **Token**")]
    return "\n".join([*own, *steps_of(app), json.dumps(sent(app, "steps"), ensure_ascii=False)])


@pytest.mark.parametrize(
    ("model", "kind", "layer", "token"),
    [(ENGLISH, "encoder", 1, "it"), (FRENCH, "decoder", 0, "car"), (ACROSS, "cross", 0, "car")],
)
def test_a_translator_opens_where_its_pronoun_is_decided(
    model: str, kind: Kind, layer: int, token: str
) -> None:
    app = visit(PAGE, six_steps_of=model)
    assert not app.warning
    tokens = walk(ENGLISH_OPENING, layer, 0, 0, TRANSLATOR, kind).query_tokens
    row = [found.text for found in tokens].index(token)
    done = walk(ENGLISH_OPENING, layer, 0, row, TRANSLATOR, kind)
    message = sent(app, "steps")
    assert len(message["tokens"]) == len(done.key_tokens)
    asker = message["across"]["token"] if kind == "cross" else message["tokens"][message["query"]]
    assert asker["label"] == token
    assert message["forbidden"] == [not allowed for allowed in done.allowed]
    np.testing.assert_allclose(weights(app), done.model_weights, atol=1e-5)
    grid = sent(app, "head_map")
    assert grid["row_labels"][grid["selected"][0] - 1] == token
    if kind == "cross":
        assert (grid["row_labels"][0], grid["column_labels"][-1]) == ("[START]", "[END]")
    said = all_words(app)
    best = int(done.weights.argmax())
    assert_divides(said, float(done.dot_products[best]), 16, float(done.scores[best]))
    assert "64 × 16 numbers" in said
    for of_bert in ("BERT", "CLS", "SEP", "384", "segment"):
        assert of_bert not in said


def test_what_the_decoder_may_not_look_at_is_forbidden_everywhere() -> None:
    app = visit(PAGE, six_steps_of=FRENCH, translator_query="3 chien", translator_head="3")
    count = len(sent(app, "steps")["tokens"])
    assert sent(app, "steps")["forbidden"] == [token > 2 for token in range(count)]
    grid = np.reshape([value is None for value in sent(app, "head_map")["values"]], (count, count))
    np.testing.assert_array_equal(grid, np.triu(np.ones((count, count), bool), k=1))
    assert f"−∞ in place of the scores of the {count - 3} tokens after" in words(app)
    assert not set(labels(sent(app, "steps")["tokens"][3:])) & set(
        app.pills(key="guess_query_key_value").options
    )
    app.selectbox(key="translator_query").set_value("1 [START]").run()
    said = steps_of(clean(app))
    assert " least, " not in said[2]
    assert "[START] looks at [START] 100 %" in said[4]
    assert "100 % of the value of [START]: that is" in said[5]


def test_of_a_long_sentence_read_across_the_page_says_what_it_shows() -> None:
    app = visit(PAGE, six_steps_of=ACROSS, english=TWO_SENTENCES, translator_query="1 [START]")
    done = walk(TWO_SENTENCES, 0, 0, 0, TRANSLATOR, "cross")
    count = len(done.key_tokens)
    assert count > MOST_ROWS
    said = words(app)
    assert (
        f"This text has {count} tokens: the rows are the {MOST_ROWS} tokens that `[START]` looks at most"
        in said
    )
    assert f"{MOST_ROWS} of {count} English tokens are shown" in words(app)
    assert_rows_sum_to_1(app)
