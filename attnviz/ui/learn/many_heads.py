"""The sections of the page "Why many heads?"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from attnviz.analysis.sentence import looks, name_of, percent
from attnviz.analysis.shown import Shown
from attnviz.capture import catalogue, loading
from attnviz.ui import markdown
from attnviz.ui.components.shares import shares
from attnviz.ui.controls import one_of
from attnviz.ui.learn.computed import MODEL, computed
from attnviz.ui.learn.lesson import formula, guess, not_shown, the_code
from attnviz.ui.learn.sentence import choose_head, choose_word, sentence

if TYPE_CHECKING:
    from attnviz.lessons.many_heads import Habit, HeadShares
    from attnviz.lessons.sizes import Cost, MultiplyAdds, Sizes

PARAMETERS = ("text", "query", "layer", "head", "heads_of_384", "tokens_counted")

# A phone has room for five columns of numbers, but not for Streamlit's margins around them.
_STYLE = """
<style>
@media (max-width: 640px) {
  .st-key-many-heads-tables :is(th, td) { padding: 0.3rem 0.35rem; font-size: 0.8125rem; }
}
</style>
"""

_MODEL = catalogue.entry(MODEL)
# A vector can only be shared out equally: these are the numbers that divide it.
_HEADS = tuple(heads for heads in range(1, _MODEL.heads + 1) if _MODEL.d_model % heads == 0)


@dataclass(frozen=True)
class Chosen:
    """What the page is about; numbers count from 0.

    Attributes:
        text: the sentence.
        query: the token that looks.
        layer, head: a head of the trained model.
    """

    text: str
    query: int
    layer: int
    head: int

    @property
    def shown(self) -> Shown:
        """The sentence's tokens."""
        return Shown(loading.tokens(MODEL, self.text), self.text)

    @property
    def word(self) -> str:
        """The token that looks, as Markdown."""
        return markdown.code(name_of(self.query, self.shown.groups))

    @property
    def name(self) -> str:
        """The head's name as in Clark et al. 2019: "4-2"."""
        return f"{self.layer + 1}-{self.head + 1}"


@computed
def _at_token(text: str, layer: int, query: int, heads: int) -> HeadShares:
    from attnviz.lessons import many_heads

    return many_heads.at_token(text, layer, query, heads)


@computed
def _habits(text: str, layer: int, head: int) -> tuple[Habit, ...]:
    from attnviz.lessons import many_heads

    return many_heads.habits(text, layer, head)


@computed
def _costs(tokens: int) -> tuple[Cost, ...]:
    from attnviz.lessons import sizes

    return sizes.costs(_MODEL.d_model, _HEADS, tokens)


@computed
def _sizes() -> tuple[Sizes, ...]:
    from attnviz.lessons import sizes

    return sizes.known()


@computed
def _multiply_adds(tokens: int, d_model: int, heads: int, d_feed_forward: int) -> MultiplyAdds:
    from attnviz.lessons import sizes

    return sizes.multiply_adds(tokens, d_model, heads, d_feed_forward)


def choose() -> Chosen:
    """Draw the choices: sentence, word, layer and head."""
    text_column, word_column, head_column = st.columns([5, 3, 4])
    with text_column:
        text = sentence()
    with word_column:
        query = choose_word("query", "Query (looks)", text)
    with head_column:
        layer, head = choose_head()
    return Chosen(text, query, layer, head)


def question(chosen: Chosen) -> None:
    """Ask what many heads cost."""
    one, *_, many = _costs(len(chosen.shown))
    times = many.multiply_adds / one.multiply_adds
    guess(
        f"{many.heads} narrow heads of {many.d_head} numbers each, instead of one wide head of {one.d_head}: "
        "how much more do they have to multiply?",
        ["12 times as much", "About twice as much", "Nothing more", "Less"],
        right="Nothing more" if times == 1 else "12 times as much",
        because=f"Both have {many.parameters:,} parameters, and for this sentence both take "
        f"{many.multiply_adds:,} multiply-adds: {many.heads} × {many.d_head} = {one.d_head}. "
        f"But {many.heads} heads give each word {many.heads} rows of weights instead of one.",
        key="guess_many_heads",
    )


def picture(chosen: Chosen) -> None:
    """Draw the number of heads, the heads' shares, and what the chosen head does, in words."""
    st.header(f"What each head of layer {chosen.layer + 1} adds to {chosen.word}", anchor=False)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"Heads that share the {_MODEL.d_model} numbers:", width="content")
        heads = int(one_of("Number of heads", [str(n) for n in _HEADS], str(_MODEL.heads), "heads_of_384"))
    found = _at_token(chosen.text, chosen.layer, chosen.query, heads)
    head = min(chosen.head, heads - 1)
    groups = chosen.shown.groups
    if heads != _MODEL.heads:
        st.info(
            f"The model was trained with {_MODEL.heads} heads. Here the very same matrices are cut into "
            f"{heads}: real multiplications, but not what a model trained with {heads} would have learned.",
            icon=":material/content_cut:",
        )
    shares(
        "many_heads shares",
        query=name_of(chosen.query, groups),
        tokens=[name_of(at, groups) for at in range(len(groups))],
        shown=found,
        selected=head,
        on_pick=_open,
    )
    st.markdown(_told(chosen, found, head))


def _open(head: int) -> None:
    st.session_state["head"] = head + 1


def _told(chosen: Chosen, found: HeadShares, head: int) -> str:
    """The picture in words."""
    heads = len(found.shares)
    groups = chosen.shown.groups
    largest = int(found.shares.argmax())
    looked = ", ".join(
        f"{markdown.code(name)} :violet[**{percent(weight)}**]"
        for name, weight in looks(found.weights, head, groups).keys
    )
    sentence_of_head = (
        f"In **head {head + 1}** of {heads}, {chosen.word} looks at {looked}. What it reads there, times the "
        f"head's slice of $W_O$, makes :green[**{_signed(found.shares[head])}**] of the block's output for "
        f"{chosen.word}."
    )
    other = "No head's share is larger."
    if head != largest:
        other = f"The largest share is head {largest + 1}'s, {_signed(found.shares[largest])}."
    together = (
        f"{'All heads' if heads > 1 else 'It'} and the bias ({_signed(found.bias_share)}) add up to "
        f"{100 * (found.shares.sum() + found.bias_share):.0f} %."
    )
    return " ".join((sentence_of_head, *([other] if heads > 1 else []), together))


def text(chosen: Chosen) -> None:
    """Draw what the four steps are, and why there are many heads."""
    heads, d_model, d_head = _MODEL.heads, _MODEL.d_model, _MODEL.d_head
    first, last = chosen.head * d_head + 1, (chosen.head + 1) * d_head
    st.header("Four steps", anchor=False)
    st.markdown(
        f"A **head** is one attention: it gives each word a row of weights, and reads with it. A model has "
        f"many of them side by side.\n\n"
        f"1. **Split.** The {d_model} numbers of each :blue[query], :red[key] and :green[value] are cut into "
        f"{heads} pieces of {d_head}. Head {chosen.head + 1} gets numbers {first} to {last}, and nothing "
        f"else.\n"
        f"2. **Attend.** Each head compares its pieces of :blue[query] and :red[key], makes its own "
        f":violet[weights], and averages its pieces of the :green[values].\n"
        f"3. **Concatenate.** The {heads} averages, {d_head} numbers each, one after the other: {d_model} "
        f"again.\n"
        f"4. **Multiply by $W_O$.** This matrix mixes them. Its rows {first} to {last} meet only what head "
        f"{chosen.head + 1} read: they are the head's *slice*."
    )
    formula(
        r"\begin{aligned}&\operatorname{Concat}(\text{head}_1,\dots,\text{head}_h)\,W_O\\"
        r"&\quad=\sum_{i=1}^{h} \text{head}_i\,W_{O,i}\end{aligned}"
    )
    formula(
        r"\text{head}_i = \textcolor{violet}{\operatorname{softmax}\!\left("
        r"\frac{\textcolor{blue}{Q_i}\,\textcolor{red}{K_i}^{\top}}{\sqrt{d_{\text{head}}}}\right)}"
        r"\textcolor{green}{V_i}"
    )
    st.markdown(
        "So the output is a **sum with one summand a head** (and a bias, $b_O$). A head's **share** is how "
        "far its summand reaches along the whole output: below 0 it pulls the other way. "
        "The shares and the bias' sum to 100 %."
    )


def why(chosen: Chosen) -> None:
    """Draw what one row of weights cannot do, with the sentence's own numbers."""
    st.header("Why not one wide head?", anchor=False)
    groups = chosen.shown.groups
    trained = _at_token(chosen.text, chosen.layer, chosen.query, _MODEL.heads)
    wide = _at_token(chosen.text, chosen.layer, chosen.query, 1)
    places = dict.fromkeys(int(row.argmax()) for row in trained.weights)
    favourites = ", ".join(markdown.code(name_of(place, groups)) for place in places)
    only = ", ".join(
        f"{markdown.code(name)} {percent(weight)}" for name, weight in looks(wide.weights, 0, groups).keys
    )
    count = f"{len(places)} different tokens" if len(places) > 1 else "a single token"
    st.markdown(
        "A row of weights sums to 1. If a word needs its noun *and* the word before it, one row must split "
        "its 100 % between the two, and what it brings home is their mixture. Two heads bring home both, "
        "each in its own piece.\n\n"
        f"For {chosen.word} in layer {chosen.layer + 1}, the {_MODEL.heads} trained heads look most at "
        f"{count}: {favourites}. The same matrices used as one wide head have a single row: {only}.\n\n"
        f"The price: each narrow head compares only {_MODEL.d_head} numbers, not {_MODEL.d_model}."
    )


def cost(chosen: Chosen) -> None:
    """Draw what each number of heads costs."""
    tokens = len(chosen.shown)
    found = _costs(tokens)
    st.header(f"What do {_MODEL.heads} heads cost?", anchor=False)
    rows = [
        (f"{c.heads} × {c.d_head}", f"{c.parameters:,}", f"{c.multiply_adds:,}", f"{c.weights:,}")
        for c in found
    ]
    _table(("heads × numbers", "parameters", "multiply-adds", "weights"), rows)
    one, *_, many = found
    st.markdown(
        f"Counted for one attention block and the {tokens} tokens of this sentence. Parameters and "
        f"multiplications are the same to the last one, because {many.heads} × {many.d_head} = {one.d_head}. "
        "(A *multiply-add* is one product and one sum.) What grows is the number of :violet[weights]: "
        f"{many.heads} heads give each token {many.heads} rows of them. Each weight costs its softmax one "
        f"exponential: {many.weights:,} instead of {one.weights:,}, beside {many.multiply_adds:,} "
        "multiply-adds."
    )


def models() -> None:
    """Draw the sizes of real models side by side."""
    st.header("How large are real models?", anchor=False)
    known = _sizes()
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader("Sizes", anchor=False)
        _table(
            ("model", "d_model = heads × d_head", "feed-forward", "layers"),
            [
                (
                    s.name,
                    f"{s.d_model} = {s.heads} × {s.d_head}",
                    f"{s.d_feed_forward} = {s.d_feed_forward / s.d_model:g} × {s.d_model}",
                    f"{s.layers}",
                )
                for s in known
            ],
        )
    with right:
        st.subheader("Parameters, in millions", anchor=False)
        _table(
            ("model", "attention block", "one layer", "encoder", "whole model"),
            [
                (s.name, *(_millions(n) for n in (s.attention, s.layer, s.encoder, s.everything)))
                for s in known
            ],
        )
    st.markdown("\n".join(f"- :small[{_whole(size)}]" for size in known))
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader("Multiply-adds, in millions", anchor=False)
        tokens = int(
            st.number_input("Tokens to count for", 1, 4096, 128, key="tokens_counted", bind="query-params")
        )
        _table(
            ("model", "attention block", "one layer", "encoder"),
            [(s.name, *(_millions(n) for n in _counted(s, tokens))) for s in known],
        )
    with right:
        st.subheader("How they are counted", anchor=False)
        _count_of_multiply_adds()


def _counted(size: Sizes, tokens: int) -> tuple[int, int, int]:
    added = _multiply_adds(tokens, size.d_model, size.heads, size.d_feed_forward)
    return added.attention, added.layer, size.layers * added.layer


def _count_of_multiply_adds() -> None:
    formula(
        r"\underbrace{4\,N\,d_{\text{model}}^{\,2}}_{W_Q,\ W_K,\ W_V,\ W_O}"
        r"+\underbrace{2\,N^2\,d_{\text{model}}}_{\textcolor{blue}{Q}\textcolor{red}{K}^{\top},"
        r"\ \textcolor{violet}{w}\,\textcolor{green}{V}}"
    )
    st.markdown(
        "This is one attention block for $N$ tokens; the number of heads is not in it. The feed-forward "
        "network adds $2\\,N\\,d_{\\text{model}}\\,d_{\\text{ff}}$. "
        "Looking grows with the square of the length: "
        "from $N = 2\\,d_{\\text{model}}$ tokens on "
        f"({2 * _MODEL.d_model:,} in the bundled model) it costs more than the four projections."
    )


def _millions(number: int) -> str:
    return f"{number / 1e6:,.2f}"


def _whole(size: Sizes) -> str:
    """A model's exact number of parameters, what is counted, and what its paper says."""
    paper = "" if size.published is None else f" The paper says {size.published} million."
    return (
        f"**{size.name}** ({size.source}): {size.everything:,} parameters = "
        f"{size.encoder:,} of the encoder + {size.everything - size.encoder:,} of {size.parts}.{paper}"
    )


def habit(chosen: Chosen) -> None:
    """Draw what the chosen head does by the rules of Explore, with the even head beside it."""
    st.header(f"What is head {chosen.name} good at?", anchor=False)
    found = _habits(chosen.text, chosen.layer, chosen.head)
    st.markdown(
        "Heads specialise (Clark et al. 2019, Voita et al. 2019). Each rule below measures all words of this "
        "sentence; *even* is what a head scores that gives every token the same weight. A number means "
        "little unless it is far from that."
    )
    rows = [
        (f"**{f.name}**: {f.rule}", "yes" if f.found else "no", percent(f.score), percent(f.even))
        for f in found
    ]
    _table(("rule", "satisfied", f"head {chosen.name}", "even"), rows, left=2)
    names = [f.name for f in found if f.found]
    st.markdown(
        f"In this sentence head {chosen.name} counts as **{', '.join(names)}**."
        if names
        else f"In this sentence head {chosen.name} satisfies none of these rules."
    )
    find = names[0] if names else "previous"
    st.page_link(
        "pages/explore.py",
        label=f"Explore: all heads that count as “{find}”",
        icon=":material/grid_view:",
        query_params={
            "text": chosen.text,
            "layer": str(chosen.layer + 1),
            "head": str(chosen.head + 1),
            "find": find,
        },
    )


def more(chosen: Chosen) -> None:
    """Draw why, what it costs, how large real models are, and what the head is good at."""
    st.html(_STYLE)
    with st.container(key="many-heads-tables"):
        left, right = st.columns([5, 7], gap="large")
        with left:
            why(chosen)
        with right:
            cost(chosen)
        models()
        habit(chosen)


def code() -> None:
    """Show the functions that computed the picture."""
    the_code(
        ("attnviz.transformer.multi_head", "MultiHeadAttention"),
        ("attnviz.transformer.multi_head", "split_heads"),
        ("attnviz.transformer.multi_head", "join_heads"),
        ("attnviz.lessons.many_heads", "head_shares"),
        ("attnviz.lessons.many_heads", "cut"),
        ("attnviz.lessons.sizes", "multiply_adds"),
    )


def limits(chosen: Chosen) -> None:
    """Say what one could wrongly conclude."""
    points = (
        "- **A share is not an importance.** It says how much of this block's output a head makes, not what "
        "later layers do with it, nor what the model's answer would be without the head.\n"
        "- **The block's output is not the word's new vector.** It is added to what the word had before, and "
        "the sum is normalised: see *Inside a block*.\n"
        "- **The other numbers of heads are not trained.** They cut this model's matrices at other places; a "
        f"model trained so would have learned other matrices. Only {_MODEL.heads} is what was learned.\n"
        "- **In deep layers a token is a mixture.** What stands at *dog* has by then read from other words "
        "(Abnar & Zuidema 2020).\n"
        f"- **A label is about this sentence.** Head {chosen.name} may do something else in the next one."
    )
    tokens = len(chosen.shown)
    if tokens > _MODEL.d_head:
        points += (
            f"\n- **These weights are not the only ones.** With {tokens} tokens and {_MODEL.d_head} numbers "
            "a head, other rows of weights give the very same output (Brunner et al. 2020)."
        )
    not_shown(points)


def _table(titles: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> None:
    """Draw a table whose first columns (`left` of them) are words, and the others numbers."""
    lines = [titles, ["---"] * left + ["---:"] * (len(titles) - left), *rows]
    st.markdown("\n".join(f"| {' | '.join(line)} |" for line in lines))


def _signed(share: float) -> str:
    """0.176 → "+17.6 %", as the picture writes it."""
    size = f"{abs(100 * share):.1f} %"
    return size if size == "0.0 %" else ("+" if share > 0 else "−") + size
