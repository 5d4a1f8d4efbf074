"""What the heads do in many held-out texts: a picture that is no cause, a cause that no picture shows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import streamlit as st

from attnviz.analysis.intervals import CONFIDENCE, wilson
from attnviz.app.learn.computed import measured
from attnviz.app.learn.computed import who_gets_the_book as compute
from attnviz.app.learn.many_heads.sizes import table
from attnviz.app.learn.who_gets_the_book.choices import UnfinishedText, exchange_in
from attnviz.app.references import cited_markdown
from attnviz.text import decimal, head_name, interval, joined, percent

_held_out, _third_gives = measured(compute.held_out), measured(compute.third_gives)
_farther = measured(compute.farther)

_LOOKS, _BLIND = 0.5, 0.05  # a weight that one cannot overlook, and one that nobody would see
_CARRIES, _IDLE = 0.25, 0.15  # a share that matters, and one that hardly does
_SELDOM = 0.05  # of many texts
_MOST_ADJECTIVES = 4
_TITLES = {
    "gift": "who is given something",
    "pronoun": "which pronoun follows",
    "agreement": "whether it is *was* or *were*",
}


def draw(chosen: UnfinishedText) -> None:
    """Draw what all heads do in many texts of the same task, and what follows."""
    task = chosen.read.task
    found = _held_out(task, model=chosen.model)
    st.markdown(
        f"One text may be an exception. Here are {found.texts} that ask {_TITLES[task]}, with pairs of names "
        f"or nouns that no training had. In {_share(found.right, found.texts)} the right word is the "
        f"likeliest of all (in brackets, {percent(CONFIDENCE)} intervals); its logit is "
        f"**{decimal(found.whole)}** above the other's on average.{_yours(chosen, found)} A row "
        "for each head, means over these texts:"
    )
    columns = {f"looks at: {name}": weights for name, weights in found.looks.items()}
    columns |= {
        "carries, put into another text": found.carries,
        "– its last row alone": found.last_row,
        "exchanged, other word written": found.turned,
    }
    rows = [
        [
            head_name(*head),
            decimal(float(found.direct[head])),
            *(f"{decimal(100 * float(shares[head]), 0)} %" for shares in columns.values()),
        ]
        for head in np.ndindex(*found.direct.shape)
    ]
    table(["head", "adds directly", *columns], rows)
    st.markdown("\n".join(f"- {each}" for each in _verdicts(found)))
    if found.turned_together >= _SELDOM:
        st.button(
            f"Exchange the weights in {_listed(found.pair)}, in your text",
            icon=":material/swap_horiz:",
            on_click=exchange_in,
            args=(chosen, list(found.pair)),
        )
    if task == "gift":
        _rule(found, chosen.model)


def _yours(chosen: UnfinishedText, found: compute.HeldOut) -> str:
    """Where the visitor's text stands among the others, in Markdown; "" if neither word is the right one."""
    if chosen.read.third:
        return ""
    its = chosen.direct.difference
    below = percent(float(np.mean(found.differences < its)))
    return f" In your text that is {decimal(its)}, more than in {below} of these."


def _share(count: float, texts: int) -> str:
    """A share of the texts with its interval, in Markdown."""
    return f"**{percent(count / texts)}** ({interval(*wilson(round(count), texts))})"


def _listed(heads: Iterable[tuple[int, ...]]) -> str:
    return joined([head_name(layer, head) for layer, head in heads])


def _verdicts(found: compute.HeldOut) -> list[str]:
    """What the table shows, in Markdown."""
    seen = np.stack(list(found.looks.values())[:2])
    added = decimal(sum(float(found.direct[head]) for head in found.pair))
    alone = joined([percent(float(found.turned[head])) for head in found.pair])
    cancel = [
        f"**More of it carries less**: put in at the last word alone, {head_name(*head)} carries "
        f"**{percent(float(found.last_row[head]))}**; in all its rows, {percent(float(found.carries[head]))}."
        for head in map(tuple, np.argwhere(found.last_row - found.carries >= _LOOKS).tolist())
    ]
    together = (
        f"**The two heads that add most**, {_listed(found.pair)}, add {added} of {decimal(found.whole)}. "
    )
    if found.turned_together >= _SELDOM:
        together += (
            "If both exchange their two weights, the other word is written in "
            f"{_share(found.turned_together * found.texts, found.texts)}; if one does, in {alone}."
        )
    else:
        most = max(float(looks[head]) for looks in seen for head in found.pair)
        together += (
            "If they exchange their weights of the two words, the other one is written in "
            f"{percent(found.turned_together)}: they give either at most {percent(most)} on average."
        )
    decides = seen.max(axis=0) if found.giver else seen[0]  # of gifts, who gives and who does not
    looks_right = (decides >= _LOOKS) & (np.abs(found.carries) < _IDLE) & (found.turned < _SELDOM)
    in_vain = [
        f"**A picture that alone is hardly a cause**: {head_name(*head)} looks at the deciding word with "
        f"{percent(float(decides[head]))}. Put in alone, it carries {percent(float(found.carries[head]))}; "
        f"exchanged alone, it turns {percent(float(found.turned[head]))}. Where others are changed, too, it "
        "may do more."
        for head in map(tuple, np.argwhere(looks_right).tolist())
    ]
    hidden = np.argwhere((decides < _BLIND) & (found.carries >= _CARRIES)).tolist()
    each = [
        f"{head_name(*head)} looks at the deciding word with {percent(float(decides[head]))} and carries "
        f"**{percent(float(found.carries[head]))}**"
        for head in map(tuple, hidden)
    ]
    unseen = (
        f"**Causes with no arrow to the deciding word**: {joined(each)}. What they look at instead, and at "
        "which word they act, is to be seen above, head by head."
    )
    none = "Here no head looks at the deciding word in vain, and none carries much unseen."
    return [together, *cancel, *in_vain, *([unseen] if each else [] if in_vain else [none])]


def _rule(found: compute.HeldOut, model: str) -> None:
    """Tell two rules apart, beside what was found in GPT-2."""
    third, giver = _third_gives(model=model), found.giver
    assert giver  # noqa: S101 - of gifts it is measured; for the type checker
    first, second = third.named
    pair, reader = _listed(found.pair), head_name(*giver.reader)
    before = [
        float(np.mean([looks[head] for head in found.pair])) for looks in list(found.looks.values())[:2]
    ]
    st.subheader("How does it know who gives?", anchor=False)
    turned = (
        ""
        if giver.reader in found.pair
        else f"{pair} look at the two names with {percent(giver.looks[0])} (who does not give) and "
        f"{percent(giver.looks[1])}, instead of {percent(before[0])} and {percent(before[1])}; "
    )
    st.markdown(
        f"In **{reader}**, the last word looks at who gives with "
        f"{percent(float(found.looks[compute.GIVES][giver.reader]))}. Silence that one row, and {turned}the "
        f"right name is written in {_share(giver.right, found.texts)}, instead of "
        f"{percent(found.right / found.texts)}."
    )
    told_of = (
        "**“Not the giver”, or “the name that came once”?** Both rules give the same answer, until a third "
        f"person gives. In {third.texts} such texts, all three names stand once. Of the two who were named "
        f"before, the first has **{percent(first)}** on average, the second **{percent(second)}**; the giver "
        f"**{percent(third.giver, 1)}**."
    )
    if third.giver < _SELDOM < min(first, second):
        told_of += (
            " So **“the name that came once” is not the whole rule**: the giver's came once, too. Whether it "
            "is left out because it gives, or because it was not named with the other two, these texts "
            "cannot tell."
        )
    st.markdown(told_of)
    st.markdown(_by_distance(giver.reader, model))
    here = (
        f"Here, {pair} add most to the other name, and give it {percent(before[0])} of their weight on "
        f"average, who gives {percent(before[1])}. "
    )
    if giver.duplicate < _SELDOM:
        here += (
            "**No head looks from the second mention of a name back at the first** (at most "
            f"{percent(giver.duplicate)} on average), as duplicate token heads do. They found "
            "induction heads for that step, too, which look at the word after the first mention; that is not "
            "measured here."
        )
    with st.expander("And in GPT-2?", icon=":material/compare_arrows:"):
        cited_markdown(
            "In GPT-2 small, Wang et al. (2023) found three steps: *duplicate token heads* see that a name "
            "stands there twice; *S-inhibition heads* keep later heads from looking at it; *name mover "
            f"heads* look at the other name and copy it. That is their finding: for this page, nothing "
            f"was measured in GPT-2. {here}"
        )


def _by_distance(reader: tuple[int, int], model: str) -> str:
    """What the model writes if adjectives stand between who gives and the last word, in Markdown."""
    found = [_farther(count, *reader, model=model) for count in range(_MOST_ADJECTIVES + 1)]
    told = (
        "**And if who gives stands farther back?** In no story that it learned from does an adjective stand "
        f"before what is given. With 0 to {_MOST_ADJECTIVES} of them, the right name is written in "
        f"{joined([percent(each.right) for each in found])}; {head_name(*reader)} looks at who gives with "
        f"{joined([percent(each.looks) for each in found])}."
    )
    if found[-1].right > found[0].right - _SELDOM:
        return f"{told} So it is written there, too."
    return (
        f"{told} So **it has not learned a rule for every sentence**. Whether the distance or the adjectives "
        "are too much for it, these texts cannot tell."
    )
