"""The lesson "Attention as a weighted average" without a browser: it shows the computed values."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.lessons.weighted_average import page, values
from attnviz.trace import Floats
from tests.app.shown import labels, message_to, page_text, stored_arrays, visit

TIRED = "The dog did not cross the road as it was too tired."
LONG = " ".join(f"word {number % 7} and" for number in range(110))


def open_page(**parameters: str) -> AppTest:
    app = visit("weighted_average", **parameters)
    assert not app.warning
    return app


def arrays(app: AppTest) -> dict[str, Floats]:
    return stored_arrays(app, "average arrays")


def test_page_opens_with_its_numbers() -> None:
    found = values.average(TIRED, "Dot product", 1.0)
    app = open_page()
    message, shown = message_to(app, "steps"), arrays(app)
    assert message["query"] == 8
    assert labels(message["tokens"])[7:9] == ["as", "it"]
    assert shown["weights"].tolist() == found.weights[8].tolist()
    assert shown["vectors"].tolist() == found.vectors[:, :32].tolist()
    assert shown["output"].tolist() == found.output[8, :32].tolist()


@pytest.mark.parametrize(
    ("scoring", "temperature"),
    [("Dot product", "∞"), ("Scaled dot product", "0.01"), ("Cosine", "0"), ("Additive", "0.1")],
)
def test_link_sets_score_and_temperature(scoring: str, temperature: str) -> None:
    app = open_page(scoring=scoring, softmax_temperature=temperature, query="3 dog")
    found = values.average(TIRED, scoring, float(temperature.replace("∞", "inf")))
    assert message_to(app, "steps")["query"] == 1
    assert arrays(app)["weights"].tolist() == found.weights[1].tolist()


@pytest.mark.parametrize("kind", page.SPLITS)
def test_table_lists_the_pieces_of_each_split(kind: str) -> None:
    found = re.findall(
        r"^\| `.*?` \| (\d+) \| (\d+)–(\d+) \|$", page_text(open_page(split=kind)), re.MULTILINE
    )
    shown = [tuple(map(int, each)) for each in found]
    assert shown == [(piece.id, piece.start, piece.end) for piece in values.split(kind, TIRED).pieces]


def test_sum_over_a_long_text_is_complete() -> None:
    app = open_page(text=LONG, softmax_temperature="30")
    message, shown = message_to(app, "steps"), arrays(app)
    assert len(message["tokens"]) == len(shown["weights"]) == 20
    total = shown["weights"] @ shown["vectors"] + shown["rest"]
    assert total == pytest.approx(shown["output"], abs=1e-6)
