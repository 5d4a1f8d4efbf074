"""The sections of the page "Why many heads?"."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from attnviz.analysis.sentence import looks, name_of, names_of
from attnviz.app import markdown
from attnviz.app.components.component import mount
from attnviz.app.learn.choosing import HeadSelection
from attnviz.app.learn.computed import MODEL, computed
from attnviz.app.learn.computed import many_heads as compute
from attnviz.app.learn.lesson import guess, not_shown
from attnviz.app.learn.many_heads import sizes
from attnviz.app.learn.many_heads.sizes import table
from attnviz.app.references import cited_markdown
from attnviz.app.state.choices import FILTER, HEAD, HEADS_OF_384, LAYER, TEXT
from attnviz.models import catalogue
from attnviz.text import percent

_at_token = computed(compute.at_token)
_habits = computed(compute.habits)

_MODEL = catalogue.entry(MODEL)


def question(chosen: HeadSelection) -> None:
    """Ask what many heads cost."""
    one, *_, many = sizes.costs(len(chosen.groups))
    times = many.multiply_adds / one.multiply_adds
    guess(
        f"{many.heads} narrow heads of {many.d_head} numbers each, instead of one wide head of {one.d_head}: "
        "how much more do they multiply?",
        [f"{many.heads} times as much", "About twice as much", "Nothing more", "Less"],
        right="Nothing more" if times == 1 else f"{many.heads} times as much",
        because=f"Both have {many.parameters:,} parameters (learned numbers), and for this sentence both "
        f"take {many.multiply_adds:,} multiplications: {many.heads} × {many.d_head} = {one.d_head}. "
        f"But {many.heads} heads give each word {many.heads} rows of weights.",
        of_sentence=False,
    )


def picture(chosen: HeadSelection) -> int:
    """Draw the number of heads, their shares, and what one does, in words; return the number of heads."""
    st.header(f"What each head of layer {chosen.layer + 1} adds to {chosen.name}", anchor=False)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("Number of heads:", width="content")
        heads = int(
            HEADS_OF_384.segments("Number of heads", [str(n) for n in sizes.HEADS], str(_MODEL.heads))
        )
    found = _at_token(chosen.text, chosen.layer, chosen.query, heads)
    head = min(chosen.head, heads - 1)
    groups = chosen.groups
    if heads != _MODEL.heads:
        st.info(
            f"The model was trained with {_MODEL.heads} heads. Here the same matrices are cut into {heads}: "
            f"a model trained with {heads} would have learned other ones.",
            icon=":material/content_cut:",
        )
    shares(
        "many_heads shares",
        query=name_of(chosen.query, groups),
        tokens=names_of(groups),
        shown=found,
        selected=head,
        on_pick=lambda head: HEAD.set(head + 1),
    )
    st.markdown(_told(chosen, found, head))
    return heads


def _told(chosen: HeadSelection, found: compute.HeadShares, head: int) -> str:
    """The picture in words."""
    heads = len(found.shares)
    groups = chosen.groups
    largest = int(found.shares.argmax())
    looked = ", ".join(
        f"{markdown.code(name)} :violet[**{percent(weight)}**]"
        for name, weight in looks(found.weights[head : head + 1], 0, groups).keys
    )
    sentence_of_head = (
        f"In **head {head + 1}** of {heads}, {chosen.name} looks at {looked}. What it reads there, times the "
        f"head's slice of $W_O$, makes :green[**{_signed(found.shares[head])}**] of the block's output for "
        f"{chosen.name}."
    )
    other = "No head's share is larger."
    if head != largest:
        other = f"The largest share is head {largest + 1}'s, {_signed(found.shares[largest])}."
    together = (
        f"{'All heads' if heads > 1 else 'It'} and the bias ({_signed(found.bias_share)}) add up to "
        f"{100 * (found.shares.sum() + found.bias_share):.0f} %."
    )
    return " ".join((sentence_of_head, *([other] if heads > 1 else []), together))


def text(chosen: HeadSelection) -> None:
    """Say why there are many, with the sentence's own numbers."""
    groups = chosen.groups
    trained = _at_token(chosen.text, chosen.layer, chosen.query, _MODEL.heads)
    wide = _at_token(chosen.text, chosen.layer, chosen.query, 1)
    places = dict.fromkeys(int(row.argmax()) for row in trained.weights)
    favourites = ", ".join(markdown.token(place, groups) for place in places)
    only = markdown.shares(looks(wide.weights, 0, groups).keys, bold=False)
    count = f"{len(places)} different tokens" if len(places) > 1 else "a single token"
    st.markdown(
        "A **head** has one row of weights for each token, and it sums to 100 %. If a word needs its noun "
        "*and* the word before it, one row must split, and brings home a mixture. Two heads bring home both."
        f"\n\nFor {chosen.name} in layer {chosen.layer + 1}, the {_MODEL.heads} trained heads look most at "
        f"{count}: {favourites}. The same matrices used as one wide head have a single row: {only}.\n\n"
        "What all heads read is added up:"
    )
    st.latex(r"\text{output} = \sum_{i=1}^{h} \text{head}_i\,W_{O,i}")
    st.markdown(
        "A head's **share** is the part of what it adds that points along the whole sum, in percent of that "
        "sum's length; below 0 it points the other way."
    )


def four_steps(chosen: HeadSelection, heads: int) -> None:
    """Draw what the four steps are with so many heads."""
    d_model, d_head = _MODEL.d_model, _MODEL.d_model // heads
    head = min(chosen.head, heads - 1)
    first, last = head * d_head + 1, (head + 1) * d_head
    pieces = f"{heads} pieces" if heads > 1 else "one piece"
    joined = f"There is one average, of {d_head} numbers, and nothing to join."
    if heads > 1:
        joined = f"The {heads} averages, {d_head} numbers each, one after the other: {d_model} again."
    rest = ", and nothing else" if heads > 1 else ": all of them"
    st.markdown(
        f"1. **Split.** The {d_model} numbers of each :blue[query], :red[key] and :green[value] are cut into "
        f"{pieces} of {d_head}. Head {head + 1} gets numbers {first} to {last}{rest}.\n"
        f"2. **Attend.** Each head compares its pieces of :blue[query] and :red[key], makes its own "
        f":violet[weights], and averages its pieces of the :green[values].\n"
        f"3. **Concatenate.** {joined}\n"
        f"4. **Multiply by $W_O$.** This learned matrix, {d_model} × {d_model}, mixes them into the "
        f"**output**. Its rows {first} to {last} meet what head {head + 1} read: its *slice*, $W_{{O,i}}$."
    )
    st.latex(
        r"\operatorname{Concat}(\text{head}_1,\dots,\text{head}_h)\,W_O"
        r"=\sum_{i=1}^{h} \text{head}_i\,W_{O,i}, \quad "
        r"\text{head}_i = \textcolor{violet}{\operatorname{softmax}\!\left("
        r"\frac{\textcolor{blue}{Q_i}\,\textcolor{red}{K_i}^{\top}}{\sqrt{d_{\text{head}}}}\right)}"
        r"\textcolor{green}{V_i}"
    )
    cited_markdown(
        "The bias $b_O$ is added as well; all shares, the bias' too, sum to 100 %. The price of many heads: "
        f"each compares only {_MODEL.d_head} numbers, not {_MODEL.d_model}. And not all are needed: from "
        "trained translators most encoder heads could be taken away at little cost (Voita et al. 2019), from "
        "BERT many (Michel et al. 2019)."
    )


def habit(chosen: HeadSelection) -> None:
    """Draw what the chosen head does by the rules of Explore, with the even head beside it."""
    here = chosen.layer, chosen.head
    found = _habits(chosen.text)
    cited_markdown(
        "Heads specialise (Clark et al. 2019, Voita et al. 2019). Each rule measures this sentence; *even* "
        "is what a head scores that gives every token the same weight."
    )
    table(
        ("rule", "satisfied", f"head {chosen.head_name}", "even"),
        [
            (
                f"**{f.name}** ({f.found.sum()} of {f.found.size} heads): {f.sentence}",
                "yes" if f.found[here] else "no",
                f.rule.amount(float(f.score[here]), float(f.raw[here])),
                f.rule.amount(float(f.even[chosen.layer]), float(f.raw_even[chosen.layer])),
            )
            for f in found
        ],
        left=2,
    )
    names = [f.name for f in found if f.found[here]]
    st.markdown(
        f"In this sentence head {chosen.head_name} counts as **{', '.join(names)}**."
        if names
        else f"In this sentence head {chosen.head_name} satisfies none of these rules. They know no "
        "grammar: a head that follows a pronoun to its noun has no name here."
    )
    find = names[0] if names else "previous"
    st.page_link(
        "pages/explore.py",
        label=f"Explore: all heads that count as “{find}”",
        icon=":material/grid_view:",
        query_params={
            TEXT.name: chosen.text,
            LAYER.name: str(chosen.layer + 1),
            HEAD.name: str(chosen.head + 1),
            FILTER.name: find,
        },
    )


CODE = (
    ("attnviz.transformer.multi_head", "MultiHeadAttention", "split_heads", "join_heads"),
    ("attnviz.app.learn.many_heads.compute", "head_shares", "cut", "multiply_adds"),
)


def limits(chosen: HeadSelection) -> None:
    """Say what one could wrongly conclude."""
    points = (
        "- **A share is not an importance.** It says how much of this output a head makes, not what "
        "later layers do with it, nor what the model's answer would be without the head.\n"
        "- **This output is not the word's new vector.** It is added to what the word had before, and the "
        "sum is normalised: page 8.\n"
        "- **The other numbers of heads are not trained.** They cut this model's matrices at other places; a "
        f"model trained so would have learned other matrices. Only {_MODEL.heads} is what was learned.\n"
        "- **In deep layers a token is a mixture.** What stands at *dog* has by then read from other words "
        "(Abnar & Zuidema 2020).\n"
        "- **A look at [CLS] or [SEP] may be a rest.** In many heads they get most of the weight (Clark et "
        "al. 2019), and what such a head then adds is often small (Kobayashi et al. 2020).\n"
        f"- **A label is about this sentence.** Head {chosen.head_name} may do something else in the next "
        "one."
    )
    tokens = len(chosen.groups)
    if tokens > _MODEL.d_head + 1:
        points += (
            f"\n- **These weights are not the only ones.** With {tokens} tokens and {_MODEL.d_head} numbers "
            "in a trained head, other rows of weights give the very same output (Brunner et al. 2020)."
        )
    not_shown(points)


def _signed(share: float) -> str:
    """0.176 → "+17.6 %", as the picture writes it."""
    size = f"{abs(100 * share):.1f} %"
    return size if size == "0.0 %" else ("+" if share > 0 else "−") + size


# Enough for every digit that is printed; whole floats would double the message.
_DIGITS = 6


def shares(
    key: str,
    /,
    *,
    query: str,
    tokens: Sequence[str],
    shown: compute.HeadShares,
    selected: int,
    on_pick: Callable[[int], None],
) -> None:
    """Draws a row for each head; a click, Enter or Space on a row picks its head.

    Args:
        query: what the token that looks is called.
        tokens: what the tokens that it looks at are called, in order.
        selected: the head whose row is marked and whose arithmetic is written out, from 0.
        on_pick: called with the head, from 0.
    """
    message = {
        "query": query,
        "tokens": tokens,
        "weights": shown.weights.round(_DIGITS),
        "pieces": shown.concatenated.round(_DIGITS),
        "lengths": shown.lengths.round(_DIGITS),
        "cosines": shown.cosines.round(_DIGITS),
        "shares": shown.shares.round(_DIGITS),
        "bias": [shown.bias_length, shown.bias_cosine, shown.bias_share],
        "output": shown.output.round(_DIGITS),
        "output_length": shown.output_length,
        "selected": selected,
    }
    mount("shares", key, message, on_pick=on_pick)
