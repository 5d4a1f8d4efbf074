"""Controls for a model, an image and, for some models, a text; and the download button."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import NoReturn

import streamlit as st
from streamlit.runtime.scriptrunner import StopException

from attnviz.app import controls, markdown
from attnviz.app.models import lookup
from attnviz.app.models.images import computed
from attnviz.app.models.images.samples import QUESTIONS, SAMPLES
from attnviz.app.page import stop
from attnviz.app.saving import file_name_of, npz_of, save_file
from attnviz.app.state import link, memory
from attnviz.app.state.choices import MEAN, PATCH, PICTURE, QUESTION, TILES
from attnviz.capture import loading
from attnviz.errors import AttnvizError, EmptyText
from attnviz.models import allowed, families
from attnviz.models.catalogue import SHAPES, Entry
from attnviz.models.tokenizer import PICTURE_FORMATS, grid_of, tokenizer_of
from attnviz.trace import Patch, Trace
from attnviz.trained.shapes import pictures

OWN = "your own"
"""Option for the visitor's file."""

_MAX_SAVED = 10**7  # maximum number of weights of a trace to save
_DEFAULT_QUESTION = "What is in this picture?"
_UNKNOWN = ("<unk>", "[UNK]")  # tokenizers' spellings of the unknown token
_TARGET_HELP = "Text for the model's decoder. If empty, the model generates the text."
_SELECTED_IN = "input of the selected token"
_SHAPES_HELP = (
    "This model was trained on two kinds of questions, such as “what colour "
    "is the circle” and “which shape is red”, in lower case. Shapes: "
    f"{', '.join(pictures.SHAPES)}. Colours: {', '.join(pictures.COLOURS)}."
)


@dataclass(frozen=True)
class ImageSelection:
    """A model, and an image for it.

    Attributes:
        entry: Entry of the model.
        example: Name of the example image, or `OWN`.
        file: Content of the image file; empty until the visitor uploads one.
        file_name: Name of the visitor's file; "" for an example.
        rows, columns: Numbers of rows and columns of patches.
        extras: Names of the tokens that are not patches: text tokens, or [CLS] and registers.
        words: Number of text tokens; they come first in `extras`.
        prompt: Text that is read with the image; "" for a model without text.
        places: Indices in the trace of the tokens in `extras`, then of the shown patches.
        patches: Shown patches, for a model that also reads text.
        mean: Show the mean over each layer's heads.
        problem: Error if the model cannot read the image or the text.
    """

    entry: Entry
    example: str
    file: bytes
    file_name: str
    rows: int = 1
    columns: int = 1
    extras: tuple[str, ...] = ()
    words: int = 0
    prompt: str = ""
    places: tuple[int, ...] = ()
    patches: tuple[Patch, ...] = ()
    mean: bool = False
    problem: AttnvizError | None = None

    @property
    def missing(self) -> bool:
        """True if the visitor's own file has not been uploaded yet."""
        return self.example == OWN and not self.file_name

    def name(self, token: int) -> str:
        """Return the name of a token: "[CLS]", "row 3, column 5"."""
        if token < len(self.extras):
            return self.extras[token]
        row, column = divmod(token - len(self.extras), self.columns)
        return f"row {row + 1}, column {column + 1}"

    @property
    def tokens(self) -> list[str]:
        """Names of all tokens."""
        return [self.name(token) for token in range(len(self.extras) + self.rows * self.columns)]

    @property
    def layers(self) -> int:
        """Number of layers."""
        return self.entry.layers or self.entry.decoder_layers

    @property
    def heads(self) -> int:
        """Number of shown heads per layer."""
        return 1 if self.mean else self.entry.heads


def choose() -> ImageSelection:
    """Draw the controls; stop the page if there is no model, or if the model's files were deleted."""
    entries = [entry for entry in lookup.usable() if entry.is_vision_model or entry.images]
    if not entries:
        _stop_without_model()
    examples, beside = st.columns([8, 4], gap="medium")
    with beside:
        entry = controls.model(entries, offer_own=True)
    with examples:
        is_bundled = entry.name == SHAPES
        with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
            example = PICTURE.segments("Image", [*QUESTIONS] if is_bundled else [*SAMPLES, OWN])
            mean = entry.images and MEAN.toggle("Mean over heads")
        file, file_name = b"", ""
        if example != OWN:
            file = computed.example_png(example)
        else:
            uploaded = st.file_uploader(
                f"An image of your own: {', '.join(PICTURE_FORMATS[:-1])} or {PICTURE_FORMATS[-1]}",
                [kind.lower() for kind in PICTURE_FORMATS],  # Streamlit also accepts .jpg for .jpeg
                help="The server keeps the image in memory for a while, never on disk. Links do not "
                "contain it: anyone who opens your link must upload an image.",
            )
            if uploaded:
                file, file_name = uploaded.getvalue(), uploaded.name
        chosen = ImageSelection(entry, example, file, file_name, mean=mean)
        if entry.images:
            question, about = (
                (QUESTIONS[example].text, _SHAPES_HELP) if is_bundled else (_DEFAULT_QUESTION, None)
            )
            if _writes(entry):
                question, about = "", _TARGET_HELP
            QUESTION.follow(question)
            return _with_text(chosen, QUESTION.draw("Text", question, help=about))
    try:
        tokens = loading.tokens(entry.name, "an image")
    except AttnvizError as error:
        stop(error, ":material/block:")
    rows, columns = grid_of(tokens)
    extras = tuple(token.text for token in tokens if token.special)
    return replace(chosen, rows=rows, columns=columns, extras=extras, places=tuple(range(len(tokens))))


def _with_text(chosen: ImageSelection, prompt: str) -> ImageSelection:
    """Return the selection with a text and its tokens, or with the problem."""
    if chosen.entry.name == SHAPES:
        prompt = prompt.rstrip("?. ")  # the vocabulary has no punctuation
    chosen = replace(chosen, prompt=prompt)
    if not prompt.strip() and not _writes(chosen.entry):
        return replace(chosen, problem=EmptyText("The text is empty. Type a question about the image."))
    if unknown := unknown_words(chosen.entry, prompt):
        known = _SHAPES_HELP if chosen.entry.name == SHAPES else "Use other words."
        message = f"Not in this model's vocabulary: {', '.join(unknown)}. {known}"
        return replace(chosen, problem=AttnvizError(message))
    if chosen.missing:
        return chosen
    try:
        trace, _ = computed.read(chosen.entry, chosen.file, prompt)
    except AttnvizError as error:
        return replace(chosen, problem=error)
    tokens, count = computed.tokens_of(trace)
    patches = {token.patch: place for place, token in enumerate(tokens) if token.patch is not None}
    view = int(TILES.toggle("High-resolution tiles")) if len({patch.view for patch in patches}) > 1 else 0
    shown = sorted(patch for patch in patches if patch.view == view)
    words = [place for place, token in enumerate(tokens) if token.patch is None]
    names, counts = [], Counter[str]()
    for place in words:
        token = tokens[place]
        word = trace.text[token.start : token.end] or token.text
        counts[word] += 1
        names.append(f"{word} ({counts[word]})" if counts[word] > 1 else word)
    return replace(
        chosen,
        rows=1 + shown[-1].row,
        columns=1 + shown[-1].column,
        extras=tuple(names),
        words=count or len(words),
        places=(*words, *(patches[patch] for patch in shown)),
        patches=tuple(shown),
    )


def _writes(entry: Entry) -> bool:
    """Return whether a model generates a text if none is typed."""
    return entry.family in families.READERS


def unknown_words(model: Entry, prompt: str) -> list[str]:
    """Return the distinct parts of a prompt that the tokenizer replaces with its unknown token."""
    tokens = tokenizer_of(model).tokens(prompt) if prompt.strip() else ()
    unknown = (prompt[each.start : each.end] for each in tokens if each.text in _UNKNOWN)
    return [word for word in dict.fromkeys(unknown) if word not in ("", *_UNKNOWN)]


def choose_token(chosen: ImageSelection) -> int:
    """Draw the select box for the query token, initially the last word or the middle patch; return its index.

    In a model that reads text, a new text or a new image resets the selection.
    """
    if chosen.entry.images and not chosen.extras:  # the link's token is kept until the image is uploaded
        PATCH.keep()
        link.postpone()
        return 0
    tokens = chosen.tokens
    first = len(chosen.extras) + chosen.rows // 2 * chosen.columns + chosen.columns // 2
    if chosen.words:
        first = chosen.words - 1
        read = (chosen.entry.name, chosen.example, chosen.file_name, chosen.prompt)
        if memory.get(_SELECTED_IN, read) != read:
            PATCH.set(tokens[first])
        memory.put(_SELECTED_IN, read)
    label = "Word or patch" if chosen.entry.images else "Query patch"
    return tokens.index(PATCH.select(label, tokens, tokens[first], width=320))


def _stop_without_model() -> NoReturn:
    link.forget()
    st.markdown("**This server has no model for images.**")
    describe_real_models()
    raise StopException  # as `page.stop` does


def describe_real_models() -> None:
    """Draw instructions for opening a published model."""
    if allowed.may_open():
        st.markdown(
            "To open a published model, go to Models and enter a folder on this machine or an id on Hugging "
            "Face, such as `Qwen/Qwen2-VL-2B-Instruct` or `llava-hf/llava-1.5-7b-hf` (images with text) or "
            "`google/vit-base-patch16-224` (images alone)."
        )
        st.page_link(
            "pages/models.py", label="Models", icon=":material/arrow_forward:", icon_position="right"
        )


def forward(chosen: ImageSelection) -> Trace | None:
    """Run the model; without a usable file, draw instructions or an error, and return None.

    If the visitor opened a link to their own image, a note explains that links contain no file.
    """
    if chosen.missing:
        if link.requested(PICTURE) == [OWN]:
            st.info(
                "**The image is not in the link**, only the model, the head and the patch. Upload the image "
                "here to see this view.",
                icon=":material/upload_file:",
            )
        return None
    try:
        if chosen.problem is not None:
            raise chosen.problem
        if chosen.entry.images:
            return computed.read(chosen.entry, chosen.file, chosen.prompt)[0]
        return computed.processed(chosen.entry, chosen.example, chosen.file).trace
    except AttnvizError as error:
        about = f"**{markdown.plain(chosen.file_name)}:** " if chosen.file_name else ""
        st.error(f"{about}{markdown.plain(str(error))}", icon=":material/broken_image:")
        return None


def save(chosen: ImageSelection, trace: Trace) -> None:
    """Draw the button that saves all heads, unless they are too large, and a note on links for own files."""
    size = sum(heads * queries * keys for heads, queries, keys in (block.shape for block in trace.blocks))
    if size <= _MAX_SAVED:
        save_file(
            "All heads (NPZ)",
            lambda: npz_of(trace),
            f"{file_name_of(f'{lookup.display_name(chosen.entry)}-{chosen.example}')}.npz",
            "Queries, keys, values and weights of all tokens of this image. Load the file in Python with "
            "attnviz.Trace.load or numpy.load.",
        )
    if chosen.example == OWN:
        st.markdown(
            ":small[The link contains the model, the head and the patch, but not your image: anyone who "
            "opens the link must upload an image.]"
        )
