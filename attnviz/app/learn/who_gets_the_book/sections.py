"""One text that breaks off: which word comes, which heads add to it, and what exchanging weights does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import streamlit as st

from attnviz.app import markdown
from attnviz.app.components.arrow import arrow
from attnviz.app.components.head_map import head_map
from attnviz.app.components.token_bars import token_bars
from attnviz.app.learn.computed import storytold
from attnviz.app.learn.computed import who_gets_the_book as compute
from attnviz.app.learn.lesson import guess
from attnviz.app.learn.who_gets_the_book.choices import NOTICEABLE, UnfinishedText, change, undo, worth_asking
from attnviz.app.references import cited_markdown
from attnviz.app.state.choices import BOOK_HEAD
from attnviz.errors import AttnvizError
from attnviz.interventions.edit import Edit
from attnviz.text import decimal, head_name, percent, signed_share
from attnviz.trace import Floats

_patched = storytold(compute.patched)

ANOTHER = "another word"
_LISTED = 3  # weights named in a sentence


def question(chosen: UnfinishedText) -> None:
    """Ask what comes if the head exchanges two weights; of a third giver, who is given something."""
    words = chosen.read.words
    if chosen.read.third:
        giver = words[chosen.read.gives or 0]
        people = [*chosen.read.choices, giver]
        before = chosen.found.before
        guess(
            f"{markdown.code(giver)}, who was not named before, gives. Which name is likeliest next?",
            people,
            right=people[int(before[1] > before[0])] if chosen.found.written in people[:2] else people[2],
            because=f"{chosen.pair[0]} has {percent(before[0], 1)}, {chosen.pair[1]} "
            f"{percent(before[1], 1)}. Below, the same with many other names.",
        )
        return
    asked = worth_asking(chosen)
    now, row, (edit,) = asked.found, asked.found.row_before, asked.edits
    one, other = asked.read.cues
    looks = f"The model writes `{now.written}`. When it does, {chosen.last} looks, in head {asked.name}, at "
    if edit.exchange:
        looks += (
            f"{_word(words, one)} with {percent(float(row[one]))} and at {_word(words, other)} with "
            f"{percent(float(row[other]))}. If we **exchange these two weights**"
        )
        show = f"{'' if asked.name == chosen.name else f'Choose head {asked.name}. '}Drag an arrow"
    else:
        most = int(row.argmax())
        looks += f"{_word(words, most)} with {percent(float(row[most]))}. If we **silence this row**"
        show = f"Press *Silence the row of {words[-1]}*"
    options = [*chosen.read.choices, ANOTHER]
    written = "" if now.written_now in options else f"`{now.written_now}`: "
    guess(
        f"{looks}, which word comes next?",
        options,
        right=ANOTHER if written else now.written_now,
        because=f"{written}{chosen.pair[0]} goes from {percent(now.before[0], 1)} to "
        f"{percent(now.now[0], 1)}, {chosen.pair[1]} from {percent(now.before[1], 1)} to "
        f"{percent(now.now[1], 1)}. {show}, and see.",
    )


def _word(words: Sequence[str], at: int) -> str:
    """A word in Markdown; which one, if it stands there twice."""
    which = f" (word {at + 1})" if words.count(words[at]) > 1 else ""
    return f"{markdown.code(words[at])}{which}"


def picture(chosen: UnfinishedText) -> None:
    """Draw the row of the last word, to be changed, and the two words' probabilities; then say both."""
    found, words = chosen.found, chosen.read.words
    st.header(f"Where {chosen.last} looks in head {chosen.name}, and what comes next", anchor=False)
    differs = found.written != found.written_now
    arrow(
        "book",
        title=f"head {chosen.name}",
        words=words,
        query=len(words) - 1,
        reader=words[-1],
        open_to=[True] * len(words),
        before=found.row_before,
        now=found.row_now,
        interference=chosen.interference,
        translation=[{"text": found.written_now, "differs": differs}],
        translation_before=[{"text": found.written, "differs": differs}],
        choices=[
            {"word": word, "before": before, "now": now}
            for word, before, now in zip(chosen.read.choices, found.before, found.now, strict=True)
        ],
        choice_label="How probable is the next word",
        others=len(chosen.elsewhere),
        exchange=True,
        lang="en",
        about=f"“{chosen.text}” · head {chosen.name}",
        on_change=lambda interference: change(chosen, interference),
        on_undo=undo,
    )
    st.markdown(in_words(chosen))


def in_words(chosen: UnfinishedText) -> str:
    """What the picture shows, in Markdown."""
    found, words = chosen.found, chosen.read.words
    listed = [
        f"{_word(words, key)} **{percent(float(found.row_now[key]))}**"
        for key in np.argsort(-found.row_now, kind="stable")[:_LISTED].tolist()
        if found.row_now[key] >= NOTICEABLE
    ]
    now = "now " if chosen.edits else ""
    looks = f"looks at {', '.join(listed)}" if listed else "looks at no word much"
    chances = [
        f"{word} "
        + (f"{percent(before, 1)} → **{percent(after, 1)}**" if now else f"**{percent(after, 1)}**")
        for word, before, after in zip(chosen.pair, found.before, found.now, strict=True)
    ]
    more = ""
    if chosen.edits:
        changed = sorted({head_name(edit.layer, edit.head) for edit in chosen.edits})
        more = f" Changed: {', '.join(changed)}; all else is computed again by the same model."
    return f"In this head, {chosen.last} {now}{looks}. How probable: {', '.join(chances)}.{more}"


def text(chosen: UnfinishedText) -> None:
    """Say what the arrows can tell, and which heads add most to the likelier word."""
    parts = chosen.direct
    one, other = chosen.pair if parts.difference >= 0 else chosen.pair[::-1]
    adds = (parts.heads * np.sign(parts.difference)).ravel()
    most = [divmod(int(head), parts.heads.shape[1]) for head in np.argsort(-adds, kind="stable")[:_LISTED]]
    st.markdown(
        f"The text breaks off where {one} or {other} comes. Which heads decide? An arrow shows only what a "
        "head *reads*. So change it: **drag an arrow** to another word, and the two words exchange their "
        "weights; all else is computed again.\n\n"
        f"Before softmax, each word has a score, its **logit**. {one} leads by "
        f"**{decimal(abs(parts.difference))}**, and each head adds its share of that. Those that add most:"
    )
    with st.container(horizontal=True):
        for head in most:
            added = decimal(float(abs(parts.heads[head])))
            st.button(f"{head_name(*head)} adds {added}", on_click=BOOK_HEAD.set, args=(head_name(*head),))


def added(chosen: UnfinishedText) -> None:
    """Draw which parts the difference of the two logits is the sum of."""
    found = chosen.direct
    parts, heads = found.parts, found.heads
    one, other = chosen.pair
    networks = ""
    if parts.feed_forward.any():
        networks = f"feed-forward networks {decimal(float(parts.feed_forward.sum()))}, "
    above = "above" if found.difference >= 0 else "below"
    cited_markdown(
        f"Before any change, the logit of {one} is **{decimal(abs(found.difference))}** {above} that of "
        f"{other}. Each head *h* adds what it hands over, times the difference of the two words’ vectors "
        "(direct logit attribution, Elhage et al. 2021):"
    )
    first, second = (rf"\text{{{word}}}" for word in chosen.read.choices)
    st.latex(
        rf"\ell_{{{first}}}-\ell_{{{second}}}=\sum_h \textcolor{{green}}{{o_h W_O^h}}\cdot"
        rf"(u_{{{first}}}-u_{{{second}}})+\dots"
    )
    _map("book direct", chosen, heads, "adds to the difference, directly", decimal)
    st.markdown(
        f":small[The embedding of {chosen.last} adds {decimal(parts.embeddings)}, "
        f"{networks}biases {decimal(parts.biases)}. All parts together differ from the model’s own number by "
        f"less than {max(1e-5, float(np.ceil(1e5 * abs(parts.total - found.difference)) / 1e5)):.5f}; the "
        "last norm is taken as it was.]"
    )


def carried(chosen: UnfinishedText) -> None:
    """Draw what each head carries into the text with the names exchanged, and the chosen one word by word."""
    if chosen.read.third:
        st.markdown("Nobody is named twice here, so there is no other text to take a head's output into.")
        return
    words, exchanged = chosen.read.words, chosen.read.exchanged
    cited_markdown(
        f"The model reads *{' '.join(exchanged[1:])} …*, with the names exchanged. Then **one head’s "
        "output** is put in from your text (activation patching, Vig et al. 2020). How much of the way back "
        "to your text’s answer is that? 100 % is all of it."
    )
    try:
        heads = _patched(chosen.text, model=chosen.model)
        rows = _patched(chosen.text, str(Edit("decoder", chosen.layer, chosen.head)), model=chosen.model)
    except AttnvizError as error:
        st.info(markdown.plain(str(error)), icon=":material/info:")
        return
    left, right = st.columns(2, gap="large")
    shares = heads.shares.reshape(chosen.direct.heads.shape).astype(np.float32)
    with left:
        _map("book patched", chosen, shares, "carries into the other text", signed_share)
    furthest = float(np.abs(rows.shares).max()) or 1.0
    with right:
        token_bars(
            "book rows",
            title=f"what head {chosen.name} carries at each word alone; bars show the size, without the sign",
            bars=[
                {
                    "number": at + 1,
                    "label": word,
                    "size": float(abs(share)) / furthest,
                    "written": signed_share(float(share)),
                    "hint": f"head {chosen.name} at {word}: {signed_share(float(share))}",
                    "marked": at == len(words) - 1,
                }
                for at, (word, share) in enumerate(zip(words, rows.shares, strict=True))
            ],
        )
    best, where = np.unravel_index(int(shares.argmax()), shares.shape), int(np.abs(rows.shares).argmax())
    st.markdown(
        f"Most is carried by head **{head_name(int(best[0]), int(best[1]))}**, "
        f"**{signed_share(float(shares.max()))}**. Head {chosen.name} carries "
        f"{signed_share(float(shares[chosen.layer, chosen.head]))}; at `{words[where]}` (word {where + 1}) "
        f"alone, {signed_share(float(rows.shares[where]))}."
    )


def _map(key: str, chosen: UnfinishedText, values: Floats, title: str, write: Callable[[float], str]) -> None:
    told_of = [write(float(value)) for value in values.ravel()]
    most = float(np.abs(values).max()) or 1.0
    head_map(
        key,
        title=title,
        values=values,
        texts=told_of,
        printed=told_of,
        low=(-most, write(-most)),
        high=(most, write(most)),
        kind="diverging",
        selected=(chosen.layer, chosen.head),
        on_pick=lambda layer, head: BOOK_HEAD.set(head_name(layer, head)),
    )


CODE = (
    ("attnviz.app.learn.who_gets_the_book.compute", "experiment"),
    ("attnviz.app.learn.who_gets_the_book.compute", "direct"),
    ("attnviz.app.learn.who_gets_the_book.compute", "held_out"),
    ("attnviz.analysis.decomposition", "contributions"),
    ("attnviz.interventions.editing", "edit_weights"),
    ("attnviz.experiments.patching", "patch"),
)


LIMITS = """
- **How GPT-2, or any other model, does it.** This one learned from our own stories. Another seed can find
  other ways.
- **That it knows what giving is.** It knows a few hundred words, and how they follow each other.
- **That a head which adds nothing does nothing.** What it writes at an earlier word, later heads read.
- **That the shares must sum to 100 %.** Heads build on each other, and two can carry the same.
- **What the model does when left alone.** While it learned, no weights were exchanged by hand.
"""
