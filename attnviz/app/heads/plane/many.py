"""The queries and keys of many sentences in one picture: which, what is told of them, and what was picked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from attnviz.analysis.plane import (
    ANCHORS,
    NEAREST,
    Corner,
    Keeps,
    Plane,
    apart,
    inside,
    jointly_scaled,
    nearest_kept,
    plane,
)
from attnviz.app import controls
from attnviz.app.components import store
from attnviz.app.components.atlas import atlas
from attnviz.app.folded import folded, section
from attnviz.app.heads import choosing
from attnviz.app.heads.find import listed
from attnviz.app.heads.plane import cloud
from attnviz.app.heads.pronouns import listing
from attnviz.app.job_view import counted, show_job
from attnviz.app.models import lookup
from attnviz.app.references import cited_markdown
from attnviz.app.server.cache import cached
from attnviz.app.server.jobs import JOBS
from attnviz.app.state import link, memory
from attnviz.app.state.choices import AREA, COLOURED, HIDE, KEEPS, SCALED
from attnviz.capture import loading
from attnviz.experiments.all_planes import all_planes
from attnviz.experiments.corpus import Corpus
from attnviz.experiments.sentences import self_attention
from attnviz.experiments.text_index import TextIndex
from attnviz.models.catalogue import Entry
from attnviz.text import decimal, head_name, ordinal, percent, plural
from attnviz.trace import Doubles

MOST_TOKENS = 10_000
"""How many tokens of a text are drawn, each with its query and its key."""

KEPT: tuple[Keeps, ...] = ("distances", "dot products")
_BY: dict[str, cloud.ColouredBy] = {
    "Query or key": "kind",
    "Place in sentence": "place",
    "Vector length": "norm",
    "Word": "word",
}
_ALL_HEADS_BYTES = 2**28  # while the planes of all heads are made
_FREQUENT = 12  # words that have a colour of their own
_LEVELS = 60, 254  # of the lowest number, which is to be seen on the ground, and of the highest
_ABOUT = "the picture in which an area was picked"
_MOST_CORNERS = 40  # of an area that a link may ask for
_FAR = 1e6  # no vector reaches so far


@dataclass(frozen=True)
class ManySelection(choosing.HeadSelection):
    """The head, what the plane is to keep, and how its points are drawn."""

    keeps: Keeps
    scaled: bool
    hide: bool
    by: cloud.ColouredBy


@dataclass(frozen=True)
class IndexSnapshot:
    """An index as far as it is read: a key of the caches."""

    key: tuple[str, ...]
    done: int
    index: TextIndex = field(compare=False)


@dataclass(frozen=True, eq=False)
class ManyPoints:
    """The picture.

    Attributes:
        tokens: [token], which tokens of the index are drawn.
        plane: where.
        places, lengths: [point], queries first: in the sentence, from 0, and of the vector.
        kept: which share of the nearest is near in the picture, too.
        apart: how much of the variance is that queries lie elsewhere than keys.
    """

    tokens: NDArray[np.intp]
    plane: Plane
    places: Doubles
    lengths: Doubles
    kept: float
    apart: float


def choose(entry: Entry, layer: int, head: int) -> ManySelection:
    """Draw what the plane of this head keeps, and how its points are drawn."""
    keeps = KEEPS.segments("The plane keeps", KEPT)
    by = COLOURED.select("Colour by", tuple(_BY), width=220)
    hide = HIDE.toggle("Hide special tokens")
    scaled = False
    if keeps == "distances":
        scaled = SCALED.toggle(
            "Scale jointly",
            help="Moves the keys to the queries, and makes one longer by what the other is made shorter: "
            "distance then tells more of the dot product, and no weight changes.",
        )
    else:
        st.caption("*Scale jointly* is for distances.", width="content")
        SCALED.keep()
    if said := link.said(AREA):  # the link keeps it while the text is read
        link.choose(AREA, said if _corners(said) else None)
    return ManySelection(entry, self_attention(entry), layer, head, keeps, scaled, hide, _BY[by])


def find(chosen: ManySelection, corpus: Corpus) -> None:
    """Draw the queries and keys of a text, once it is read."""
    job, key = listed.index_job(chosen, corpus)
    progress = show_job(job, counted("Reading the sentences", "lines"), key="plane")
    if not progress or not progress.done:
        return
    index = progress.found
    listed.tell_lines(index)
    if chosen.scaled and (refused := _refused(chosen, index)):
        st.info(refused, icon=":material/info:")
        scaled = False
    else:
        scaled = chosen.scaled
    snapshot = IndexSnapshot(key, index.done, index)
    found = _points(snapshot, chosen.layer, chosen.head, chosen.keeps, scaled, chosen.hide)
    if found is None:
        st.info("These are too few tokens for a picture. Give more sentences.", icon=":material/edit:")
        return
    _picture(chosen, index, found)
    folded(
        section("How to read it", _guide, chosen),
        section("All heads at a glance", _all_heads, chosen, corpus, scaled),
        section("How far to trust it", _trust, chosen, index, found),
    )


def _refused(chosen: ManySelection, index: TextIndex) -> str:
    block = listed.block(chosen, index)
    what = "caps its scores" if block.cap is not None else "has a sink" if block.sinks is not None else ""
    return (
        what and f"This head {what}, so that scaling would change its weights. The vectors are as they are."
    )


def _model(of: IndexSnapshot, *_: object) -> str:
    return of.index.key.model


@cached(_model)
def _points(
    of: IndexSnapshot, layer: int, head: int, keeps: Keeps, scaled: bool, hide: bool
) -> ManyPoints | None:
    """None where there are too few tokens for any neighbours to be compared."""
    index, at = of.index, (of.index.layer(layer), head)
    tokens = np.flatnonzero(~index.special[: index.tokens]) if hide else np.arange(index.tokens)
    tokens = tokens[:MOST_TOKENS]
    if len(tokens) <= NEAREST:
        return None
    query, key = (np.asarray(index.vectors(by)[at][tokens], np.float64) for by in ("query", "key"))
    lengths = np.linalg.norm(np.concatenate([query, key]), axis=-1)
    if scaled:
        query, key = jointly_scaled(query, key)
    laid = plane(query, key, keeps)
    starts = np.repeat(index.starts[:-1], np.diff(index.starts))[tokens]
    places = np.tile((tokens - starts).astype(np.float64), 2)
    return ManyPoints(tokens, laid, places, lengths, nearest_kept(laid, query, key), apart(query, key))


def _picture(chosen: ManySelection, index: TextIndex, found: ManyPoints) -> None:
    sentences = len({index.line_of(int(token))[0] for token in found.tokens})
    points, facts = _published(chosen, index, found)
    name = store.publish("points of the plane", points, **facts)
    axes = [f"axis {nth + 1}: {percent(share)} {_of(chosen)}" for nth, share in enumerate(found.plane.shares)]
    what = f"{len(found.tokens):,} queries and as many keys of {plural(sentences, 'sentence')}"
    told = (
        f"{what}. The plane keeps **{percent(found.plane.kept)}** {_of(chosen)}. Of the {NEAREST} "
        f"{_near(chosen)} **{percent(found.kept)}** are so in the picture, too: what is close there need not "
        "be alike."
    )
    area = _area(name)
    picture, beside = st.columns([7, 5], gap="medium")
    with picture:
        cloud.cloud(
            "cloud",
            points=name,
            by=chosen.by,
            origin=chosen.keeps == "dot products",
            axes=(axes[0], axes[1]),
            title=f"Queries and keys of head {chosen.name}",
            alt=f"{told.replace('*', '')} They can be chosen by keyboard.",
            about=f"{lookup.called(chosen.entry.name)} · head {chosen.name} · {what}",
            area=area,
            on_pick=_pick,
        )
    cut = index.tokens > len(found.tokens) == MOST_TOKENS
    rest = f" Of this text, these are the first {MOST_TOKENS:,} tokens." if cut else ""
    with beside:
        st.markdown(told + rest)
        with st.container(key="picked points"):
            _picked(chosen, index, found, area)


def _of(chosen: ManySelection) -> str:
    return "of the variance" if chosen.keeps == "distances" else "of the squared dot products"


def _near(chosen: ManySelection) -> str:
    return (
        "points nearest to one" if chosen.keeps == "distances" else "keys with a query’s largest dot products"
    )


def _published(
    chosen: ManySelection, index: TextIndex, found: ManyPoints
) -> tuple[dict[str, NDArray[Any]], dict[str, object]]:
    """The arrays of all points, and what they refer to."""
    ids, word = np.unique(index.ids[found.tokens], return_inverse=True)
    words = loading.load(chosen.entry.name).words(ids.tolist())
    frequent = np.argsort(-np.bincount(word), kind="stable")[:_FREQUENT]
    own = np.zeros(len(ids), np.uint8)
    own[frequent] = np.arange(1, len(frequent) + 1)
    lines = np.searchsorted(index.starts, found.tokens, side="right") - 1
    shown, line = np.unique(lines, return_inverse=True)
    ends = {
        "place": ("first token", f"{ordinal(int(found.places.max()) + 1)} token"),
        "norm": tuple(decimal(float(end), 1) for end in (found.lengths.min(), found.lengths.max())),
    }
    arrays: dict[str, NDArray[Any]] = {
        "places": np.concatenate([found.plane.queries, found.plane.keys]).astype(np.float32),
        "sides": np.repeat(np.array([0, 1], np.uint8), len(found.tokens)),
        "words": np.tile(word.astype(np.float32), 2),
        "lines": np.tile(line.astype(np.float32), 2),
        "place": _levels(found.places),
        "norm": _levels(found.lengths),
        "word": np.tile(own[word], 2),
    }
    facts: dict[str, object] = {
        "words": list(words),
        "lines": [index.lines[each] for each in shown],
        "frequent": [words[each] for each in frequent],
        "ends": ends,
    }
    return arrays, facts


def _levels(numbers: Doubles) -> NDArray[np.uint8]:
    low, high = _LEVELS
    share = (numbers - numbers.min()) / (np.ptp(numbers) or 1)
    return np.asarray(np.round(low + (high - low) * share), np.uint8)


def _corners(written: str) -> tuple[Corner, ...]:
    """The area that a link writes so; () where there is none."""
    try:
        numbers = [float(number) for number in written.split("_")]
    except ValueError:
        return ()
    x, y = numbers[::2], numbers[1::2]
    fits = len(x) == len(y) <= _MOST_CORNERS and all(abs(number) < _FAR for number in numbers)
    return tuple(zip(x, y, strict=True)) if fits else ()


def _area(picture: str) -> tuple[Corner, ...]:
    """The area that was picked in this very picture, or by a link; () for none."""
    if memory.get(_ABOUT, picture) != picture:
        _pick(())
    memory.put(_ABOUT, picture)
    return _corners(link.said(AREA))


def _pick(area: Sequence[Corner]) -> None:
    link.choose(AREA, "_".join(str(number) for corner in area for number in corner) or None)


def _picked(chosen: ManySelection, index: TextIndex, found: ManyPoints, area: Sequence[Corner]) -> None:
    """Draw the tokens of the points in the area."""
    # As the browser has them: both must find the same ones.
    places = np.concatenate([found.plane.queries, found.plane.keys]).astype(np.float32).astype(np.float64)
    points = inside(places, area).tolist()
    if not points:
        st.markdown(
            "Draw a line around points to list their tokens. By keyboard: go to the picture with Tab, move "
            "the frame with the arrow keys, and press Enter."
        )
        return
    st.header(plural(len(points), "point"), anchor=False)

    def draw_one(point: int) -> None:
        side, token = divmod(point, len(found.tokens))
        listed.draw(chosen, index, int(found.tokens[token]), key=bool(side))

    listing.draw("points", points, draw_one)


def _all_heads(chosen: ManySelection, corpus: Corpus, scaled: bool) -> None:
    """Draw the planes of all heads, small; a click on one opens it."""
    name, layers, heads = chosen.entry.name, chosen.entry.layers_of(chosen.kind), chosen.entry.heads
    key = "all planes", name, lookup.fingerprint(name), corpus.key, scaled
    job = JOBS.find(key, lambda: all_planes(corpus, name, scaled, _ALL_HEADS_BYTES))
    start = f"Draw all {layers * heads} heads"
    progress = show_job(job, counted("Reading the sentences", "steps"), key="all planes", start=start)
    found = progress and progress.found
    if not found:
        return
    facts = [
        f"keeps {percent(kept)} of the variance, {percent(near)} of the {NEAREST} nearest points"
        for kept, near in zip(found.kept.flat, found.near.flat, strict=True)
    ]
    atlas(
        "planes of all heads",
        pixels=store.publish("pictures of all planes", {"thumbnails": found.pictures}),
        layers=layers,
        heads=heads,
        selected={"layer": chosen.layer + 1, "heads": [chosen.head + 1]},
        facts=facts,
        kind="diverging",
        on_pick=lambda layer, head: controls.open_head(layer - 1, head - 1),
    )
    best, worst = (divmod(int(at), heads) for at in (found.near.argmax(), found.near.argmin()))
    jointly = ", scaled jointly" if scaled else ""
    st.markdown(
        f"Planes that keep distances, of {found.tokens:,} queries and as many keys of each head, of the "
        f"first {plural(found.lines, 'sentence')}{jointly}. Blue: more queries lie there; amber: more keys. "
        f"Of the {NEAREST} nearest points the plane of head {head_name(*best)} keeps "
        f"{percent(found.near[best])}, that of head {head_name(*worst)} {percent(found.near[worst])}. Such "
        "shares cannot be compared with those of more points."
    )


def _guide(chosen: ManySelection) -> None:
    """Say how the picture is read."""
    told = (
        "Each token has two points: its :blue[query], a circle, and its :red[key], a diamond. Point at one "
        "to read its token and sentence. The buttons, or Ctrl and the wheel, enlarge; Move pushes the "
        "picture."
    )
    if chosen.keeps == "dot products":
        told += " A query has its largest dot products with the keys that lie farthest in its own direction."
    st.markdown(told)


def _trust(chosen: ManySelection, index: TextIndex, found: ManyPoints) -> None:
    """Say how far the picture can be trusted."""
    size = index.query.shape[-1]
    method = "principal components" if chosen.keeps == "distances" else "the singular value decomposition"
    told = (
        f"Two axes stand for {size} numbers of each vector; they come from {method} of all points drawn. "
        f" Neighbours are compared for up to {ANCHORS} points, spread evenly over the text."
    )
    if chosen.keeps == "distances":
        told += (
            f" **{percent(found.apart)}** of the variance is only that queries as a group lie elsewhere than "
            "keys as a group."
        )
    st.markdown(told)
    cited_markdown(
        "**Scale jointly** is that of AttentionViz (Yeh et al. 2023), with factors of our own: all keys are "
        "moved by one vector, so that their middle is that of the queries; then queries are multiplied by "
        "what keys are divided by, so that both are equally widely spread. The move changes all scores of a "
        "query by the same number, which softmax takes away, and the factors cancel: no weight changes."
    )
