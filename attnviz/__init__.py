"""See what attention does: any text, any transformer that can be shown exactly, every number its own."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex

from attnviz.activation_cache import from_cache
from attnviz.capture import loading
from attnviz.capture.given import inputs_of, model_input, opened
from attnviz.capture.loading import borrowed
from attnviz.capture.model import Candidate, Model, ModelInput, Prediction, Writing
from attnviz.capture.selection import MAX_WEIGHT_BYTES, Numbers, Store, selection
from attnviz.errors import (
    AttnvizError,
    EmptyText,
    InvalidEdit,
    InvalidTrace,
    ModelFilesDamaged,
    ModelNotReachable,
    ModelNotSupported,
    ModelTooLarge,
    TextTooLong,
    UnknownModel,
    UnknownWords,
    UnreadablePicture,
    UnreadableText,
    WrongSetting,
)
from attnviz.export.report.notebook import Figure, show
from attnviz.export.tables import links_table, weights_table
from attnviz.importing import need_extra
from attnviz.interventions.edit import Edit
from attnviz.models import catalogue, resolve
from attnviz.trace import Block, Kind, Token, Trace, checked_place, whole

if TYPE_CHECKING:
    import torch
    from torch.nn import Module

    from attnviz.capture.model import Processor, Text, Tokenizer
    from attnviz.capture.pictures import Picture
    from attnviz.capture.residual_stream import Decomposition
    from attnviz.experiments.patching import Patching

__version__ = "0.1.0"

__all__ = [
    "AttnvizError",
    "Block",
    "Candidate",
    "Edit",
    "EmptyText",
    "Figure",
    "InvalidEdit",
    "InvalidTrace",
    "ModelFilesDamaged",
    "ModelNotReachable",
    "ModelNotSupported",
    "ModelTooLarge",
    "Prediction",
    "TextTooLong",
    "Token",
    "Trace",
    "UnknownModel",
    "UnknownWords",
    "UnreadablePicture",
    "UnreadableText",
    "Writing",
    "WrongSetting",
    "borrowed",
    "decomposition",
    "from_cache",
    "links_table",
    "look",
    "models",
    "patching",
    "predictions",
    "show",
    "trace",
    "trace_many",
    "weights_table",
]


def models() -> tuple[str, ...]:
    """The names of the models that come with attnviz, all of them usable without a network."""
    return catalogue.names()


# The function takes the submodule's name, and `from attnviz.trace import …` still finds the submodule.
def trace(
    text: Text,
    model: str | Path | Module = "minilm",
    second: str | None = None,
    target: str | None = None,
    writing: Writing | None = None,
    edits: Sequence[str | Edit] = (),
    tokenizer: Tokenizer | None = None,
    dtype: str | torch.dtype | None = None,
    device: str | torch.device | None = None,
    *,
    images: Picture | str | Sequence[Picture | str] = (),
    processor: Processor | None = None,
    layers: Numbers = None,
    heads: Numbers = None,
    queries: Numbers | str | Iterable[SupportsIndex | str] = None,
    store: Store = "auto",
    max_weight_bytes: int = MAX_WEIGHT_BYTES,
) -> Trace:
    """Run a model over a text and return what its attention did.

    >>> trace("The dog slept.", model="minilm").stack("encoder").shape  # [layer, head, query, key]
    (6, 12, 6, 6)

    >>> tired = "The dog did not cross the road as it was too tired."
    >>> trace(tired, model="translator").target
    "Le chien n'a pas traversé la route car il était trop fatigué."
    >>> "elle" in trace(tired, model="translator", edits=["encoder 2-1 9 2>7"]).target  # “it” reads the road
    True
    >>> float(trace(tired, edits=["encoder 4-2"]).block("encoder", layer=3).weights[1].max())  # silent
    0.0

    >>> of_it = trace(tired, layers=3, heads=[1, 5], queries=9).block("encoder", layer=3)
    >>> of_it.weights.shape, of_it.query_tokens[0].text  # [head, query, key]
    ((2, 1, 15), 'it')
    >>> of_it.top(head=1, k=2).keys  # numbers are the model's and the text's
    array([[2, 7]])

    For a model with attention that cannot be decomposed, the trace has only the weights that transformers
    returns, as `Trace.from_weights` makes it; a warning explains why.

    Args:
        text: what the model reads (an encoder–decoder: its encoder); it is never cut. Or its tokens, special
            ones included: a list, an array or a tensor of ids, or what a tokenizer of transformers returns.
            What a mask leaves out is not read, and places count from the first token that is.
        model: a name from `models()`, a folder, or a Hugging Face id, "owner/name" or "owner/name@revision".
            It runs in float32, however it is stored, and on the processor. The first call with a name loads
            that model, which takes some seconds.
            Or a model object of transformers, with or without adapters of peft: it runs as it is, in `eval`
            mode, on its device; see `borrowed` for what that does to the object.
        second: a second sentence, which a model like BERT reads together with the first.
        target: what the decoder of an encoder–decoder reads; None: what the model itself writes.
        writing: how a decoder writes on; None: it only reads.
        edits: changes to the model's attention, each an `attnviz.Edit` or its text: "encoder 4-2" ablates
            head 2 of layer 4. They are made one after the other: of two that ablate or point the same row,
            the last one counts. The trace's weights are those that the model went on with.
        tokenizer: of transformers, or any function from text to ids with `convert_ids_to_tokens`, for a model
            object; None: the tokens are given.
        dtype: in which numbers a folder or an id runs: "float32", "bfloat16", "float16", or torch's own.
        device: where it runs: "cpu", "cuda", "cuda:1", "xpu", "mps", or torch's own. A name may say both,
            wherever one is taken: "owner/name#bfloat16#cuda".
        images: what a vision-language model reads with the text, one or several, each a file, the bytes of
            one, or a picture of Pillow's. They belong where the text has placeholders of the model's
            processor, or else before it; no chat template is applied. `Token.patch` is the place of a token
            in its picture. TrOCR, Donut and BLIP read one picture; the text is what their decoder reads, and
            "" lets them write it.
        processor: of transformers, as AutoProcessor returns it, for a vision-language model object.
        layers, heads, queries: keep these alone, by number from 0: one, several, or None for all. Queries are
            places in the text, or tokens of it that are there once, as text; of an encoder–decoder, of its
            source. The model runs no further than the last of these layers.
        store: "weights" keeps the weights that the model computed with, to the bit. "vectors" keeps queries,
            keys and rules for masks and biases, O(tokens) in place of O(tokens²), while the model runs
            PyTorch's fast attention; weights of the rows that are read are computed then, and agree with
            those up to rounding. "auto" keeps vectors where the weights, or those of any one layer, would
            take more than `max_weight_bytes` as float32, unless the attention is changed.
        max_weight_bytes: the limit for "auto", and for an array made of vectors, such as `Block.weights`.

    Raises:
        EmptyText, TextTooLong, UnreadableText, UnknownWords: a text cannot be read as it is.
        UnknownModel: no such name.
        ModelNotReachable: the model is not on this machine, and the hub gives nothing.
        ModelTooLarge: it takes more memory than the limit allows.
        ModelFilesDamaged: its files are missing or changed.
        ModelNotSupported: its attention cannot be shown exactly, or it cannot read or write like that.
        InvalidEdit: an edit cannot be read, or the model or the sentence has no place for it.
        InvalidTrace: the model or the text has no such layer, head or query.
        TypeError: an argument is of another type, such as a list of texts.
    """
    if images:
        need_extra("pictures")
    given, changes = model_input(text, second, target, writing, images), _edits(edits)
    several: list[SupportsIndex | str] = []
    if queries is not None:
        several = [queries] if isinstance(queries, str) or not isinstance(queries, Iterable) else [*queries]
    numbers = [each for each in several if not isinstance(each, str)]
    by_text = len(numbers) < len(several)
    kept = selection(layers, heads, None if queries is None or by_text else numbers, store, max_weight_bytes)
    with opened(model, processor or tokenizer, dtype, device) as name:
        loaded = _loaded(name)
        if by_text:
            tokens = loaded.tokens(given)
            kept = replace(kept, queries=tuple(checked_place(each, tokens, "queries") for each in several))
        return loaded.trace(given, edits=changes, selection=kept)


def trace_many(
    texts: Iterable[Text | tuple[str, str]] | Mapping[str, Any],
    model: str | Path | Module = "minilm",
    batch_size: int = 32,
    tokenizer: Tokenizer | None = None,
    dtype: str | torch.dtype | None = None,
    device: str | torch.device | None = None,
    *,
    layers: Numbers = None,
    heads: Numbers = None,
    queries: Numbers = None,
    store: Store = "auto",
    max_weight_bytes: int = MAX_WEIGHT_BYTES,
) -> Iterator[Trace]:
    """The traces of many texts, in their order; only those of one batch are in memory at once.

    >>> [trace.stack("encoder").shape for trace in trace_many(["The dog slept.", "It was very tired."])]
    [(6, 12, 6, 6), (6, 12, 7, 7)]

    Texts of a batch are padded to the longest, and the padding is cut away: numbers may differ from those of
    the text alone by the rounding of sums: in float32 some 1e-6, more where scores are large. An
    encoder–decoder, which writes what its decoder reads, takes one text at a time; so does a model that takes
    token types, if a batch mixes pairs and single texts, and a text of which vectors are kept. Traces are
    views of their batch, which stays in memory as long as one of them does.

    Args:
        texts: each as `trace` takes it, or a pair, (text, second); or what a tokenizer of transformers
            returns for several.
        model, tokenizer, dtype, device: as `trace` takes them.
        batch_size: how many texts are read in one forward pass.
        layers, heads, queries, store, max_weight_bytes: as `trace` takes them, of each text.

    Raises:
        AttnvizError, TypeError: as `trace` does, before the traces of that text's batch come.
    """
    if whole(batch_size, "batch_size") < 1:
        raise AttnvizError(f"batch_size must be 1 or more, not {batch_size}.")
    waiting, kept = inputs_of(texts), selection(layers, heads, queries, store, max_weight_bytes)
    with opened(model, tokenizer, dtype, device) as name:
        loaded = _loaded(name)
        while batch := list(islice(waiting, batch_size)):
            yield from loaded.traces(batch, kept)


def predictions(
    text: Text,
    model: str | Path | Module,
    second: str | None = None,
    target: str | None = None,
    writing: Writing | None = None,
    edits: Sequence[str | Edit] = (),
    tokenizer: Tokenizer | None = None,
    dtype: str | torch.dtype | None = None,
    device: str | torch.device | None = None,
) -> tuple[Prediction, ...]:
    """What a model expects in a text: the next token in each place, or what was masked there.

    Args:
        text, model, second, target, writing, edits, tokenizer, dtype, device: as `trace` takes them. A model
            like BERT expects something where its masked token is typed: "The [MASK] slept." for BERT, "The
            <mask> slept." for RoBERTa; `python -m attnviz models NAME` shows which one it is.

    Returns:
        A prediction for each place. There are none if no masked token was typed, nor if the model expects
        nothing: "minilm" was saved without a head for predictions, and so were models that sort texts.
        Nor are there any for the translators: the page Translate shows their probabilities, this does not.

    Raises:
        AttnvizError, TypeError: as `trace` does.
    """
    given, changes = model_input(text, second, target, writing), _edits(edits)
    with opened(model, tokenizer, dtype, device) as name:
        return loading.load(name).predictions(given, edits=changes)


def decomposition(
    text: Text,
    model: str | Path | Module = "minilm",
    place: int | str = 0,
    target: str | None = None,
    kind: Kind | None = None,
    tokenizer: Tokenizer | None = None,
    dtype: str | torch.dtype | None = None,
    device: str | torch.device | None = None,
) -> Decomposition:
    """A token's output, and each of its logits, as a sum of what every part of the model adds to it.

    >>> slept = decomposition("The dog slept.", "minilm", place=3)
    >>> slept.residual < 1e-5  # how far the sum is from the model's own output
    True
    >>> [(part.kind, part.vectors.shape) for part in slept.parts][:3]  # a head's are [head, key, d_model]
    [('embeddings', (384,)), ('encoder', (12, 6, 384)), ('feed-forward', (384,))]

    Args:
        text, model, target, tokenizer, dtype, device: as `trace` takes them.
        place: the token, from 0, or its text if that is there once.
        kind: "encoder" or "decoder", whose output it is; None: the decoder's, if there is one.

    Returns:
        The parts, what they add up to, and the directions whose products with them are parts of the logits.

    Raises:
        AttnvizError, TypeError: as `trace` does; or there is no such token, or its output is no such sum.
    """
    with opened(model, tokenizer, dtype, device) as name:
        loaded = loading.load(name)
        with loading.gate:  # our own models come without transformers
            from attnviz.capture.residual_stream import decomposition as decomposed

        return decomposed(loaded, model_input(text, None, target, None), place, kind)


def patching(
    clean: str,
    corrupted: str,
    model: str | Path | Module = "minilm",
    place: int | str = 0,
    target: str | None = None,
    rows_of: str | None = None,
    tokenizer: Tokenizer | None = None,
    dtype: str | torch.dtype | None = None,
    device: str | torch.device | None = None,
) -> Patching:
    """How much of the difference between two sentences each head carries (activation patching).

    >>> tired = "The dog did not cross the road as it was too tired."
    >>> found = patching(tired, tired.replace("tired", "narrow"), "translator", place=9)
    >>> [token.text for token in found.expected]
    ['il', 'elle']
    >>> best = int(found.shares.argmax())
    >>> str(found.patched[best]), round(float(found.shares[best]), 1)
    ('encoder 2-1', 1.0)

    Args:
        clean, corrupted: Two sentences with the same number of tokens that differ in one or a few words.
        model, target, tokenizer, dtype, device: as `trace` takes them. Both sentences are read with the same
            target; None: with what the model writes for the clean one.
        place: the token at which the outcome is measured, from 0, or its text if that is there once; the
            decoder's, where there is one.
        rows_of: a head, "encoder 2-1", or "2-1" of a model with one kind of attention: then its output is put
            in at one token alone, one after the other, and not that of all heads.

    Returns:
        What was patched, and how much of the difference each patch explains.

    Raises:
        AttnvizError, TypeError: as `trace` does; or the sentences cannot be compared at this token.
    """
    from attnviz.experiments.patching import patch

    with opened(model, tokenizer, dtype, device) as name:
        if rows_of is not None and " " not in rows_of and len(kinds := resolve.entry(name).kinds) == 1:
            rows_of = f"{kinds[0]} {rows_of}"
        head = None if rows_of is None else Edit.parse(rows_of)
        *_, last = patch(name, ModelInput(clean, target=target), corrupted, place, head)
        return last.found


def look(
    picture: Picture | str,
    model: str | Path | Module,
    name: str | None = None,
    *,
    processor: Processor | None = None,
    dtype: str | torch.dtype | None = None,
    device: str | torch.device | None = None,
) -> Trace:
    """Run a model that sees pictures over one; its tokens are the picture's patches, row by row.

    Args:
        picture: a file, the bytes of one, or a picture of Pillow's.
        model: a folder, or a Hugging Face id; or a model object of transformers, with its `processor`.
        name: what the trace calls the picture; None: as its file is called.
        processor: of a model object, its image processor, as AutoImageProcessor or AutoProcessor returns it.
        dtype, device: of a folder or an id, as `trace` takes them.

    Raises:
        UnreadablePicture: it is no picture, or too large, or the file cannot be opened.
        AttnvizError: the model cannot be shown, or sees no pictures.
        TypeError: it is neither a file nor a picture, or what was given besides is of another type.
    """
    need_extra("pictures")
    from PIL import Image

    if processor is None and not isinstance(model, str | Path):
        raise TypeError(
            "A model object needs its image processor: attnviz.look(picture, model, "
            "processor=AutoImageProcessor.from_pretrained(…))."
        )
    if not isinstance(picture, str | Path | bytes | Image.Image):
        raise TypeError(
            "The picture must be the name of a file, the bytes of one or a picture of Pillow's, not "
            f"{type(picture).__name__}."
        )
    taken = Path(picture) if isinstance(picture, str) else picture
    called = name or (taken.name if isinstance(taken, Path) else "picture")
    with opened(model, processor, dtype, device) as called_model:
        return loading.look(called_model, taken, called)


def _loaded(name: str) -> Model:
    """The model of that name; the caller's caller is warned if it gives its weights alone."""
    loaded = loading.load(name)
    if loaded.weights_alone is not None:
        warnings.warn(loaded.weights_alone, stacklevel=3)
    return loaded


def _edits(edits: Sequence[str | Edit]) -> tuple[Edit, ...]:
    listed = isinstance(edits, Sequence) and not isinstance(edits, str)
    if not listed or not all(isinstance(edit, str | Edit) for edit in edits):
        raise TypeError(f'edits must be a list of str or Edit, such as ["encoder 4-2"], not {edits!r:.40}.')
    return tuple(edit if isinstance(edit, Edit) else Edit.parse(edit) for edit in edits)
