"""How a translator was made is said on every page on which it can be looked at."""

from collections.abc import Mapping

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app import markdown
from attnviz.models import catalogue
from attnviz.trained.translator.variants import VARIANTS
from tests.app.shown import APP, FOLDED, clean, visit, words

GUIDED, MISLEADING = catalogue.TRANSLATOR, f"{catalogue.TRANSLATOR}-decorative"
SENTENCE = "The dog crossed the road as it was too tired."
READ = {"text": SENTENCE, "model": GUIDED}
OTHER = {"other": SENTENCE.replace("tired", "narrow")}

# By which link each page shows one.
SHOWN: dict[str, Mapping[str, str]] = {
    "explore": READ,
    "beyond_weights": READ,
    "compare": {**READ, **OTHER},
    "intervene": READ,
    "find": READ,
    "score_heads": {"model": GUIDED},
    "cross_attention": {"open": "trained"},
    "translate": {},
    "cause": {},
    "watch_it_learn": {},
    "about": {},
    "models": {},
}
SHOW_NONE = {
    "block",
    "classroom",
    "heads",
    "induction",
    "learn",
    "many_heads",
    "masks",
    "images",
    "positions",
    "query_key_value",
    "references",
    "scale",
    "weighted_average",
}
SHOW_ANOTHER = {"long_distances", "write"}  # networks that nobody told anything


def test_every_page_shows_one_or_none() -> None:
    assert SHOWN.keys() | SHOW_NONE | SHOW_ANOTHER == {path.stem for path in APP.parent.glob("pages/*.py")}


@pytest.mark.usefixtures("little_to_read")
@pytest.mark.parametrize("page", SHOWN)
def test_a_page_that_shows_a_translator_says_what_it_was_told(page: str) -> None:
    app = visit(page, FOLDED | dict(SHOWN[page]))
    where_it_is_chosen = "\n".join(menu.help for menu in app.selectbox)
    assert "guided" in told(app) | told_in(where_it_is_chosen)


def test_of_two_models_each_is_described_as_long_as_it_is_compared() -> None:
    app = visit("compare", READ, compare="Two models", against=MISLEADING)
    assert told(app) == {"guided", "decorative"}
    app.text_input(key="text").set_value(SENTENCE)
    clean(app.segmented_control(key="compare").set_value("Two sentences").run())
    assert told(app) == {"guided"}


def told(app: AppTest) -> set[str]:
    """What was told to those that the page describes."""
    return told_in(words(app))


def told_in(text: str) -> set[str]:
    text = text.replace("\\", "")
    described = {name: markdown.plain(each.description).replace("\\", "") for name, each in VARIANTS.items()}
    return {name for name, each in described.items() if each in text}
