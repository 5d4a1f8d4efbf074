"""Through all pages, with a choice on each: no error, no lost sentence, no leftovers."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.folded import EVERYTHING
from attnviz.app.state.choices import OPEN, of_page
from tests.app.shown import APP, clean, finished, press, visit

PAGES = [path.stem for path in sorted((APP.parent / "pages").glob("*.py"))]
SENTENCES = {
    "text": "The cat sat because it was tired.",
    "english": "The dog did not cross the road as it was too narrow.",
}

# One choice of each page, made by hand: what only this page has, where it has such a thing.
CHOSEN: dict[str, tuple[str, str, object]] = {
    "explore": ("text_input", "other", "The cat sat because it was angry."),
    "beyond_weights": ("toggle", "special", True),
    "compare": ("text_input", "other", "The cat sat because it was angry."),
    "intervene": ("selectbox", "points_at", "3 cat"),
    "find": ("segmented_control", "vector", "key"),
    "score_heads": ("selectbox", "test", "object to verb"),
    "weighted_average": ("select_slider", "softmax_temperature", "0.1"),
    "scale": ("number_input", "vectors_seed", 9999),
    "query_key_value": ("segmented_control", "step_of_six", "3"),
    "many_heads": ("number_input", "head", 7),
    "masks": ("segmented_control", "mask", "window"),
    "positions": ("slider", "dimension_pair", 7),
    "cross_attention": ("text_input", "reader", "A hound slept."),
    "block": ("number_input", "stage_in_block", 4),
    "translate": ("selectbox", "french", "2 chien"),
    "cause": ("selectbox", "cause_head", "encoder 1-1"),
    "watch_it_learn": ("segmented_control", "learning_view", "Matrix"),
    "write": ("number_input", "write", 3),
    "induction": ("multiselect", "edits", ["decoder 1-4"]),
    "images": ("selectbox", "patch", "row 3, column 4"),
    "models": ("text_input", "own", "minilm"),
    "references": ("selectbox", "cited", "Lin 1991"),
}


def check(app: AppTest, page: str, where: str) -> None:
    assert not app.exception, (where, app.exception[0].value)
    assert not app.error, (where, app.error[0].value)
    here = of_page(page)
    for name, sentence in SENTENCES.items():
        assert name not in here or app.session_state[name] == sentence, where
    if here:  # what has no choices writes nothing into the address: there the browser takes out the rest
        left = set(app.query_params) - set(here) - {"teacher"}
        assert not left, (where, left)


@pytest.mark.usefixtures("little_to_read")
def test_every_page_opens_after_the_choices_on_all_others(opened: Callable[[str], str]) -> None:
    walk(opened, [*pairwise([*PAGES, PAGES[0]])])


def walk(opened: Callable[[str], str], ways: Sequence[tuple[str, str]]) -> None:
    """Go these ways from page to page; a choice is made at the first sight of a page."""
    opened("vit")
    app = visit("translate", english=SENTENCES["english"])
    app.switch_page("pages/explore.py").run()
    clean(app.text_input(key="text").set_value(SENTENCES["text"]).run())
    if (first := ways[0][0]) != "explore":
        app.switch_page(f"pages/{first}.py").run()
    made: set[str] = set()
    for before, page in ways:
        choose(app, before, made)
        app.switch_page(f"pages/{page}.py").run()
        check(app, page, f"{page} after {before}")


def choose(app: AppTest, page: str, made: set[str]) -> None:
    """Make the choice of the page that is open, or find it made."""
    if page in CHOSEN:
        kind, key, value = CHOSEN[page]
        if page not in made:
            made.add(page)
            for sections in [each for each in app.button_group if each.key == OPEN.name]:
                sections.set_value(EVERYTHING).run()  # they are open again when one comes back
            finished(app)
            box = getattr(app, kind)(key=key).set_value(value)
            press(app, "Look") if page == "models" else box.run()  # a form waits for its button
            check(app, page, f"{page} after choosing {key} on it")
        assert app.session_state[key] == value, page
