"""The page on writing: a text that goes on word by word, and what each word was chosen from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import streamlit as st

from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.app import controls, markdown, traces
from attnviz.app.explore.continuation import pieces
from attnviz.app.explore.expected import alters, bars, in_words
from attnviz.app.explore.passage import passage
from attnviz.app.explore.sentences import how_it_chooses
from attnviz.app.learn import story
from attnviz.app.learn.lesson import guess, not_shown
from attnviz.app.models import lookup
from attnviz.app.references import cited_markdown
from attnviz.app.state import link
from attnviz.app.state.choices import PROMPT, WRITE, WRITTEN_WORD
from attnviz.app.weights_picture import shown_tokens, weights_picture
from attnviz.capture.model import ModelInput, Prediction, Writing
from attnviz.models.catalogue import STORYTELLER
from attnviz.text import head_name, isolated, percent, plural
from attnviz.trace import Floats, Trace
from attnviz.trained.storyteller import figures
from attnviz.trained.storyteller.figures import Training
from attnviz.trained.storyteller.grammar import TOKEN_LIMIT, VOCABULARY
from attnviz.trained.vocabulary import END

EXAMPLES = {
    "Said again": "Mary said: red key old lamp river. Then John said:",
    "Two friends": "Mary and John were friends.",
    "A gift": "When Mary and John went to the shop, John gave a book to",
    "A creature": "One day Emma met Paul at the park. Emma met a creature named",
}
OPENING_WORDS = 12
_OPTIONS = 5
_DECIDED = 0.5  # a head that gives a token more than all others together reads that token
_NEXT = " …"


@dataclass(frozen=True)
class Story:
    """A text that the model wrote on, and the word that is looked into.

    Attributes:
        given: what was typed, and how the model writes on: `how`.
        word: which of its words, from 0, those that it wrote and what comes after them.
        model: who writes: a name in the catalogue.
    """

    given: ModelInput
    how: Writing
    word: int = 0
    model: str = STORYTELLER

    @property
    def typed(self) -> str:
        """What the visitor typed, as it stands before the words that were written."""
        return self.given.text.rstrip()

    @cached_property
    def trace(self) -> Trace:
        """Its attention."""
        return traces.trace(lookup.entry(self.model), self.given)

    @cached_property
    def expected(self) -> tuple[Prediction, ...]:
        """What it expected after each token."""
        return traces.predictions(lookup.entry(self.model), self.given)

    @cached_property
    def tokens(self) -> DisplayTokens:
        """What stands there, typed and written."""
        return DisplayTokens(self.trace.blocks[0].query_tokens, self.trace.text)

    @property
    def begin(self) -> int:
        """How many tokens stood there at first, [START] included."""
        return len(self.tokens) - self.trace.written

    @property
    def row(self) -> int:
        """The token, from 0, with which the word that is looked into was found: the one before it."""
        return self.begin - 1 + self.word

    @property
    def ended(self) -> bool:
        """Whether the model ended its story."""
        return self.expected[-1].actual is not None

    def name(self, place: int) -> str:
        """A token (from 0), as Markdown."""
        return markdown.token(place, self.tokens.groups)


def choose() -> tuple[str, str]:
    """Draw the box for what the story begins with, and the choice of who writes it; return both."""
    return story.prompt("The story begins", PROMPT, EXAMPLES)


def question(text: str, model: str = STORYTELLER) -> None:
    """Ask which word the model holds for the likeliest."""
    likeliest = traces.predictions(lookup.entry(model), ModelInput(text))[-1].candidates[:_OPTIONS]
    best = likeliest[0].text
    guess(
        f"It has read {markdown.code(text)}. Which of these words is the likeliest to come next?",
        sorted(each.text for each in likeliest),
        right=best,
        because=f"Of all {len(VOCABULARY)} words, these are the likeliest: "
        f"{markdown.shares((each.text, each.probability) for each in likeliest)}.",
        of_sentence=False,
    )


def write(text: str, model: str) -> Story:
    """Draw how many words are written, and how; return the story and the word that is looked into."""
    buttons = st.container(horizontal=True)
    with st.container(horizontal=True, key="writing"):
        how = how_it_chooses(WRITE.draw("Words to write", default=OPENING_WORDS))
    written = Story(ModelInput(text, writing=how), how, model=model)
    done, count = written.ended or len(written.tokens) >= TOKEN_LIMIT, written.trace.written
    with buttons:
        st.button("One more word", disabled=done, on_click=_go_on, args=(count + 1,))
        st.button("To the end of the story", disabled=done, on_click=_to_the_end, args=(written,))
        st.button("Start again", disabled=not count, on_click=_go_on, args=(0,))
    return replace(written, word=link.number(WRITTEN_WORD, len(_words(written))) - 1)


def _go_on(words: int) -> None:
    """Write so many words, and look into the last of them."""
    WRITE.set(words)
    link.choose(WRITTEN_WORD, max(1, words))


def _to_the_end(story: Story) -> None:
    """Write as many words as the story has, and not so many of the next one."""
    how = replace(story.how, tokens=WRITE.most)
    whole = replace(story, given=replace(story.given, writing=how))
    _go_on(min(whole.trace.written + 1, WRITE.most))


def _words(story: Story) -> list[str]:
    """What can be looked into: each word that was written, and what comes next."""
    written = story.trace.blocks[0].query_tokens[story.begin :]
    words = pieces(written, story.trace.text, len(story.typed))
    return [*words, f" {END}" if story.ended else _NEXT]


def picture(story: Story) -> None:
    """Draw the text, and what the chosen word was chosen from."""
    passage(
        "story",
        typed=story.typed,
        tokens=_words(story),
        written=True,
        chosen=story.word,
        pending=not story.ended,
        on_pick=lambda at: link.choose(WRITTEN_WORD, at + 1),
    )
    if story.ended:
        st.markdown(f":small[It ended its story after {plural(story.trace.written, 'word')}.]")
    elif len(story.tokens) >= TOKEN_LIMIT:
        st.markdown(
            f":small[It cannot read more than {TOKEN_LIMIT} tokens, [START] included: here it stops.]"
        )
    prediction = story.expected[story.row]
    st.markdown(f"After {story.name(story.row)} it expects {in_words(prediction, 'taken')}")
    title = f"What comes after {isolated(story.tokens.labels[story.row])}"
    bars("story expected", title, prediction, "taken", alters(story.how))


def text() -> None:
    """Say how a word is chosen."""
    st.markdown(
        f"After each word the model gives all {len(VOCABULARY)} words that it knows a **probability** $p$: "
        "the last token's vector $z$ is compared with theirs, the rows of a table $E$. One word is taken and "
        "put behind the text, and everything begins again."
    )
    st.latex(r"p=\operatorname{softmax}\bigl(z\,E^\top/\,T\bigr)")
    cited_markdown(
        "- **Temperature** $T$: 0 takes the likeliest word; 1 draws by the probabilities; more makes "
        "unlikely words likelier.\n"
        "- **Top k**: draws only among the k likeliest (Fan et al. 2018); 0 is off.\n"
        "- **Top p**: draws only among the fewest that have this probability together (Holtzman et al. "
        "2020); 1 is off.\n"
        "- **Seed**: the same one draws the same words again."
    )


def heads(story: Story) -> None:
    """Draw what each head read when the word was chosen."""
    row, seen = story.row, story.row + 1
    weights = story.trace.stack("decoder")[:, :, row, :seen]
    layers, n_heads, _ = weights.shape
    names = [head_name(layer, head) for layer in range(layers) for head in range(n_heads)]
    flat: Floats = weights.reshape(len(names), seen)
    drawn, told = st.columns([7, 5], gap="large")
    told.markdown(
        f"For {markdown.code(_words(story)[story.word])}, the row of the token before it, "
        f"{story.name(row)}, in each of {len(names)} heads. {_in_words(story, flat, names)}"
    )
    with drawn.container(border=True):
        weights_picture(
            "what the heads read",
            flat[None],
            [{"label": n, "name": f"head {n}", "title": f"head {n}", "special": False} for n in names],
            shown_tokens(story.trace.blocks[0].key_tokens[:seen], story.trace.text),
            heading=f"Read for word {story.word + 1}",
            note="rows: heads, layer-head; columns: tokens that are read; every row sums to 100 %",
            caption=f"“{isolated(story.trace.text)}” · {story.model}, the row of token {seen}",
            filename=f"attnviz-{story.model}-word{story.word + 1}",
        )


def _in_words(story: Story, weights: Floats, names: list[str]) -> str:
    """The heads that read one token above all, in Markdown."""
    told = [
        f"- {name}: {story.name(int(row.argmax()))} **{percent(float(row.max()))}**"
        for name, row in zip(names, weights, strict=True)
        if row.max() > _DECIDED
    ]
    which = "These heads give more than half of their" if told else "No head gives more than half of its"
    return f"{which} attention to one token.\n\n" + "\n".join(told)


CODE = (
    ("attnviz.capture.generation", "drawn_one_by_one"),
    ("attnviz.capture.generation", "drawn_by"),
    ("attnviz.transformer.decoder_only", "DecoderOnly"),
    ("attnviz.transformer.multi_head", "MultiHeadAttention"),
    ("attnviz.app.learn.write.compute", "word_by_word"),
)


def limits(model: str) -> None:
    """Say what one could wrongly conclude."""
    measured = figures.stored()[Training(model, 0)]
    two, three = (percent(measured.right[f"place, {facts} facts"] / measured.items) for facts in (2, 3))
    not_shown(
        f"""
- **Why it chose so.** A weight says what was read, not that this decided (Jain & Wallace 2019; against:
  Wiegreffe & Pinter 2019).
- **The likeliest text.** The likeliest word each time need not lead to the likeliest text, and often leads to
  one that repeats itself (Holtzman et al. 2020).
- **What the model holds for true.** A probability says what came next in texts like those that it learned
  from.
- **That it follows a story.** Asked where one of two things was put, it says the right word in {two} of
  {measured.items} stories; of three things, in {three}. To guess among those places gives {percent(1 / 2)}
  and {percent(1 / 3)}.
- **How much a large model knows.** This one knows {len(VOCABULARY)} words and signs. It writes as GPT does,
  token by token (Radford et al. 2018), with far fewer numbers.
"""
    )
    controls.describe(lookup.entry(model))
