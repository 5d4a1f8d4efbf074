"""The lesson "Queries, keys and values" without a browser: it shows the computed values."""

import numpy as np
from streamlit.testing.v1 import AppTest

from attnviz.app.examples import OPENING
from attnviz.app.lessons.query_key_value.values import MAX_ROWS, walk
from attnviz.text import decimal
from attnviz.trace import Floats
from tests.app.shown import clean, message_to, page_text, visit

PAGE = "query_key_value"
FORTY = " ".join(["dog"] * 38)  # 40 tokens with [CLS] and [SEP]


def weights(app: AppTest) -> Floats:
    """Return the grid of weights as [row, column]."""
    grid = message_to(app, "head_map")
    found: Floats = np.array(grid["values"], np.float32).reshape(-1, grid["heads"])
    return found


def test_page_opens_with_it_in_head_4_2() -> None:
    app, done, dog = visit(PAGE), walk(OPENING.text, 3, 1, 9), 2
    message = message_to(app, "steps")
    assert (message["step"], message["total"], message["rest"]) == (2, 15, None)
    assert message["tokens"][message["query"]]["label"] == "it"
    dot, root, score = float(done.dot_products[dog]), 32**0.5, float(done.scores[dog])
    step = message["steps"][3]["sentence"]
    assert step == f"Score of “dog”: {decimal(dot, 3)} ÷ {decimal(root, 3)} = {decimal(score)}."
    text = page_text(app)
    assert f"| {decimal(float(done.model_scores[9, dog]))} |" in text
    assert f"| {decimal(float(done.model_scores[dog, 9]))} |" in text
    assert f"sum to {decimal(float(done.model_weights[:, dog].sum()))}" in text


def test_link_and_controls_set_step_token_and_convention() -> None:
    app = visit(PAGE, step_of_six="5", layer="1", head="12", query="3 dog")
    assert not app.warning
    message = message_to(app, "steps")
    assert message["step"] == 5
    assert message["tokens"][message["query"]]["label"] == "dog"
    app.segmented_control(key="step_of_six").set_value("4").run()
    assert message_to(app, "steps")["step"] == 4
    expected = walk(OPENING.text, 0, 11, 2).model_weights
    np.testing.assert_allclose(weights(app), expected, atol=1e-5)
    clean(app.segmented_control(key="convention").set_value("columns").run())
    np.testing.assert_allclose(weights(app), expected.T, atol=1e-5)


def test_other_tokens_of_a_long_text_are_summed() -> None:
    app = visit(PAGE, text=FORTY, query="5 dog")
    message = message_to(app, "steps")
    assert (len(message["tokens"]), message["total"]) == (MAX_ROWS, 40)
    done = walk(FORTY, 3, 1, 4)
    others = [token for token in range(40) if token not in done.rows]
    assert message["rest"] == {"count": len(others)}
    np.testing.assert_allclose(weights(app).sum(axis=1), 1, atol=1e-4)
