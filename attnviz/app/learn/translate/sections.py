"""The page on the translator: English in, French out, and which word read which on the way."""

from __future__ import annotations

import streamlit as st

from attnviz.analysis.sentence import names_of, to_guess_from
from attnviz.app import markdown
from attnviz.app.learn.english import NOTHING
from attnviz.app.learn.lesson import guess, not_shown
from attnviz.app.learn.measured import how_often, variant_of
from attnviz.app.learn.menus import other_reading
from attnviz.app.learn.translate.translating import ShownTranslation, written
from attnviz.app.learn.translate.translation import DrawnAttention, translation
from attnviz.app.state.choices import FRENCH_WORD
from attnviz.text import head_name, percent
from attnviz.trace import Floats
from attnviz.trained.translator import lexicon, variants
from attnviz.trained.translator.vocabulary import ENGLISH, FRENCH
from attnviz.trained.vocabulary import END
from attnviz.widgets.tokens import shown_tokens

_PRONOUNS = {"m": "il", "f": "elle"}
_GENDERS = {"m": "masculine", "f": "feminine"}
_ENGLISH_PRONOUN = "it"
_DIGITS = 6  # enough for every digit that is printed; whole floats would double the message


def question(chosen: ShownTranslation) -> None:
    """Ask what *it* becomes; in a sentence without it, what is read to choose a French word."""
    pronoun = chosen.pronoun
    if pronoun is None:
        _question_without_pronoun(chosen)
        return
    read = chosen.read(pronoun.step)
    meant = int(chosen.encoder[read].argmax())
    il_or_elle = written(chosen.translation)[pronoun.step]
    guess(
        "In French every noun is masculine or feminine, and a pronoun must agree: *il* or *elle*. "
        "Which one will this network write?",
        list(_PRONOUNS.values()),
        right=il_or_elle,
        because=f"*il* {percent(pronoun.il, 1)}, *elle* {percent(pronoun.elle, 1)}. It read "
        f"{chosen.source_name(read)} most, which in encoder head {head_name(*chosen.encoder_head)} looks "
        f"most at {chosen.source_name(meant)} ({percent(float(chosen.encoder[read, meant]))}).",
    )


def _question_without_pronoun(chosen: ShownTranslation) -> None:
    groups = chosen.sources.groups
    row = chosen.cross[:, chosen.row].max(axis=0)
    options = to_guess_from(row, groups)
    word = markdown.code(written(chosen.translation)[chosen.row])
    names = names_of(groups)
    shares = [(names[place], float(row[place])) for place in sorted(options, key=lambda at: -row[at])]
    guess(
        f"Which English token will be read most when the network chooses {word}?",
        [names[place] for place in options],
        right=shares[0][0],
        because=f"The shown heads give at most {markdown.shares(shares)}.",
    )


def picture(chosen: ShownTranslation) -> None:
    """Draw both sentences, and the lines between them."""
    found = chosen.translation
    st.header(markdown.plain(found.text), anchor=False)
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        other_reading(chosen.text)
        _meanings(chosen)
    options = [f"{row + 1} {word}" for row, word in enumerate(written(found))]

    def pick(row: int) -> None:
        FRENCH_WORD.set(options[row])

    layer, head = chosen.encoder_head
    targets = shown_tokens(chosen.targets.groups)
    last = written(found)[-1]
    if last != END:
        st.markdown(f"It never chose {END}, and was broken off after {len(found.words)} words.")
    elif not found.words:
        st.markdown(f"It writes {NOTHING}")
    translation(
        "translation",
        source=shown_tokens(chosen.sources.groups),
        target=targets,
        written=[*targets[1:], {"label": last, "name": last, "title": "", "special": last == END}],
        row=chosen.row,
        encoder=DrawnAttention(
            caption=f"layer {layer + 1}, head {head + 1}", heads=[head + 1], weights=[_rows(chosen.encoder)]
        ),
        cross=_reading(chosen.cross, chosen.cross_heads),
        decoder=_reading(chosen.weights("decoder")[list(chosen.decoder_heads)], chosen.decoder_heads),
        choices=found.choices,
        pronouns=found.pronouns,
        title=f"{chosen.text} → {found.text}",
        on_pick=pick,
    )


def _meanings(chosen: ShownTranslation) -> None:
    """Say what *it* could mean, and what it would become."""
    words = [token.text for token in chosen.translation.source]
    if _ENGLISH_PRONOUN not in words:
        return
    nouns = {noun.english: noun for noun in lexicon.NOUNS if noun.pronoun == _ENGLISH_PRONOUN}
    meant = [nouns[word] for word in dict.fromkeys(words) if word in nouns]
    gendered = [
        f"the *{noun.english}* ({noun.french}, {_GENDERS[noun.gender]}: *{_PRONOUNS[noun.gender]}*)"
        for noun in meant
    ]
    if gendered:
        st.markdown(f"*it* could be {' or '.join(gendered)}.", width="content")


def _reading(weights: Floats, heads: tuple[int, ...]) -> DrawnAttention:
    caption = f"head {heads[0] + 1}" if len(heads) == 1 else f"all {len(heads)} heads, side by side"
    return DrawnAttention(
        caption=caption, heads=[head + 1 for head in heads], weights=[_rows(head) for head in weights]
    )


def _rows(weights: Floats) -> list[list[float]]:
    rows: list[list[float]] = weights.astype(float).round(_DIGITS).tolist()
    return rows


CODE = (
    ("attnviz.app.learn.translate.compute", "translate"),
    ("attnviz.trained.translator.translator", "_greedy"),
    ("attnviz.transformer.encoder_decoder", "EncoderDecoder"),
    ("attnviz.transformer.layers", "EncoderLayer", "DecoderLayer"),
)


def limits(chosen: ShownTranslation) -> None:
    """Say what one could wrongly conclude, and how often this translator is right."""
    words = [token.text for token in chosen.translation.source]
    not_shown(
        f"""
- **Why it chose so.** A weight says what was read, not that this decided (Jain & Wallace 2019; against:
  Wiegreffe & Pinter 2019). The next page changes what is read.
- {_by_itself(chosen)}
- **That one word alone was read.** After the first layer, the vector at a word holds a mixture of its
  sentence (Abnar & Zuidema 2020).
- **That it knows French.** It knows {len(ENGLISH):,} English and {len(FRENCH):,} French words and signs, and
  one small grammar.
- **The best sentence.** It takes the most probable word each time, and never goes back.
- **A rule.** One sentence is an anecdote. {how_often(chosen.model, words)}
"""
    )
    st.page_link(
        "pages/cause.py",
        label="Is the picture the cause?",
        icon=":material/arrow_forward:",
        icon_position="right",
    )


def _by_itself(chosen: ShownTranslation) -> str:
    """What this translator was told, and what therefore does not follow, in Markdown."""
    variant = variants.VARIANTS[variant_of(chosen.model)]
    if variant.was_told:
        return (
            f"**That networks find this by themselves.** {variant.told} Choose another translator above to "
            "compare."
        )
    return (
        f"**That every network does it so.** {variant.told} Trained from other random numbers, it finds "
        "other ways to the right pronoun: the table on the next page has them."
    )
