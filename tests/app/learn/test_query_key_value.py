"""The lesson "Queries, keys and values" without a browser: it shows the computed values."""

import numpy as np
import pytest

from attnviz.app.examples import OPENING
from attnviz.app.learn.query_key_value.values import MAX_ROWS, walk
from attnviz.text import decimal
from tests.app.shown import clean, sent, visit, words

PAGE = "query_key_value"
FORTY = " ".join(["dog"] * 38)  # and [CLS] and [SEP]


def test_it_opens_with_it_in_head_4_2_and_its_numbers() -> None:
    app, done, dog = visit(PAGE), walk(OPENING.text, 3, 1, 9), 2
    message = sent(app, "walk")
    assert (message["step"], message["total"], message["rest"]) == (1, 15, None)
    assert message["tokens"][message["query"]]["label"] == "it"
    dot, root, score = float(done.dot_products[dog]), 32**0.5, float(done.scores[dog])
    step = "".join(
        part if isinstance(part, str) else part["text"] for part in message["steps"][3]["sentence"]
    )
    assert step == f"Score of dog: {decimal(dot, 3)} ÷ {decimal(root, 3)} = {decimal(score)}."
    assert {"text": "dog", "role": "key"} in message["steps"][3]["sentence"]
    said = words(app)
    assert f"| {decimal(float(done.model_scores[9, dog]))} |" in said
    assert f"| {decimal(float(done.model_scores[dog, 9]))} |" in said
    assert f"gets {decimal(float(done.model_weights[:, dog].sum()))}" in said


def test_a_link_opens_any_step_of_any_token_and_the_controls_change_it() -> None:
    app = visit(PAGE, step_of_six="5", layer="1", head="12", query="3 dog")
    assert not app.warning
    message = sent(app, "walk")
    assert message["step"] == 5
    assert message["tokens"][message["query"]]["label"] == "dog"
    app.segmented_control(key="step_of_six").set_value("4").run()
    assert sent(app, "walk")["step"] == 4
    table = sent(app, "weights_table")
    np.testing.assert_allclose(table["weights"], walk(OPENING.text, 0, 11, 2).model_weights)
    clean(app.segmented_control(key="convention").set_value("columns").run())
    turned = sent(app, "weights_table")
    assert (table["columns"], turned["columns"]) == (False, True)
    assert table["weights"] == turned["weights"]


def test_of_a_long_text_the_rest_is_summed() -> None:
    app = visit(PAGE, text=FORTY, query="5 dog")
    message, table = sent(app, "walk"), sent(app, "weights_table")
    assert (len(message["tokens"]), message["total"]) == (MAX_ROWS, 40)
    done = walk(FORTY, 3, 1, 4)
    others = [token for token in range(40) if token not in done.rows]
    assert message["rest"]["count"] == len(others)
    assert message["rest"]["weight"] == pytest.approx(float(done.weights[others].sum()), abs=1e-6)
    np.testing.assert_allclose(np.sum(table["weights"], axis=1) + table["others"], 1, atol=1e-5)
