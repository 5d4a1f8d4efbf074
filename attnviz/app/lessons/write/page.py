"""The lesson "Writing": a text that a language model continues, and the probabilities of each word."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import streamlit as st

from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.app import markdown, traces
from attnviz.app.explore.continuation import pieces
from attnviz.app.explore.expected import bars, changes_probabilities
from attnviz.app.explore.passage import passage
from attnviz.app.explore.sentences import sampling_options
from attnviz.app.lessons import story
from attnviz.app.lessons.computed import cached_storyteller
from attnviz.app.lessons.lesson_page import LessonPage, lesson_page
from attnviz.app.lessons.write import values
from attnviz.app.markdown import Markdown
from attnviz.app.models import lookup
from attnviz.app.state import link
from attnviz.app.state.choices import WRITE, WRITTEN_WORD
from attnviz.app.weights_picture import shown_tokens, weights_picture
from attnviz.capture.model import ModelInput, Prediction, Writing
from attnviz.models import catalogue
from attnviz.text import head_name, in_bytes, isolated, percent
from attnviz.trace import Trace
from attnviz.trained.storyteller import figures
from attnviz.trained.storyteller.grammar import TOKEN_LIMIT, VOCABULARY
from attnviz.trained.vocabulary import END

PROMPTS = {
    "repeated_word": "Mary said: red key old lamp river. Then John said:",
    "two_friends": "Mary and John were friends.",
    "gift": "When Mary and John went to the shop, John gave a book to",
    "creature": "One day Emma met Paul at the park. Emma met a creature named",
}
DEFAULT_WORDS = 12
NUM_OPTIONS = 5
MAX_ROWS = 8
CODE = (
    ("attnviz.capture.generation", "sample_tokens"),
    ("attnviz.capture.generation", "sampling_probabilities"),
    ("attnviz.transformer.decoder_only", "DecoderOnly"),
    ("attnviz.transformer.multi_head", "MultiHeadAttention"),
    ("attnviz.app.lessons.write.values", "word_by_word"),
)

_read = cached_storyteller(values.read)


@dataclass(frozen=True)
class Story:
    """A text that the model continued, and the selected word.

    Attributes:
        given: The prompt and the sampling settings.
        model: A name in the catalogue.
        word: Index of the selected word, from 0, among the written words and the next word.
    """

    given: ModelInput
    model: str
    word: int = 0

    @cached_property
    def trace(self) -> Trace:
        """The trace of the prompt and the written text."""
        return traces.trace(lookup.entry(self.model), self.given)

    @cached_property
    def expected(self) -> tuple[Prediction, ...]:
        """The next-word probabilities after each token."""
        return traces.predictions(lookup.entry(self.model), self.given)

    @cached_property
    def tokens(self) -> DisplayTokens:
        """The tokens of the prompt and of the written text."""
        return DisplayTokens(self.trace.blocks[0].query_tokens, self.trace.text)

    @property
    def num_prompt_tokens(self) -> int:
        """The number of tokens of the prompt, including [START]."""
        return len(self.tokens) - self.trace.written

    @property
    def row(self) -> int:
        """Index of the token before the selected word."""
        return self.num_prompt_tokens - 1 + self.word

    @property
    def ended(self) -> bool:
        """True if the model ended the text."""
        return self.expected[-1].actual is not None

    @property
    def full(self) -> bool:
        """True if the text has the maximum number of tokens."""
        return len(self.tokens) >= TOKEN_LIMIT

    @property
    def words(self) -> list[str]:
        """The written words, and a placeholder for the next word."""
        written = self.trace.blocks[0].query_tokens[self.num_prompt_tokens :]
        words = pieces(written, self.trace.text, len(self.given.text.rstrip()))
        return [*words, f" {END}" if self.ended else " …"]


def draw() -> None:
    """Draw the lesson."""
    with lesson_page("write") as page:
        with page.controls:
            examples = {page.label(name): text for name, text in PROMPTS.items()}
            text, model = story.prompt(page.label("prompt"), examples)
        with page.picture:
            drawn = _writing(page, text, model)
        page.explain(vocabulary=len(VOCABULARY))
        _predict(page, text, model)
        measured = next(run for run in figures.stored() if (run.variant, run.seed) == (model, 0))
        page.further(
            page.text_section("sampling"),
            page.section("mask", _mask, drawn),
            page.section("cache", _cache, drawn),
            code=CODE,
            vocabulary=len(VOCABULARY),
            items=measured.items,
            two=measured.places["2"] / measured.items,
            three=measured.places["3"] / measured.items,
            chance_two=1 / 2,
            chance_three=1 / 3,
        )


def _predict(page: LessonPage, text: str, model: str) -> None:
    candidates = traces.predictions(lookup.entry(model), ModelInput(text))[-1].candidates[:NUM_OPTIONS]
    words = sorted(each.text for each in candidates)
    page.predict(
        of_sentence=False,
        text=text,
        word=words,
        mark=["x" if word == candidates[0].text else " " for word in words],
        probabilities=markdown.shares((each.text, each.probability) for each in candidates),
    )


def _writing(page: LessonPage, text: str, model: str) -> Story:
    """Draw the text, the probabilities and heads of the selected word, and the sampling settings."""
    written_text, buttons, pictures = st.container(), st.container(horizontal=True), st.container()
    with st.container(horizontal=True, key="writing"):
        how = sampling_options(WRITE.draw(page.label("words"), default=DEFAULT_WORDS))
    written = Story(ModelInput(text, writing=how), model)
    done, count = written.ended or written.full, written.trace.written
    with buttons:
        st.button(page.label("one_more"), disabled=done, on_click=_write, args=(count + 1,))
        st.button(page.label("to_the_end"), disabled=done, on_click=_write_all, args=(written, how))
        st.button(page.label("again"), disabled=not count, on_click=_write, args=(0,))
    drawn = replace(written, word=link.number(WRITTEN_WORD, len(written.words)) - 1)
    with written_text:
        _text(page, drawn)
    with pictures:
        _picture(page, drawn, how)
    return drawn


def _write(words: int) -> None:
    """Set the number of written words, and select the last word."""
    WRITE.set(words)
    link.choose(WRITTEN_WORD, max(1, words))


def _write_all(written: Story, how: Writing) -> None:
    """Let the model continue to the end of the text."""
    whole = replace(written, given=replace(written.given, writing=replace(how, tokens=WRITE.maximum)))
    _write(min(whole.trace.written + 1, WRITE.maximum))


def _text(page: LessonPage, drawn: Story) -> None:
    passage(
        "story",
        typed=drawn.given.text.rstrip(),
        tokens=drawn.words,
        written=True,
        chosen=drawn.word,
        pending=not drawn.ended,
        on_pick=lambda at: link.choose(WRITTEN_WORD, at + 1),
    )
    if drawn.ended or drawn.full:
        page.text("end", ended=drawn.ended, full=drawn.full, limit=TOKEN_LIMIT)


def _picture(page: LessonPage, drawn: Story, how: Writing) -> None:
    left, right = st.columns([3, 2], gap="medium")
    with left:
        _heads(page, drawn)
    with right:
        title = page.label("expected_title", token=isolated(drawn.tokens.labels[drawn.row]))
        st.header(title, anchor=False)
        expected = drawn.expected[drawn.row]
        likeliest = replace(expected, candidates=expected.candidates[:NUM_OPTIONS])
        bars("story expected", title, likeliest, "chosen", changes_probabilities(how))


def _heads(page: LessonPage, drawn: Story) -> None:
    """Draw the weights of every head in the row of the token before the selected word."""
    num_keys = drawn.row + 1
    weights = values.head_rows(drawn.trace, drawn.row)
    layers, num_heads, _ = weights.shape
    names = [head_name(layer, head) for layer in range(layers) for head in range(num_heads)]
    heading = page.label("read_title", token=isolated(drawn.tokens.labels[drawn.row]))
    st.header(heading, anchor=False)
    titles = [page.label("head", head=name) for name in names]
    weights_picture(
        "heads of the word",
        weights.reshape(1, len(names), num_keys),
        [
            {"label": name, "name": title, "title": title, "special": False}
            for name, title in zip(names, titles, strict=True)
        ],
        shown_tokens(drawn.trace.blocks[0].key_tokens[:num_keys], drawn.trace.text),
        heading=heading,
        row_axis=page.label("row_axis"),
        note=page.label("read_note"),
        caption=page.label(
            "read_caption", text=isolated(drawn.trace.text), model=drawn.model, token=num_keys
        ),
        filename=f"attnviz-{drawn.model}-word{drawn.word + 1}",
    )


def _mask(page: LessonPage, drawn: Story) -> None:
    """Draw each next token's probability in one masked pass, word by word, and in one unmasked pass."""
    ids = tuple(token.id for token in drawn.trace.blocks[0].query_tokens)
    found = _read(ids, model=drawn.model)
    last = len(ids) - 1
    first = max(0, min(drawn.row - MAX_ROWS // 2, last - MAX_ROWS))
    labels = drawn.tokens.labels
    readings = (found.one_pass, found.stepwise, found.unmasked)
    rows = []
    for place in range(first, min(first + MAX_ROWS, last)):
        cells = [markdown.code(labels[place + 1]), *(percent(float(each[place]), 1) for each in readings)]
        rows.append(f"| {' | '.join(cells)} |")
    page.text("mask", rows=Markdown("\n".join(rows)))


def _cache(page: LessonPage, drawn: Story) -> None:
    """Draw the numbers of computed token vectors without and with the cache, and the size of the cache."""
    begin, count = drawn.num_prompt_tokens, drawn.trace.written
    entry, ids = catalogue.entry(drawn.model), tuple(each.id for each in drawn.trace.blocks[0].query_tokens)
    found = _read(ids, model=drawn.model)
    rows = values.num_computed_rows(begin, count)
    cached = rows[1]  # the last token's vector is computed only when the next token is written
    numbers = 2 * entry.decoder_layers * entry.d_model * cached
    page.text(
        "cache",
        count=count,
        rows=[f"{each:,}" for each in rows],
        tokens=cached,
        numbers=f"{numbers:,}",
        memory=in_bytes(values.BYTES_PER_NUMBER * numbers),
        weights_differ=found.weight_difference,
        probabilities_differ=found.probability_difference,
    )
