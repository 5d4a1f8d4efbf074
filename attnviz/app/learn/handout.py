"""For teachers: lessons on paper, with their own sentence, numbers to fill in, and a key."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np
import streamlit as st

from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.analysis.sentence import name_of, names_of
from attnviz.app import caches, controls, markdown
from attnviz.app.components.arrow import NOTHING
from attnviz.app.learn import choosing, lesson, plan
from attnviz.app.learn.block import sections as block
from attnviz.app.learn.cause import choices as cause_choices
from attnviz.app.learn.cause import sections as cause
from attnviz.app.learn.computed import MODEL
from attnviz.app.learn.computed import block as block_compute
from attnviz.app.learn.computed import cause as cause_compute
from attnviz.app.learn.computed import cross_attention as cross_compute
from attnviz.app.learn.computed import many_heads as heads_compute
from attnviz.app.learn.computed import positions as positions_compute
from attnviz.app.learn.computed import query_key_value as walk_compute
from attnviz.app.learn.computed import scale as scale_compute
from attnviz.app.learn.computed import translate as translate_compute
from attnviz.app.learn.contents import TITLES
from attnviz.app.learn.cross_attention import sections as cross_attention
from attnviz.app.learn.induction import sections as induction
from attnviz.app.learn.long_distances import sections as long_distances
from attnviz.app.learn.many_heads import sections as many_heads
from attnviz.app.learn.masks import sections as masks
from attnviz.app.learn.measured import variant_of
from attnviz.app.learn.positions import sections as positions
from attnviz.app.learn.query_key_value import sections as query_key_value
from attnviz.app.learn.query_key_value import six_steps_of
from attnviz.app.learn.scale import sections as scale
from attnviz.app.learn.translate import sections as translate
from attnviz.app.learn.translate import translating
from attnviz.app.learn.watch_a_circuit_form import sections as watch_a_circuit_form
from attnviz.app.learn.watch_it_learn import sections as watch_it_learn
from attnviz.app.learn.watch_it_learn.in_training import TAUGHT
from attnviz.app.learn.weighted_average import sections as weighted_average
from attnviz.app.learn.weighted_average.averages_compared import LEFT_OUT, WeighedToken
from attnviz.app.learn.who_gets_the_book import choices as book_choices
from attnviz.app.learn.who_gets_the_book import sections as book
from attnviz.app.learn.write import sections as write
from attnviz.app.question import Question
from attnviz.app.saving import save_file
from attnviz.app.state.choices import BLANKS, HANDED_OUT, READ_IN_HANDOUT
from attnviz.capture import loading
from attnviz.capture.model import ModelInput, Writing
from attnviz.errors import AttnvizError
from attnviz.export.handout import Column, Sheet, handout
from attnviz.models import catalogue
from attnviz.text import decimal, head_name, isolated, percent
from attnviz.trace import Floats
from attnviz.trained.storyteller import forming
from attnviz.trained.translator import distance, learning, variants

_LAYER, _HEAD = (number - 1 for number in choosing.HEAD_AT_FIRST)
_MOST_ROWS = 18
_BERT = catalogue.entry("minilm").title  # whose weights these are, whatever runs them
_ON_SCREEN = re.compile(r" Drag\b[^.]*\.$")  # what a sheet of paper does not have
_HOT = 2.0  # so that likely and unlikely words come nearer to each other
_TRANSLATED = ("translate", "cause")
_NOTHING = Question("", (), "", "")

Cells = Sequence[tuple[int, int]]
"""Places in the table of a sheet: (row, column), from 0."""


def draw() -> None:
    """Draw the choice of lessons, of a sentence and of the blanks, and the button that gives the file."""
    st.markdown(
        "On paper: each lesson's question to tick, then its numbers with blanks to fill in, then a key, each "
        "on pages of their own. Open the file and print it; it needs no network."
    )
    if not HANDED_OUT.stands:
        HANDED_OUT.set([TITLES[step.name] for step in plan.STEPS if step.at_first])
    chosen = HANDED_OUT.draw("Lessons", list(TITLES.values()))
    sentence_column, blanks_column = st.columns([4, 1])
    with blanks_column:
        seed = BLANKS.draw("Version", help="Another version leaves out other numbers.")
    with sentence_column:
        text = choosing.sentence("Sentence", READ_IN_HANDOUT)
    lessons = [name for name, title in TITLES.items() if title in chosen]
    try:
        loading.tokens(catalogue.TRANSLATOR, text)
    except AttnvizError as error:
        left_out = [TITLES[name] for name in lessons if name in _TRANSLATED]
        if left_out:
            st.warning(
                f"Left out: {', '.join(left_out)}. {markdown.plain(str(error))}", icon=":material/translate:"
            )
        lessons = [name for name in lessons if name not in _TRANSLATED]
    if lessons:
        save_file(
            "Handout (HTML)",
            lambda: handout(sheets(lessons, text), seed),
            "attnviz-handout.html",
            icon=":material/print:",
        )


def sheets(names: Sequence[str], text: str) -> list[Sheet]:
    """The lessons of these names, about a sentence.

    Raises:
        AttnvizError: a model cannot read it.
    """
    return [SHEETS[name](text) for name in names]


def _sheet(
    name: str,
    question: Question | None,
    picture: str,
    rows: Sequence[str],
    columns: Sequence[Column],
    about: str,
    asked_for: Cells | None = None,
    hidden: Cells = (),
) -> Sheet:
    """The sheet of a lesson; of many rows those with the largest numbers in the last column.

    Args:
        name, question, picture, rows, columns, about: what the sheet has; a question needs two options.
        asked_for: (row, column) of what the question asks for; None: of the rows among the options, or else
            of the right answer.
        hidden: (row, column) of what would answer it too.
    """
    asked = question if question and len(question.options) > 1 else _NOTHING
    if asked_for is None:
        everywhere = [(row, column) for row in range(len(rows)) for column in range(len(columns))]
        guessed = [(row, column) for row, column in everywhere if rows[row] in asked.options]
        asked_for = [(row, column) for row, column in guessed if column == len(columns) - 1] or [
            (row, column) for row, column in everywhere if columns[column].written[row] == asked.right
        ]
    kept = list(range(len(rows)))
    if len(rows) > _MOST_ROWS:
        kept = sorted(np.argsort(-np.asarray(columns[-1].values), kind="stable")[:_MOST_ROWS].tolist())
        about += f" · the {_MOST_ROWS} rows with the largest numbers, of {len(rows)}"
    cut = [
        Column(
            each.title,
            [float(each.values[row]) for row in kept],
            [each.written[row] for row in kept],
            each.bars,
        )
        for each in columns
    ]
    return Sheet(
        TITLES[name],
        asked.text,
        asked.options,
        asked.right or "",
        _ON_SCREEN.sub("", asked.because),
        picture,
        [rows[row] for row in kept],
        cut,
        about,
        [(kept.index(row), column) for row, column in asked_for if row in kept],
        [(kept.index(row), column) for row, column in hidden if row in kept],
    )


def _column(
    title: str, values: Any, write: Callable[[float], str] = decimal, *, bars: bool = False
) -> Column:
    numbers = [float(value) for value in values]
    return Column(title, numbers, [write(number) for number in numbers], bars)


def _weights(title: str, values: Any) -> Column:
    return _column(title, values, lambda share: percent(share, 1), bars=True)


def _most(title: str, weights: Floats, names: Sequence[str]) -> Column:
    """The name of the largest weight of each row."""
    return _column(title, weights.argmax(axis=-1), lambda place: names[int(place)])


def _softmax(scores: Any) -> str:
    """What it takes to work weights out on paper."""
    return f"weight = e^score ÷ {decimal(float(np.exp(scores).sum()))}, the sum of e^score over all tokens"


def _about(text: str, *more: str) -> str:
    return " · ".join([f"“{isolated(text)}”", *more])


def _weighted_average(text: str) -> Sheet:
    tokens = DisplayTokens(loading.tokens(MODEL, text), text, hide_special=True).groups
    chosen = WeighedToken(text, tokens, controls.place_of("it", tokens))
    found, query = chosen.plain(), chosen.query
    return _sheet(
        "weighted_average",
        lesson.asked(weighted_average.question, chosen),
        f"What “{name_of(query, tokens)}” takes from each token",
        names_of(tokens),
        [_column("score", found.scores[query]), _weights("weight", found.weights[query])],
        _about(text, _BERT, LEFT_OUT, _softmax(found.scores[query])),
    )


def _scale(_text: str) -> Sheet:
    row = scale_compute.row(scale.D_HEAD, scale.SIZES[-1], scale.KEYS, scale.FIRST_SEED)
    return _sheet(
        "scale",
        lesson.asked(scale.question),
        f"A row of {scale.KEYS} random keys",
        [f"key {number}" for number in range(1, scale.KEYS + 1)],
        [
            _column("q · k", row.dot_products),
            _column(f"÷ √{scale.D_HEAD}", row.dot_products / sqrt(scale.D_HEAD)),
            _weights("weight without", row.plain.weights),
            _weights("weight with ÷ √d", row.scaled.weights),
        ],
        f"Random numbers, draw {scale.FIRST_SEED}: no model and no sentence.",
    )


def _query_key_value(text: str) -> Sheet:
    groups = choosing.tokens(text)
    query = controls.place_of("it", groups)
    walk = walk_compute.walk(text, _LAYER, _HEAD, query)
    chosen = query_key_value.QueryAtWork(six_steps_of.ATTENTIONS[six_steps_of.BERT], walk, groups, groups)
    return _sheet(
        "query_key_value",
        lesson.asked(query_key_value.question, chosen),
        f"What “{chosen.asker}” looks at in head {chosen.head}",
        _names(text),
        [
            _column("q · k", walk.dot_products),
            _column(f"score, ÷ √{walk.d_head}", walk.scores),
            _weights("weight", walk.weights),
        ],
        _about(text, _BERT, f"head {chosen.head}", _softmax(walk.scores)),
    )


def _many_heads(text: str) -> Sheet:
    groups = choosing.tokens(text)
    chosen = choosing.HeadSelection(text, controls.place_of("it", groups), _LAYER, _HEAD)
    found = heads_compute.at_token(text, _LAYER, chosen.query, catalogue.entry(MODEL).heads)
    return _sheet(
        "many_heads",
        lesson.asked(many_heads.question, chosen),
        f"What each head of layer {_LAYER + 1} reads for “{name_of(chosen.query, groups)}”, and adds to it",
        [f"head {head_name(_LAYER, head)}" for head in range(len(found.weights))],
        [
            _most("reads most", found.weights, _names(text)),
            _weights("weight of that token", found.weights.max(axis=1)),
            _column("length of what it adds", found.lengths),
        ],
        _about(text, _BERT),
    )


def _masks(text: str) -> Sheet:
    chosen = masks.MaskedHead(text, controls.place_of("it", choosing.tokens(text)), 0, _HEAD)
    names = _names(text)
    return _sheet(
        "masks",
        lesson.asked(masks.question, chosen),
        f"What “{names[chosen.query]}” looks at in head {chosen.head_name}",
        names,
        [
            _weights("weight, no mask", chosen.unmasked[chosen.query]),
            _weights("weight, causal mask", chosen.causal[chosen.query]),
        ],
        _about(text, _BERT, f"head {chosen.head_name}"),
    )


def _positions(text: str) -> Sheet:
    chosen = choosing.TokenSelection(text, controls.place_of("it", choosing.tokens(text)))
    found = positions_compute.set_experiment(text, 1)
    names = _names(text)
    return _sheet(
        "positions",
        lesson.asked(positions.question, chosen),
        "The words shuffled: the cosine between each token's output before and after",
        [names[place] for place in found.order],
        [
            _column("without positions", found.without.cosines),
            _column("with positions", found.with_positions.cosines),
        ],
        _about(text, _BERT),
        [(found.order.index(chosen.query), 0)],
        [(row, 0) for row in range(len(names))],
    )


def _cross_attention(text: str) -> Sheet:
    reader = cross_attention.OPENING_READER
    block = cross_compute.cross(reader, text, cross_attention.LAYERS)
    readers, sources = DisplayTokens(block.query_tokens, reader), DisplayTokens(block.key_tokens, text)
    at = controls.place_of("hound", readers.groups)
    chosen = cross_attention.CrossSelection(reader, text, cross_attention.LAYERS, block, readers, sources, at)
    products = block.query[0, at] @ block.key[0].T
    return _sheet(
        "cross_attention",
        lesson.asked(cross_attention.question, chosen),
        f"What “{name_of(at, readers.groups)}”, of another text, reads",
        _names(text),
        [
            _column("q · k", products),
            _column(f"score, ÷ √{block.query.shape[-1]}", products * block.scale),
            _weights("weight", chosen.weights[at]),
        ],
        _about(text, _BERT, f"the reader: “{reader}”", _softmax(products * block.scale)),
    )


def _block(text: str) -> Sheet:
    chosen = block.TokenInLayer(text, controls.place_of("it", choosing.tokens(text)), _LAYER, 1)
    walk = block_compute.walk(text, _LAYER, chosen.query)
    stations = {
        "comes in": walk.came_in,
        "attention's update": walk.attention,
        "their sum": walk.first_sum,
        "after the norm": walk.attended,
        "the feed-forward network's update": walk.feed_forward,
        "the sum of both": walk.second_sum,
        "goes out": walk.came_out,
    }
    return _sheet(
        "block",
        lesson.asked(block.question, chosen),
        f"How long the vector of “{_names(text)[chosen.query]}” is in layer {_LAYER + 1}",
        list(stations),
        [_column("length", [station.length for station in stations.values()])],
        _about(text, _BERT, f"layer {_LAYER + 1}"),
        [(0, 0), (1, 0)],
    )


def _translate(text: str) -> Sheet:
    found = translate_compute.translate(catalogue.TRANSLATOR, text)
    row = found.pronouns[0].step if found.pronouns else len(found.words) // 2
    encoder, cross = (variants.TAUGHT_LAYER, variants.TAUGHT_HEAD), variants.TAUGHT_CROSS_HEAD
    chosen = translating.ShownTranslation(text, catalogue.TRANSLATOR, found, row, encoder, (cross,), (0,))
    names = names_of(chosen.sources.groups)
    # What comes after the pronoun can have its gender.
    words = [*found.words[:row], "il or elle?"] if found.pronouns else found.words
    weights = chosen.cross[0, : len(words)]
    return _sheet(
        "translate",
        lesson.asked(translate.question, chosen),
        "Which English word was read most to choose each French one",
        [f"{number} {word}" for number, word in enumerate(words, 1)],
        [_most("reads most", weights, names), _weights("weight", weights.max(axis=1))],
        _about(text, catalogue.entry(catalogue.TRANSLATOR).title, f"head {cross + 1} of cross-attention"),
    )


def _cause(text: str) -> Sheet:
    model, layer, head = catalogue.TRANSLATOR, variants.TAUGHT_LAYER, variants.TAUGHT_HEAD
    tokens = loading.tokens(model, text)
    words = [token.text for token in tokens]
    place = cause_choices.Place(
        "encoder", layer, head, words.index("it") if "it" in words else len(words) // 2
    )
    found = cause_compute.experiment(model, text, "encoder", layer, head, place.query, ())
    chosen = cause_choices.ArrowSelection(text, model, place, (), NOTHING, found)
    trace = translate_compute.translate(model, text).trace
    weights = np.concatenate([block.weights[:, place.query] for block in trace.of_kind("encoder")])
    columns = [
        _most("looks most at", weights, _numbered(found.keys)),
        _weights("weight", weights.max(axis=1)),
    ]
    effects = cause_compute.effects(model, text)
    if effects:
        silenced = (effects.probability + effects.rows[..., place.query]).reshape(-1)
        columns.append(_column(f"then “{effects.written}” gets", silenced, lambda share: percent(share, 1)))
    heads = list(np.ndindex(len(trace.of_kind("encoder")), trace.of_kind("encoder")[0].weights.shape[0]))
    return _sheet(
        "cause",
        lesson.asked(cause.question, chosen),
        f"What “{_numbered(words)[place.query]}” looks at in each head of the encoder"
        + (", and what becomes of the pronoun if that row is silenced" if effects else ""),
        [f"head {head_name(*at)}" for at in heads],
        columns,
        _about(text, catalogue.entry(model).title),
        [(heads.index((layer, head)), len(columns) - 1)],
    )


def _watch_it_learn(_text: str) -> Sheet:
    name = variant_of(catalogue.TRANSLATOR)
    shown = learning.shipped(name)
    chosen = watch_it_learn.ShownTraining(variants.VARIANTS[name], shown, 0, TAUGHT)
    question = lesson.asked(watch_it_learn.question, chosen)
    steps = [f"{snapshot.step:,}" for snapshot in shown.snapshots]
    listed = {steps[0], steps[-1], *(question or _NOTHING).options}
    found = [snapshot for step, snapshot in zip(steps, shown.snapshots, strict=True) if step in listed]
    return _sheet(
        "watch_it_learn",
        question,
        "How good the translator is after so many steps",
        [f"{each.step:,} steps" for each in found],
        [
            _column("loss", [each.measures.loss for each in found]),
            _column("translated without an error", [each.measures.exact for each in found], percent),
            _weights("“it” gives the noun that is meant", [each.measures.referent for each in found]),
        ],
        f"{chosen.variant.title} · measured on sentences that it did not learn from",
    )


def _long_distances(_text: str) -> Sheet:
    found = distance.read()
    rows = range(len(found.words))
    lstm, with_attention, transformer = (
        [long_distances.middle(found, name, row) for row in rows] for name in distance.NAMES
    )
    return _sheet(
        "long_distances",
        lesson.asked(long_distances.question, found),
        "How much is right, the further “it” stands from its noun",
        [f"{words:.0f} words" for words in found.words],
        [
            _column("LSTM: pronoun", [each.pronoun for each in lstm], percent),
            _column("LSTM: whole sentence", [each.exact for each in lstm], percent),
            _column("LSTM with attention: whole", [each.exact for each in with_attention], percent),
            _column("transformer: whole", [each.exact for each in transformer], percent),
        ],
        f"Measured on {found.sentences} sentences; the median of the trainings",
        [(found.longest_learned, column) for column in (0, 1)],
        [(row, column) for row in rows[1:] for column in (0, 1)],
    )


def _write(_text: str) -> Sheet:
    model, prompt = catalogue.STORYTELLER, next(iter(write.EXAMPLES.values()))
    hot = Writing(0, temperature=_HOT)
    likeliest = caches.predictions(model, ModelInput(prompt, writing=hot))[-1].candidates
    return _sheet(
        "write",
        lesson.asked(write.question, prompt),
        "The words that it holds for likeliest to come next",
        [f"word {rank}" for rank in range(1, len(likeliest) + 1)],  # the words themselves would be the answer
        [
            _weights("probability, temperature 1", [each.probability for each in likeliest]),
            _weights(f"probability, temperature {_HOT:g}", [each.share for each in likeliest]),
        ],
        _about(prompt, catalogue.entry(model).title),
    )


def _induction(_text: str) -> Sheet:
    words = tuple(induction.OPENING.split())
    chosen = induction.RepeatedWord(words, len(words[:-1]) // 2)
    found, roles = chosen.run(), induction.measured()
    back, match = roles.previous_word_heads[0], roles.induction_heads[0]
    return _sheet(
        "induction",
        lesson.asked(induction.question, chosen),
        "Random words said twice: where two heads look, and how sure the model is of the next word",
        [f"{word}, then {following}" for word, following in pairwise(words)],
        [
            _weights(f"{head_name(*back)}: from the second back", found.back[back]),
            _weights(f"{head_name(*match)}: from the first, said again", found.match[match]),
            _column("the second comes next with", found.right, percent),
        ],
        catalogue.entry(catalogue.STORYTELLER).title,
    )


def _who_gets_the_book(_text: str) -> Sheet:
    chosen = book_choices.selected(book_choices.OPENING, book_choices.first_head(book_choices.OPENING))
    return _sheet(
        "who_gets_the_book",
        lesson.asked(book.question, chosen),
        f"What the last word looks at in head {chosen.name}",
        _numbered(chosen.read.words),
        [_weights("weight", chosen.found.row_before)],
        _about(chosen.text, catalogue.entry(catalogue.STORYTELLER).title, f"head {chosen.name}"),
    )


def _watch_a_circuit_form(_text: str) -> Sheet:
    model = catalogue.STORYTELLER
    snapshots = forming.shipped(model).snapshots
    chosen = watch_a_circuit_form.ShownForming(model, snapshots, snapshots[-1].copying.induction_heads[0])
    shown = snapshots[chosen.formed - _MOST_ROWS // 2 : chosen.formed + _MOST_ROWS // 2]
    found = [each.copying for each in shown]
    copied = [each.right for each in found]
    asked_for = [(int(np.argmax(np.array(copied) >= least)), 2) for least in watch_a_circuit_form.QUARTERS]
    return _sheet(
        "watch_a_circuit_form",
        lesson.asked(watch_a_circuit_form.question, chosen),
        "Random words said twice: what is copied after so many steps, and what the best heads give",
        [f"{each.step:,} steps" for each in shown],
        [
            _weights("to the word before", [each.previous_word.max() for each in found]),
            _weights("to what followed", [each.prefix_matching.max() for each in found]),
            _column("copied", copied, percent),
        ],
        catalogue.entry(catalogue.STORYTELLER).title,
        asked_for,
    )


def _names(text: str) -> list[str]:
    return names_of(choosing.tokens(text))


def _numbered(words: Sequence[str]) -> list[str]:
    return [f"{word} (word {at})" if words.count(word) > 1 else word for at, word in enumerate(words, 1)]


SHEETS: dict[str, Callable[[str], Sheet]] = {
    "weighted_average": _weighted_average,
    "scale": _scale,
    "query_key_value": _query_key_value,
    "many_heads": _many_heads,
    "masks": _masks,
    "positions": _positions,
    "cross_attention": _cross_attention,
    "block": _block,
    "translate": _translate,
    "cause": _cause,
    "watch_it_learn": _watch_it_learn,
    "long_distances": _long_distances,
    "write": _write,
    "induction": _induction,
    "who_gets_the_book": _who_gets_the_book,
    "watch_a_circuit_form": _watch_a_circuit_form,
}
"""The sheet of each lesson."""
