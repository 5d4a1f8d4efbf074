"""Direct logit attribution and logit lens on the page Intervene: their numbers equal the model's."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import attnviz
from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.text import decimal, percent
from tests.app.shown import messages_to, page_text, visit

STORIES = "Mary and John were friends. John gave a book to"
PLACE = 11  # counting [START]


def message(app: AppTest, widget: str, title: str) -> dict[str, object]:
    [found] = [each for each in messages_to(app, widget) if title in str(each["title"])]
    return found


def test_parts_sum_to_the_logit_and_the_last_layer_has_the_models_probability() -> None:
    app = visit("intervene", model="storyteller", text=STORIES)
    probabilities = loading.load("storyteller").outcomes(ModelInput(STORIES), [()], PLACE).probabilities
    assert probabilities is not None
    first, second = (int(place) for place in np.argsort(-probabilities[0], kind="stable")[:2])
    found = attnviz.decomposition(STORIES, "storyteller", PLACE)
    direction = found.logit(first)[0] - found.logit(second)[0]
    total = float(found.output @ direction)
    assert f"is **{decimal(total)}** higher than the logit of" in page_text(app)
    assert total == pytest.approx(float(np.log(probabilities[0, first] / probabilities[0, second])), abs=1e-3)
    heads = [(part.vectors @ direction).sum(axis=1) for part in found.parts if part.kind == "decoder"]
    shown = message(app, "head_map", "head to the logit difference")["values"]
    np.testing.assert_allclose(np.array(shown, dtype=float), np.concatenate(heads), atol=1e-4)
    lens = message(app, "share_table", "after each layer, and")["rows"]
    assert isinstance(lens, list)
    assert lens[-1]["written"][0] == percent(float(probabilities[0, first]), 1)
    assert len(lens) == len(heads) + 1


def test_parts_of_the_translator_include_cross_attention() -> None:
    app = visit("intervene", model="translator")
    labels = [bar["label"] for bar in message(app, "share_table", "to the logit difference")["rows"]]  # type: ignore[attr-defined]
    assert any(label.startswith("cross ") for label in labels)
