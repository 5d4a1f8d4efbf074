"""One token, one head, six steps: from its vector to what the head reads for it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from attnviz.analysis.display_tokens import DisplayToken, DisplayTokens
from attnviz.analysis.sentence import looks, name_of, to_guess_from
from attnviz.app import markdown
from attnviz.app.components import store
from attnviz.app.components.head_map import head_map
from attnviz.app.components.steps import Coloured as Spoken
from attnviz.app.learn.computed import COMPUTING, MODEL
from attnviz.app.learn.computed import query_key_value as compute
from attnviz.app.learn.lesson import guess, not_shown, the_code
from attnviz.app.learn.query_key_value import six_steps_of
from attnviz.app.learn.query_key_value.six_steps_of import LOOKING_ACROSS, Attention
from attnviz.app.learn.query_key_value.walk import Step, walk
from attnviz.app.references import cited_markdown
from attnviz.app.server.cache import cached
from attnviz.app.state.choices import CONVENTION, STEP
from attnviz.app.weights_picture import shown_tokens
from attnviz.models import catalogue
from attnviz.models.catalogue import TRANSLATOR
from attnviz.text import decimal, enough_digits, head_name, isolated, percent
from attnviz.trace import Floats, Kind

if TYPE_CHECKING:
    from attnviz.trace import Token

_STEPS = ("1", "2", "3", "4", "5", "6")
_ROWS, _COLUMNS = "rows", "columns"

# The arrays of a walk that the picture is drawn from.
_OF_THE_HEAD = (
    *("vector", "query", "output", "query_matrix", "key_matrix", "value_matrix"),
    *("query_bias", "key_bias", "value_bias"),
)
_OF_EACH_KEY = ("vectors", "keys", "values", "dot_products", "scores", "weights")

# The space at the end of a line keeps KaTeX's subscripts from standing out of the line's box.
_FORMULA = (
    r"\begin{aligned}"
    r"\textcolor{blue}{q} &= x\,\textcolor{blue}{W_Q} + \textcolor{blue}{b_Q}\; \\"
    r"\textcolor{red}{k_j} &= x_j\,\textcolor{red}{W_K} + \textcolor{red}{b_K}\; \\"
    r"\textcolor{green}{v_j} &= x_j\,\textcolor{green}{W_V} + \textcolor{green}{b_V}\; \\"
    r"\textcolor{violet}{w_j} &= \frac{e^{\,\textcolor{blue}{q}\cdot\textcolor{red}{k_j}/\sqrt{d}}}"
    r"{\sum_m e^{\,\textcolor{blue}{q}\cdot\textcolor{red}{k_m}/\sqrt{d}}}\; \\"
    r"\text{output} &= \textstyle\sum_j \textcolor{violet}{w_j}\,\textcolor{green}{v_j}\;"
    r"\end{aligned}\;"
)


@dataclass(frozen=True)
class QueryAtWork:
    """An attention, its six steps, and the tokens that look and are looked at, by name."""

    attention: Attention
    walk: compute.Walk
    queries: tuple[DisplayToken, ...]
    keys: tuple[DisplayToken, ...]

    def name(self, key: int) -> str:
        """A token that is looked at as plain text; with its number where the sentence has it twice."""
        return name_of(key, self.keys)

    def shown(self, key: int) -> str:
        """The same as Markdown."""
        return markdown.code(self.name(key))

    @property
    def asker(self) -> str:
        """The token that looks, as plain text."""
        return name_of(self.walk.token, self.queries)

    @property
    def word(self) -> str:
        """The token that looks, as Markdown."""
        return markdown.code(self.asker)

    @property
    def head(self) -> str:
        """The head's name, "4-2"."""
        return head_name(self.walk.layer, self.walk.head)

    @property
    def by_weight(self) -> list[int]:
        """The tokens that it may look at, the one with the largest weight first."""
        ranked = np.argsort(-self.walk.weights, kind="stable")
        return [int(token) for token in ranked if self.walk.allowed[token]]

    @property
    def forbidden(self) -> int:
        """How many tokens it may not look at."""
        return int((~self.walk.allowed).sum())


def choose() -> QueryAtWork:
    """Draw the choice of a model, a sentence, a head and a word of the sentence."""
    attention, text, layer, head, token = six_steps_of.choose()
    done = _walk(attention.model, attention.kind, text, layer, head, token)
    queries, keys = (
        DisplayTokens(done.query_tokens, done.query_text),
        DisplayTokens(done.key_tokens, done.key_text),
    )
    return QueryAtWork(attention, done, queries.groups, keys.groups)


@cached(COMPUTING, lambda model, *_: model)
def _walk(model: str, kind: Kind, text: str, layer: int, head: int, token: int) -> compute.Walk:
    return compute.walk(text, layer, head, token, model, kind)


def question(chosen: QueryAtWork) -> None:
    """Which token will answer?"""
    options = to_guess_from(chosen.walk.weights, chosen.keys)
    best, dot_products = chosen.by_weight[0], chosen.walk.dot_products
    answers = ", ".join(f"{chosen.shown(token)} {decimal(dot_products[token])}" for token in options)
    guess(
        f"A **head** is one attention that a model has learned: {chosen.head} is layer "
        f"{chosen.walk.layer + 1}, head {chosen.walk.head + 1} of {chosen.attention.whose}. In it, "
        f"{chosen.word} asks {chosen.attention.asked} a question. What fits best?",
        [chosen.name(token) for token in options],
        right=chosen.name(best),
        because=f"The dot products of query and key are: {answers}.",
    )


def picture(chosen: QueryAtWork) -> None:
    """The six steps, which the visitor walks through."""
    step = STEP.segments("Step", _STEPS)  # out of sight: the picture has buttons of its own
    done, rows = chosen.walk, list(chosen.walk.rows)
    left_out = np.setdiff1d(np.arange(len(done.key_tokens)), rows)
    left_out_weight = float(done.weights[left_out].sum(dtype=np.float64))
    source = store.publish(
        "walk arrays",
        {name: getattr(done, name) for name in _OF_THE_HEAD}
        | {name: getattr(done, name)[rows] for name in _OF_EACH_KEY}
        | {"rest": done.weights[left_out] @ done.values[left_out]},
        largest=done.softmax.largest,
        sum=done.softmax.total,
    )
    labels = _labels(chosen.keys, rows)
    tokens = shown_tokens(done.key_tokens, done.key_text)
    asker = shown_tokens(done.query_tokens, done.query_text)[done.token]
    walk(
        "walk",
        source=source,
        step=int(step),
        steps=steps(chosen),
        tokens=[tokens[row] | {"label": label} for row, label in zip(rows, labels, strict=True)],
        query=None if done.crosses else rows.index(done.token),
        across={"token": asker, "origin": LOOKING_ACROSS} if done.crosses else None,
        forbidden=[not allowed for allowed in done.allowed[rows]],
        total=len(tokens),
        rest={"count": len(left_out), "weight": left_out_weight} if len(left_out) else None,
        origin=chosen.attention.origin(done.layer),
        on_step=lambda step: STEP.set(str(step)),
    )
    if len(left_out):
        most = f"the {len(rows)} tokens that {chosen.word} looks at most"
        if not done.crosses:
            most = f"{chosen.word} and the {len(rows) - 1} tokens of the largest weight"
        st.markdown(
            f":small[This text has {len(tokens)} tokens: the rows are {most}. The other {len(left_out)} "
            f"together have {percent(left_out_weight)} of the weight.]"
        )


def steps(chosen: QueryAtWork) -> list[Step]:
    """What happens in each step, in words and numbers."""
    done = chosen.walk
    count, size = len(done.key_tokens), done.d_head
    first, *others = chosen.by_weight
    last = others[-1] if others else first
    query = _coloured(chosen.asker, "query")
    best, worst = (_coloured(chosen.name(token), "key") for token in (first, last))
    # A token that may look at one only has no best and no worst fit.
    least = f", and that of {worst} least, {decimal(done.dot_products[last])}" if others else ""
    read = looks(done.weights[None], 0, [chosen.queries[done.token]], chosen.keys)
    shares = [(percent(weight), key) for key, weight in read.keys]
    looked_at = ", ".join(f"{_coloured(key, 'key')} {share}" for share, key in shares)
    mixed = " + ".join(f"{share} of the value of {_coloured(key, 'value')}" for share, key in shares)
    q, k = _coloured("q", "query"), _coloured("k", "key")
    a_query, a_key, a_value = (f"a {_coloured(role, role)}" for role in ("query", "key", "value"))
    queries, keys = ("x", ", and of every s ") if done.crosses else ("vector", ", ")
    said = {
        "Every token is a vector": _vectors(chosen, query),
        "Query, key and value": f"With three matrices of {done.d_model} × {size} numbers, head "
        f"{chosen.head} makes of every {queries} {a_query}{keys}{a_key} and {a_value}, {size} numbers each, "
        "and adds a bias to each, the same for every token. Matrices and biases are learned. Drawn here: all "
        f"keys and values, and the query of {query}.",
        "Compare the query with every key": f"{q} · {k}, {size} products added up: the query of {query} fits "
        f"the key of {best} best, {decimal(done.dot_products[first])}{least}"
        + (f", of the {len(chosen.by_weight)} that it may look at." if chosen.forbidden else "."),
        f"Divide by √{size}": f"Each sum ÷ √{size} is a score. {best}: "
        f"{_divided(done.dot_products[first], done.scores[first], size)}. Without it, the next step could "
        f"give one token nearly everything: page 2.{_mask(chosen, query)}",
        "Softmax turns scores into shares": "e to the power of each score, divided by the sum of all: these "
        f"are the {_coloured('weights', 'weights')}. {query} looks at {looked_at}; all {count} weights sum "
        "to 100 %."
        + (" The forbidden ones are exactly 0: e to the power of −∞." if chosen.forbidden else ""),
        "Add up the values, by weight": f"{mixed}{' + …' if len(shares) < len(chosen.by_weight) else ''}: "
        f"that is what the head reads for {query}. The model’s own {size} numbers are the same, "
        f"{_agreement(done.difference)}.",
    }
    return [{"title": title, "sentence": _parts(sentence)} for title, sentence in said.items()]


def _vectors(chosen: QueryAtWork, query: str) -> str:
    """Step 1: who reads what."""
    done = chosen.walk
    count = len(done.key_tokens)
    if done.crosses:
        return (
            f"The encoder hands over {count} English tokens, one vector s each: the rows below. The vector x "
            f"of {query} is the decoder’s; it has {done.d_model} numbers, too."
        )
    reader = chosen.attention.reads.format(layer=done.layer + 1)
    return (
        f"{reader} reads {count} tokens, one row each. The row of {query} is its vector x: {done.d_model} "
        "numbers."
    )


def _mask(chosen: QueryAtWork, query: str) -> str:
    """Step 4: what the mask does to the scores, if there is one for this token."""
    if not chosen.forbidden:
        return ""
    tokens = "token" if chosen.forbidden == 1 else f"{chosen.forbidden} tokens"
    return f" Then the mask puts −∞ in place of the scores of the {tokens} after {query}: page 5."


def text(chosen: QueryAtWork) -> None:
    """What the three are."""
    done = chosen.walk
    does, asks, found, gives = "every token does so", "its", "its", "its"
    if done.crosses:
        does = "every French token does so, and the books are the English ones"
        asks, found = "a French token’s", "an English token’s"
    ends = f" The sums end at {chosen.word}: nobody looks ahead (page 5)." if chosen.forbidden else ""
    st.markdown(
        "You come to a library with a question, compare it with the titles on the spines, and take home what "
        f"stands in the books that fit. In a head {does}:\n"
        f"- {asks} :blue[**query**] is the question: what it looks for;\n"
        f"- {found} :red[**key**] is the title: what others find it by;\n"
        f"- {gives} :green[**value**] is what it gives to those who look at it."
        "\n\nA learned matrix makes each of them from the token’s vector. And one takes something of every "
        f"book, most of the best fit: the :violet[**weights**] are shares of 100 %.{ends}"
    )
    st.latex(_FORMULA.replace("x_j", "s_j") if done.crosses else _FORMULA)


def why_three(chosen: QueryAtWork) -> None:
    """Why a query, a key and a value, and not one vector; and what comes out."""
    done = chosen.walk
    cited_markdown(
        f"{_why_three(chosen)}\n\n"
        f"What comes out are {done.d_head} numbers. The layer’s {done.d_model // done.d_head} heads each "
        f"have matrices of their own; side by side, their outputs are {done.d_model} numbers again. In the "
        "original Transformer it was 512 numbers and 8 heads of 64 (Vaswani et al. 2017)."
    )


def _why_three(chosen: QueryAtWork) -> str:
    done = chosen.walk
    best = _most_read(chosen)
    value = "And what a token is found by need not be what it hands over: hence the :green[value]."
    if done.crosses:
        return (
            "The two vectors come from the decoder and the encoder, for two languages: that of a French word "
            "need not be like that of the English word that it needs. :blue[$W_Q$] and :red[$W_K$] learn to "
            f"make {done.d_head} numbers of each that can be compared: {chosen.word} gives "
            f"{chosen.shown(best)} the score {decimal(done.model_scores[done.token, best])}. {value}"
        )
    alike = (
        "If a token were compared by one and the same vector, *a* would fit *b* exactly as well as *b* fits "
        "*a*. But a pronoun may need its noun, and the noun not its pronoun."
    )
    if best == done.token:
        return f"{alike} Hence :blue[queries] and :red[keys] apart. {value}"
    back = decimal(done.model_scores[best, done.token])
    returned = (
        f"while {chosen.shown(best)} gives {chosen.word} {back}"
        if done.mask[best, done.token]
        else f"while {chosen.shown(best)} would give {chosen.word} {back} if it might look ahead"
    )
    return (
        f"{alike} With :blue[queries] and :red[keys] apart, {chosen.word} gives {chosen.shown(best)} the "
        f"score {decimal(done.model_scores[done.token, best])}, {returned}. {value}"
    )


def _most_read(chosen: QueryAtWork) -> int:
    """The token with the largest weight; not the one that looks, if there is another."""
    itself = None if chosen.walk.crosses else chosen.walk.token
    return next((token for token in chosen.by_weight if token != itself), chosen.by_weight[0])


def all_queries(chosen: QueryAtWork) -> None:
    """The same for every token, as a matrix of weights in both conventions."""
    best = _most_read(chosen)
    st.markdown(
        "The weights of every query make a matrix. One query’s are a **row** of it, or in some books a "
        "**column**: ask what sums to 1. What *one key* gets from all queries need not: "
        f"{chosen.shown(best)} gets {decimal(float(chosen.walk.model_weights[:, best].sum()))} in all. With "
        "the weights $A$ and the values $V$, one row each, all outputs are $A V$ with rows, and $A^\\top V$ "
        "with columns."
    )
    convention = CONVENTION.segments("Convention", (_ROWS, _COLUMNS))
    done, rows, query_rows = chosen.walk, list(chosen.walk.rows), list(chosen.walk.query_rows)
    shown = np.ix_(query_rows, rows)
    weights, mask = done.model_weights[shown], done.mask[shown]
    others = done.model_weights[query_rows].sum(axis=1, dtype=np.float64)
    others -= weights.sum(axis=1, dtype=np.float64)
    weights_table(
        "convention table",
        weights=weights,
        others=others.tolist() if len(rows) < len(done.key_tokens) else None,
        queries=_labels(chosen.queries, query_rows),
        keys=_labels(chosen.keys, rows),
        forbidden=None if mask.all() else (~mask).tolist(),
        query=query_rows.index(done.token),
        columns=convention == _COLUMNS,
        caption=f"Weights of head {chosen.head} in percent: every "
        f"{'column' if convention == _COLUMNS else 'row'} is one query, and sums to 100."
        + ("" if mask.all() else " Hatched: forbidden.")
        + _left_out(rows, done.key_tokens, "English tokens" if done.crosses else "tokens")
        + (_left_out(query_rows, done.query_tokens, "French tokens") if done.crosses else ""),
    )


def _left_out(rows: list[int], tokens: tuple[Token, ...], name: str) -> str:
    return f" {len(rows)} of {len(tokens)} {name} are shown." if len(rows) < len(tokens) else ""


def in_words(chosen: QueryAtWork) -> None:
    """The six steps in words."""
    st.markdown(
        "\n".join(
            f"{number}. **{step['title']}.** {''.join(_in_markdown(part) for part in step['sentence'])}"
            for number, step in enumerate(steps(chosen), start=1)
        )
    )


def code(chosen: QueryAtWork) -> None:
    """The functions that computed the picture."""
    lesson, attention = "attnviz.app.learn.query_key_value.compute", "attnviz.transformer.attention"
    the_code(
        (lesson, "_of_bert" if chosen.attention.model == MODEL else "_of_translator"),
        (lesson, "six_steps", "of_head"),
        (attention, "scaled_dot_product_attention"),
    )


def limits(chosen: QueryAtWork) -> None:
    """What the picture does not show."""
    done = chosen.walk
    why = (
        "**Why the model decided.** A weight says what was read, not what it was good for (Jain & Wallace "
        "2019, Serrano & Smith 2019; against: Wiegreffe & Pinter 2019)."
    )
    heads = done.d_model // done.d_head
    others = f"**The other heads.** This is one of {heads} in its layer; what they add together is page 4."
    points = [why, others, chosen.attention.special]
    if chosen.attention.model == TRANSLATOR:
        told = catalogue.entry(TRANSLATOR).description
        points.append(f"**That networks find this by themselves.** {told}")
    if done.layer or done.crosses:
        reader = chosen.attention.reads.format(layer=done.layer + 1)
        points.append(
            f"**Words.** {reader} does not read words: the vector of "
            f"{chosen.shown(chosen.by_weight[0])} has already taken something from other tokens (Abnar & "
            "Zuidema 2020)."
        )
    if done.free_directions:
        points.append(
            f"**The only possible weights.** {chosen.word} may look at {len(chosen.by_weight)} tokens, but a "
            f"value has only {done.d_head} numbers. So the weights can change in {done.free_directions} "
            "independent ways and give the very same output (Brunner et al. 2020)."
        )
    not_shown("\n".join(f"- {point}" for point in points))


def _labels(groups: tuple[DisplayToken, ...], rows: list[int]) -> list[str]:
    """What rows are called; with their numbers where some tokens have no row."""
    numbered = len(rows) < len(groups)
    return [f"{groups[row].number} {groups[row].label}" if numbered else groups[row].label for row in rows]


def _coloured(text: str, role: str) -> str:
    """Words of a step's sentence in the colour of a role; `_parts` finds them there."""
    return f"\ue000{role}\ue001{text}\ue002"


def _parts(sentence: str) -> list[str | Spoken]:
    """A sentence as the picture takes it; the same colours in Markdown are `_in_markdown`'s."""
    pieces = re.split("\ue000(query|key|value|weights)\ue001(.*?)\ue002", sentence, flags=re.DOTALL)
    parts: list[str | Spoken] = [pieces[0]]
    for role, text, plain in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
        parts += [{"text": text, "role": role}, plain]
    return parts


def _in_markdown(part: str | Spoken) -> str:
    if isinstance(part, str):
        return markdown.plain(part)
    colour = {"query": "blue", "key": "red", "value": "green", "weights": "violet"}[part["role"]]
    return f":{colour}[**{markdown.plain(isolated(part['text']))}**]"


def _agreement(difference: float) -> str:
    """1.2e-7 → "to within 0.0000002": rounded up to one digit, so that it stays true."""
    if difference == 0:
        return "to the last bit"
    decimals = int(np.ceil(-np.log10(difference)))
    up = np.ceil(difference * 10**decimals) / 10**decimals
    return f"to within {up:.{decimals}f}".rstrip("0")


def _divided(dot_product: float, score: float, size: int) -> str:
    """A sum ÷ √size = its score, in decimals that give the printed score: "11.31 ÷ 2.828 = 4.00"."""
    root, result = size**0.5, decimal(score)
    digits = enough_digits([dot_product, root], 2, lambda dot, by: decimal(dot / by) == result)
    return f"{decimal(dot_product, digits)} ÷ {decimal(root, digits)} = {result}"


def weights_table(
    key: str,
    /,
    *,
    weights: Floats,
    others: Sequence[float] | None,
    queries: Sequence[str],
    keys: Sequence[str],
    query: int,
    columns: bool,
    caption: str,
    forbidden: Sequence[Sequence[bool]] | None = None,
) -> None:
    """Draw the weights as a grid.

    Args:
        weights: [query, key], of the tokens that are shown.
        others: for each query, what it gives to tokens that are not shown; None if all are.
        query: the one whose weights are marked.
        columns: whether each query has a column instead of a row.
        caption: what the table shows, in one sentence.
        forbidden: [query, key], where the mask forbids to look; None: nowhere.
    """
    shown = weights if forbidden is None else np.where(forbidden, np.nan, weights)
    if others is not None:
        shown, keys = np.column_stack([shown, others]), [*keys, "all others"]
    values = np.asarray(shown.T if columns else shown, np.float32)
    cells: list[float] = values.ravel().tolist()
    head_map(
        key,
        title="columns: queries, rows: keys" if columns else "rows: queries, columns: keys",
        values=values,
        texts=["forbidden" if np.isnan(weight) else percent(weight, 1) for weight in cells],
        printed=["" if np.isnan(weight) else percent(weight).removesuffix(" %") for weight in cells],
        low=(0, "0 %"),
        high=(1, "100 %"),
        selected=(0, query) if columns else (query, 0),
        row_labels=keys if columns else queries,
        column_labels=queries if columns else keys,
    )
    st.markdown(f":small[{caption}]")
