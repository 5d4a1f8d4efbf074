"""Turn typed text into the translator's words, and name what it was never trained on."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from attnviz.trace import Token
from attnviz.trained.known_words import Piece, known_words, pieces
from attnviz.trained.translator.families import FAMILIES
from attnviz.trained.translator.grammar import understood
from attnviz.trained.translator.lexicon import NOUN, PEOPLE, PREDICATE, VERBS, Adjective, Noun, indefinite
from attnviz.trained.translator.vocabulary import ENGLISH, FRENCH
from attnviz.trained.vocabulary import END, START, Vocabulary

TOKEN_LIMIT = 40
"""The most tokens of a text, [END] or [START] included: more than any sentence of the grammar has."""

_VERB = {form: verb for verb in VERBS for form in (verb.english, verb.past, verb.third)}


def tokens(text: str) -> tuple[Token, ...]:
    """The English words of a text, and [END].

    Capital letters and punctuation are not read; "didn't" is read as "did not".

    Raises:
        EmptyText: there are no words.
        UnreadableText: half a surrogate pair.
        TextTooLong: there are more than `TOKEN_LIMIT` tokens, or more than `MAX_CHARACTERS`.
        UnknownWords: there are words that the model has never seen; all of them are named.
    """
    return (*_known(text, ENGLISH, _english), Token(END, ENGLISH.ids([END])[0], 0, 0, None, special=True))


def french(text: str) -> tuple[Token, ...]:
    """[START], and the French words of a text; "n'a" is read as two, "n'" and "a".

    Raises:
        EmptyText, UnreadableText, TextTooLong, UnknownWords: as `tokens` does.
    """
    return (Token(START, FRENCH.ids([START])[0], 0, 0, None, special=True), *_known(text, FRENCH, _french))


def outside(words: Sequence[str]) -> str | None:
    """What is unlike all that the model has learned from; None if the grammar can make the sentence.

    Args:
        words: English words of the vocabulary.
    """
    if next(understood(words), None):
        return None
    return (
        _unlike_deed(words)
        or _unlike_reason(words)
        or "The model knows these words, but has never seen a sentence that is built like this one."
    )


def _unlike_deed(words: Sequence[str]) -> str | None:
    """Return the noun that never is subject or object of this verb, as a sentence."""
    place = next((place for place, word in enumerate(words) if word in _VERB), None)
    if place is None:
        return None
    verb = _VERB[words[place]]
    before = [NOUN[word] for word in words[:place] if word in NOUN]
    after = [NOUN[word] for word in words[place:] if word in NOUN]
    if before and not any(before[-1].kind in each.subjects for each in FAMILIES if verb in each.verbs):
        return f"The model has never seen {_a(before[-1])} {verb.english} anything."
    if after and after[0].kind not in verb.kinds:
        verb_phrase = f"{verb.english} {verb.english_preposition}".strip()
        return f"The model has never seen anybody {verb_phrase} {_a(after[0])}."
    return None


def _unlike_reason(words: Sequence[str]) -> str | None:
    """Return why a predicate of "it" is unknown or ambiguous, as a sentence."""
    pronouns = [place for place, word in enumerate(words) if word in {"it", "he", "she"}]
    if len(pronouns) > 1:
        return "The model has never seen a sentence with two pronouns."
    spoken = [PREDICATE[word] for place in pronouns for word in words[place:] if word in PREDICATE][:1]
    if not spoken or words[pronouns[0]] != "it":
        return None
    so = f"{'be' if isinstance(spoken[0], Adjective) else 'want to'} {spoken[0].english}"
    meant = [NOUN[word] for word in words if word in NOUN and NOUN[word].kind in spoken[0].kinds - PEOPLE]
    if not meant:
        return f"Nothing in this sentence can {so}, as far as the model has learned."
    if len(meant) > 1:
        return f"Both {_a(meant[0])} and {_a(meant[1])} could {so}: the sentence is ambiguous."
    if next(understood(words[: pronouns[0] - 1]), None):
        return f"The model was never trained on this reason: that {_a(meant[0])} can {so}."
    return None


def _a(noun: Noun) -> str:
    return f"{indefinite(noun.english)} {noun.english}"


def _known(text: str, vocabulary: Vocabulary, parts: Callable[[Piece], Iterator[Piece]]) -> list[Token]:
    """The words of a text that the vocabulary has."""
    return known_words(
        text, lambda text: chain.from_iterable(map(parts, _pieces(text))), vocabulary, TOKEN_LIMIT
    )


def _pieces(text: str) -> Iterator[Piece]:
    """Return the words between spaces and punctuation."""
    return pieces(r"[^\s']\S*", "".join(map(_plain, text)))


def _plain(character: str) -> str:
    """One apostrophe for all apostrophes, and a space for all that only separates words."""
    if character in "'’‘ʼ`":
        return "'"
    return " " if unicodedata.category(character)[0] in "PC" else character


def _english(piece: Piece) -> Iterator[Piece]:
    """Takes "didn't" for "did" and "not"; an apostrophe at the end only closes a quotation."""
    word, start, end = piece
    if word[-3:].lower() == "n't" and word[:-3].lower() in ENGLISH:
        yield Piece(word[:-3], start, end - 3)
        yield Piece("not", end - 3, end)
    else:
        closed = word.rstrip("'")
        yield Piece(closed, start, start + len(closed))


def _french(piece: Piece) -> Iterator[Piece]:
    """Takes "puisqu'il" for "puisqu'" and "il", but "aujourd'hui" for one word."""
    for match in re.finditer(r"aujourd'hui|[^']+'?", piece.word, re.IGNORECASE):
        part = match[0] if match[0].lower() in FRENCH else match[0].rstrip("'")
        start = piece.start + match.start()
        yield Piece(part, start, start + len(part))
