"""Why this number? One weight, worked out step by step from its query and key vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from attnviz.analysis.arithmetic import WeightArithmetic
from attnviz.app import markdown
from attnviz.text import decimal, percent

_NUM_PRODUCTS = 5  # products that are listed one by one
_NUM_KEYS = 8  # rows of the softmax, with the chosen one 9
_DIGITS = 3
_SHARE_DIGITS = 4  # decimals of an exponential and of their sum


def arithmetic(worked: WeightArithmetic, names: Sequence[str], query: str, key: str, note: str = "") -> None:
    """Draw how softmax(QKᵀ/√d_head) gives one weight, for one head, one query token and one key token.

    Args:
        worked: The weight and its intermediate values.
        names: Names of all key tokens, in order.
        query, key: Names of the two tokens in the heading.
        note: Line below the heading; may be empty.
    """
    masked = not worked.mask_row[worked.key_position]
    attends = "not attend to" if masked else "attend to"
    st.subheader(
        f"Why does {markdown.code(query)} {attends} {markdown.code(key)}? "
        f":violet[{percent(worked.shown_weight, 1)}]",
        anchor=False,
    )
    if note:
        st.markdown(f":small[{markdown.plain(note)}]")
    with st.container(horizontal=True, gap="large"):  # side by side where there is room
        products, softmax = st.container(width=360), st.container(width=500)
    with products:
        st.markdown("**1 · Multiply :blue[query] and :red[key], and add up.**")
        st.markdown(_products(worked))
    with softmax:
        st.markdown(f"**{_scaling(worked)}**")
        st.markdown(_score(worked) + (" → masked: −∞" if masked else ""))
        st.markdown("**3 · Softmax over the row: exp(score − max) ÷ sum.**")
        st.markdown(_softmax(worked, names))
        st.markdown(_quotient(worked))
        if last := _last_steps(worked):
            st.markdown("**4 · What this page shows.** " + " ".join(last))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(head)} |", f"|:--|{'--:|' * (len(head) - 1)}", *lines])


def _products(worked: WeightArithmetic) -> str:
    """Return a table of the largest products of the two vectors, the sum of the others, and the total."""
    products = worked.products
    order = np.argsort(-np.abs(products), kind="stable")[:_NUM_PRODUCTS]
    rows = [
        [
            str(at + 1),
            *(
                decimal(float(each[at]), _DIGITS)
                for each in (worked.query_vector, worked.key_vector, products)
            ),
        ]
        for at in order.tolist()
    ]
    if others := len(products) - len(order):
        rest = worked.dot_product - float(products[order].sum(dtype=np.float64))
        rows.append([f"{others} others", "", "", decimal(rest, _DIGITS)])
    rows.append(["**sum: q · k**", "", "", f"**{decimal(worked.dot_product, _DIGITS)}**"])
    return _table(["dimension", ":blue[query]", ":red[key]", "product"], rows)


def _scaling(worked: WeightArithmetic) -> str:
    steps = [] if worked.scale == 1 else [_by(worked)[0]]
    steps += ["add the position bias"] if worked.bias is not None else []
    steps += ["cap softly"] if worked.cap is not None else []
    return (
        f"2 · {', '.join(steps).capitalize()}: the score." if steps else "2 · The score, which is not scaled."
    )


def _by(worked: WeightArithmetic) -> tuple[str, str]:
    """Return the scaling in words and as a formula: ÷ √d_head as in the paper, or the model's own factor."""
    size = len(worked.products)
    if abs(worked.scale * np.sqrt(size) - 1) < 1e-5:
        return f"divide by $\\sqrt{{{size}}}$", f"\\div \\sqrt{{{size}}}"
    return "scale", f"\\times {worked.scale:.4g}"


def _score(worked: WeightArithmetic) -> str:
    formula = decimal(worked.dot_product, _DIGITS) + ("" if worked.scale == 1 else _by(worked)[1])
    if worked.bias is not None:
        sign = "-" if worked.bias < 0 else "+"
        formula += f" {sign} {abs(worked.bias):.{_DIGITS}f}"
    if worked.cap is not None:
        before, cap = f"{worked.scaled:.{_DIGITS}f}", f"{worked.cap:g}"
        formula += f" = {before};\\quad {cap} \\cdot \\tanh({before} \\div {cap})"
    return f"${formula} = \\mathbf{{{decimal(worked.score, _DIGITS)}}}$".replace("−", "-")


def _softmax(worked: WeightArithmetic, names: Sequence[str]) -> str:
    """Return a table of scores, exponentials and weights; a long row shows the largest and the chosen one."""
    row, weights = worked.softmax, worked.softmax.exponentials / worked.softmax.total
    listed = sorted({*np.argsort(-weights, kind="stable")[:_NUM_KEYS].tolist(), worked.key_position})
    rows = []
    for at in listed:
        score = decimal(float(worked.score_row[at]), _DIGITS) if worked.mask_row[at] else "−∞"
        cells = [
            markdown.code(names[at]),
            score,
            f"{row.exponentials[at]:.{_SHARE_DIGITS}f}",
            percent(float(weights[at]), 1),
        ]
        rows.append([f"**{each}**" for each in cells] if at == worked.key_position else cells)
    if others := len(names) - len(listed):
        rest = np.delete(row.exponentials, listed).sum(dtype=np.float64)
        rows.append(
            [f"{others} others", "", f"{rest:.{_SHARE_DIGITS}f}", percent(float(rest / row.total), 1)]
        )
    if worked.sink is not None and row.sink is not None:
        share = percent(row.sink / row.total, 1)
        rows.append(
            ["the head’s sink", decimal(worked.sink, _DIGITS), f"{row.sink:.{_SHARE_DIGITS}f}", share]
        )
    rows.append(["sum", "", f"{row.total:.{_SHARE_DIGITS}f}", "100 %"])
    return _table(["key", "score", "exp", ":violet[weight]"], rows)


def _quotient(worked: WeightArithmetic) -> str:
    largest, total = f"{worked.softmax.largest:.{_DIGITS}f}", f"{worked.softmax.total:.{_SHARE_DIGITS}f}"
    if not worked.mask_row[worked.key_position]:
        return f"$e^{{-\\infty}} \\div {total} = 0$ (max = {largest})"
    exponent = (
        f"{worked.score:.{_DIGITS}f} - {largest}"
        if worked.softmax.largest >= 0
        else (f"{worked.score:.{_DIGITS}f} - ({largest})")
    )
    above = f"{worked.softmax.exponentials[worked.key_position]:.{_SHARE_DIGITS}f}"
    return (
        f"$\\dfrac{{e^{{{exponent}}}}}{{{total}}} = \\dfrac{{{above}}}{{{total}}}$ = "
        f":violet[**{percent(worked.weight, 1)}**]. Subtracting max, the largest score, changes no weight."
    )


def _last_steps(worked: WeightArithmetic) -> list[str]:
    """Return how merging and hiding changed the weight."""
    steps = []
    if worked.piece_weights.size > 1:
        pieces = " + ".join(percent(float(weight), 1) for weight in worked.piece_weights.ravel())
        rows = len(worked.piece_weights)
        by = f" ÷ {rows}" if rows > 1 else ""
        steps.append(f"Merged into words: ({pieces}){by} = {percent(worked.merged_weight, 1)}.")
    if worked.shown_share < 1:
        sink = " and the sink" if worked.sink is not None else ""
        steps.append(
            f"Rescaled without the hidden tokens{sink}: {percent(worked.merged_weight, 1)} ÷ "
            f"{worked.shown_share:.{_SHARE_DIGITS}f} = **{percent(worked.shown_weight, 1)}**."
        )
    return steps
