"""No control is missing from the link: what "Copy link" copies opens a page as the visitor made it."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.heads.pronouns import computing
from attnviz.app.jobs import Jobs
from attnviz.app.senses.picture_samples import SAMPLES
from attnviz.app.senses.sound_samples import SAMPLES as SOUNDS
from attnviz.app.state.choices import TABLE
from attnviz.experiments import pairs
from tests.app.shown import clean, sent, visit

KINDS = (
    *("text_input", "text_area", "number_input", "selectbox", "multiselect", "toggle", "checkbox", "radio"),
    *("slider", "select_slider", "button_group"),
)

# By which links each page is opened: together they let it draw all that it has.
OPENED: tuple[tuple[str, dict[str, str]], ...] = (
    ("explore", {"text": "The cat sat.", "other": "The dog sat."}),
    ("behaviour", {}),
    ("beyond_weights", {}),
    ("compare", {"text": "The cat sat.", "other": "The dog sat."}),
    ("intervene", {"edits": "encoder 2-1 9 >7"}),
    ("find", {}),
    ("plane", {}),
    ("pronouns", {}),
    ("grammar", {}),
    ("weighted_average", {"scoring": "Additive"}),
    ("scale", {}),
    ("query_key_value", {}),
    ("query_key_value", {"six_steps_of": "Translator: French reads English"}),
    ("many_heads", {}),
    ("masks", {"in_your_model": "true", "mask": "window"}),
    ("positions", {"in_your_model": "true"}),
    ("cross_attention", {}),
    ("block", {}),
    ("translate", {}),
    ("cause", {}),
    ("watch_it_learn", {}),
    ("long_distances", {}),
    ("write", {}),
    ("induction", {"in_your_model": "true"}),
    ("watch_a_circuit_form", {}),
    ("pictures", {}),
    ("sounds", {}),
)
KEPT = {"in_your_model", "mask", "open", "scoring", "six_steps_of"}  # for what else is drawn

# What is chosen instead of the last option, or typed.
PICKED = {
    "model": "minilm-scratch",
    "text": "The cat sat because it was tired.",
    "picture": next(reversed(SAMPLES)),
    "sound": next(reversed(SOUNDS)),
    "other": "The dog sat because it was tired.",
    "english": "The dog did not cross the road as it was too narrow.",
    "reader": "A hound slept.",
    "prompt": "Emma and Ben were friends.",
    "said_twice": "lamp key map",
    "read_with": "It slept.",
    "replacement": "cat",
}

# A visitor's answers are nobody else's; the rest are buttons and menus that write into other choices.
IN_NO_LINK = (
    "a pair for patching",
    "guess",
    "menu_",
    "example",
    "english_example",
    "prompt_example",
    "unfinished_example",
    "heads ",
    "best heads",
    "pairs alike",
    "ranked",
    "ranking",
    "first majority",
)


def controls(app: AppTest) -> dict[str, Any]:
    """All that hold a choice, by name."""
    found = {str(each.key): each for kind in KINDS for each in app.get(kind)}
    return {name: each for name, each in found.items() if not name.startswith(IN_NO_LINK)}


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


@pytest.mark.parametrize(("page", "link"), OPENED)
def test_a_copied_link_has_every_choice(
    page: str, link: dict[str, str], monkeypatch: pytest.MonkeyPatch, opened: Callable[[str], str]
) -> None:
    few = pairs.bundled()[:1]
    monkeypatch.setattr(pairs, "bundled", lambda: few)
    monkeypatch.setattr(computing, "JOBS", Jobs())
    if page in ("pictures", "sounds"):
        opened("vit" if page == "pictures" else "wav2vec2")
    app = visit(page, link)
    for texts in (True, False):  # first what is read, on which other choices depend
        for name, control in controls(app).items():
            if (name in PICKED) == texts:
                control.set_value(another(name, control))
        clean(app.run())
    made = {name: control.value for name, control in controls(app).items()}
    assert set(made) <= {choice.name for choice in TABLE if page in choice.pages}
    again = visit(page, parse_qs(sent(app, "copy_link")["query"], keep_blank_values=True))
    assert {name: control.value for name, control in controls(again).items()} == made
