"""The lesson "Positional encodings": the sinusoidal matrix and its waves, other encodings, shuffled words."""

from __future__ import annotations

from functools import partial
from math import pi

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from attnviz.app import controls
from attnviz.app.components.curves import Axis, Dash, Line, curves
from attnviz.app.components.share_table import share_table
from attnviz.app.lessons import choosing
from attnviz.app.lessons.choosing import DEFAULT_HEAD, TokenSelection
from attnviz.app.lessons.computed import cached_bert
from attnviz.app.lessons.lesson_page import LessonPage, lesson_page
from attnviz.app.lessons.positions import values
from attnviz.app.lessons.positions.encoding import encoding
from attnviz.app.markdown import Markdown, token
from attnviz.app.state import link
from attnviz.app.state.choices import DIMENSION_PAIR, ENCODING, KEY, ORDER, SHIFT, SLOPES
from attnviz.text import head_name

KINDS = {
    "learned": (("attnviz.app.lessons.positions.values", "similarity"),),
    "rotary": (("attnviz.app.lessons.positions.values", "rotary"),),
    "alibi": (("attnviz.transformer.alibi", "alibi_slopes"), ("attnviz.transformer.alibi", "alibi_bias")),
    "relative": (("attnviz.app.lessons.positions.values", "t5_buckets"),),
}
CODE = (
    ("attnviz.transformer.positions", "sinusoidal"),
    ("attnviz.app.lessons.positions.values", "shift"),
    ("attnviz.transformer.rotary", "rotary_frequencies", "rotate"),
    ("attnviz.app.lessons.positions.values", "shuffled", "encode", "compare"),
)
NUM_PAIRS = values.D_MODEL // 2
MAX_TOKENS = 32  # maximum rows of the table of shuffled tokens
MAX_ROUNDING_ERROR = 1e-4
_DASHES: tuple[Dash, ...] = ("solid", "dash", "dot")

_waves, _wave, _shift = cached_bert(values.waves), cached_bert(values.wave), cached_bert(values.shift)
_learned, _rotary, _alibi = cached_bert(values.learned), cached_bert(values.rotary), cached_bert(values.alibi)
_shuffle = cached_bert(values.shuffle)


def draw() -> None:
    """Draw the lesson."""
    with lesson_page("positions") as page:
        with page.controls:
            sentence, word = st.columns([3, 1])
            with sentence:
                text = choosing.sentence()
            with word:
                chosen = TokenSelection(text, choosing.token(text, page.label("follow")))
        with page.picture:
            found = _waves(len(chosen.groups))
            pair = _picture(page, chosen, found)
        page.explain(d=values.D_MODEL, pair=pair, period=_period(found, pair))
        first = _shuffle(text, 1)
        row = first.order.index(chosen.query)
        page.predict(
            token=chosen.name,
            without=float(first.without.differences[row]),
            with_positions=float(first.with_positions.differences[row]),
        )
        kind = link.current(ENCODING) or "learned"
        page.further(
            page.section("rotation", _rotation, chosen, found, pair).with_choices(SHIFT),
            page.section("kinds", _kinds, chosen).with_choices(ENCODING, KEY, SLOPES),
            page.section("shuffle", _shuffled, chosen).with_choices(ORDER),
            code=(*CODE, *KINDS.get(kind, ())),
        )


def _period(found: values.Waves, pair: int) -> float:
    return 2 * pi / float(found.rates[pair])


def _picture(page: LessonPage, chosen: TokenSelection, found: values.Waves) -> int:
    """Draw the matrix, and next to it the waves of a pair of dimensions; return the pair."""
    matrix, waves = st.columns([6, 5], gap="medium")
    with waves:
        chart = st.container()
        pair = DIMENSION_PAIR.slide(page.label("pair"), NUM_PAIRS - 1)
        title = page.label("waves_title", pair=pair)
        chart.header(title, anchor=False)
        position, sine, cosine = _wave(pair, len(found.encoding))
        places = np.flatnonzero(position % 1 == 0).tolist()
        line = partial(Line, x=position, points=places)
        lines = [
            line(page.label("sine", pair=pair), y=sine, marker="circle", colour="text"),
            line(page.label("cosine", pair=pair), y=cosine, dash="dash", marker="cross", colour="muted"),
        ]
        with chart:
            curves(
                "waves",
                lines,
                title=title,
                x_axis=Axis(page.label("position"), at=page.label("position_at")),
                y_axis=Axis(page.label("value"), digits=3),
                marked=chosen.query,
                alt=page.label("waves_alt", period=_period(found, pair)),
            )
    with matrix:
        st.header(page.label("matrix_title"), anchor=False)
        encoding(
            "encoding picture",
            found.encoding,
            [group.label for group in chosen.groups],
            position=chosen.query,
            pair=pair,
            title=page.label("matrix_title"),
            alt=page.label("matrix_alt", positions=len(found.encoding), d=values.D_MODEL),
        )
        sine, cosine = found.encoding[chosen.query, 2 * pair : 2 * pair + 2].tolist()
        cells = page.label("cells", position=chosen.query, pair=pair, sine=sine, cosine=cosine)
        st.markdown(f":small[{cells}]")
    return pair


def _rotation(page: LessonPage, chosen: TokenSelection, found: values.Waves, pair: int) -> None:
    """Draw PE(pos + k) as a rotation of PE(pos), and the dot product of two position vectors by distance."""
    text, picture = st.columns(2, gap="large")
    with picture:
        k = SHIFT.slide(page.label("shift"), values.REACH - 1)
        shift = _shift(chosen.query, k)
        angle = k * float(found.rates[pair])
        circle = np.linspace(0, 2 * pi, 181)
        two = slice(2 * pair, 2 * pair + 2)
        (y, x), (to_y, to_x) = shift.before[two], shift.after[two]
        curves(
            "rotation",
            [
                Line("", np.cos(circle), np.sin(circle), colour="muted"),
                Line(page.label("before"), [0, x], [0, y], marker="circle", colour="muted", points=[1]),
                Line(page.label("after"), [0, to_x], [0, to_y], marker="diamond", colour="text", points=[1]),
            ],
            title=page.label("rotation_title", pair=pair),
            x_axis=Axis(page.label("cosine_axis", pair=pair)),
            y_axis=Axis(page.label("sine_axis", pair=pair), digits=3),
            plane=True,
            alt=page.label("rotation_alt", angle=angle),
        )
        products = found.by_distance[: values.REACH]
        curves(
            "products",
            [Line(page.label("product"), range(len(products)), products, colour="text")],
            title=page.label("products_title"),
            x_axis=Axis(page.label("distance"), at=page.label("distance_at")),
            y_axis=Axis(page.label("product")),
            marked=k,
            height=150,
            alt=page.label("products_alt", same=products[0], far=products[10]),
        )
    with text:
        page.text("rotation")
        page.text(
            "rotation-numbers",
            pair=pair,
            pairs=NUM_PAIRS,
            position=chosen.query,
            k=k,
            angle=angle,
            before=shift.before[two],
            rotated=shift.rotated[two],
            after=shift.after[two],
            difference=float(np.abs(shift.rotated - shift.after).max()),
        )


def _kinds(page: LessonPage, chosen: TokenSelection) -> None:
    page.text("kinds")
    kind = ENCODING.labelled_segments(page.label("kind"), list(KINDS), page.label)
    text, picture = st.columns(2, gap="large")
    draw = {
        "learned": _draw_learned,
        "rotary": _draw_rotary,
        "alibi": _draw_alibi,
        "relative": _draw_relative,
    }
    with text:
        draw[kind](page, chosen, picture)


def _draw_learned(page: LessonPage, _: TokenSelection, picture: DeltaGenerator) -> None:
    found = _learned()
    page.text("learned", limit=found.limit, cosines=found.mean)
    line = Line(
        page.label("mean"), range(len(found.mean)), found.mean, found.low, found.high, True, colour="text"
    )
    with picture:
        curves(
            "learned-positions",
            [line],
            title=page.label("cosines_title"),
            x_axis=Axis(page.label("distance"), at=page.label("distance_at")),
            y_axis=Axis(page.label("cosine_of_two"), digits=3),
            alt=page.label("cosines_alt", near=found.mean[1], far=found.mean[10]),
        )


def _draw_rotary(page: LessonPage, chosen: TokenSelection, picture: DeltaGenerator) -> None:
    key = choosing.token(chosen.text, page.label("key"), KEY, controls.index_of_word("dog", chosen.groups))
    layer, head = (number - 1 for number in DEFAULT_HEAD)
    found = _rotary(chosen.text, layer, head, chosen.query, key)
    distance = key - chosen.query
    at = int(np.flatnonzero(found.distances == distance)[0])
    page.text(
        "rotary",
        query=chosen.name,
        key=token(key, chosen.groups),
        starts=found.starts,
        distance=distance,
        scores=found.scores[:, at],
        head=head_name(layer, head),
    )
    lines = [
        Line(page.label("query_at", position=start), found.distances, scores, dash=dash, colour="query")
        for start, scores, dash in zip(found.starts, found.scores, _DASHES, strict=True)
    ]
    with picture:
        curves(
            "rotary",
            lines,
            title=page.label("rotary_title"),
            x_axis=Axis(page.label("key_minus_query")),
            y_axis=Axis(page.label("score"), digits=3),
            marked=distance,
            alt=page.label("rotary_alt", difference=float(np.ptp(found.scores, axis=0).max())),
        )


def _draw_alibi(page: LessonPage, _: TokenSelection, picture: DeltaGenerator) -> None:
    heads = SLOPES.draw(page.label("heads"))
    slopes, biases = _alibi(heads)
    formatted = [f"{slope:.4g}" for slope in slopes]
    page.text("alibi", heads=heads, slopes=Markdown(", ".join(formatted)))
    lines = [
        Line(
            page.label("slope", head=number + 1, slope=formatted[number]),
            range(len(line)),
            line,
            colour="text",
            faint=number > 0,
        )
        for number, line in enumerate(biases)
    ]
    with picture:
        curves(
            "alibi",
            lines,
            title=page.label("alibi_title"),
            x_axis=Axis(page.label("back")),
            y_axis=Axis(page.label("bias"), digits=3),
            faint=page.label("other_heads"),
            alt=page.label("alibi_alt", heads=heads, steepest=f"{slopes.max():.4g}"),
        )


def _draw_relative(page: LessonPage, _: TokenSelection, picture: DeltaGenerator) -> None:
    page.text("relative")
    distances = np.arange(-150, 151)
    buckets = values.t5_buckets(distances)
    with picture:
        curves(
            "buckets",
            [Line(page.label("bucket"), distances, buckets, colour="text")],
            title=page.label("buckets_title"),
            x_axis=Axis(page.label("key_minus_query")),
            y_axis=Axis(page.label("bucket"), digits=0),
            alt=page.label("buckets_alt"),
        )


def _shuffled(page: LessonPage, chosen: TokenSelection) -> None:
    """Draw a comparison of the outputs for shuffled words, without and with positions."""
    text, picture = st.columns([5, 7], gap="large")
    with picture, st.container(horizontal=True, vertical_alignment="bottom"):
        order = ORDER.draw(page.label("order"), width=220)
        st.button(page.label("shuffle"), icon=":material/shuffle:", on_click=_next_order)
    found = _shuffle(chosen.text, order)
    both, row = (found.without, found.with_positions), found.order.index(chosen.query)
    places = [*range(min(len(chosen.groups), MAX_TOKENS))]
    if row not in places:
        places[-1] = row
    with picture:
        share_table(
            "shuffle",
            title=page.label("outputs_title"),
            columns=[page.label("without"), page.label("with")],
            rows=[
                {
                    "label": chosen.groups[found.order[place]].label,
                    "place": str(found.order[place] + 1),
                    "shares": [float(each.cosines[place]) for each in both],
                    "written": [_cosine_label(page, each, place) for each in both],
                    "marked": place == row,
                    "hint": page.label("hint", now=place + 1, before=found.order[place] + 1),
                }
                for place in places
            ],
        )
    without, with_positions = (each.differences for each in both)
    with text:
        page.text("shuffle")
        page.text(
            "differences",
            order=order,
            token=chosen.name,
            without=float(without[row]),
            with_positions=float(with_positions[row]),
            all_without=float(without.max()),
            all_with=float(with_positions.max()),
            shown=len(places),
            tokens=len(chosen.groups),
        )


def _cosine_label(page: LessonPage, compared: values.Comparison, place: int) -> str:
    """Return the cosine of a token's two outputs, or a label if they are equal up to rounding."""
    if compared.differences[place] < MAX_ROUNDING_ERROR:
        return page.label("same")
    return page.label("cosine_value", cosine=float(compared.cosines[place]))


def _next_order() -> None:
    ORDER.set(ORDER.get(0) % ORDER.maximum + 1)
