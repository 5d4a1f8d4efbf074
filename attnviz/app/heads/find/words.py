"""What is said of the tokens that were found: what they share, where each looks, and how they were found."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from attnviz.analysis.words import CLASSES
from attnviz.app import markdown
from attnviz.app.heads.choosing import QueryInHead
from attnviz.app.heads.pronouns.figures import interval, names, rate
from attnviz.app.references import cited_markdown
from attnviz.capture import loading
from attnviz.experiments.neighbours import MOST, Common, Neighbour, Search
from attnviz.text import percent, plural


def summary(chosen: QueryInHead, search: Search, common: Sequence[Common], found: int) -> str:
    """What the neighbours surely have in common, as Markdown."""
    sure = [each for each in common if each.sure]
    who = names([(search.layer, head) for head in search.heads])
    together = " together" if len(search.heads) > 1 else ""
    alike = f"the {search.by} of {who}{together} is most like that at {chosen.token}"
    if search.by == "state":
        alike = f"layer {search.layer + 1} reads most nearly what it reads at {chosen.token}"
    where = f"Below: the {plural(found, 'token')} at which {alike}."
    if search.by == "key":
        where += " Of each is told where it looks, not who looks at it."
    if not sure:
        return f"{where} They share nothing of what was asked that tokens at random might not share, too."
    told = [
        f"- **{percent(each.count / each.total)}** ({interval(each.count, each.total)}) "
        f"{_value(chosen, each)}; of all tokens there {percent(each.base, 1)}"
        for each in sure
    ]
    counted = f"Such tokens have in common (counted on the {sure[0].total} nearest in every second line):"
    return "\n".join([where, "", counted, "", *told])


def beside(neighbour: Neighbour, search: Search) -> str:
    """What is told beside where a neighbour looks: "; cosine 0.93"."""
    return f"; {'alike by' if search.by == 'pattern' else 'cosine'} {neighbour.alike:.2f}"


def table(chosen: QueryInHead, common: Sequence[Common]) -> None:
    """Draw all that was asked of the neighbours."""
    rows = ["| they … | the nearest in every second line | all tokens there |", "|---|---|---|"]
    for each in common:
        sign = "**" if each.sure else ""
        shares = f"{rate(each.count, each.total)} | {percent(each.base, 1)}"
        rows.append(f"| {sign}{_value(chosen, each)}{sign} | {shares} |")
    st.markdown("\n".join(["Bold: more often than tokens at random, surely.", "", *rows]))


def method(search: Search) -> None:
    """Say how the neighbours were found."""
    index = search.index
    nearest = (
        f"The nearest are those whose {'hidden state' if search.by == 'state' else search.by} points most "
        "nearly where this token’s does (the cosine), as in exBERT (Hoover et al. 2020)."
    )
    if search.by == "pattern":
        nearest = (
            "Alike, from 0 to 1, is the mean of three numbers: 1 if what they look at most is as far away; "
            "1 if it is of the same class (special tokens, punctuation, others); and 1 / (1 + d), where d is "
            "by how many bits the entropies of their rows differ. So none of this is asked of them below."
        )
    if search.by == "state":
        nearest += (
            " The hidden state is what the layer’s attention reads, of which all its heads make theirs."
        )
    lists = "; ".join(f"{name}s are {', '.join(words)}" for name, words in CLASSES.items() if words)
    together = " Of several heads it is the mean; what is told of them is of the first."
    cited_markdown(
        f"Every token of the text is compared: {index.tokens:,} in {plural(index.done, 'line')}, of which "
        f"{index.nbytes / 1e6:,.1f} MB are kept here. {nearest}{together if len(search.heads) > 1 else ''} "
        "What a token looks at most is told without special tokens.\n\n"
        f"What they have in common is chosen on the {MOST} nearest of every second line and counted on the "
        f"{MOST} nearest of the other lines, so not on the {MOST} that are listed. It is called sure if a "
        "binomial test finds it improbable for tokens drawn at random, with Bonferroni’s correction for the "
        f"{len(search.attributes)} attributes. The intervals are Wilson’s (Wilson 1927).\n\n"
        f"The classes of words are lists; a word on none has no class: {lists}."
    )


def _value(chosen: QueryInHead, common: Common) -> str:
    """What a neighbour does that has this value, as the end of a sentence."""
    value = common.value
    if common.name in ("read", "token"):
        [word] = loading.load(chosen.entry.name).words([value])
        return f"{'look most at' if common.name == 'read' else 'are'} the token {markdown.code(word)}"
    if common.name == "offset":
        if value == 0:
            return "look most at themselves"
        return f"look most at the token {abs(value)} {'before' if value < 0 else 'after'} them"
    if common.name in ("class", "class read"):
        name = list(CLASSES)[value - 1]
        of_them = name if name == "punctuation" else f"{name}s"
        return f"{'are' if common.name == 'class' else 'look most at'} {of_them}"
    return {
        "position": f"are token {value + 1} of their line",
        "entropy": f"spread their attention over {value} to {value + 1} bits",
        "special": "are special tokens",
        "special read": "give most of their attention to special tokens",
    }[common.name]
