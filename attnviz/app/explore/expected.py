"""Predictions for the next token or for masked tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence

import streamlit as st

from attnviz.analysis.display_tokens import visible_text
from attnviz.app import markdown, traces
from attnviz.app.components.share_table import Row, share_table
from attnviz.app.explore import views
from attnviz.app.explore.linking import Tokens
from attnviz.app.explore.views import View
from attnviz.app.models import lookup
from attnviz.capture.model import Candidate, ModelInput, Prediction, Writing
from attnviz.errors import AttnvizError
from attnviz.models.catalogue import Entry
from attnviz.text import isolated

_PROBABILITY = "probability"
_SAMPLED = "after temperature, top k and top p"


def can_predict(model: Entry) -> bool:
    """Return whether the model has a prediction head."""
    return model.expects is not None


def draw(view: View, tokens: Tokens) -> None:
    """Draw the model's predictions; in a comparison, for both sentences."""
    masked = view.model.expects == "masked"
    st.header("Which word is masked?" if masked else "What comes next?", anchor=False)
    inputs = [view.given, view.changed] if view.changed else [view.given]
    places = st.columns(len(inputs), gap="large") if view.changed else [st.container()]
    for place, given in zip(places, inputs, strict=True):
        with place:
            try:
                expected = traces.predictions(view.model, given)
            except AttnvizError as error:
                st.info(markdown.plain(str(error)))
                continue
            if masked:
                _masked(view, tokens, given, expected)
            else:
                _next(view, tokens, given, expected)


def _next(view: View, tokens: Tokens, given: ModelInput, expected: Sequence[Prediction]) -> None:
    if view.kind == "encoder":
        st.markdown("Only the decoder predicts tokens: select *decoder* or *cross* to see its predictions.")
        return
    if tokens.pair is None:
        st.markdown("Choose a query token to see the predictions after it.")
        return
    at = views.index_in(view, given, tokens.pair.query, "query")
    if at is None:
        st.markdown("This sentence does not have the chosen query token.")
        return
    group = traces.shown(view.model, given, view.kind, view.hide, view.merge, view.between)[0].groups[at]
    found = [each for each in expected if each.position == group.positions[-1]]
    if not found:
        st.markdown(f"There is no prediction after {markdown.code(group.label)}.")
        return
    [prediction] = found
    trace = traces.trace(view.model, given)
    length = len(trace.of_kind(view.kind)[0].query_tokens)
    by_model = given.target is None and (
        trace.target is not None or prediction.position >= length - 1 - trace.written
    )
    mark = "chosen" if by_model else "in the text"
    sampled = by_model and given.writing is not None and changes_probabilities(given.writing)
    st.markdown(f"Predictions after {markdown.code(group.label)}:")
    bars(
        f"expected {given == view.given}",
        f"Predictions after {isolated(group.label)}",
        prediction,
        mark,
        sampled,
    )


def changes_probabilities(writing: Writing) -> bool:
    """Return whether the sampling options change the model's probabilities."""
    return writing.temperature > 0 and (writing.temperature, writing.top_k, writing.top_p) != (1, 0, 1)


def _masked(view: View, tokens: Tokens, given: ModelInput, expected: Sequence[Prediction]) -> None:
    mask = lookup.mask_token(view.model)
    if not expected:
        st.markdown(
            f"Type {markdown.code(mask)} in place of a word, and the model predicts the word."
            if mask
            else "This model’s vocabulary has no mask token."
        )
        return
    query = views.groups(view)[0][tokens.pair.query].positions if tokens.pair else ()
    at_query = [each for each in expected if each.position in query]
    chosen = (at_query or list(expected))[0]
    if len(expected) > 1:
        places = ", ".join(str(each.position + 1) for each in expected)
        st.markdown(
            f":small[Tokens {places} are masked. Choose a masked token as the query to see its predictions.]"
        )
    st.markdown(f"Predictions at token {chosen.position + 1}:")
    name = f"expected {given == view.given}"
    bars(name, f"Predictions at token {chosen.position + 1}", chosen, "in the text", sampled=False)


def bars(name: str, title: str, prediction: Prediction, mark: str, sampled: bool) -> None:
    """Draw a prediction as bars.

    Args:
        name: Streamlit key of the bars.
        title: Title for screen readers.
        prediction: The prediction.
        mark: Label of the actual next token, if there is one: "chosen" or "in the text".
        sampled: Also show the probabilities after temperature, top k and top p.
    """
    actual = prediction.actual
    listed = list(prediction.candidates)
    if actual is not None and all(each.id != actual.id for each in listed):
        listed.append(actual)
    rows: list[Row] = [
        {
            "label": _label(each),
            "place": str(rank) if rank <= len(prediction.candidates) else "…",
            "shares": [each.probability, each.share] if sampled else [each.probability],
            "mark": mark if actual is not None and each.id == actual.id else "",
        }
        for rank, each in enumerate(listed, 1)
    ]
    share_table(name, title=title, columns=[_PROBABILITY, _SAMPLED] if sampled else [_PROBABILITY], rows=rows)


def _label(candidate: Candidate) -> str:
    """Return the token with visible leading spaces, which distinguish a new word from a word piece."""
    text = "".join(visible_text(letter) for letter in candidate.text)
    return re.sub(r"^ +", lambda spaces: "␣" * len(spaces[0]), text)
