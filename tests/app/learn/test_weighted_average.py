"""The page about the weighted average without a browser: it shows what compute returns."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.learn.weighted_average import averages_compared, compute
from attnviz.app.learn.weighted_average.sections import TEMPERATURES
from attnviz.app.learn.weighted_average.splitting import SPLITS
from attnviz.text import percent
from tests.app.shown import paragraphs, press, sent, visit, words

TIRED = "The dog did not cross the road as it was too tired."
LONG = " ".join(f"word {number % 7} and" for number in range(110))


def opened(**parameters: str) -> AppTest:
    app = visit("weighted_average", **parameters)
    assert not app.warning
    return app


def weights(app: AppTest) -> list[float]:
    return [part["weight"] for part in sent(app, "average")["parts"]]


def test_the_page_opens_with_its_numbers() -> None:
    app, found = opened(), compute.average(TIRED, "Dot product", 1.0)
    [said] = [one for one in paragraphs(app) if " takes " in one and "All 13 weights" in one]
    assert said.startswith(f"`it` takes **{percent(found.weights[8, 8], 1)}** from itself")
    assert "All 13 weights sum to 100 %" in said
    message = sent(app, "average")
    assert message["query"] == 8
    assert [word["label"] for word in message["words"]][7:9] == ["as", "it"]
    assert weights(app) == pytest.approx(found.weights[8].tolist())
    assert message["mixed"] == pytest.approx(found.output[8, :32].tolist())


def test_at_an_infinite_temperature_all_tokens_are_named_as_equal() -> None:
    said = words(opened(softmax_temperature="∞"))
    assert "`it` takes the same from all 13 tokens: **7.7 %** from each." in said
    assert "`it` takes **7.7 %** from" not in said


def test_names_on_both_sides_of_the_late_import_agree() -> None:
    assert tuple(averages_compared.FORMULAS) == (*compute.SCORES, compute.ADDITIVE)
    assert tuple(averages_compared.CERTAIN) == tuple(averages_compared.FORMULAS)
    assert SPLITS == (compute.CHARACTERS, compute.WORDS, compute.WORD_PIECES)
    temperatures = [float("inf") if one == "∞" else float(one) for one in TEMPERATURES]
    assert temperatures == sorted(temperatures)


@pytest.mark.parametrize(
    ("scoring", "temperature"),
    [("Dot product", "∞"), ("Scaled dot product", "0.01"), ("Cosine", "0"), ("Additive", "0.1")],
)
def test_scoring_and_temperature_come_with_the_link(scoring: str, temperature: str) -> None:
    drawn = {"draw": "2"} if scoring == "Additive" else {}
    app = opened(scoring=scoring, softmax_temperature=temperature, query="3 dog", **drawn)
    found = compute.average(TIRED, scoring, float(temperature.replace("∞", "inf")), 2)
    assert sent(app, "average")["query"] == 1
    assert weights(app) == pytest.approx(found.weights[1].tolist(), abs=1e-6)
    assert ("**random numbers**, draw 2" in words(app)) == (scoring == "Additive")


def test_a_word_that_stands_there_twice_is_guessed_by_its_own_place() -> None:
    app = opened(text="The dog saw the cat.", query="5 the")
    guess = app.button_group(key="guess_weighted_average")
    assert [option for option in guess.options if "the" in option] == ["the (token 5)"]
    guess.set_value("the (token 5)").run()
    assert "**Yes.** " in words(press(app, "Reveal"))
    assert "What resembles `the` most is `the`." in words(app)


@pytest.mark.parametrize("temperature", ["0.1", "30"])
def test_the_worked_example_can_be_checked_with_a_calculator(temperature: str) -> None:
    [worked] = re.findall(
        r"\$e\^\{(.*?)\} = (.*?)\$\. The sum of the row is \$(.*?)\$, and .* = \*\*(.*?) %\*\*",
        words(opened(softmax_temperature=temperature)),
    )
    power, exponential, total, share = worked
    assert 2.718281828 ** eval(power) == pytest.approx(float(exponential), rel=0.02, abs=2e-3)  # noqa: S307
    assert 100 * float(exponential) / float(total) == pytest.approx(float(share), abs=0.06)


def test_two_equal_words_share_the_hard_lookup() -> None:
    said = words(opened(text="The dog saw the cat.", query="2 the", softmax_temperature="0"))
    assert "the 2 best matches share all; this weight is **50.0 %**" in said


def test_where_all_words_are_equal_no_other_is_best() -> None:
    assert "best other" in words(opened())
    assert "best other" not in words(opened(text="dog dog"))


@pytest.mark.parametrize("kind", SPLITS)
def test_the_splits(kind: str) -> None:
    app = opened(split=kind)
    [table] = [frame.value for frame in app.dataframe if "id" in frame.value]
    assert table["id"].tolist() == [piece.id for piece in compute.split(kind, TIRED).pieces]
    assert ("exactly what was typed" in words(app)) == (kind != compute.WORD_PIECES)


def test_a_long_text_is_summed_whole() -> None:
    app = opened(text=LONG, softmax_temperature="30")
    message = sent(app, "average")
    assert re.fullmatch(r"\d+ more", message["parts"][-1]["label"])
    assert len(weights(app)) <= 20
    assert sum(weights(app)) == pytest.approx(1, abs=1e-5)
    for at, mixed in enumerate(message["mixed"]):
        total = sum(part["weight"] * part["vector"][at] for part in message["parts"])
        assert total == pytest.approx(mixed, abs=1e-6)
