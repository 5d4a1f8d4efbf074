"""Record and show the attention of transformers, with the model's exact numbers."""

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
from attnviz.trace import Block, Kind, Token, Trace, as_int, checked_place

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
    """Return the names of the models bundled with attnviz; they need no network."""
    return catalogue.names()


# The function shadows the submodule of this name, but `from attnviz.trace import …` still works.
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
    """Run a model on a text and return its attention.

    >>> trace("The dog slept.", model="minilm").stack("encoder").shape  # [layer, head, query, key]
    (6, 12, 6, 6)

    >>> tired = "The dog did not cross the road as it was too tired."
    >>> trace(tired, model="translator").target
    "Le chien n'a pas traversé la route car il était trop fatigué."
    >>> "elle" in trace(tired, model="translator", edits=["encoder 2-1 9 2>7"]).target  # move a weight
    True
    >>> float(trace(tired, edits=["encoder 4-2"]).block("encoder", layer=3).weights[1].max())  # ablated
    0.0

    >>> it = trace(tired, layers=3, heads=[1, 5], queries=9).block("encoder", layer=3)
    >>> it.weights.shape, it.query_tokens[0].text  # [head, query, key]
    ((2, 1, 15), 'it')
    >>> it.top(head=1, k=2).keys  # indices count from 0 in the model and in the text
    array([[2, 7]])

    If the attention cannot be decomposed, the trace has only the weights that transformers returns, as from
    `Trace.from_weights`; a warning explains why.

    Args:
        text: the input (of the encoder, in an encoder–decoder). It is never truncated. It can also be
            token ids with special tokens, as a list, array or tensor, or a transformers tokenizer's output.
            Tokens with an attention mask of 0 are removed; positions count from the first remaining token.
        model: a name from `models()`, a folder, or a Hugging Face id, "owner/name" or "owner/name@revision".
            By default, it runs in float32 on the CPU. The first call with a name loads the model, which takes
            a few seconds. A transformers model object is also accepted, with or without peft adapters; it
            runs with its own dtype and device, in `eval` mode (see `borrowed`).
        second: a second sentence, for models like BERT that accept pairs of sentences.
        target: the decoder's input in an encoder–decoder; None: the model generates it.
        writing: how a decoder continues the text; None: it does not.
        edits: changes to the model's attention, each an `attnviz.Edit` or its text: "encoder 4-2" ablates
            head 2 of layer 4. They are applied in order: if two of them ablate or redirect the same row, the
            last one is used. The trace has the edited weights.
        tokenizer: the tokenizer of a model object: a transformers tokenizer, or a function from text to ids
            with `convert_ids_to_tokens`; None: `text` must be token ids, unless the object has a tokenizer.
        dtype: dtype of a model from a folder or the hub: "float32", "bfloat16", "float16", or a torch dtype.
        device: device of such a model: "cpu", "cuda", "cuda:1", "xpu", "mps", or a torch device. A
            model name may include dtype and device: "owner/name#bfloat16#cuda".
        images: one or several images for a vision-language model, each a file, its bytes, or a Pillow image.
            They are inserted at the placeholders of the model's processor in the text, or else before it; no
            chat template is applied. `Token.patch` is a token's position in its image. TrOCR, Donut and BLIP
            accept one image. For these, `text` is the decoder's input; if it is "", the model generates it.
        processor: the transformers processor (AutoProcessor) of a vision-language model object.
        layers, heads, queries: keep only these, by index from 0: one, several, or None for all. Queries are
            positions in the text (the source, in an encoder–decoder), or the texts of tokens that occur once.
            The model stops after the last selected layer.
        store: "weights" keeps exactly the weights that the model computed. "vectors" keeps queries, keys, and
            rules for masks and biases, which take O(tokens) memory instead of O(tokens²); the model then runs
            PyTorch's fast attention, and weights are computed when rows are read, equal to the model's up to
            rounding. "auto" keeps vectors if the selected weights, or all weights of one layer, would
            take more than `max_weight_bytes` as float32; with edits, it keeps the weights.
        max_weight_bytes: the limit for "auto", and for arrays computed from vectors, such as `Block.weights`.

    Raises:
        EmptyText, TextTooLong, UnreadableText, UnknownWords: a text is invalid for this model.
        UnknownModel: there is no model of that name.
        ModelNotReachable: the model is not on this machine, and cannot be downloaded from the hub.
        ModelTooLarge: the model needs more memory than the limit.
        ModelFilesDamaged: files of the model are missing or changed.
        ModelNotSupported: the model's attention cannot be recorded, or the model does not support this input.
        InvalidEdit: an edit cannot be parsed, or names a layer, head or token that does not exist.
        InvalidTrace: the model or the text has no such layer, head or query.
        TypeError: an argument has the wrong type, such as a list of texts.
    """
    if images:
        need_extra("pictures")
    given, changes = model_input(text, second, target, writing, images), _edits(edits)
    listed: list[SupportsIndex | str] = []
    if queries is not None:
        listed = [queries] if isinstance(queries, str) or not isinstance(queries, Iterable) else [*queries]
    numbers = [each for each in listed if not isinstance(each, str)]
    by_text = len(numbers) < len(listed)
    selected = selection(
        layers, heads, None if queries is None or by_text else numbers, store, max_weight_bytes
    )
    with opened(model, processor or tokenizer, dtype, device) as name:
        loaded = _loaded(name)
        if by_text:
            tokens = loaded.tokens(given)
            selected = replace(
                selected, queries=tuple(checked_place(each, tokens, "queries") for each in listed)
            )
        return loaded.trace(given, edits=changes, selection=selected)


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
    """Yield the traces of many texts, in order; only one batch at a time is in memory.

    >>> [trace.stack("encoder").shape for trace in trace_many(["The dog slept.", "It was very tired."])]
    [(6, 12, 6, 6), (6, 12, 7, 7)]

    The texts of a batch are padded to the longest, and padding is removed from the traces. Because of
    rounding, values may differ from those of a text traced alone: by about 1e-6 in float32, more for large
    scores. Texts are traced one at a time if an encoder–decoder generates the target, if vectors are stored,
    or if a batch for a model with token types mixes pairs and single texts. The arrays of a trace are views
    of its batch's arrays, which stay in memory until all traces of the batch are deleted.

    Args:
        texts: each as for `trace`, or a pair, (text, second); or the output of a transformers tokenizer
            for several texts.
        model, tokenizer, dtype, device: as for `trace`.
        batch_size: the number of texts per forward pass.
        layers, heads, queries, store, max_weight_bytes: as for `trace`, applied to each text.

    Raises:
        AttnvizError, TypeError: as for `trace`; raised before the first trace of the invalid text's batch.
    """
    if as_int(batch_size, "batch_size") < 1:
        raise AttnvizError(f"batch_size must be 1 or more, not {batch_size}.")
    inputs, selected = inputs_of(texts), selection(layers, heads, queries, store, max_weight_bytes)
    with opened(model, tokenizer, dtype, device) as name:
        loaded = _loaded(name)
        while batch := list(islice(inputs, batch_size)):
            yield from loaded.traces(batch, selected)


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
    """Return a model's predictions for a text: the next token at each position, or the masked tokens.

    Args:
        text, model, second, target, writing, edits, tokenizer, dtype, device: as for `trace`. A model
            like BERT predicts masked tokens: "The [MASK] slept." for BERT, "The
            <mask> slept." for RoBERTa. `python -m attnviz models NAME` prints the model's mask token.

    Returns:
        One prediction per position or masked token. Empty if a model like BERT gets a text without masked
        tokens, or if the model has no language-model head, such as "minilm" or a text classifier. Also empty
        for the bundled translators: the page Translate shows their probabilities.

    Raises:
        AttnvizError, TypeError: as for `trace`.
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
    """Decompose a token's output, and its logits, into a sum of contributions of all parts of the model.

    >>> slept = decomposition("The dog slept.", "minilm", place=3)
    >>> slept.residual < 1e-5  # the largest difference from the model's own output
    True
    >>> [(part.kind, part.vectors.shape) for part in slept.parts][:3]  # for heads [head, key, d_model]
    [('embeddings', (384,)), ('encoder', (12, 6, 384)), ('feed-forward', (384,))]

    Args:
        text, model, target, tokenizer, dtype, device: as for `trace`.
        place: the token's position, from 0, or its text if it occurs once.
        kind: "encoder" or "decoder", the stack to decompose; None: the decoder, if there is one.

    Returns:
        The contributions, their sum, and the directions that turn contributions into parts of the logits.

    Raises:
        AttnvizError, TypeError: as for `trace`; or there is no such token, or no exact decomposition.
    """
    with opened(model, tokenizer, dtype, device) as name:
        loaded = loading.load(name)
        with loading.gate:  # the bundled models do not need transformers
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
    """Return each head's share of the difference between two sentences (activation patching).

    >>> tired = "The dog did not cross the road as it was too tired."
    >>> found = patching(tired, tired.replace("tired", "narrow"), "translator", place=9)
    >>> [token.text for token in found.expected]
    ['il', 'elle']
    >>> best = int(found.shares.argmax())
    >>> str(found.patched[best]), round(float(found.shares[best]), 1)
    ('encoder 2-1', 1.0)

    Args:
        clean, corrupted: two sentences with the same number of tokens that differ in one or a few words.
        model, target, tokenizer, dtype, device: as for `trace`. Both sentences have the same
            target; None: the text that the model generates for the clean sentence.
        place: the position, from 0, of the token at which the outcome is measured (in the decoder, if there
            is one), or the token's text if it occurs once.
        rows_of: a head, "encoder 2-1", or "2-1" for a model with one kind of attention: patch its output at
            one token at a time; None: patch the complete output of each head.

    Returns:
        The patches, and the share of the difference that each patch restores.

    Raises:
        AttnvizError, TypeError: as for `trace`; or the sentences cannot be compared at this token.
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
    """Run a vision model on an image and return its attention; the tokens are the patches, row by row.

    Args:
        picture: a file, its bytes, or a Pillow image.
        model: a folder, or a Hugging Face id; or a transformers model object, with its `processor`.
        name: the image's name in the trace; None: its file name, or else "picture".
        processor: the image processor of a model object, from AutoImageProcessor or AutoProcessor.
        dtype, device: as for `trace`.

    Raises:
        UnreadablePicture: the picture is not an image, is too large, or cannot be opened.
        AttnvizError: the model is not supported, or is not a vision model.
        TypeError: an argument has the wrong type.
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
            "The picture must be a file name, the bytes of a file or a Pillow image, not "
            f"{type(picture).__name__}."
        )
    source = Path(picture) if isinstance(picture, str) else picture
    title = name or (source.name if isinstance(source, Path) else "picture")
    with opened(model, processor, dtype, device) as model_name:
        return loading.look(model_name, source, title)


def _loaded(name: str) -> Model:
    """Return the model of this name; warn if only its attention weights can be recorded."""
    loaded = loading.load(name)
    if loaded.weights_alone is not None:
        warnings.warn(loaded.weights_alone, stacklevel=3)
    return loaded


def _edits(edits: Sequence[str | Edit]) -> tuple[Edit, ...]:
    listed = isinstance(edits, Sequence) and not isinstance(edits, str)
    if not listed or not all(isinstance(edit, str | Edit) for edit in edits):
        raise TypeError(f'edits must be a list of str or Edit, such as ["encoder 4-2"], not {edits!r:.40}.')
    return tuple(edit if isinstance(edit, Edit) else Edit.parse(edit) for edit in edits)
