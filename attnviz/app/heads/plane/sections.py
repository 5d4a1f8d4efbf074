"""The sections of “Where do queries and keys meet?”: one head's queries and keys as points of a plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from attnviz.analysis.display_tokens import DisplayToken
from attnviz.analysis.plane import (
    Agreement,
    Faithfulness,
    Keeps,
    Plane,
    agreement,
    apart,
    closest_keys,
    distances,
    faithfulness,
    plane,
)
from attnviz.app import controls, markdown, traces
from attnviz.app.components import store
from attnviz.app.explore import attention
from attnviz.app.heads import choosing
from attnviz.app.heads.behaviour import texts
from attnviz.app.heads.plane import many
from attnviz.app.heads.plane import plane as widget
from attnviz.app.page import bar
from attnviz.app.references import cited_markdown
from attnviz.app.server.cache import cached, named
from attnviz.app.state.choices import HIDE, KEEPS, QUERY
from attnviz.capture.model import ModelInput
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.sentences import self_attention
from attnviz.models.catalogue import Entry
from attnviz.text import decimal, isolated, percent, plural
from attnviz.trace import Doubles, Floats, Kind, Mask
from attnviz.widgets.tokens import ShownToken, shown_tokens

_SMALL_DIGITS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


@dataclass(frozen=True)
class PlaneSelection(choosing.QueryInHead):
    """What is looked at, what the plane is to keep, and whether tokens that were added are left out."""

    keeps: Keeps
    hide: bool


@dataclass(frozen=True, eq=False)
class ComparedPlane:
    """The plane, and how it compares with the truth.

    Attributes:
        points: the plane.
        weights: [query, key], as shown: rescaled where tokens are hidden.
        allowed: [query, key], True where a query may look.
        products, distances: q · k and ‖q − k‖ of the whole vectors, [query, key].
        faithful: how far what the plane keeps is what is true.
        here, in_truth: whether closeness tells the largest weight, in the plane and in all dimensions.
        apart: how much of the variance is that queries lie elsewhere than keys.
    """

    points: Plane
    weights: Floats
    allowed: Mask
    products: Doubles
    distances: Doubles
    faithful: Faithfulness
    here: Agreement
    in_truth: Agreement
    apart: float

    @property
    def true(self) -> Doubles:
        """What the plane keeps, of the whole vectors."""
        return self.distances if self.points.keeps == "distances" else self.products


def choose() -> PlaneSelection | tuple[many.ManySelection, Corpus | None]:
    """Draw all choices of the page; of many sentences, the text is None as long as the visitor gave none.

    Raises:
        AttnvizError: the model cannot read what stands in the box, or cannot be used any more; or the text is
            none, or too long.
    """
    with bar():
        wide, narrow, head_column, token_column = st.columns([6, 3, 4, 3])
        below = st.container(horizontal=True, vertical_alignment="center")
    with below:
        source = texts.choose()
    with narrow:
        entry = controls.reading_model(offer_own=False)
    with wide:
        text = texts.sentence(source, entry)
    if source:
        with head_column:
            layer, head = choosing.head(entry, self_attention(entry))
        with wide:
            corpus = texts.corpus(source)
        with below:
            return many.choose(entry, layer, head), corpus
    given = ModelInput(text)
    traces.need_vectors(traces.trace(entry.name, given))
    with below:
        kind = attention.choose(entry.name)
        keeps = KEEPS.segments("The plane keeps", many.KEPT)
        hide = _choose_hiding(entry, given, kind)
    with head_column:
        layer, head = choosing.head(entry, kind)
    shown = traces.shown(entry.name, given, kind, hide, False)
    queries, keys = shown[0].groups, shown[-1].groups
    with token_column:
        query = controls.token(queries, given, "Query")
    return PlaneSelection(entry, kind, layer, head, given, queries, keys, query, keeps, hide)


def _choose_hiding(entry: Entry, given: ModelInput, kind: Kind) -> bool:
    tokens = traces.shown(entry.name, given, kind, False, False)
    special = dict.fromkeys(group.label for side in tokens for group in side.groups if group.special)
    if not special or traces.only_special(tokens):
        return False
    return HIDE.toggle(
        "Hide special tokens",
        help=f"Leaves out {' and '.join(map(markdown.plain, special))}: the plane is laid through the other "
        "points, and what is left of each row of weights is rescaled to 100 %.",
    )


def find(chosen: PlaneSelection) -> ComparedPlane:
    """The plane of the chosen head, computed once for all visitors."""
    where = (chosen.kind, chosen.layer, chosen.head)
    return _found(chosen.entry.name, chosen.given, *where, chosen.hide, chosen.keeps)


def picture(chosen: PlaneSelection, found: ComparedPlane) -> None:
    """Draw what was found in words, and the plane."""
    told = _finding(chosen, found)
    weights = np.where(found.allowed, found.weights, np.float32(np.nan))
    numbers = store.publish(
        "numbers of the plane",
        {
            "weights": weights,
            "products": found.products.astype(np.float32),
            "distances": found.distances.astype(np.float32),
        },
    )
    of = "of the variance" if chosen.keeps == "distances" else "of the squared dot products"
    first, second = (
        f"axis {nth + 1}: {percent(share)} {of}" for nth, share in enumerate(found.points.shares)
    )
    widget.plane(
        "plane",
        points=found.points,
        queries=_named(chosen.queries),
        keys=_named(chosen.keys),
        numbers=numbers,
        query=chosen.query,
        axes=(first, second),
        title=f"Queries and keys of head {chosen.name}",
        alt=f"{len(chosen.queries)} queries and {len(chosen.keys)} keys as points. {_plain(told)}",
        kept=f"the plane that keeps {chosen.keeps} best ({percent(found.points.kept)})",
        on_pick=lambda query: QUERY.pick(chosen.queries[query]),
    )
    st.markdown(
        f"{told}\n\nIn head {chosen.name} a token that looks has a :blue[query], what it looks for; one "
        "that is looked at has a :red[key], what it is found by. Both are lists of "
        f"{_d_head(chosen)} numbers; here each is a point."
    )


def guide(chosen: PlaneSelection) -> None:
    """Say how the picture is read."""
    told = (
        "Point at a token, or reach it with Tab and the arrow keys: lines lead to what it looks at, or to "
        "who looks at it, the thicker the larger the weight. Click a query to choose it; Esc lets go."
    )
    if chosen.keeps == "dot products":
        told += (
            " The dotted line runs from the origin through the chosen point: what lies far along it has "
            "a large dot product with it here, what lies behind the origin a negative one."
        )
    if _subscripted(chosen.queries) or _subscripted(chosen.keys):
        told += " A small number tells equal tokens apart: it is the token's place in the sentence."
    st.markdown(told)


def _finding(chosen: PlaneSelection, found: ComparedPlane) -> str:
    """The picture in a few sentences, in Markdown: what is true, what the plane adds, what it keeps."""
    query = chosen.query
    looker = chosen.token
    row = np.where(found.allowed[query], found.weights[query], -np.inf)
    most = int(row.argmax())
    kept = f"The plane keeps **{percent(found.points.kept)}**"
    if chosen.keeps == "distances":
        kept += " of the variance, which is how widely the points are scattered around their middle."
    else:
        kept += " of the squares of all dot products."
    if not found.allowed[query].any():
        return f"{looker} looks at hidden tokens only. {kept}"
    return (
        f"{looker} gives its largest weight, **{percent(float(row[most]))}**, to {_key(chosen, most)}: the "
        f"thickest line. {_expected(chosen, found, most)} {kept}"
    )


def _expected(chosen: PlaneSelection, found: ComparedPlane, most: int) -> str:
    """Whether the plane makes one expect that weight, and if not, why."""
    sign = -1 if chosen.keeps == "distances" else 1
    here, truly = (
        int(closest_keys(sign * each, found.allowed)[chosen.query])
        for each in (found.points.shown, found.true)
    )
    everywhere = f"all {_d_head(chosen)} dimensions"
    if chosen.keeps == "dot products":
        if here == truly:
            return f"The largest dot product, here and in {everywhere}, is that with {_key(chosen, here)}."
        return (
            f"The largest dot product in this plane is that with {_key(chosen, here)}, but the plane leaves "
            f"something out: in {everywhere} it is that with {_key(chosen, truly)}."
        )
    if here != truly:
        return (
            f"The nearest key in this plane is {_key(chosen, here)}, but nearness here can mislead, as two "
            f"axes leave out the others: in {everywhere} the nearest is {_key(chosen, truly)}."
        )
    nearest = f"The nearest key, here and in {everywhere}, is {_key(chosen, here)}"
    return f"{nearest}." if here == most else f"{nearest}: near is not the same as much."


def _key(chosen: PlaneSelection, key: int) -> str:
    return markdown.token(key, chosen.keys)


def trust(chosen: PlaneSelection, found: ComparedPlane) -> None:
    """Draw how far the plane can be trusted, in numbers."""
    for column, draw in zip(
        st.columns(3, gap="large"), (_kept, _true_and_shown, _near_and_much), strict=True
    ):
        with column:
            draw(chosen, found)


def _kept(chosen: PlaneSelection, found: ComparedPlane) -> None:
    first, second = map(percent, found.points.shares)
    st.markdown(f"**{percent(found.points.kept)} is kept**")
    if chosen.keeps == "distances":
        st.markdown(
            f"The {_d_head(chosen)} numbers of each vector become two. The axes are principal components of "
            "queries and keys together: the two directions along which all points differ most. Axis 1 keeps "
            f"{first} of the variance, the mean squared distance of the points from their middle; axis 2 "
            f"keeps {second}. **{percent(found.apart)}** of the variance is only that queries as a group lie "
            "elsewhere than keys as a group."
        )
        return
    cited_markdown(
        f"The points are chosen so that **their dot products** come as near to the head's as those of any "
        f"points in a plane can (Eckart and Young 1936). Axis 1 keeps {first} of the sum of all squared dot "
        f"products, axis 2 keeps {second}. Distances between points mean nothing here."
    )


def _true_and_shown(chosen: PlaneSelection, found: ComparedPlane) -> None:
    faithful = found.faithful
    what = "Distances" if chosen.keeps == "distances" else "Dot products"
    told = "not defined" if faithful.correlation is None else decimal(faithful.correlation)
    pair = _pair(chosen, faithful.query, faithful.key)
    st.markdown(f"**{what} here and in truth: correlation {told}**")
    numbers = f"**{decimal(faithful.shown, 1)}** here and **{decimal(faithful.true, 1)}** in truth"
    rule = " A projection can shorten a distance, never lengthen it." if chosen.keeps == "distances" else ""
    st.markdown(
        f"Over {plural(found.true.size, 'pair')} of a query and a key. The largest "
        f"error: {pair} is {numbers}.{rule}"
    )


def _near_and_much(chosen: PlaneSelection, found: ComparedPlane) -> None:
    here, truth = found.here, found.in_truth
    chance = f"Keys drawn at random would be right for {here.chance:.1f}."
    if chosen.keeps == "distances":
        st.markdown("**Near is not always much attention**")
        told = (
            f"For **{here.found} of {here.of}** queries the nearest key in the plane is also the one with "
            f"the largest weight; in all {_d_head(chosen)} dimensions for **{truth.found}**. {chance}"
        )
    else:
        st.markdown("**The largest dot product, the most attention?**")
        rule = "this is how a head decides" if chosen.block.bias is None else "but for its bias"
        told = (
            f"In all {_d_head(chosen)} dimensions that is so for **{truth.found} of {truth.of}** queries "
            f"({rule}); in the plane for **{here.found}**. {chance}"
        )
    st.markdown(told if here.of else "No query has a choice between keys here.")


def lost(chosen: PlaneSelection, found: ComparedPlane) -> None:
    """Draw what no plane shows, with the numbers of the chosen query and the key that it looks at most."""
    query = chosen.query
    key = int(np.where(found.allowed[query], found.weights[query], -np.inf).argmax())
    head = chosen.head
    vectors = (
        chosen.block.query[head, chosen.queries[query].positions[0]],
        chosen.block.key[head, chosen.keys[key].positions[0]],
    )
    squares = [decimal(float((vector.astype(np.float64) ** 2).sum()), 1) for vector in vectors]
    far, product = (
        decimal(float(found.distances[query, key]) ** 2, 1),
        decimal(float(found.products[query, key]), 1),
    )
    bias = "" if chosen.block.bias is None else ", together with a bias"
    if chosen.block.cap is not None:
        bias += f", squeezed between −{chosen.block.cap:g} and {chosen.block.cap:g} (soft-capping)"
    st.markdown(
        r"A head compares by **dot products**, and $q \cdot k = \frac{1}{2}(\lVert q \rVert^2 + "
        r"\lVert k \rVert^2 - \lVert q - k \rVert^2)$: a small distance helps, but a **long** key far away "
        f"can win over a short one nearby. For {_pair(chosen, query, key)}: ({squares[0]} + {squares[1]} − "
        f"{far}) / 2 = **{product}**, and times {chosen.block.scale:.3g} that enters the softmax{bias}."
    )
    for note in _notes(chosen):
        st.markdown(note)


def _notes(chosen: PlaneSelection) -> list[str]:
    """What this model does besides comparing queries with keys, which the points cannot show."""
    notes = []
    if chosen.block.bias is not None:
        notes.append(
            "**This model adds a bias for where the two tokens stand.** It is a part of the score that no "
            "place in the plane shows: two keys at the same point can get different weights."
        )
    if chosen.block.sinks is not None:
        notes.append(
            "**The head has a sink**, a learned score that belongs to no token and enters the softmax of "
            "every row. It has no point in the plane, and what it gets goes to no key."
        )
    if not chosen.block.mask.all():
        notes.append(
            "**A mask forbids some keys.** They are drawn all the same; no line leads to them, and they do "
            "not count as nearest."
        )
    return notes


@cached(named)
def _found(
    model: str, given: ModelInput, kind: Kind, layer: int, head: int, hide: bool, keeps: Keeps
) -> ComparedPlane:
    shown = traces.shown(model, given, kind, hide, False)
    block = traces.trace(model, given).block(kind, layer)
    rows, columns = ([group.positions[0] for group in side.groups] for side in (shown[0], shown[-1]))
    query, key = block.query[head, rows].astype(np.float64), block.key[head, columns].astype(np.float64)
    weights = traces.weights(model, given, kind, hide, False)[layer, head]
    allowed = block.mask[np.ix_(rows, columns)]
    # Of a row that may look at hidden tokens only, nothing is left to compare.
    seeing = allowed.any(axis=-1)
    points, products, far = plane(query, key, keeps), query @ key.T, distances(query, key)
    true, sign = (far, -1) if keeps == "distances" else (products, 1)
    here, in_truth = (
        agreement(weights[seeing], sign * each[seeing], allowed[seeing]) for each in (points.shown, true)
    )
    faithful = faithfulness(true, points.shown)
    return ComparedPlane(points, weights, allowed, products, far, faithful, here, in_truth, apart(query, key))


def _pair(chosen: PlaneSelection, query: int, key: int) -> str:
    """A query and a key as Markdown that shows them as typed."""
    return " → ".join(
        markdown.token(at, groups) for at, groups in ((query, chosen.queries), (key, chosen.keys))
    )


def _d_head(chosen: PlaneSelection) -> int:
    return int(chosen.block.query.shape[-1])


def _named(groups: Sequence[DisplayToken]) -> list[ShownToken]:
    """The tokens; of equal ones, each with its place in small digits."""
    twice = _subscripted(groups)
    named = shown_tokens(groups)
    for token, group in zip(named, groups, strict=True):
        if group.label in twice:
            token["label"] = isolated(token["label"]) + str(group.number).translate(_SMALL_DIGITS)
    return named


def _subscripted(groups: Sequence[DisplayToken]) -> set[str]:
    """The labels that several tokens have."""
    labels = [group.label for group in groups]
    return {label for label in labels if labels.count(label) > 1}


def _plain(told: str) -> str:
    """Markdown of ours without its signs, for those who hear it."""
    return told.replace("*", "").replace("`", "")
