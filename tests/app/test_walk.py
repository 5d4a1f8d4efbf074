"""From every page to every other after a choice on the first: no error, no lost sentence, no leftovers."""

from collections.abc import Callable, Sequence

import networkx as nx
import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.folded import EVERYTHING
from attnviz.app.state.choices import OPEN, of_page
from tests.app.shown import APP, clean, finished, press, visit

PAGES = [path.stem for path in sorted((APP.parent / "pages").glob("*.py"))]
PARTS = 3
SENTENCES = {
    "text": "The cat sat because it was tired.",
    "english": "The dog did not cross the road as it was too narrow.",
}

# One choice of each page, made by hand: what only this page has, where it has such a thing.
CHOSEN: dict[str, tuple[str, str, object]] = {
    "explore": ("text_input", "other", "The cat sat because it was angry."),
    "behaviour": ("selectbox", "rule", "first"),
    "beyond_weights": ("toggle", "special", True),
    "compare": ("segmented_control", "compare", "Two models"),
    "intervene": ("selectbox", "points_at", "3 cat"),
    "find": ("segmented_control", "found_by", "Key"),
    "plane": ("toggle", "hide", True),
    "pronouns": ("segmented_control", "looks", "The nouns look"),
    "grammar": ("segmented_control", "relation", "Object"),
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
    "write": ("number_input", "write", 3),
    "induction": ("multiselect", "silenced", ["1-4"]),
    "watch_a_circuit_form": ("selectbox", "forming_head", "1-4"),
    "pictures": ("selectbox", "patch", "row 3, column 4"),
    "models": ("text_input", "own", "minilm"),
    "references": ("selectbox", "cited", "Lin 1991"),
}
WITHOUT_A_CHOICE = {"about", "classroom", "heads", "learn"}


def check(app: AppTest, page: str, where: str) -> None:
    assert not app.exception, (where, app.exception[0].value)
    assert not app.error, (where, app.error[0].value)
    here = of_page(page)
    for name, sentence in SENTENCES.items():
        assert name not in here or app.session_state[name] == sentence, where
    if here:  # what has no choices writes nothing into the address: there the browser takes out the rest
        left = set(app.query_params) - set(here) - {"teacher"}
        assert not left, (where, left)


def test_every_page_has_its_choice() -> None:
    assert CHOSEN.keys() | WITHOUT_A_CHOICE == set(PAGES)


@pytest.mark.usefixtures("little_to_read")
def test_every_page_opens_after_the_choices_on_all_others(opened: Callable[[str], str]) -> None:
    """There and back through all pages: on the way back, each stands among what was chosen on all."""
    there = [*nx.utils.pairwise(PAGES, cyclic=True)]
    walk(opened, there + [(after, before) for before, after in reversed(there)])


@pytest.mark.everything
@pytest.mark.usefixtures("little_to_read")
@pytest.mark.parametrize("part", range(PARTS))
def test_every_page_opens_after_a_choice_on_every_other(opened: Callable[[str], str], part: int) -> None:
    """Once from each page to each other, in parts for several visitors at once."""
    ways = list(nx.eulerian_circuit(nx.complete_graph(PAGES, nx.DiGraph), "explore"))
    walk(opened, ways[len(ways) * part // PARTS : len(ways) * (part + 1) // PARTS])


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
