"""Controls shared by several pages: sentence, model, head, token, and rows of buttons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import StopException

from attnviz.analysis.display_tokens import DisplayToken
from attnviz.analysis.sentence import is_content_word
from attnviz.app import markdown
from attnviz.app.models import lookup
from attnviz.app.state import choices, link, memory
from attnviz.app.state.choice import Text, Token, option
from attnviz.models import allowed
from attnviz.models.catalogue import Entry
from attnviz.trained.storyteller.reading import beginning

Item = TypeVar("Item")

PRONOUNS = ("it", "he", "she", "they", "him", "her", "them", "its", "his", "their")
"""Tokens that are selected by default, in this order of preference."""

ONE_CHANGED = "the same sentence with one word changed"
"""The placeholder of the box for a second sentence."""

_MAX_NAME_LENGTH = 200  # characters of a model's name in the label of a link
_MAX_IN_BOX, _MAX_BELOW = 70, 600  # characters of a sentence in its box, and repeated below it
_WORD_MARKS = " Ġ▁"  # tokenizers' signs for a space before a word


# Sentences


def sentence(
    label: str, opening: str, box: Text = choices.TEXT, changed: Callable[[], None] | None = None
) -> str:
    """Draw the box for a sentence; return its text.

    A sentence that does not fit into the one-line box is also shown below it. A box that the visitor
    emptied stays empty.

    Args:
        label: Label of the box.
        opening: Initial text, unless the visitor or a link has set one; "" for none.
        box: Link parameter of the text.
        changed: Called when the visitor has typed another text.
    """
    if opening and is_unset(box):
        # Set rather than declared as a default: links omit defaults, but must contain the sentence.
        box.set(opening)

    def typed() -> None:
        remember_emptied(box)
        if changed:
            changed()

    text = box.draw(label, on_change=typed)
    if opening and is_unset(box):
        st.rerun()
    if _MAX_IN_BOX < len(text) <= _MAX_BELOW:
        st.text(text)
    return text


def is_unset(*boxes: Text) -> bool:
    """Return whether neither the visitor nor a link has set these boxes.

    Also True after Back to a URL without parameters.
    """
    named = not boxes[0].is_set and any(link.contains(box) for box in boxes)
    emptied = link.page() or True
    return not any(box.get("") for box in boxes) and not named and memory.get(_emptied_key(*boxes)) != emptied


def remember_emptied(*boxes: Text) -> None:
    """Remember whether the visitor emptied these boxes; call it when one has changed."""
    empty = not any(box.get("") for box in boxes)
    memory.put(_emptied_key(*boxes), (link.page() or True) if empty else None)


def _emptied_key(*boxes: Text) -> str:
    return f"the page on which {boxes[0].name} was emptied"


def build_sentence(reader: Entry, built: Callable[[str], None]) -> None:
    """If the model is a storyteller, draw a button that calls `built` with a random sentence for it."""
    if reader.engine == "storyteller":
        st.button(
            "Random sentence",
            on_click=lambda: built(beginning(Random())),  # noqa: S311 - not for security
            icon=":material/casino:",
            type="tertiary",
        )


# Models


def model(entries: Sequence[Entry], *, offer_own: bool = True) -> Entry:
    """Draw the select for these models (at least one) and a link to the visitor's own models."""
    described = {entry.name: markdown.plain(entry.description) for entry in entries}
    shown = "\n\n".join(f"**{markdown.code(name)}**: {text}" for name, text in described.items())
    name = choices.MODEL.select("Model", list(described), help=shown)
    if offer_own:
        offer_own_model()
    return next(entry for entry in entries if entry.name == name)


def offer_own_model() -> None:
    """Draw the link to the visitor's own models, if the visitor may open models."""
    if allowed.may_open():
        st.page_link("pages/models.py", label="Your own model …", icon=":material/add:")


def describe(*models: Entry) -> None:
    """Draw each model's title and description."""
    for entry in models:
        st.markdown(f":small[**{markdown.plain(entry.title)}.** {markdown.plain(entry.description)}]")


def reading_model(*, offer_own: bool = True) -> Entry:
    """Draw the select for models that read texts; stop the page if this server has none.

    `offer_own`: Draw a link to the visitor's own models below the select.

    Raises:
        AttnvizError: for example, the model's files were deleted.
    """
    entries = [entry for entry in lookup.usable() if entry.is_text_model]
    if not entries:
        st.error("No model on this server can read texts at the moment.", icon=":material/block:")
        st.page_link("pages/models.py", label="Models", icon=":material/deployed_code:")
        raise StopException  # as `page.stop` does
    return lookup.on_this_machine(model(entries, offer_own=offer_own))


def offer_requested_model() -> None:
    """If the model requested by the URL is not in use, draw a link to it, or to the list of models.

    A URL alone never makes the server open a model: the model could be any folder, or a huge download.
    """
    name = " ".join(" ".join(link.requested(choices.MODEL)).split())
    if not name or link.values().get(choices.MODEL.name) in (None, [name]):
        return
    if any(each.name == name and not each.is_text_model for each in lookup.usable()):
        st.page_link(
            "pages/images.py",
            label=f"{markdown.code(name)} reads images. Show it an image …",
            icon=":material/image:",
            query_params={choices.MODEL.name: name},
        )
    elif allowed.may_open() and name not in allowed.names() and len(name) <= _MAX_NAME_LENGTH:
        st.page_link(
            "pages/models.py",
            label=f"Open {markdown.code(name)} on this server …",
            icon=":material/memory:",
            query_params={choices.OWN_NAME.name: name},
        )
    else:
        why = "" if allowed.may_open() else "This server opens only the models in its list. "
        label = f"{why}See the available models …"
        st.page_link("pages/models.py", label=label, icon=":material/deployed_code:")


# Heads


def head(layers: int, heads: int, opening: tuple[int, int]) -> tuple[int, int]:
    """Draw the selects for layer and head; return both, from 0.

    Args:
        layers, heads: Numbers of layers and of heads per layer.
        opening: Initial layer and head, from 1; also after a change of model.
    """
    memory.keep_picked()
    left, right = st.columns(2, wrap=False)
    with left:
        layer = choices.LAYER.draw("Layer", layers, opening[0])
    with right:
        return layer - 1, choices.HEAD.draw("Head", heads, opening[1]) - 1


def layer_with_weights(model: Entry, layer: int) -> int:
    """Return this layer, from 0; if it has no attention weights, the nearest layer that has them."""
    layer_type = dict(model.without_weights).get(layer)
    if layer_type is None:
        return layer
    near = min(model.numbers_of(model.kinds[0]), key=lambda number: abs(number - layer))
    st.info(f"Layer {layer + 1}: {layer_type}, no attention weights. Showing layer {near + 1}.")
    return near


def open_head(layer: int, head: int) -> None:
    """Open a head (from 0), as a callback."""
    memory.pick({choices.LAYER.name: layer + 1, choices.HEAD.name: head + 1})


# Tokens


def token(
    groups: Sequence[DisplayToken],
    scope: object,
    label: str,
    choice: Token = choices.QUERY,
    initial: int | None = None,
) -> int:
    """Draw the select for a token, with options such as "10 it"; return its index among the groups.

    A word that occurs twice has two options with different numbers.

    Args:
        groups: The tokens.
        scope: Identifies the text; see `Token.draw`.
        label: Label of the select.
        choice: Link parameter of the select; `QUERY` is shared with Explore.
        initial: Initial index; None for the first of `PRONOUNS` in the text, or else the middle word.
    """
    options = [option(group) for group in groups]
    first = _pronoun(groups) if initial is None else initial
    return options.index(choice.draw(label, options, options[first], scope))


def index_of_word(word: str, groups: Sequence[DisplayToken]) -> int:
    """Return the index of a word's first occurrence, ignoring space marks, or else of the middle word."""
    words = [group.label.strip(_WORD_MARKS) for group in groups]
    return words.index(word) if word in words else _middle(groups)


def _pronoun(groups: Sequence[DisplayToken]) -> int:
    words = [_normalized(group) for group in groups]
    return next((words.index(pronoun) for pronoun in PRONOUNS if pronoun in words), _middle(groups))


def _middle(groups: Sequence[DisplayToken]) -> int:
    """Return the index of the middle content word; else of the middle word, or of the middle token."""
    cut = {place - 1 for place, group in enumerate(groups) if group.label.startswith("##")}
    words = [
        place
        for place, group in enumerate(groups)
        if not group.special
        and not group.label.startswith("##")
        and place not in cut
        and any(map(str.isalnum, group.label))
    ]
    words = [place for place in words if is_content_word(groups[place])] or words
    return words[len(words) // 2] if words else len(groups) // 2


def _normalized(group: DisplayToken) -> str:
    """Return the token's text in lower case, without the tokenizer's marks."""
    return group.label.strip(_WORD_MARKS).removeprefix("##").casefold()


# Buttons


def buttons(
    label: str,
    offered: Mapping[str, Item],
    key: str,
    on_click: Callable[[Item], None],
    pressed: str | None = None,
    **options: Any,
) -> None:
    """Draw a row of buttons, each of which opens a value, such as a head or an example.

    Args:
        label: Label of the row.
        offered: Values, by the labels of their buttons.
        key: Streamlit key of the row; not in links.
        on_click: Called with the clicked value, unless it is already open.
        pressed: The pressed button; None for none.
        options: Arguments of `st.pills`.
    """
    # For a row in a closed popover, the browser keeps sending an old value after the app has set a new one.
    # So each state of the row has its own key, and late values are ignored.
    row = f"{key}: {pressed}" if pressed in offered else key
    if pressed in offered and memory.get(row) is None:
        memory.put(row, pressed)

    def click() -> None:
        name = memory.get(row)
        if name is not None and name != pressed:
            on_click(offered[name])

    st.pills(label, list(offered), key=row, on_change=click, **options)
