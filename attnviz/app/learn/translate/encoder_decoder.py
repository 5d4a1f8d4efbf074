"""How the parts of a translator work together, what they are made of, and what every single head read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.analysis.sentence import looks
from attnviz.app import markdown
from attnviz.app.learn.computed import translate as compute
from attnviz.app.learn.computed import translated
from attnviz.app.learn.measured import never_certain, shipped, variant_of
from attnviz.app.references import cited_markdown
from attnviz.errors import ModelFilesDamaged
from attnviz.models import catalogue
from attnviz.text import head_name, percent
from attnviz.trace import Kind
from attnviz.trained.translator.vocabulary import ENGLISH, FRENCH

if TYPE_CHECKING:
    from attnviz.app.learn.translate.translating import ShownTranslation

_take_apart = translated(compute.take_apart)

_DECIDED = 0.5  # a head that gives a word more than all others together reads that word
_LISTED = 2  # tokens named for each head


def text(chosen: ShownTranslation) -> None:
    """Say what the encoder, the decoder and cross-attention do for the chosen word."""
    word = markdown.code(chosen.translation.choices[chosen.row][0][0])
    st.markdown(
        f"1. The **encoder** reads all {len(chosen.translation.source)} English tokens at once: every word "
        "takes something from the words that it looks at.\n"
        "2. The **decoder** writes French, one word at a time.\n"
        "3. **Cross-attention** connects them. For the next French word, a :blue[query] is compared with the "
        ":red[keys] of the English words; those that fit hand over their :green[values].\n\n"
        f"A word is chosen *before* it stands there. So the lines from {word} show what was read after "
        f"{chosen.target_name(chosen.row)}.\n\nPress ← or → to choose another French word."
    )


def steps(chosen: ShownTranslation) -> None:
    """Tell the way of a sentence through the model, with the numbers of the picture."""
    entry = catalogue.entry(chosen.model)
    word = markdown.code(chosen.translation.choices[chosen.row][0][0])
    st.markdown(
        f"1. **Words become vectors**: {entry.d_model} numbers each, from a table of {len(ENGLISH)} English "
        "words and signs, plus a vector that says where the word stands.\n"
        f"2. **The encoder** has {_layers(entry.layers)}. In each, every word adds what it reads to its own "
        f"vector. {_read_by_layer(chosen)}\n"
        "3. **The decoder** has a row for each French word. A row reads the words written so far; a "
        "*causal mask* hides those to come.\n"
        "4. **Cross-attention** mixes the English values:"
    )
    st.latex(
        r"\operatorname{softmax}\!\Bigl(\frac{\textcolor{blue}{Q_\text{French}}\,"
        rf"\textcolor{{red}}{{K_\text{{English}}}}^\top}}{{\sqrt{{{entry.d_head}}}}}\Bigr)"
        r"\textcolor{green}{V_\text{English}}"
    )
    st.markdown(
        f"5. **Every French word gets a probability**: the row's vector $z$ is compared with all "
        f"{len(FRENCH)} vectors of a table $E$. The most probable one, {word}, is written:"
    )
    st.latex(r"p=\operatorname{softmax}\bigl(z\,E^\top\bigr)")
    cited_markdown(never_certain(chosen.model))


def _read_by_layer(chosen: ShownTranslation) -> str:
    """What the English word that is read across had itself read: every head that read one word above all."""
    read = chosen.read(chosen.row)
    told = []
    for block in chosen.translation.trace.of_kind("encoder"):
        weights = block.weights[:, read]
        most = weights.max(axis=1)
        heads = [int(head) for head in np.argsort(-most, kind="stable") if most[head] >= _DECIDED]
        found = [
            f"{chosen.source_name(int(weights[head].argmax()))} {percent(float(most[head]))} "
            f"(head {head_name(block.layer, head)})"
            for head in heads
        ]
        told.append(f"in layer {block.layer + 1} {' and '.join(found) or 'no single word'}")
    word = markdown.code(chosen.translation.choices[chosen.row][0][0])
    name = chosen.source_name(read)
    return f"For {word}, {name} is read most. What {name} itself reads: {', '.join(told)}."


def made_of(chosen: ShownTranslation) -> None:
    """Draw how many learned numbers each part holds."""
    parts, entry = _take_apart(chosen.model), catalogue.entry(chosen.model)
    total = sum(part.parameters for part in parts)
    rows = [f"| {part.name} | {part.parameters:,} | {percent(part.parameters / total)} |" for part in parts]
    table, words = st.columns(2, gap="large")
    table.markdown("\n".join(["| part | numbers | share |", "|:--|--:|--:|", *rows]))
    explained = (
        f"**{total:,} numbers** in all. The encoder has {_layers(entry.layers)}, the decoder "
        f"{_layers(entry.decoder_layers)}; every attention has {entry.heads} heads, whose queries, keys and "
        f"values have {entry.d_head} numbers.\n\n"
        "In the paper's base model it is 6 layers each, 8 heads, and vectors of 512 numbers instead of "
        f"{entry.d_model} (Vaswani et al. 2017, table 3).\n\n"
        "They began at random (but for Add & Norm), and were changed in small steps."
    )
    with words:
        cited_markdown(explained)


def _layers(count: int) -> str:
    return "one layer" if count == 1 else f"{count} layers"


def every_head(chosen: ShownTranslation) -> None:
    """Draw a table for each kind of attention: its heads, and what they read most."""
    row, read = chosen.row, chosen.read(chosen.row)
    word = markdown.code(chosen.translation.choices[row][0][0])
    st.markdown(
        f"For {word}, each head's strongest :violet[weights]. *2-1* is the first head of layer 2. To see "
        "another head in the picture, choose it under *Heads*, above."
    )
    encoder, cross, decoder = st.columns(3, gap="large")
    with encoder:
        st.markdown(f"**Encoder**, the row of {chosen.source_name(read)}")
        _table(chosen, "encoder", read, chosen.sources, chosen.sources)
    after = chosen.target_name(row)
    with cross:
        st.markdown(f"**Cross-attention**, the row after {after}")
        _table(chosen, "cross", row, chosen.targets, chosen.sources)
    with decoder:
        st.markdown(f"**Decoder**, the row after {after}")
        _table(chosen, "decoder", row, chosen.targets, chosen.targets)
    st.markdown(_finder(chosen))


def _finder(chosen: ShownTranslation) -> str:
    """How often the best of the encoder's heads finds the noun that *it* means, over many sentences."""
    try:
        found = shipped(variant_of(chosen.model))
    except ModelFilesDamaged as error:
        return markdown.plain(str(error))
    return (
        f"Of all encoder heads, {found.head} finds the noun that *it* means most often: in "
        f"{percent(found.subject)} of new sentences where that is the subject, in {percent(found.object)} "
        "where it is the object."
    )


def _table(
    chosen: ShownTranslation, kind: Kind, query: int, queries: DisplayTokens, keys: DisplayTokens
) -> None:
    lines = ["| head | read |", "|:--|:--|"]
    for block in chosen.translation.trace.of_kind(kind):
        for head, weights in enumerate(block.weights):
            read = looks(weights, query, queries.groups, keys.groups, _LISTED).keys
            lines.append(f"| {head_name(block.layer, head)} | {markdown.shares(read, bold=False)} |")
    st.markdown("\n".join(lines))
