"""One attention weight, computed step by step from its query and key vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from attnviz.analysis.arithmetic import WeightArithmetic
from attnviz.app import markdown
from attnviz.text import decimal, percent, plural

_NUM_PRODUCTS = 5  # products that are listed individually
_NUM_KEYS = 8  # largest weights in the softmax table; the chosen key is always listed
_DIGITS = 3
_SHARE_DIGITS = 4  # decimals of the exponentials and of their sum


def arithmetic(steps: WeightArithmetic, names: Sequence[str], query: str, key: str, note: str = "") -> None:
    """Draw the computation of one weight, softmax(QKᵀ/√d_head), for one head, query token and key token.

    Args:
        steps: The weight and its intermediate values.
        names: Names of all key tokens, in order.
        query, key: Names of the two tokens in the heading.
        note: Line below the heading; may be empty.
    """
    masked = not steps.mask_row[steps.key_position]
    attends = "not attend to" if masked else "attend to"
    st.subheader(
        f"Why does {markdown.code(query)} {attends} {markdown.code(key)}? "
        f":violet[{percent(steps.shown_weight, 1)}]",
        anchor=False,
    )
    if note:
        st.markdown(f":small[{markdown.plain(note)}]")
    with st.container(horizontal=True, gap="large"):  # side by side if there is room
        products, softmax = st.container(width=360), st.container(width=500)
    with products:
        st.markdown("**1 · Multiply :blue[query] and :red[key], and add the products.**")
        st.markdown(_products(steps))
    with softmax:
        st.markdown(f"**{_scaling(steps)}**")
        st.markdown(_score(steps) + (" → masked: −∞" if masked else ""))
        st.markdown("**3 · Softmax over the row: exp(score − max) ÷ sum.**")
        st.markdown(_softmax(steps, names))
        st.markdown(_quotient(steps))
        if last := _last_steps(steps):
            st.markdown("**4 · What this page shows.** " + " ".join(last))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(head)} |", f"|:--|{'--:|' * (len(head) - 1)}", *lines])


def _products(steps: WeightArithmetic) -> str:
    """Return a table of the largest products of the two vectors, the sum of all others, and the total."""
    products = steps.products
    order = np.argsort(-np.abs(products), kind="stable")[:_NUM_PRODUCTS]
    rows = [
        [
            str(at + 1),
            *(decimal(float(each[at]), _DIGITS) for each in (steps.query_vector, steps.key_vector, products)),
        ]
        for at in order.tolist()
    ]
    if others := len(products) - len(order):
        rest = steps.dot_product - float(products[order].sum(dtype=np.float64))
        rows.append([plural(others, "other"), "", "", decimal(rest, _DIGITS)])
    rows.append(["**sum: q · k**", "", "", f"**{decimal(steps.dot_product, _DIGITS)}**"])
    return _table(["dimension", ":blue[query]", ":red[key]", "product"], rows)


def _scaling(steps: WeightArithmetic) -> str:
    formula_steps = [] if steps.scale == 1 else [_scale_factor(steps)[0]]
    formula_steps += ["add the position bias"] if steps.bias is not None else []
    formula_steps += ["apply the soft cap"] if steps.cap is not None else []
    return (
        f"2 · {', '.join(formula_steps).capitalize()}: the score."
        if formula_steps
        else "2 · The sum is the score, without scaling."
    )


def _scale_factor(steps: WeightArithmetic) -> tuple[str, str]:
    """Return the scaling in words and as a formula: ÷ √d_head, or the model's own factor."""
    size = len(steps.products)
    if abs(steps.scale * np.sqrt(size) - 1) < 1e-5:
        return f"divide by $\\sqrt{{{size}}}$", f"\\div \\sqrt{{{size}}}"
    return "scale", f"\\times {steps.scale:.4g}"


def _score(steps: WeightArithmetic) -> str:
    formula = decimal(steps.dot_product, _DIGITS) + ("" if steps.scale == 1 else _scale_factor(steps)[1])
    if steps.bias is not None:
        sign = "-" if steps.bias < 0 else "+"
        formula += f" {sign} {abs(steps.bias):.{_DIGITS}f}"
    if steps.cap is not None:
        before, cap = f"{steps.scaled:.{_DIGITS}f}", f"{steps.cap:g}"
        formula += f" = {before};\\quad {cap} \\cdot \\tanh({before} \\div {cap})"
    return f"${formula} = \\mathbf{{{decimal(steps.score, _DIGITS)}}}$".replace("−", "-")


def _softmax(steps: WeightArithmetic, names: Sequence[str]) -> str:
    """Return a table of scores, exponentials and weights, for the largest weights and the chosen key."""
    row, weights = steps.softmax, steps.softmax.exponentials / steps.softmax.total
    listed = sorted({*np.argsort(-weights, kind="stable")[:_NUM_KEYS].tolist(), steps.key_position})
    rows = []
    for at in listed:
        score = decimal(float(steps.score_row[at]), _DIGITS) if steps.mask_row[at] else "−∞"
        cells = [
            markdown.code(names[at]),
            score,
            f"{row.exponentials[at]:.{_SHARE_DIGITS}f}",
            percent(float(weights[at]), 1),
        ]
        rows.append([f"**{each}**" for each in cells] if at == steps.key_position else cells)
    if others := len(names) - len(listed):
        rest = np.delete(row.exponentials, listed).sum(dtype=np.float64)
        rows.append(
            [plural(others, "other"), "", f"{rest:.{_SHARE_DIGITS}f}", percent(float(rest / row.total), 1)]
        )
    if steps.sink is not None and row.sink is not None:
        share = percent(row.sink / row.total, 1)
        rows.append(["the head’s sink", decimal(steps.sink, _DIGITS), f"{row.sink:.{_SHARE_DIGITS}f}", share])
    rows.append(["sum", "", f"{row.total:.{_SHARE_DIGITS}f}", "100 %"])
    return _table(["key", "score", "exp", ":violet[weight]"], rows)


def _quotient(steps: WeightArithmetic) -> str:
    largest, total = f"{steps.softmax.largest:.{_DIGITS}f}", f"{steps.softmax.total:.{_SHARE_DIGITS}f}"
    if not steps.mask_row[steps.key_position]:
        return f"$e^{{-\\infty}} \\div {total} = 0$ (max = {largest})"
    exponent = (
        f"{steps.score:.{_DIGITS}f} - {largest}"
        if steps.softmax.largest >= 0
        else (f"{steps.score:.{_DIGITS}f} - ({largest})")
    )
    numerator = f"{steps.softmax.exponentials[steps.key_position]:.{_SHARE_DIGITS}f}"
    return (
        f"$\\dfrac{{e^{{{exponent}}}}}{{{total}}} = \\dfrac{{{numerator}}}{{{total}}}$ = "
        f":violet[**{percent(steps.weight, 1)}**]. Subtracting max, the largest score, does not "
        "change the weights."
    )


def _last_steps(steps: WeightArithmetic) -> list[str]:
    """Describe how merging and hiding changed the weight."""
    sentences = []
    if steps.piece_weights.size > 1:
        pieces = " + ".join(percent(float(weight), 1) for weight in steps.piece_weights.ravel())
        rows = len(steps.piece_weights)
        by = f" ÷ {rows}" if rows > 1 else ""
        sentences.append(f"Merged into words: ({pieces}){by} = {percent(steps.merged_weight, 1)}.")
    if steps.shown_share < 1:
        sink = " and the sink" if steps.sink is not None else ""
        sentences.append(
            f"Rescaled without the hidden tokens{sink}: {percent(steps.merged_weight, 1)} ÷ "
            f"{steps.shown_share:.{_SHARE_DIGITS}f} = **{percent(steps.shown_weight, 1)}**."
        )
    return sentences
