"""Four ways to tell attention where each token stands, on one sentence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from attnviz.analysis.display_tokens import DisplayToken
from attnviz.app import controls
from attnviz.app.components.curves import Axis, Dash, Line, Marker, curves
from attnviz.app.learn import choosing
from attnviz.app.learn.computed import computed
from attnviz.app.learn.computed import positions as compute
from attnviz.app.learn.positions.encoding import encoding
from attnviz.app.markdown import token
from attnviz.app.references import cited_markdown
from attnviz.app.state.choices import DIMENSION_PAIR, ENCODING, KEY, QUERY, SLOPE, SLOPES, TURNING_PAIR
from attnviz.app.weights_picture import weights_picture
from attnviz.text import decimal, head_name, isolated
from attnviz.trace import Floats
from attnviz.widgets.tokens import shown_tokens

_waves = computed(compute.waves)
_curve = computed(compute.curve)
_table = computed(compute.table)
_rotated = computed(compute.rotary)
_biases = computed(compute.alibi)

CHOICES = ENCODING, DIMENSION_PAIR, TURNING_PAIR, SLOPES, SLOPE
"""What can be chosen among the kinds of positions, and nowhere else."""

_KINDS = ("Sinusoidal", "Learned", "Rotary", "ALiBi")
_CODE = {
    "Sinusoidal": (("attnviz.transformer.positions", "sinusoidal"),),
    "Learned": (("attnviz.transformer.positions", "LearnedPositions"),),
    "Rotary": (("attnviz.transformer.rotary", "rotary_frequencies", "rotate"),),
    "ALiBi": (("attnviz.transformer.alibi", "alibi_slopes"), ("attnviz.transformer.alibi", "alibi_bias")),
}
_HEADS = ("8", "12", "16")
_SHOWN_TOKENS = 64
_FORMULA = "The paper’s sines and cosines; no model."
_SIDE_BY_SIDE = """
| kind | acts on | tells | used in |
|---|---|---|---|
| **Sinusoidal** | the input | the place | Vaswani et al. 2017 |
| **Learned** | the input | the place | BERT, GPT-2 |
| **Rotary** | :blue[q], :red[k] | the distance | LLaMA |
| **ALiBi** | the scores | the distance | BLOOM |

:small[GPT-2: Radford et al. 2019. LLaMA: Touvron et al. 2023. BLOOM: Le Scao et al. 2022.]
"""


def draw(text: str, word: int) -> None:
    """Draw the choice of a kind of positions, and what it is, with the token that is followed, from 0."""
    groups = choosing.tokens(text)
    kind = ENCODING.segments("Kind of positions", _KINDS)
    {"Sinusoidal": _sinusoidal, "Learned": _learned, "Rotary": _rotary, "ALiBi": _alibi}[kind](
        text, word, groups
    )
    st.subheader("Side by side", anchor=False)
    cited_markdown(_SIDE_BY_SIDE)


def code() -> tuple[tuple[str, ...], ...]:
    """The functions that computed the chosen kind: (module, name) of each."""
    return _CODE[ENCODING.get(_KINDS[0])]


def _sinusoidal(text: str, word: int, groups: tuple[DisplayToken, ...]) -> None:
    found = _waves(len(groups))
    positions, d_model = found.encoding.shape
    told, drawn = st.columns(2, gap="large")
    with told:
        st.subheader("A clock with many hands", anchor=False)
        st.markdown(
            "Why not add 1, 2, 3 …? Such numbers would soon be larger than the word's own. The paper of 2017 "
            "(Vaswani et al.) adds sines and cosines, which stay between −1 and 1. Each pair of numbers is "
            "the hand of a clock: the first turns fastest, the last hardly at all."
        )
        st.latex(r"PE(pos, 2i) = \sin \frac{pos}{10000^{2i/d}}")
        st.latex(r"PE(pos, 2i{+}1) = \cos \frac{pos}{10000^{2i/d}}")
        pair = DIMENSION_PAIR.draw("Pair of dimensions", d_model // 2) - 1
        rate = float(found.rates[pair])
        sine, cosine = found.encoding[word, 2 * pair : 2 * pair + 2]
        turn, slowest = 2 * np.pi / rate, 2 * np.pi / float(found.rates[-1])
        st.markdown(
            f"**Check it.** {token(word, groups)} stands at position {word}, counted from 0 as in the paper, "
            f"and $d = {d_model}$ here (512 there). Pair {pair + 1} is $i = {pair}$, so its angle is "
            f"${word} / 10000^{{{2 * pair}/{d_model}}} = {word * rate:.4f}$ radians: sine "
            f"**{decimal(sine, 3)}**, cosine **{decimal(cosine, 3)}**. One whole "
            f"turn takes {turn:,.1f} positions; of the last pair, {slowest:,.0f}."
        )
        here, near, far = (float(found.by_distance[distance]) for distance in (0, 1, 10))
        cited_markdown(
            f"**It knows distances.** The dot product of two positions' vectors is **{here:.1f}** at "
            f"distance 0, **{near:.1f}** at 1, **{far:.1f}** at 10, wherever they stand, and the same "
            "before and behind. $W_Q$ and $W_K$, which come between, can undo it (Yan et al. 2019), or learn "
            "a direction."
        )
        _chart_of_encoding(found, groups, word, pair)
    with drawn:
        _matrix(
            text,
            word,
            found.products,
            "PE · PE: which places are alike",
            "The dot product of the vectors of two positions; the words play no part.",
        )
        _chart_of_waves(found, _curve(pair, positions), pair, word)


def _chart_of_encoding(found: compute.Waves, groups: tuple[DisplayToken, ...], word: int, pair: int) -> None:
    encoding(
        "encoding picture",
        found.encoding,
        [group.label for group in groups],
        position=word,
        pair=pair,
        alt=f"The sinusoidal vectors of {len(found.encoding)} positions as rows of {found.encoding.shape[1]} "
        "colours: quick stripes on the left, hardly any change on the right.",
        about=_FORMULA,
    )
    st.caption(
        f"One row a position, one column a dimension. Outlined: the row of {token(word, groups)} and the "
        f"columns of pair {pair + 1}."
    )


def _chart_of_waves(found: compute.Waves, line: tuple[Floats, Floats, Floats], pair: int, word: int) -> None:
    position, sine, cosine = line
    places = np.flatnonzero(position % 1 == 0).tolist()
    curves(
        "waves",
        [
            Line("sine", position, sine, marker="circle", points=places, colour="text"),
            Line("cosine", position, cosine, dash="dash", marker="cross", points=places, colour="muted"),
        ],
        title=f"Pair {pair + 1} along the positions",
        across=Axis("position", at="position {x}"),
        up=Axis(f"pair {pair + 1}", digits=3),
        marked=word,
        height=150,
        alt=f"Sine and cosine of pair {pair + 1}, one turn in "
        f"{2 * np.pi / float(found.rates[pair]):,.1f} positions.",
    )
    curves(
        "waves-by-distance",
        [Line("PE · PE", range(len(found.by_distance)), found.by_distance, colour="text")],
        title="PE · PE by distance",
        across=Axis("distance between two positions", at="{x} apart"),
        up=Axis("PE · PE"),
        height=150,
        alt=f"PE · PE goes from {found.by_distance[0]:.1f} at distance 0 to {found.by_distance[10]:.1f} at "
        "distance 10.",
    )


def _learned(text: str, word: int, groups: tuple[DisplayToken, ...]) -> None:
    found = _table(len(groups))
    told, drawn = st.columns(2, gap="large")
    with told:
        st.subheader("A table, learned like everything else", anchor=False)
        limit = len(found.lengths)
        cited_markdown(
            f"BERT has a table with one vector for each of {limit} places, found by training (Devlin et al. "
            "2019). These are the vectors that the shuffle above leaves out."
        )
        st.latex(r"x = \text{word} + \text{segment} + \text{table}[pos]")
        other = word + 1 if word + 1 < len(groups) else word - 1
        peak = int(found.mean[2:10].argmax()) + 2
        st.markdown(
            "**It found out about distance by itself.** The vectors of neighbouring places have a cosine of "
            f"**{found.mean[1]:.2f}** on average, ten apart **{found.mean[10]:.2f}**. Between them it falls "
            f"and rises again, to **{found.mean[peak]:.2f}** at distance {peak}. Those of "
            f"{token(word, groups)} and {token(other, groups)} have "
            f"**{decimal(found.cosines[word, other], 2)}**."
        )
        st.markdown(
            f"**It ends.** There is no row {limit + 1}, so this model reads {limit} tokens and no more. "
            f"The first row, where [CLS] always stands, has length **{found.lengths[0]:.2f}**, the others "
            f"**{found.lengths[1:].mean():.2f}** on average."
        )
        chart_of_likeness(
            "learned-positions",
            found,
            "BERT's",
            alt=f"The mean cosine goes from {found.mean[1]:.2f} at distance 1 to {found.mean[10]:.2f} at "
            "distance 10; single pairs of places ten apart have between "
            f"{found.low[10]:.2f} and {found.high[10]:.2f}.",
        )
    with drawn:
        _matrix(
            text,
            word,
            found.cosines,
            "Cosine between the places",
            "The cosine between BERT's vectors of two places; the words play no part.",
        )


def chart_of_likeness(key: str, found: compute.Likeness, whose: str, *, alt: str) -> None:
    """Draw how alike the vectors of a table's places are, by their distance; `whose` table it is."""
    curves(
        key,
        [Line("mean", range(len(found.mean)), found.mean, found.low, found.high, band=True, colour="text")],
        title="How alike the vectors of two places are",
        across=Axis("distance between two positions", at="{x} apart"),
        up=Axis("cosine", digits=3),
        alt=alt,
    )
    st.caption(
        f"All pairs of {whose} {len(found.lengths) - 1:,} places after the first, by their distance: the "
        "mean, and the band from the least to the most alike."
    )


def _rotary(text: str, word: int, groups: tuple[DisplayToken, ...]) -> None:
    told, drawn = st.columns(2, gap="large")
    with told:
        st.subheader("Turn the query and the key", anchor=False)
        cited_markdown(
            "Nothing is added to the words. Each pair of numbers in a :blue[query] and a :red[key] is turned "
            "by an angle that grows with its place (Su et al. 2021). $R_m$ is the turn of place $m$. "
            ":green[Values] stay as they are."
        )
        st.latex(
            r"(R_m \textcolor{blue}{q}) \cdot (R_n \textcolor{red}{k}) = "
            r"\textcolor{blue}{q} \cdot (R_{n-m}\, \textcolor{red}{k})"
        )
        layer, head = choosing.head()
        key = choosing.token(text, "To (key)", KEY, controls.place_of("dog", groups))
        found = _rotated(text, layer, head, word, key)
        pairs = len(found.frequencies)
        pair = TURNING_PAIR.draw("Pair to turn", pairs) - 1
        _tell_rotary(found, word, key, pair, groups)
        _chart_of_turning(found, groups, word, pair)
    with drawn:
        _matrix(
            text,
            word,
            found.scores,
            f"Scores of head {head_name(layer, head)}, turned",
            "q · k / √d after both were turned by their places. The vectors are BERT's, read without its "
            "positions: it was not trained for rotation, so these are not a trained model's scores.",
            key=key,
            layer=layer,
            head=head,
        )
        _chart_of_distance(found, word, key)


def _chart_of_distance(found: compute.Rotary, word: int, key: int) -> None:
    looks: tuple[tuple[Dash | None, Marker | None], ...] = (("solid", None), (None, "cross"), (None, "ring"))
    curves(
        "rotary",
        [
            Line(f"query at {start}", found.distances, scores, dash=dash, marker=marker, colour="query")
            for start, scores, (dash, marker) in zip(compute.STARTS, found.moved, looks, strict=True)
        ],
        title="The score by distance",
        across=Axis("key's place − query's place", at="key {x} on"),
        up=Axis("score", digits=3),
        marked=key - word,
        alt="The score by distance, with the query at three places: one curve, the three differ by at "
        f"most {_spread(found):.6f}.",
    )
    st.caption("The score of the chosen two, were the key to stand elsewhere. Dotted: where it stands.")


def _chart_of_turning(found: compute.Rotary, groups: tuple[DisplayToken, ...], word: int, pair: int) -> None:
    shown = max(min(len(groups), _SHOWN_TOKENS), word + 1)
    across, up = found.turned[:shown, 2 * pair : 2 * pair + 2].T
    names = [f"position {place} ({isolated(group.label)})" for place, group in enumerate(groups[:shown])]
    circle, radius = np.linspace(0, 2 * np.pi, 181), float(np.hypot(across[0], up[0]))
    curves(
        "rotary-pair",
        [
            Line("", radius * np.cos(circle), radius * np.sin(circle), colour="muted"),
            Line(
                "at another place",
                across,
                up,
                dash=None,
                marker="circle",
                colour="query",
                names=names,
                printed=[str(place) for place in range(shown)],
            ),
            Line(
                "where it stands",
                [0, across[word]],
                [0, up[word]],
                marker="diamond",
                colour="text",
                points=[1],
                names=["", names[word]],
            ),
        ],
        title=f"Pair {pair + 1} of the query, turned",
        across=Axis("first number of the pair"),
        up=Axis("second number", digits=3),
        plane=True,
        alt=f"Pair {pair + 1} of the query as points on a circle, turned by "
        f"{found.frequencies[pair]:.4f} radians from each place to the next.",
    )
    st.caption(f"Pair {pair + 1} of the query, were it to stand at each place of the sentence.")


def _spread(found: compute.Rotary) -> float:
    return float(np.ptp(found.moved, axis=0).max())


def _tell_rotary(
    found: compute.Rotary, word: int, key: int, pair: int, groups: tuple[DisplayToken, ...]
) -> None:
    query_name, key_name = token(word, groups), token(key, groups)
    turn = float(found.frequencies[pair])
    st.markdown(
        f"**Only $n-m$ counts.** {query_name} at position {word} scores {key_name} at position {key} "
        f"with **{decimal(found.scores[word, key], 3)}** (**{decimal(found.plain[word, key], 3)}** before "
        "turning). Put the query at position 100 or 1000 instead, and the key "
        f"as far from it as before: the score stays, to within {_spread(found):.6f}."
    )
    before, after = found.query[2 * pair : 2 * pair + 2], found.turned[word, 2 * pair : 2 * pair + 2]
    st.markdown(
        f"**Check it.** Pair {pair + 1} turns by $10000^{{-{2 * pair}/{2 * len(found.frequencies)}}} = "
        f"{turn:.4f}$ radians a step, so by {word * turn:.4f} at position {word}. It takes the query's "
        f"({decimal(before[0], 3)}, {decimal(before[1], 3)}) to "
        f"(**{decimal(after[0], 3)}**, **{decimal(after[1], 3)}**); the length "
        f"stays **{np.hypot(*after):.3f}**."
    )


def _alibi(text: str, word: int, groups: tuple[DisplayToken, ...]) -> None:
    told, drawn = st.columns(2, gap="large")
    with told:
        st.subheader("Far away counts less", anchor=False)
        cited_markdown(
            "Each score is lowered by the distance, in each head at its own rate, the slope $m_h$ of head "
            "$h$ of $H$ (Press et al. 2022). Made for decoders: the key $j$ never comes after the query $i$. "
            "Texts may be longer than those in training."
        )
        st.latex(
            r"\frac{\textcolor{blue}{q_i} \cdot \textcolor{red}{k_j}}{\sqrt{d}} - m_h\,(i - j), "
            r"\quad m_h = 2^{-8h/H}"
        )
        st.markdown("Number of heads, $H$")
        heads = int(SLOPES.segments("Number of heads", _HEADS))
        head = SLOPE.draw("Head, $h$", heads) - 1
        found = _biases(min(len(groups), _SHOWN_TOKENS), heads)
        slope = float(found.slopes[head])
        back = min(word, 5)
        st.markdown(
            f"**Check it.** Head {head + 1} of {heads} has the slope **{slope:.4g}**. From "
            f"{token(word, groups)} to {token(word - back, groups)}, {back} back, the score is lowered by "
            f"{slope:.4g} · {back} = **{slope * back:.4g}**: in the softmax a factor "
            f"$e^{{-{slope * back:.4g}}} = {np.exp(-slope * back):.3f}$."
        )
        st.markdown(f"**All slopes:** {', '.join(f'{value:.4g}' for value in found.slopes)}.")
        if heads & (heads - 1):
            st.markdown(
                f"{heads} is no power of two, so by the authors' rule the first heads take the slopes of "
                f"{2 ** (heads.bit_length() - 1)} heads, and the rest every second slope of twice as many."
            )
        chart_of_biases(
            "alibi",
            range(found.by_distance.shape[1]),
            found.by_distance,
            head,
            alt=f"{heads} straight lines that fall from 0; the steepest slope is "
            f"{found.slopes.max():.4g}, the flattest {found.slopes.min():.4g}.",
        )
    with drawn:
        _matrix(
            text,
            word,
            found.bias[head],
            f"Bias of head {head + 1} of {heads}",
            "What is added to each score; the words play no part. Hatched: the key comes later.",
        )


def chart_of_biases(key: str, distances: Sequence[int], biases: Floats, head: int, *, alt: str) -> None:
    """Draw what heads add to a score by the distance, [head, distance]; one head, from 0, stands out.

    Where no distance is negative, they are counted back from the query.
    """
    both_ways = distances[0] < 0
    others = [
        Line(f"head {number + 1}", distances, line, colour="text", faint=True)
        for number, line in enumerate(biases)
        if number != head
    ]
    curves(
        key,
        [Line(f"head {head + 1}", distances, biases[head], colour="text"), *others],
        title="What is added to the score",
        across=Axis(
            "key's place − query's place" if both_ways else "distance back from the query to the key",
            at="{x} on" if both_ways else "{x} back",
        ),
        up=Axis("added to the score", zero=True, digits=3),
        faint="other heads",
        alt=alt,
    )


def _matrix(
    text: str,
    word: int,
    numbers: Floats,
    heading: str,
    note: str,
    *,
    key: int | None = None,
    layer: int = 0,
    head: int = 0,
) -> None:
    """Numbers between the sentence's tokens, in the same place for every kind."""
    st.subheader(heading, anchor=False)
    groups = choosing.tokens(text)
    tokens = shown_tokens(groups)
    shown = min(len(tokens), _SHOWN_TOKENS)
    if shown < len(tokens):
        note += f" The first {shown} of {len(tokens)} tokens are shown."

    def pick(query: int | None, picked: int | None) -> None:
        if query is not None:
            QUERY.pick(groups[query])
        if key is not None and picked is not None:
            KEY.pick(groups[picked])

    weights_picture(
        "positions matrix",
        numbers[None, :shown, :shown],
        tokens[:shown],
        tokens[:shown],
        query=word if word < shown else None,
        key=key if key is not None and max(word, key) < shown else None,
        layer=layer + 1,
        heads=[head + 1],
        heading=heading,
        kind="diverging",
        unit="score",
        note=note,
        filename="attnviz-positions",
        on_pick=pick,
    )
