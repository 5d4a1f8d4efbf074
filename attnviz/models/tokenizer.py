"""Convert texts and images to tokens with spans, and tokens to text."""

from __future__ import annotations

import json
import unicodedata
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from attnviz import readable
from attnviz.errors import EmptyText, ModelFilesDamaged, ModelNotSupported, TextTooLong, quoted
from attnviz.importing import gate, need_extra
from attnviz.models import allowed, catalogue
from attnviz.models.tokenizer_client import RemoteTokenizer
from attnviz.models.wrapped_tokenizer import Encoded, WrappedTokenizer, is_tokenizer, spans_of_steps
from attnviz.spelling import BROKEN, SPACES, byte_numbers, spelled_bytes
from attnviz.trace import Token

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

FILE = "tokenizer.json"

_MARIAN = "source.spm"

FILES = (
    *(FILE, "vocab.txt", "vocab.json", "merges.txt"),
    *("spiece.model", "tokenizer.model", "sentencepiece.bpe.model", _MARIAN, "target.spm"),
)
"""The files of saved tokenizers; at least one is required, and all that exist are read."""

PICTURE_FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
"""The supported image formats."""

_MAX_TOKENIZERS = 8  # in memory; a tokenizer with a large vocabulary takes about 100 MB
_MASKS = ("[MASK]", "<mask>")  # the mask tokens of the BERT and RoBERTa families
_CONTEXT = 8  # preceding tokens that determine whether a token begins with a space

_NOT_BUILT = (
    "transformers cannot build a tokenizer from this model's files. Save a tokenizer.json in the folder: "
    "call save_pretrained(folder) on a fast tokenizer. Or pass tokens and a model object in Python: "
    "attnviz.trace(tokenizer(text), model)."
)
_NO_TOKENIZER = (
    "A model object needs a tokenizer to read a text: pass tokenizer=…. Without one, pass tokens, as "
    "returned by tokenizer(text)."
)
_SETTINGS = "tokenizer_config.json"

_NO_FILES = ("ByT5Tokenizer", "CanineTokenizer", "PerceiverTokenizer")
"""Tokenizer classes without a vocabulary file: their tokens are bytes or characters."""


@dataclass(frozen=True, slots=True)
class TokenizedText:
    """A text, or a pair of sentences, as tokens.

    Attributes:
        tokens: the tokens, including special tokens; in a pair, the first sentence comes first.
        type_ids: the segment of each token for models with segments; otherwise all 0.
    """

    tokens: tuple[Token, ...]
    type_ids: tuple[int, ...]


def empty_text_error(part: str = "text") -> EmptyText:
    """Return the error for an empty text, or for a part of it, such as the second sentence."""
    return EmptyText(f"The {part} is empty. Type a sentence, for example: The dog is tired.")


class TextTokenizer:
    """A model's tokenizer, with checks of users' texts.

    It uses the `tokenizers` library, or a Python tokenizer with the same methods; any number of threads may
    share it.

    Args:
        tokenizer: the inner tokenizer, for this object only, or a tokenizer in a separate process.
        types: the number of segment types in the model's config, if any.
        mask: the spelling of the mask token, if known.
    """

    def __init__(
        self,
        tokenizer: Tokenizer | WrappedTokenizer | RemoteTokenizer,
        token_limit: int,
        types: object = None,
        mask: object = None,
    ) -> None:
        self.token_limit = token_limit
        self._tokenizer = tokenizer
        self._types = types
        self._special = special_ids(tokenizer)
        masks = (each for each in (mask, *_MASKS) if isinstance(each, str) and self.id_of(each) is not None)
        self.mask: str | None = next(masks, None)
        """The spelling of the mask token; None if the vocabulary has none."""
        self.mask_id = None if self.mask is None else self.id_of(self.mask)

    @property
    def inner(self) -> Any:
        """The inner tokenizer."""
        return self._tokenizer

    def described(self) -> tuple[list[int], str | None, object]:
        """Return special token ids, mask token and number of segment types, for a `RemoteTokenizer`."""
        return sorted(self._special), self.mask, self._types

    def encoded(self, *texts: str, target: bool = False) -> Encoding | Encoded:
        """Return the tokens of a text or a pair from the inner tokenizer.

        Args:
            target: True for the decoder's text; a translation model's tokenizer treats it as text in the
                target language.
        """
        encode: Any = self._tokenizer.encode
        if target:
            encode = getattr(self._tokenizer, "encode_target", encode)
        found: Encoding | Encoded = encode(*texts)
        return found

    def tokens(self, text: str, second: str | None = None, *, target: bool = False) -> tuple[Token, ...]:
        """Return the text's tokens, special tokens included; see `tokenized`."""
        return self.tokenized(text, second, target=target).tokens

    def tokenized(self, text: str, second: str | None = None, *, target: bool = False) -> TokenizedText:
        """Return the tokens of a text, or of a pair of sentences, special tokens included.

        A typed special token ("[MASK]", "</s>") is part of the text and has a span. Spans always exclude the
        space around a word; tokens that are parts of one character have the same span. Words end at white
        space, at punctuation, and where the tokenizer splits them; word numbers continue in the second
        sentence.

        A special token that the tokenizer added belongs to the sentence before it, or to the first sentence
        if it is at the beginning.

        Args:
            target: as for `encoded`.

        Raises:
            EmptyText: the tokenizer returns no tokens for a text.
            TextTooLong: there are too many tokens for the model, or more than `MAX_CHARACTERS` characters.
            UnreadableText: the text contains an unpaired surrogate, or the tokenizer's process fails.
        """
        texts = (text,) if second is None else (text, second)
        maximum = readable.MAX_LONG_CHARACTERS if allowed.may_open() else readable.MAX_CHARACTERS
        for each in texts:
            readable.check(each, maximum)
        encoding = self.encoded(*texts, target=target)
        if len(encoding) > self.token_limit:
            raise TextTooLong(len(encoding), self.token_limit, together=second is not None)
        tokens = self._with_spans(encoding, texts)
        for number, each in enumerate(texts):
            if not each.strip() or all(token.special for token in tokens if token.sentence == number):
                raise empty_text_error("second sentence" if number else "text")
        n_types = self._types if isinstance(self._types, int) else 2
        return TokenizedText(tokens, tuple(number if number < n_types else 0 for number in encoding.type_ids))

    def tokens_of_ids(self, ids: Sequence[int]) -> tuple[str, tuple[Token, ...]]:
        """Return the text of token ids, and the tokens with their spans.

        Raises:
            EmptyText: there are no ids.
            TextTooLong: there are too many tokens for the model.
        """
        if not ids:
            raise EmptyText("There are no tokens for the model to read. Pass at least one.")
        if len(ids) > self.token_limit:
            raise TextTooLong(len(ids), self.token_limit, together=False)
        return self.append_tokens("", (), ids)

    def append_tokens(
        self, text: str, tokens: tuple[Token, ...], ids: Sequence[int]
    ) -> tuple[str, tuple[Token, ...]]:
        """Append tokens that a model has generated.

        Args:
            text: the text before generation.
            ids: the generated tokens.

        Returns:
            The complete text and all tokens. Generated special tokens have no span.
        """
        context = [token.id for token in tokens if not token.special][-_CONTEXT:]
        before = self._decoded(context)
        steps = [self._decoded([*context, *ids[: count + 1]])[len(before) :] for count in range(len(ids))]
        full = text + (steps[-1] if steps else "")
        word = next((token.word for token in reversed(tokens) if token.word is not None), 0)
        tokens_with_spans = []
        for number, (start, end) in zip(ids, spans_of_steps(steps), strict=True):
            if number in self._special:
                tokens_with_spans.append(self.special(number))
            else:
                spelling = self.spelled(number)
                span = _span(full, len(text) + start, len(text) + end, spelling)
                tokens_with_spans.append(Token(spelling, number, *span, word, special=False))
        return full, (*tokens, *_numbered((full,), tokens_with_spans, tokens))

    def special(self, number: int) -> Token:
        """Return a special token outside the text, such as a decoder's start token."""
        return Token(self.spelled(number), number, 0, 0, None, special=True)

    def id_of(self, spelling: str) -> int | None:
        """Return the id of a token; None if the vocabulary does not contain it."""
        number = self._tokenizer.token_to_id(spelling)
        return None if number is None else int(number)

    def spelled(self, number: int) -> str:
        """Return the tokenizer's spelling of a token id, or "<row 7>" if there is none."""
        spelling = self._tokenizer.id_to_token(number)
        return f"<row {number}>" if spelling is None else str(spelling)

    def readable(self, number: int) -> str:
        """Return a single token as readable text: "Ġdog" → " dog".

        Incomplete bytes of a character are shown as numbers: "<0xF0><0x9F>".
        """
        spelling = self.spelled(number)
        if number in self._special:
            return spelling
        text = self._decoded([number])
        if BROKEN in text and (parts := spelled_bytes(spelling)) is not None:
            return byte_numbers(parts)
        if spelling.startswith(SPACES[1]) and not text.startswith(
            " "
        ):  # the space is removed at the start of a text
            text = f" {text}"
        return text or spelling

    def _decoded(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=True))

    def _with_spans(self, encoding: Encoding | Encoded, texts: tuple[str, ...]) -> tuple[Token, ...]:
        """Return the tokens with their spans, sentences and words; see `tokenized`."""
        spans, words, sentences = encoding.offsets, encoding.word_ids, encoding.sequence_ids
        tokens_with_spans: list[Token] = []
        sentence = 0
        for place, (number, added) in enumerate(zip(encoding.ids, encoding.special_tokens_mask, strict=True)):
            if added:
                tokens_with_spans.append(replace(self.special(number), sentence=sentence))
                continue
            sentence = sentences[place] or 0
            text, spelling = texts[sentence], self.spelled(number)
            last = place + 1 == len(spans) or sentences[place + 1] != sentence
            start, bare_end = _span(text, *spans[place], spelling)
            end = _with_combining_marks(text, bare_end, len(text) if last else spans[place + 1][0])
            if tokens_with_spans and tokens_with_spans[-1].sentence == sentence:
                end = max(end, tokens_with_spans[-1].end)  # for a space inside one character ("ﷺ")
            token = Token(spelling, number, start, end, words[place], special=False, sentence=sentence)
            tokens_with_spans.append(token)
        return _numbered(texts, tokens_with_spans)


def tokenizer_of(entry: catalogue.Entry) -> TextTokenizer:
    """Return the tokenizer of a model with local files, cached until these files change.

    Raises:
        ModelFilesDamaged, ModelNotSupported: as for `in_folder`.
    """
    assert isinstance(entry.origin, catalogue.Package | catalogue.Folder)  # noqa: S101 - it has files
    guarded = isinstance(entry.origin, catalogue.Folder)
    return _cached(entry.origin.folder, entry.token_limit, entry.fingerprint, guarded=guarded)


@lru_cache(_MAX_TOKENIZERS)
def _cached(folder: Path, token_limit: int, fingerprint: str, *, guarded: bool) -> TextTokenizer:  # noqa: ARG001 - the cache's key
    return guarded_in_folder(folder, token_limit) if guarded else in_folder(folder, token_limit)


def guarded_in_folder(folder: Path, token_limit: int) -> TextTokenizer:
    """Return a tokenizer that opens untrusted files in a separate process with limits.

    Raises:
        ModelFilesDamaged, ModelNotSupported: as for `in_folder`, or opening takes too much time or memory.
    """
    remote = RemoteTokenizer(folder, token_limit)
    return TextTokenizer(remote, token_limit, remote.types, remote.mask)


def in_folder(folder: Path, token_limit: int) -> TextTokenizer:
    """Return the tokenizer of a folder.

    `tokenizer.json` is read without torch and transformers; transformers builds tokenizers from other files.

    Raises:
        ModelFilesDamaged: the files are missing or cannot be read.
        ModelNotSupported: transformers cannot build a tokenizer from the files.
    """
    settings = _settings(folder, _SETTINGS)
    config = _settings(folder, "config.json")
    types = config.get("type_vocab_size")
    file = folder / FILE
    if not file.is_file() or (config.get("is_encoder_decoder") and _switches_languages(settings)):
        return borrowed(_built_by_transformers(folder), token_limit, types)
    mask = settings.get("mask_token")
    mask = mask.get("content") if isinstance(mask, dict) else mask
    if "token_type_ids" not in settings.get("model_input_names", ("token_type_ids",)):
        types = 0
    return TextTokenizer(_tokenizer(file), token_limit, types, mask)


def _switches_languages(settings: dict[str, Any]) -> bool:
    """Return whether the tokenizer treats sources and targets differently, as in NLLB and mBART."""
    with gate:
        import transformers

        found = getattr(transformers, str(settings.get("tokenizer_class")).removesuffix("Fast"), None)
    return hasattr(found, "_switch_to_target_mode")


def borrowed(wrapper: Any, token_limit: int, types: object) -> TextTokenizer:
    """Return a tokenizer that calls a transformers tokenizer, without changing it.

    Args:
        wrapper: a transformers tokenizer, or a function from a text to token ids with the method
            `convert_ids_to_tokens`.
        token_limit, types: as for `TextTokenizer`.

    Raises:
        TypeError: `wrapper` is not a tokenizer.
    """
    if not is_tokenizer(wrapper):
        raise TypeError(
            "tokenizer must be a transformers tokenizer, as from AutoTokenizer.from_pretrained, not "
            f"{wrapper!r:.40}."
        )
    mask = getattr(wrapper, "mask_token", None)
    return TextTokenizer(WrappedTokenizer(wrapper), token_limit, types, mask)


@lru_cache(maxsize=4)
def id_tokenizer(rows: int, token_limit: int) -> TextTokenizer:
    """Return a tokenizer that shows each token as its id, for a model object without a tokenizer."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({str(row): row for row in range(rows)}, "0"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return _IdTokenizer(tokenizer, token_limit)


class _IdTokenizer(TextTokenizer):
    """A tokenizer that shows each token as its id and cannot read text."""

    def tokenized(self, text: str, second: str | None = None, *, target: bool = False) -> TokenizedText:  # noqa: ARG002 - it reads no text
        """Raise ModelNotSupported."""
        raise ModelNotSupported(_NO_TOKENIZER)


def special_ids(tokenizer: Tokenizer | WrappedTokenizer | RemoteTokenizer) -> frozenset[int]:
    """Disable truncation and padding, and return the ids of the special tokens.

    Published tokenizers may truncate and pad for training batches; attnviz must not truncate a text silently.
    """
    if isinstance(tokenizer, RemoteTokenizer):
        return frozenset(tokenizer.special)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    added = tokenizer.get_added_tokens_decoder().items()
    return frozenset(number for number, token in added if token.special)


def import_for(folder: Path) -> None:
    """Import the packages that `in_folder` needs, before memory is limited."""
    import tokenizers  # noqa: F401

    if not (folder / FILE).is_file() or _settings(folder, "config.json").get("is_encoder_decoder"):
        with gate:
            from transformers import AutoTokenizer  # noqa: F401


def check_files(files: Iterable[str], folder: Path, name: str) -> None:
    """Raise unless a model's files include a tokenizer.

    Args:
        folder: the folder of the tokenizer's settings, if it has any.

    Raises:
        ModelFilesDamaged: there is no tokenizer.
    """
    if not set(files) & set(FILES) and _settings(folder, _SETTINGS).get("tokenizer_class") not in _NO_FILES:
        raise ModelFilesDamaged(
            f"There is no tokenizer in {quoted(name)}: {FILE} is missing. Save it there: "
            "AutoTokenizer.from_pretrained(…).save_pretrained(folder)."
        )


def patch_tokens(grid: tuple[int, int], special: Sequence[str]) -> tuple[Token, ...]:
    """Return special tokens, then patches row by row as "row,column" from 1 (Dosovitskiy et al. 2021, 3.1).

    These tokens are the same for every image and have no characters: `start` and `end` are 0.

    Args:
        grid: the numbers of rows and columns of patches.
        special: the names of the tokens before the patches, such as [CLS].
    """
    patches = (
        Token(f"{row + 1},{column + 1}", len(special) + place, 0, 0, place, special=False)
        for place, (row, column) in enumerate(product(*map(range, grid)))
    )
    return (*(Token(name, place, 0, 0, None, special=True) for place, name in enumerate(special)), *patches)


def grid_of(tokens: Sequence[Token]) -> tuple[int, int]:
    """Return the (rows, columns) of the patches among these tokens."""
    row, column = tokens[-1].text.split(",")
    return int(row), int(column)


def _tokenizer(file: Path) -> Tokenizer:
    from tokenizers import Tokenizer  # not needed to import attnviz

    try:
        return Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises no narrower exception
        raise ModelFilesDamaged(
            f"The tokenizer of this model cannot be read: {FILE} is damaged ({error}). Save or download "
            "it again."
        ) from error


def _built_by_transformers(folder: Path) -> Any:
    """Return the tokenizer that transformers builds from files."""
    if (folder / _MARIAN).is_file():
        need_extra("sentencepiece")
    with gate:
        from transformers import AutoTokenizer
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Marian's tokenizer recommends installing a package
            wrapper = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # transformers' tokenizers raise many kinds of errors
        raise ModelNotSupported(_NOT_BUILT) from error
    # From a config alone, transformers builds a tokenizer without a vocabulary.
    names = wrapper.vocab_files_names.values()
    if names and not any((folder / file).is_file() for file in names):
        raise ModelFilesDamaged(
            "This model has no tokenizer: it has neither a tokenizer.json nor an older vocabulary file. "
            "Save a tokenizer in the model's folder: tokenizer.save_pretrained(folder)."
        )
    return wrapper


def _settings(folder: Path, name: str) -> dict[str, Any]:
    """Return the object in one of the model's JSON files; empty if the file is missing or damaged."""
    try:
        found = json.loads((folder / name).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _span(text: str, start: int, end: int, spelling: str) -> tuple[int, int]:
    """Return a token's span without the space around it; a token that is only space keeps its span.

    Tokenizers differ: the span of " dog" may include the space; a separate space may have no span; the ▁ that
    SentencePiece puts before a text has the span of the letter after it.
    """
    typed = text[start:end]
    if not spelling.strip(SPACES):
        if typed.strip():
            return start, start
        before = not typed and text[start - 1 : start].isspace()
        after = not typed and not before and text[end : end + 1].isspace()
        return start - before, end + after
    inner = typed.strip()
    if not inner:
        return start, end
    start += typed.index(inner)
    return start, start + len(inner)


def _with_combining_marks(text: str, end: int, limit: int) -> int:
    """Return the end of a token, including combining accents on its last letter that no other token covers.

    Tokenizers that strip accents exclude them from the spans.
    """
    while 0 < end < limit and unicodedata.category(text[end]).startswith("M"):
        end += 1
    return end


def _numbered(
    texts: tuple[str, ...], tokens: Sequence[Token], before: Sequence[Token] = ()
) -> tuple[Token, ...]:
    """Return the tokens with new word numbers, which continue the numbers in `before`.

    Some tokenizers do not split a text into words, and return the same word number for all tokens.
    """
    number = max((token.word for token in before if token.word is not None), default=-1)
    previous = before[-1] if before else None
    found = []
    for token in tokens:
        if token.special:
            found.append(token)
        else:
            number += (
                previous is None or previous.special or _starts_word(texts[token.sentence], previous, token)
            )
            found.append(token if token.word == number else replace(token, word=number))
        previous = token
    return tuple(found)


def _starts_word(text: str, previous: Token, following: Token) -> bool:
    """Return whether a new word begins with the second of two adjacent tokens."""
    between = text[previous.end : following.start]
    begins = text[following.start : following.end][:1]
    if (
        previous.sentence == following.sentence
        and not between
        and begins
        and _character_type(begins) == "accent"
    ):
        return False  # an accent always belongs to the letter before it
    if (previous.sentence, previous.word) != (following.sentence, following.word):
        return True
    if any(_character_type(letter) == "space" for letter in between):
        return True
    if following.start < previous.end or not begins or previous.start == previous.end:
        return False  # parts of one character, or a separate space marker
    return _character_type(begins) != "letter" or _character_type(text[previous.end - 1]) in (
        "space",
        "punctuation",
    )


def _character_type(letter: str) -> Literal["space", "punctuation", "accent", "letter"]:
    """Return the type of a character, which determines where words end (Devlin et al. 2019)."""
    category = unicodedata.category(letter)
    if category == "Zs" or letter in "\t\n\r":
        return "space"
    if category.startswith("P") or letter in "$+<=>^`|~":
        return "punctuation"
    return "accent" if category == "Mn" else "letter"
