"""What the chosen model itself does about order: its own table, turns or biases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import streamlit as st

from attnviz.app import markdown
from attnviz.app.caches import cached, named
from attnviz.app.components.curves import Axis, Dash, Line, curves
from attnviz.app.learn import in_your_model
from attnviz.app.learn.computed import positions as compute
from attnviz.app.learn.positions.encoding import encoding
from attnviz.app.learn.positions.position_kinds import chart_of_biases, chart_of_likeness
from attnviz.app.state.choices import OWN_PAIR, OWN_PART
from attnviz.models.catalogue import Entry
from attnviz.text import decimal, head_name, isolated
from attnviz.trace import Block, Floats, Trace

if TYPE_CHECKING:
    from attnviz.capture.positions import Biases, Relative, Slopes, Table, Turns

_SHOWN_PLACES = 64
_SHOWN_NUMBERS = 64
_DASHES: tuple[Dash, ...] = ("solid", "dash", "dot", "dashdot")

CODE = (
    ("attnviz.capture.positions", "positions_of"),
    ("attnviz.app.learn.positions.compute", "likeness", "scores_by_distance"),
)


def draw(text: str) -> None:
    """Draw the section: what a model of the visitor's choice does about order, on the page's sentence."""
    told = "A model of your choice: its table, the rates at which it turns, or what it adds to its scores."
    with in_your_model.in_your_model(told) as entry:
        if entry is None:
            return
        found = _positions(entry.name)
        if not found.ways:
            _nothing(entry)
        draw_kind: dict[str, Callable[[Entry, str, list[Any]], None]] = {
            "table": _tables,
            "turns": _turns,
            "slopes": _slopes,
            "biases": _biases,
            "relative": _relative,
        }
        for kind in dict.fromkeys(way.kind for way in found.ways):
            ways = [way for way in found.ways if way.kind == kind]
            draw_kind[kind](entry, text, ways)


def _nothing(entry: Entry) -> None:
    st.markdown(
        f"**Nothing tells {_called(entry)} where a token stands.** It has no table, turns nothing and adds "
        "nothing to its scores: its first layer makes the same query and key of a token at any place. What "
        "it knows of order, it knows from its mask alone (Haviv et al. 2022)."
    )


# A table


def _tables(entry: Entry, text: str, tables: list[Table]) -> None:
    table = _of_part(tables)
    found = _likeness(entry.name, tables.index(table))
    told, drawn = st.columns(2, gap="large")
    with told:
        _tell_table(entry, table, found)
        if table.grid:
            _chart_of_directions(entry, table)
        else:
            chart_of_likeness(
                "own-positions",
                found,
                "its",
                alt=f"The mean cosine is 1 at distance 0 and {found.mean[-1]:.2f} at distance "
                f"{len(found.mean) - 1}.",
                about=entry.title,
            )
    with drawn:
        _chart_of_vectors(entry, _labels(entry, text, table), table)


def _tell_table(entry: Entry, table: Table, found: compute.Likeness) -> None:
    places, numbers = table.vectors.shape
    st.subheader(
        "A table that it learned" if table.learned else "The paper’s sines and cosines", anchor=False
    )
    origin = "learned in training" if table.learned else "sines and cosines, which no training has changed"
    if table.learned and not table.grid:
        origin += f". There is no row {places + 1:,}: it reads no more tokens"
    st.markdown(
        f"{_called(entry)} adds to each token's vector the vector of its place: **{places:,} places** with "
        f"**{numbers:,} numbers** each, {origin}."
    )
    st.latex(r"x = \text{token} + \text{table}[pos]")
    if table.unused:
        st.markdown(
            f"Its table has {table.unused} more rows in front, which no token of a text gets; the first "
            f"token has row {table.unused}, counted from 0."
        )
    lengths = (
        f"The vector of the first place has the length **{found.lengths[0]:.2f}**, the others have "
        f"**{found.lengths[1:].mean():.2f}** on average."
    )
    if table.grid:
        rows, columns = table.grid
        st.markdown(
            f"It is made for pictures of {rows} rows of {columns} patches, each with a place of its own. "
            f"Whether patches of one row or of one column have places alike, it had to find out. {lengths}"
        )
        if entry.grid and entry.grid != table.grid:
            st.markdown(
                f"The pictures that it gets here have {entry.grid[0]} rows of {entry.grid[1]} patches. The "
                "vectors of their places are interpolated between those of the table."
            )
        return
    near, far = (min(apart, len(found.mean) - 1) for apart in (1, 10))
    st.markdown(
        "**Does it know distances?** The vectors of neighbouring places have a cosine of "
        f"**{decimal(found.mean[near], 2)}** on average, {far} apart **{decimal(found.mean[far], 2)}** "
        f"(from {decimal(found.low[far], 2)} to {decimal(found.high[far], 2)}). {lengths}"
    )


def _chart_of_directions(entry: Entry, table: Table) -> None:
    across, down = compute.patch_likeness(table)
    curves(
        "own-patches",
        [
            Line("in the same row", range(len(across)), across, colour="text"),
            Line("in the same column", range(len(down)), down, dash="dash", colour="text"),
        ],
        title="How alike the vectors of two patches are",
        across=Axis("patches apart", at="{x} apart"),
        up=Axis("mean cosine", digits=3),
        alt=f"The farthest patches of a row have a mean cosine of {across[-1]:.2f}, those of a column "
        f"{down[-1]:.2f}.",
        about=entry.title,
    )


def _chart_of_vectors(entry: Entry, labels: list[str], table: Table) -> None:
    shown = table.vectors[:_SHOWN_PLACES, :_SHOWN_NUMBERS]
    limit = float(np.abs(shown).max())
    encoding(
        "own vectors",
        shown,
        labels,
        limit=limit,
        alt=f"The vectors of the first {len(shown)} places as rows of {shown.shape[1]} colours, the "
        f"strongest at ±{limit:.2g}.",
        about=entry.title,
    )
    st.caption(
        f"One row a place, one column a dimension: the first {len(shown)} of {len(table.vectors):,} places "
        f"and the first {shown.shape[1]} of {table.vectors.shape[1]:,} numbers."
    )


def _labels(entry: Entry, text: str, table: Table) -> list[str]:
    """What stands at the first places: the tokens of the sentence, or the patches of a picture."""
    if table.grid:
        patches = [f"row {row + 1}, column {column + 1}" for row, column in np.ndindex(table.grid)]
        return ["[CLS]"] * (len(table.vectors) - len(patches)) + patches
    trace = in_your_model.read(entry, text)
    names, _ = in_your_model.groups(trace.of_kind(table.part or trace.blocks[0].kind)[0], trace)
    return [group.label for group in names]


# Turns


def _turns(entry: Entry, text: str, ways: list[Turns]) -> None:
    trace = in_your_model.read(entry, text)
    told, drawn = st.columns(2, gap="large")
    with told:
        st.subheader("It turns queries and keys", anchor=False)
        for turns in ways:
            st.markdown(_rates_in_words(entry, turns, ways))
        _chart_of_rates(entry, ways)
    with drawn:
        _score_by_distance(entry, trace, ways)


def _rates_in_words(entry: Entry, turns: Turns, ways: list[Turns]) -> str:
    turned = 2 * len(turns.frequencies)
    whole = "all" if turned == turns.d_head else f"{turned} of the"
    where = "" if len(ways) == 1 else f" in {in_your_model.layers(turns.layers)}"
    fastest, slowest = (2 * np.pi / rate for rate in (turns.frequencies.max(), turns.frequencies.min()))
    base = f", to the base **{turns.theta:,.0f}**" if turns.theta else ""
    said = (
        f"{_called(entry)} turns {whole} {turns.d_head} numbers of each :blue[query] and :red[key]{where}, "
        f"two by two, at its own {len(turns.frequencies)} rates{base}: one whole turn takes from "
        f"**{fastest:,.1f}** to **{slowest:,.0f}** places."
    )
    if turns.rule != "default":
        said += f" The rates were changed for longer texts, by the rule {markdown.code(turns.rule)}."
    if turns.factor != 1:
        said += f" What is turned is also multiplied by **{turns.factor:.4g}**."
    return said


def _chart_of_rates(entry: Entry, ways: list[Turns]) -> None:
    curves(
        "own-rates",
        [
            Line(
                in_your_model.layers(turns.layers) if len(ways) > 1 else "one turn",
                range(1, len(turns.frequencies) + 1),
                2 * np.pi / turns.frequencies,
                dash=dash,
                marker="circle",
                colour="query",
            )
            for turns, dash in zip(ways, _DASHES, strict=False)
        ],
        title="How many places one whole turn takes",
        across=Axis("pair", at="pair {x}"),
        up=Axis("places for one turn", log=10, digits=1),
        alt=f"The first pair turns once in {2 * np.pi / ways[0].frequencies[0]:,.1f} places, the last in "
        f"{2 * np.pi / ways[0].frequencies[-1]:,.0f}.",
        about=entry.title,
    )
    st.caption("Read from the model's own frequencies.")


def _score_by_distance(entry: Entry, trace: Trace, ways: list[Turns]) -> None:
    turning = sorted(layer for turns in ways for layer in turns.layers)
    kind = ways[0].part or trace.blocks[0].kind
    block, head = in_your_model.choose_head(
        [block for block in trace.of_kind(kind) if block.layer in turning]
    )
    query, key = in_your_model.choose_pair(block, trace)
    turns = next(turns for turns in ways if block.layer in turns.layers)
    reach = min(compute.REACH, entry.token_limit - 1)
    distances, scores = compute.scores_by_distance(block, turns, head, query, key, reach)
    names, _ = in_your_model.groups(block, trace)
    score = float(block.scores[head, query, key])
    curves(
        "own-score",
        [Line("score", distances, scores, colour="query")],
        title="The score by distance",
        across=Axis("key's place − query's place", at="key {x} on"),
        up=Axis("score", digits=3),
        marked=key - query,
        alt=f"The score of the two, were the key to stand elsewhere; {score:.3f} where it stands.",
        about=f"“{isolated(trace.text)}” · {entry.title} · head {head_name(block.layer, head)}",
    )
    closed = "" if block.mask[query, key] else " Its mask closes this cell: the score is not used."
    st.markdown(
        f"**Check it.** In head {head_name(block.layer, head)}, {markdown.token(query, names)} "
        f"scores {markdown.token(key, names)} with **{decimal(score, 3)}**, {_apart(key - query)}."
        f"{closed} The curve takes the model's own two vectors and turns the key on, by the model's own "
        "rates: the score at every other distance, the words being the same."
    )
    _angle(turns, query, markdown.token(query, names))


def _angle(turns: Turns, place: int, word: str) -> None:
    """Draw the choice of a pair, and by how much it is turned where a word stands."""
    pairs = len(turns.frequencies)
    pair = OWN_PAIR.draw("Pair of this model", pairs) - 1
    first, second = (int(number) + 1 for number in turns.pairs[pair])
    [angles] = turns.angles(np.array([place]))
    rate = f"{turns.frequencies[pair]:.4g}"
    st.markdown(
        f"Pair {pair + 1}, numbers {first} and {second} of {turns.d_head}, turns by "
        f"**{rate}** {'radian' if rate == '1' else 'radians'} a place: at position {place}, where {word} "
        f"stands, by {place} · {rate} = **{angles[pair]:.4g}**."
    )


# What is added to the scores


def _slopes(entry: Entry, text: str, ways: list[Slopes]) -> None:
    [way] = ways
    trace = in_your_model.read(entry, text)
    told, drawn = st.columns(2, gap="large")
    with told:
        st.subheader("It takes off for each token in between", anchor=False)
        block, head = in_your_model.choose_head(trace.blocks)
        slope = float(way.slopes[head])
        st.markdown(
            f"{_called(entry)} lowers each score by the distance times the slope of its head (ALiBi, Press "
            f"et al. 2022). Head {head + 1} has the slope **{slope:.4g}**: a key 10 tokens back loses "
            f"{slope:.4g} · 10 = **{slope * 10:.4g}**, in the softmax a factor {np.exp(-10 * slope):.3g}."
        )
        st.markdown(f"**All slopes:** {', '.join(f'{value:.4g}' for value in way.slopes)}.")
        back = np.arange(min(_SHOWN_PLACES, entry.token_limit))
        _chart_of_biases(entry, back.tolist(), -way.slopes[:, None] * back, head)
    with drawn:
        _added(trace, block, head)
        st.caption(
            "What the model adds grows by the slope from each key to the next. Within a row that differs "
            "from −slope · distance by one and the same number, which the softmax takes out again."
        )


def _biases(entry: Entry, text: str, ways: list[Biases]) -> None:
    way = _of_part(ways)
    trace = in_your_model.read(entry, text)
    blocks = trace.of_kind(way.part or trace.blocks[0].kind)
    told, drawn = st.columns(2, gap="large")
    with told:
        st.subheader("It adds a number for each distance", anchor=False)
        block, head = in_your_model.choose_head([block for block in blocks if block.layer in way.layers])
        line = way.biases[head]
        least, most = (int(way.distances[place]) for place in (line.argmin(), line.argmax()))
        st.markdown(
            f"{_called(entry)} learned for each head and each distance a number that is added to the score "
            "(Raffel et al. 2020). Far distances share one number. "
            f"Head {head + 1} adds most for a key {_apart(most)}: **{decimal(line.max(), 2)}**; least "
            f"{_apart(least)}: **{decimal(line.min(), 2)}**. "
            f"{in_your_model.layers(way.layers).capitalize()} share it."
        )
        _chart_of_biases(entry, way.distances.tolist(), way.biases, head)
    with drawn:
        _added(trace, block, head)


def _relative(entry: Entry, text: str, ways: list[Relative]) -> None:
    [way] = ways
    cosines = compute.distance_likeness(way)
    trace = in_your_model.read(entry, text)
    told, drawn = st.columns(2, gap="large")
    with told:
        st.subheader("A vector for each distance", anchor=False)
        st.markdown(
            f"{_called(entry)} has a vector of {way.vectors.shape[1]:,} numbers for each "
            "**distance**. Queries are compared with it, and keys too, and both are added to the "
            "score (DeBERTa, He et al. 2021): what a distance does depends on the words."
        )
        curves(
            "own-distances",
            [Line("cosine", way.distances, cosines, colour="text")],
            title="How alike each distance's vector is to that of distance 0",
            across=Axis("key's place − query's place", at="{x} on"),
            up=Axis("cosine", digits=3),
            alt=f"The cosine is 1 at distance 0 and {cosines[way.distances == 1][0]:.2f} one token on.",
            about=entry.title,
        )
    with drawn:
        block, head = in_your_model.choose_head(trace.blocks)
        _added(trace, block, head)


def _chart_of_biases(entry: Entry, distances: Sequence[int], biases: Floats, head: int) -> None:
    alt = f"Head {head + 1} adds from {biases[head].min():.3g} to {biases[head].max():.3g}."
    chart_of_biases("own-biases", distances, biases, head, alt=alt, about=entry.title)


def _added(trace: Trace, block: Block, head: int) -> None:
    """Draw what the model adds to the scores of one head, for the tokens of the sentence."""
    if block.bias is None:
        st.info("This layer adds nothing to its scores.")
        return
    heading = f"Added to the scores of head {head_name(block.layer, head)}"
    note = "As the model added it when it read the sentence. Hatched: its mask closes the cell."
    in_your_model.picture("own-bias", heading, note, block.bias[head], trace, block, head, scores=True)


# Words


def _of_part(ways: list[Any]) -> Any:
    """One of them; the visitor's choice where encoder and decoder have one each."""
    parts = {str(way.part).capitalize(): way for way in ways}
    if len(parts) == 1:
        return ways[0]
    return parts[OWN_PART.segments("Part of the model", list(parts))]


def _called(entry: Entry) -> str:
    return f"**{markdown.plain(entry.title)}**"


def _apart(distance: int) -> str:
    if distance == 0:
        return "at its own place"
    return f"{abs(distance)} {'ahead' if distance > 0 else 'back'}"


# What the server keeps

_opened = cached(named, "Opening the model …")


_positions = _opened(compute.positions)


@_opened
def _likeness(model: str, number: int) -> compute.Likeness:
    """How alike the places of a model's table of this number are."""
    tables = [way for way in _positions(model).ways if way.kind == "table"]
    return compute.likeness(tables[number].vectors, _SHOWN_PLACES)
