"""Links to other tools, and downloads of the open head and of all heads."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from attnviz.analysis.table import head_table
from attnviz.app import markdown, traces
from attnviz.app.explore import attention, views
from attnviz.app.explore.choices import Heads
from attnviz.app.explore.linking import Tokens
from attnviz.app.explore.one_head import explanation, file_name
from attnviz.app.explore.views import View
from attnviz.app.heads import offers
from attnviz.app.models import lookup
from attnviz.app.saving import file_name_of, npz_of, save_file, with_sentence
from attnviz.app.state import link
from attnviz.app.state.choices import HEAD, KIND, LAYER, MODEL, QUERY, TEXT
from attnviz.capture.model import ModelInput, Writing
from attnviz.errors import AttnvizError
from attnviz.trace import Trace


def draw(view: View, heads: Heads, tokens: Tokens) -> None:
    """Draw the links and the download buttons."""
    _more_about(view, heads, tokens)
    query = tokens.pair.query if tokens.pair else None
    alone = traces.trace(view.model, view.given).blocks[0].weights_alone
    saving = st.popover("Save", key="save", on_change="rerun")
    if not saving.open:
        return
    with saving:
        save_file(
            f"CSV of head {heads.name}",
            lambda: csv_of(view, heads),
            f"{with_sentence(file_name(view, replace(heads, also=())))}.csv",
            "The displayed numbers of the selected head, with columns that describe them.",
        )
        save_file(
            "All heads (NPZ)",
            lambda: npz_of(traces.trace(view.model, view.given)),
            f"{with_sentence(file_name_of(lookup.display_name(view.model)))}.npz",
            f"{'Weights' if alone else 'Queries, keys, values and weights'} of all tokens of "
            f"{'this' if view.changed is None else 'the first'} sentence, not merged or rescaled. "
            "Load the file in Python with numpy.load.",
        )
        _offer_report(view, heads, query)


def _offer_report(view: View, heads: Heads, query: int | None) -> None:
    from attnviz.export.report.contents import check_size

    try:
        check_size(_traces(view))
    except AttnvizError as error:
        st.markdown(f":small[No report: {markdown.plain(str(error))}]")
        return
    save_file(
        "Report (HTML)",
        lambda: report_of(view, heads, query),
        f"{with_sentence(file_name_of(lookup.display_name(view.model)))}.html",
        "One file with all heads. It opens in a browser, even offline.",
    )


def csv_of(view: View, heads: Heads) -> str:
    """Return the shown numbers of the open head as CSV."""
    queries, keys = views.groups(view)
    [numbers] = views.head_numbers(view, heads.layer, [heads.head])
    share = views.shown_shares(view)[heads.layer - 1, heads.head - 1] if views.hidden_names(view) else None
    given = view.changed or view.given
    trace = traces.trace(view.model, given)
    return head_table(
        numbers,
        queries,
        keys,
        text=trace.text,
        second=trace.second,
        target=trace.target,
        compared_with=traces.trace(view.model, view.given).text if view.changed else None,
        model=lookup.display_name(view.model),
        attention=attention.head_prefix(view.model, view.kind).strip() or None,
        layer=heads.layer - 1,
        head=heads.head - 1,
        stage=view.stage,
        explanation=explanation(view),
        generated=trace.text[len(given.text) :] if trace.written and trace.target is None else None,
        sampling=_in_words(given.writing) if given.writing else None,
        shown_share=share,
        hidden=views.hidden_names(view),
    )


def _in_words(writing: Writing) -> str:
    """Return the generation settings in words."""
    if not writing.temperature:
        return "always the most likely token"
    options = f"top k {writing.top_k}; top p {writing.top_p:g}; seed {writing.seed}"
    return f"temperature {writing.temperature:g}; {options}"


def report_of(view: View, heads: Heads, query: int | None) -> str:
    """Return an HTML report of all heads that first shows the open head.

    `query`: Index of the selected query among the shown tokens; None for all queries.
    """
    from attnviz.export.report.page import InitialView, report

    position = None if query is None else views.groups(view)[0][query].positions[0]
    opening = InitialView(
        kind=view.kind, layer=heads.layer - 1, head=heads.head - 1, query=position, hide_special=view.hide
    )
    return report(_traces(view), opening)


def _traces(view: View) -> list[Trace]:
    """Return the shown trace, or both traces of a comparison."""
    return [traces.trace(view.model, given) for given in (view.given, view.changed) if given is not None]


def _more_about(view: View, heads: Heads, tokens: Tokens) -> None:
    """Draw the links to the tools, which support only a single text without generated tokens."""
    if view.given != ModelInput(view.given.text):
        return
    parameters = [
        (MODEL.name, view.model.name),
        (TEXT.name, view.given.text),
        (LAYER.name, str(heads.layer)),
        (HEAD.name, str(heads.head)),
        *link.parameters(KIND),
    ]
    # The tools do not merge pieces into words.
    if tokens.pair and not view.merge and view.changed is None:
        parameters.append((QUERY.name, tokens.queries[tokens.pair.query]))
    popover = st.popover("More about this head", key="ways", on_change="rerun")
    if popover.open:
        with popover:
            offers.draw(view.kind, heads.layer - 1, heads.head - 1, parameters)
