"""Tokenize text for the translator, and describe what is not in its training set."""

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
"""Maximum number of tokens, including [END] or [START]; no sentence of the grammar has more."""

_VERB = {form: verb for verb in VERBS for form in (verb.english, verb.past, verb.third)}


def tokens(text: str) -> tuple[Token, ...]:
    """Return the English words of a text, and [END].

    Case and punctuation are ignored; "didn't" becomes "did not".

    Raises:
        EmptyText: there are no words.
        UnreadableText: the text has half a surrogate pair.
        TextTooLong: there are more than `TOKEN_LIMIT` tokens, or more than `MAX_CHARACTERS`.
        UnknownWords: some words are not in the vocabulary; the error has all of them.
    """
    return (*_known(text, ENGLISH, _english), Token(END, ENGLISH.ids([END])[0], 0, 0, None, special=True))


def french(text: str) -> tuple[Token, ...]:
    """Return [START] and the French words of a text; "n'a" becomes "n'" and "a".

    Raises:
        EmptyText, UnreadableText, TextTooLong, UnknownWords: as for `tokens`.
    """
    return (Token(START, FRENCH.ids([START])[0], 0, 0, None, special=True), *_known(text, FRENCH, _french))


def outside(words: Sequence[str]) -> str | None:
    """Describe what the training set does not have; None if the grammar can generate the sentence.

    Args:
        words: English words of the vocabulary.
    """
    if next(understood(words), None):
        return None
    return (
        _unseen_verb_noun(words)
        or _unseen_predicate(words)
        or "The model knows these words, but was not trained on sentences of this structure."
    )


def _unseen_verb_noun(words: Sequence[str]) -> str | None:
    """Describe a noun that is never subject or object of this verb in the training set."""
    place = next((place for place, word in enumerate(words) if word in _VERB), None)
    if place is None:
        return None
    verb = _VERB[words[place]]
    before = [NOUN[word] for word in words[:place] if word in NOUN]
    after = [NOUN[word] for word in words[place:] if word in NOUN]
    if before and not any(before[-1].kind in each.subjects for each in FAMILIES if verb in each.verbs):
        return f"In the model’s training set, {_a(before[-1])} does not {verb.english} anything."
    if after and after[0].kind not in verb.kinds:
        verb_phrase = f"{verb.english} {verb.english_preposition}".strip()
        return f"In the model’s training set, nothing does {verb_phrase} {_a(after[0])}."
    return None


def _unseen_predicate(words: Sequence[str]) -> str | None:
    """Describe why the predicate of "it" is unknown or ambiguous."""
    pronouns = [place for place, word in enumerate(words) if word in {"it", "he", "she"}]
    if len(pronouns) > 1:
        return "The model was not trained on sentences with two pronouns."
    spoken = [PREDICATE[word] for place in pronouns for word in words[place:] if word in PREDICATE][:1]
    if not spoken or words[pronouns[0]] != "it":
        return None
    so = f"{'be' if isinstance(spoken[0], Adjective) else 'want to'} {spoken[0].english}"
    meant = [NOUN[word] for word in words if word in NOUN and NOUN[word].kind in spoken[0].kinds - PEOPLE]
    if not meant:
        return f"In the model’s training set, no noun of this sentence can {so}."
    if len(meant) > 1:
        return f"Both {_a(meant[0])} and {_a(meant[1])} could {so}: the sentence is ambiguous."
    if next(understood(words[: pronouns[0] - 1]), None):
        return f"The model was not trained on this reason: that {_a(meant[0])} can {so}."
    return None


def _a(noun: Noun) -> str:
    return f"{indefinite(noun.english)} {noun.english}"


def _known(text: str, vocabulary: Vocabulary, parts: Callable[[Piece], Iterator[Piece]]) -> list[Token]:
    """Return the words of a text in the vocabulary's spelling."""
    return known_words(
        text, lambda text: chain.from_iterable(map(parts, _pieces(text))), vocabulary, TOKEN_LIMIT
    )


def _pieces(text: str) -> Iterator[Piece]:
    """Return the words between spaces and punctuation."""
    return pieces(r"[^\s']\S*", "".join(map(_plain, text)))


def _plain(character: str) -> str:
    """Normalize apostrophes, and replace punctuation with a space."""
    if character in "'’‘ʼ`":
        return "'"
    return " " if unicodedata.category(character)[0] in "PC" else character


def _english(piece: Piece) -> Iterator[Piece]:
    """Split "didn't" into "did" and "not"; remove apostrophes at the end, which close a quotation."""
    word, start, end = piece
    if word[-3:].lower() == "n't" and word[:-3].lower() in ENGLISH:
        yield Piece(word[:-3], start, end - 3)
        yield Piece("not", end - 3, end)
    else:
        closed = word.rstrip("'")
        yield Piece(closed, start, start + len(closed))


def _french(piece: Piece) -> Iterator[Piece]:
    """Split "puisqu'il" into "puisqu'" and "il", but not "aujourd'hui"."""
    for match in re.finditer(r"aujourd'hui|[^']+'?", piece.word, re.IGNORECASE):
        part = match[0] if match[0].lower() in FRENCH else match[0].rstrip("'")
        start = piece.start + match.start()
        yield Piece(part, start, start + len(part))
