"""No control is missing from the link: what "Copy link" copies opens a page with every choice as it was made."""

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.heads.pronouns import computing
from attnviz.app.jobs import Jobs
from attnviz.app.state.choices import TABLE
from attnviz.experiments import pairs
from tests.app.shown import clean, sent, visit, warnings

KINDS = (
    *("text_input", "text_area", "number_input", "selectbox", "multiselect", "toggle", "checkbox", "radio"),
    *("slider", "select_slider", "button_group"),
)

# By which link each page is opened, so that it draws all that it has.
OPENED: dict[str, dict[str, str]] = {
    "explore": {"other": "The cat sat because it was angry."},
    "behaviour": {},
    "beyond_weights": {},
    "compare": {"other": "The cat sat because it was angry."},
    "intervene": {"edits": "encoder 2-1 9 >7"},
    "plane": {},
    "pronouns": {},
    "weighted_average": {"scoring": "additive"},
    "scale": {},
    "query_key_value": {"six_steps_of": "Translator: French reads English"},
    "many_heads": {},
    "masks": {"in_your_model": "true", "mask": "window"},
    "positions": {"in_your_model": "true"},
    "cross_attention": {},
    "block": {},
    "translate": {},
    "cause": {},
    "watch_it_learn": {},
    "long_distances": {},
    "pictures": {},
    "references": {},
}

# What can be typed there.
TYPED = {
    "text": "The cat sat because it was tired.",
    "other": "The dog sat because it was angry.",
    "english": "The dog did not cross the road as it was too narrow.",
    "reader": "A hound slept.",
    "read_with": "It slept.",
    "replacement": "cat",
}


def controls(app: AppTest) -> Iterator[Any]:
    for kind in KINDS:
        yield from app.get(kind)


def another(control: Any) -> object:
    """A value that a control can have and has not."""
    value = control.value
    if control.type in {"text_input", "text_area"}:
        return TYPED.get(control.key, value)
    if control.type in {"number_input", "slider"}:
        return control.min if value == control.max else control.max
    if control.type in {"toggle", "checkbox"}:
        return not value
    options = [type(value)(each) if isinstance(value, int) else each for each in control.options]
    if isinstance(value, list):
        return [each for each in options if each not in value][:1] or value
    return next((each for each in reversed(options) if each != value), value)


def given(app: AppTest) -> dict[str, list[str]]:
    """Every choice, as the copied link writes it."""
    return parse_qs(sent(app, "copy_link")["query"], keep_blank_values=True)


@pytest.mark.parametrize("page", OPENED)
def test_a_copied_link_has_every_choice(
    page: str, monkeypatch: pytest.MonkeyPatch, opened: Callable[[str], str]
) -> None:
    few = pairs.bundled()[:1]
    monkeypatch.setattr(pairs, "bundled", lambda: few)
    monkeypatch.setattr(computing, "JOBS", Jobs())
    app = visit(page, OPENED[page])
    names, before = {choice.name for choice in TABLE if page in choice.pages}, given(app)
    for typed in (True, False):  # first the texts, on which other choices depend
        for control in controls(app):
            assert control.key in names, f"{control.label} is in no link"
            if (control.key in TYPED) == typed:
                control.set_value(another(control))
        clean(app.run())
    made = given(app)
    print(page, before, made)
    again = visit(page, made)
    assert given(again) == made
    assert not warnings(again)
