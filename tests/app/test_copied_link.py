"""Every control is tried: what changes a picture is in the link, which opens the page as it was left."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.models.images.samples import SAMPLES
from attnviz.app.state.choices import TABLE
from tests.app.shown import clean, finished, sent, visit

KINDS = (
    *("text_input", "text_area", "number_input", "selectbox", "multiselect", "toggle", "checkbox", "radio"),
    *("slider", "select_slider", "button_group"),
)

# By which links each page is opened: together they let it draw all that it has.
OPENED: tuple[tuple[str, dict[str, str]], ...] = (
    ("explore", {"text": "The cat sat.", "other": "The dog sat."}),
    ("beyond_weights", {}),
    ("compare", {"text": "The cat sat.", "other": "The dog sat."}),
    ("intervene", {"edits": "encoder 2-1 9 >7"}),
    ("find", {}),
    ("score_heads", {}),
    ("weighted_average", {"scoring": "Additive"}),
    ("scale", {}),
    ("query_key_value", {}),
    ("many_heads", {}),
    ("masks", {"mask": "window"}),
    ("positions", {}),
    ("cross_attention", {}),
    ("block", {}),
    ("translate", {}),
    ("cause", {}),
    ("watch_it_learn", {}),
    ("write", {}),
    ("induction", {}),
    ("watch_it_learn", {"learner": "Language model of 2 layers"}),
    ("images", {}),
)
ALWAYS_TRIED = {"explore", "intervene", "masks", "translate", "cause", "write", "images"}
NAMES = {choice.name for choice in TABLE}
KEPT = {"mask", "open", "scoring"}  # for what else is drawn

# What is chosen instead of the last option, or typed.
PICKED = {
    "model": "minilm-scratch",
    "text": "The cat sat because it was tired.",
    "picture": next(reversed(SAMPLES)),
    "other": "The dog sat because it was tired.",
    "english": "The dog did not cross the road as it was too narrow.",
    "reader": "A hound slept.",
    "prompt": "Emma and Ben were friends.",
    "words_twice": "lamp key map",
    "replacement": "cat",
}


def controls(app: AppTest) -> dict[str, Any]:
    """All that hold a choice, by name."""
    return {str(each.key): each for kind in KINDS for each in app.get(kind)}


def in_link(app: AppTest) -> dict[str, object]:
    """What the controls show that a link names."""
    return {name: control.value for name, control in controls(app).items() if name in NAMES}


def pictures(app: AppTest) -> list[str]:
    """All that is drawn, as it was sent to the browser."""
    drawn = [element.proto for element in app.get("bidi_component")]
    charts = [element.proto.spec for element in app.get("plotly_chart")]
    return [proto.json for proto in drawn if proto.component_name != "attnviz.copy_link"] + charts


def address(app: AppTest) -> dict[str, list[str]]:
    """What "Copy link" copies."""
    return parse_qs(sent(app, "copy_link")["query"], keep_blank_values=True)


def another(name: str, control: Any) -> object:
    """A value that a control can have and has not."""
    value = control.value
    if name in KEPT:
        return value
    if control.type in {"text_input", "text_area"}:
        return PICKED.get(name, value)
    if control.type in {"toggle", "checkbox"}:
        return not value
    if control.type in {"number_input", "slider"}:
        others = [each for each in (control.max, control.min) if each != value]
    else:
        others = [each for each in reversed(control.options) if each != str(value)]
        others.sort(key=lambda each: each != PICKED.get(name))
    if isinstance(value, list):
        return [each for each in others if each not in value][:1]
    number = isinstance(value, int)
    return value if not others else int(others[0]) if number else others[0]


@pytest.mark.usefixtures("little_to_read")
@pytest.mark.parametrize(
    ("page", "link"),
    [
        pytest.param(page, link, marks=[] if page in ALWAYS_TRIED else [pytest.mark.everything])
        for page, link in OPENED
    ],
)
def test_what_changes_a_picture_is_in_the_link(
    page: str, link: dict[str, str], opened: Callable[[str], str]
) -> None:
    if page == "images":
        opened("vit")
    app = visit(page, link)
    finished(app)
    for texts in (True, False):  # first what is read, on which other choices depend
        for name in [name for name in controls(app) if (name in PICKED) == texts]:
            if control := controls(app).get(name):
                before, drawn = address(app), pictures(app)
                control.set_value(another(name, control))
                finished(app)
                assert pictures(clean(app)) == drawn or address(app) != before, name
    again = visit(page, address(app))
    assert in_link(again) == in_link(app)
