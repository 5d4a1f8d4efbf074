"""The lesson "Attention as a weighted average" without a browser: it shows the computed values."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.lessons.weighted_average import page, values
from attnviz.trace import Floats
from tests.app.shown import labels, sent, stored, visit, words

TIRED = "The dog did not cross the road as it was too tired."
LONG = " ".join(f"word {number % 7} and" for number in range(110))


def opened(**parameters: str) -> AppTest:
    app = visit("weighted_average", **parameters)
    assert not app.warning
    return app


def arrays(app: AppTest) -> dict[str, Floats]:
    return stored(app, "average arrays")


def test_the_page_opens_with_its_numbers() -> None:
    found = values.average(TIRED, "Dot product", 1.0)
    app = opened()
    message, shown = sent(app, "steps"), arrays(app)
    assert message["query"] == 8
    assert labels(message["tokens"])[7:9] == ["as", "it"]
    assert shown["weights"].tolist() == found.weights[8].tolist()
    assert shown["vectors"].tolist() == found.vectors[:, :32].tolist()
    assert shown["output"].tolist() == found.output[8, :32].tolist()


@pytest.mark.parametrize(
    ("scoring", "temperature"),
    [("Dot product", "∞"), ("Scaled dot product", "0.01"), ("Cosine", "0"), ("Additive", "0.1")],
)
def test_score_and_temperature_come_with_the_link(scoring: str, temperature: str) -> None:
    app = opened(scoring=scoring, softmax_temperature=temperature, query="3 dog")
    found = values.average(TIRED, scoring, float(temperature.replace("∞", "inf")))
    assert sent(app, "steps")["query"] == 1
    assert arrays(app)["weights"].tolist() == found.weights[1].tolist()


@pytest.mark.parametrize("kind", page.SPLITS)
def test_the_splits(kind: str) -> None:
    found = re.findall(r"^\| `.*?` \| (\d+) \| (\d+)–(\d+) \|$", words(opened(split=kind)), re.MULTILINE)
    shown = [tuple(map(int, each)) for each in found]
    assert shown == [(piece.id, piece.start, piece.end) for piece in values.split(kind, TIRED).pieces]


def test_a_long_text_is_summed_whole() -> None:
    app = opened(text=LONG, softmax_temperature="30")
    message, shown = sent(app, "steps"), arrays(app)
    assert len(message["tokens"]) == len(shown["weights"]) == 20
    total = shown["weights"] @ shown["vectors"] + shown["rest"]
    assert total == pytest.approx(shown["output"], abs=1e-6)
