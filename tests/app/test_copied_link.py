"""Every control that changes a picture is in the copied link, and the link restores the page."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.models.images.samples import SAMPLES
from attnviz.app.state.choices import TABLE
from tests.app.shown import clean, message_to, visit, wait_finished

KINDS = (
    *("text_input", "text_area", "number_input", "selectbox", "multiselect", "toggle", "checkbox", "radio"),
    *("slider", "select_slider", "button_group"),
)

# Links that together show all controls of each page.
LINKS: tuple[tuple[str, dict[str, str]], ...] = (
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
    ("watch_it_learn", {"learner": "Language model with 2 layers"}),
    ("images", {}),
)
ALWAYS_TRIED = {"explore", "intervene", "masks", "translate", "cause", "write", "images"}
NAMES = {choice.name for choice in TABLE}
UNCHANGED = {"mask", "open", "scoring"}  # a new value would remove other controls

# New values of these controls; other controls are set to their last option or their maximum.
NEW_VALUES = {
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
    """Return all controls with a value, by key."""
    return {str(each.key): each for kind in KINDS for each in app.get(kind)}


def linked_values(app: AppTest) -> dict[str, object]:
    """Return the values of the controls that have a link parameter."""
    return {name: control.value for name, control in controls(app).items() if name in NAMES}


def pictures(app: AppTest) -> list[str]:
    """Return all pictures, as sent to the browser."""
    drawn = [element.proto for element in app.get("bidi_component")]
    charts = [element.proto.spec for element in app.get("plotly_chart")]
    return [proto.json for proto in drawn if proto.component_name != "attnviz.copy_link"] + charts


def link_parameters(app: AppTest) -> dict[str, list[str]]:
    """Return the parameters of the copied link."""
    return parse_qs(message_to(app, "copy_link")["query"], keep_blank_values=True)


def other_value(name: str, control: Any) -> object:
    """Return a valid value that differs from the control's current one."""
    value = control.value
    if name in UNCHANGED:
        return value
    if control.type in {"text_input", "text_area"}:
        return NEW_VALUES.get(name, value)
    if control.type in {"toggle", "checkbox"}:
        return not value
    if control.type in {"number_input", "slider"}:
        others = [each for each in (control.max, control.min) if each != value]
    else:
        others = [each for each in reversed(control.options) if each != str(value)]
        others.sort(key=lambda each: each != NEW_VALUES.get(name))
    if isinstance(value, list):
        return [each for each in others if each not in value][:1]
    number = isinstance(value, int)
    return value if not others else int(others[0]) if number else others[0]


@pytest.mark.usefixtures("short_corpora")
@pytest.mark.parametrize(
    ("page", "link"),
    [
        pytest.param(page, link, marks=[] if page in ALWAYS_TRIED else [pytest.mark.everything])
        for page, link in LINKS
    ],
)
def test_choices_of_a_picture_are_in_the_link(
    page: str, link: dict[str, str], opened: Callable[[str], str]
) -> None:
    if page == "images":
        opened("vit")
    app = visit(page, link)
    wait_finished(app)
    for texts in (True, False):  # texts first, since other choices depend on them
        for name in [name for name in controls(app) if (name in NEW_VALUES) == texts]:
            if control := controls(app).get(name):
                before, drawn = link_parameters(app), pictures(app)
                control.set_value(other_value(name, control))
                wait_finished(app)
                assert pictures(clean(app)) == drawn or link_parameters(app) != before, name
    reopened = visit(page, link_parameters(app))
    assert linked_values(reopened) == linked_values(app)
