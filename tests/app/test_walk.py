"""From every page to every other after a choice on each: no error, no lost sentence, no leftovers."""

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.heads.pronouns import computing
from attnviz.app.jobs import Jobs
from attnviz.app.state.choices import of_page
from attnviz.experiments import pairs

SENTENCE = "The cat sat because it was tired."
OTHER = "The cat sat because it was angry."

# One choice of each page, made by hand: what only this page has, where it has such a thing.
CHOSEN: dict[str, tuple[str, str, object]] = {
    "explore": ("text_input", "other", OTHER),
    "behaviour": ("text_input", "read_with", "It slept."),
    "beyond_weights": ("toggle", "special", True),
    "compare": ("segmented_control", "compare", "Two models"),
    "intervene": ("selectbox", "points_at", "3 cat"),
    "plane": ("toggle", "hide", True),
    "pronouns": ("segmented_control", "looks", "The nouns look"),
    "weighted_average": ("select_slider", "softmax_temperature", "0.1"),
    "scale": ("number_input", "vectors_seed", 9999),
    "query_key_value": ("segmented_control", "step_of_six", "3"),
    "many_heads": ("segmented_control", "heads_of_384", "6"),
    "masks": ("segmented_control", "mask", "window"),
    "positions": ("number_input", "dimension_pair", 7),
    "cross_attention": ("text_input", "reader", "A hound slept."),
    "block": ("number_input", "stage_in_block", 4),
    "translate": ("selectbox", "cross_head", "all"),
    "cause": ("selectbox", "cause_head", "encoder 1-1"),
    "watch_it_learn": ("segmented_control", "learning_view", "Matrix"),
    "long_distances": ("number_input", "clauses_seed", 3),
}


def check(app: AppTest, page: str, came_from: str) -> None:
    where = f"{page} after {came_from}"
    assert not app.exception, (where, app.exception[0].value)
    assert not app.error, (where, app.error[0].value)
    here = of_page(page)
    if "text" in here:
        assert app.session_state["text"] == SENTENCE, where
    left = set(app.query_params) - set(here) - {"teacher"}
    assert not left, (where, left)


def test_every_page_opens_after_a_choice_on_every_other(
    monkeypatch: pytest.MonkeyPatch
) -> None:
from tests.app.shown import visit
    """There and back again: what was chosen on a page stays, so that each page meets all others' choices."""
    few = pairs.bundled()[:1]
    monkeypatch.setattr(pairs, "bundled", lambda: few)
    monkeypatch.setattr(computing, "JOBS", Jobs())
    pages = list(CHOSEN)
    app = visit(pages[0], text=SENTENCE)
    for page in pages:
        app.switch_page(f"pages/{page}.py").run()
        check(app, page, "the pages before it")
        kind, key, value = CHOSEN[page]
        getattr(app, kind)(key=key).set_value(value).run()
        check(app, page, f"choosing {key} on it")
        assert app.session_state[key] == value
    for page in reversed(pages):
        app.switch_page(f"pages/{page}.py").run()
        check(app, page, "all others")
        assert app.session_state[CHOSEN[page][1]] == CHOSEN[page][2], page
