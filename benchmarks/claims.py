"""Recompute the numbers in README, docs and pages: docs/claims.toml has the sentences and the values.

`python -m benchmarks.claims` recomputes all claims, `python -m benchmarks.claims ID …` only these. The exit
status is 1 if a value differs from the recorded value, or if a sentence is no longer in its file.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import torch

import attnviz
from attnviz.app.classroom import rooms, store
from attnviz.app.examples import EXAMPLES, TOGETHER
from attnviz.app.heads.texts import MAX_LINES
from attnviz.app.lessons.translate.values import translate
from attnviz.app.traces import MAX_GUEST_WEIGHTS, MAX_WEIGHTS
from attnviz.capture.model import MAX_NEW_TOKENS
from attnviz.errors import InvalidEdit
from attnviz.experiments import corpus, pairs
from attnviz.export.report import contents as report
from attnviz.interventions.edit import Edit
from attnviz.models import catalogue, config
from attnviz.readable import MAX_CHARACTERS
from attnviz.text import percent
from attnviz.trained.shapes import figures
from attnviz.trained.translator import distance, translator
from attnviz.trained.translator.translator import Translator
from attnviz.trained.translator.variants import VARIANTS, WEIGHTS
from training import distances, shapes
from training.recurrent import RecurrentEncoderDecoder
from training.translator_measures import measure

ROOT = Path(__file__).parents[1]
LEDGER: dict[str, Any] = tomllib.loads((ROOT / "docs" / "claims.toml").read_text("utf-8"))

MINILM = catalogue.entry("minilm")
TIRED = "The dog did not cross the road as it was too tired."
NARROW = "The dog did not cross the road as it was too narrow."
SUITCASES = (
    "The trophy does not fit into the suitcase as it is too {}.",
    "The trophy does not fit in the suitcase as it is too {}.",
    "The trophy did not fit in the suitcase because it was too {}.",
)


def _from_it(text: str) -> dict[str, np.ndarray[Any, Any]]:
    """Return the weights from “it” in the fourth layer, [head], by word; “the” is omitted."""
    block = attnviz.trace(text).block("encoder", layer=3)
    words = [token.text for token in block.key_tokens]
    return {word: block.weights[:, words.index("it"), at] for at, word in enumerate(words) if word != "the"}


def size_of_bert() -> str:
    """Read the sizes from the published files, without attnviz's own code."""
    folder = catalogue.MINILM.folder
    about = json.loads((folder / "config.json").read_text("utf-8"))
    layers, heads, size = (
        about[name] for name in ("num_hidden_layers", "num_attention_heads", "hidden_size")
    )
    with safetensors.safe_open(folder / "model.safetensors", "numpy") as file:
        names: list[str] = file.keys()
        numbers = sum(file.get_tensor(name).size for name in names)
    return (
        f"{layers} layers × {heads} heads = {layers * heads}, vectors of {size} numbers, "
        f"{numbers / 1e6:.1f} million parameters"
    )


def head_4_2_follows() -> str:
    """Return the two largest weights of *it* in head 4-2, for both sentences."""
    largest = []
    for text in (TIRED, NARROW):
        row = {word: float(weights[1]) for word, weights in _from_it(text).items()}
        first, second = sorted(row, key=lambda word: -row[word])[:2]
        largest.append(f"{first} {row[first]:.2f}, {second} {row[second]:.2f}")
    return f"head 4-2, tired: {largest[0]}; narrow: {largest[1]}"


def head_4_2_fails() -> str:
    """Count how often *it* attends most to *trophy* in head 4-2, in all wordings of the sentence."""
    first = [
        max(row, key=lambda word: float(row[word][1]))
        for row in (_from_it(text.format(word)) for text, word in product(SUITCASES, ("big", "small")))
    ]
    return f"head 4-2 attends most to the trophy in {first.count('trophy')} of {len(first)} sentences"


def mean_of_layer() -> str:
    """Return the weight from *it* to *dog* in one head, and in the mean of the layer."""
    to_dog = _from_it(TIRED)["dog"]
    return (
        f"dog: {percent(float(to_dog[1]))} in head 4-2, {percent(float(to_dog.mean()))} in the layer's mean"
    )


def rollout_becomes_alike() -> str:
    """Return the mean total variation distance between two tokens' rows of the rollout, after each layer."""
    weights = attnviz.trace(TIRED).stack("encoder").mean(axis=1, dtype=float)
    mixed, apart = np.eye(weights.shape[-1]), []
    for layer in weights:
        mixed = (layer + np.eye(len(mixed))) / 2 @ mixed
        distances = abs(mixed[:, None] - mixed).sum(axis=-1) / 2
        apart.append(percent(float(distances[np.triu_indices(len(mixed), 1)].mean())))
    return f"mean distance between the rows of two tokens, by layer: {', '.join(apart)}"


def sentences_and_lines() -> str:
    """Return the number of bundled sentences, and the limit of Score heads."""
    sentences = corpus.bundled().splitlines()
    return f"{len(sentences)} sentences come with attnviz; a file may have {MAX_LINES:,} lines"


def live_rooms() -> str:
    """Return the limits of live rooms."""
    return (
        f"ends {rooms.LEFT_SECONDS / 60:.0f} minutes after its teacher, or after {rooms.HOURS} hours; "
        f"codes of {len(rooms.new_code())} characters; "
        f"{rooms.MAX_STUDENTS} students; {store.MAX_ROOMS} rooms"
    )


def pairs_of_sentences() -> str:
    """Count the bundled pairs, and those in which the pronoun attends more to its noun in both sentences."""
    found = [all(map(_attends_to_referent, pair.readings)) for pair in pairs.bundled()]
    return f"head 4-2 resolves {sum(found)} of {len(found)} pairs"


def _attends_to_referent(sentence: pairs.SentenceOfPair) -> bool:
    """Return whether the pronoun attends more to its referent than to the other noun, in head 4-2."""
    block = attnviz.trace(sentence.text).block("encoder", layer=3)
    pronoun, *nouns = (
        [at for at, token in enumerate(block.key_tokens) if span.start < token.end <= span.end]
        for span in (sentence.pronoun, *sentence.candidates)
    )
    weights = [block.weights[1][np.ix_(pronoun, noun)].sum() for noun in nouns]
    return bool(weights[sentence.right] > weights[1 - sentence.right])


def forms_of_edits() -> str:
    """Count the forms in which an edit can be written and parsed again."""
    forms = 0
    for parts in product((None, 0), repeat=3):
        try:
            edit = Edit("encoder", 0, 0, *parts)
            forms += Edit.parse(str(edit)) == edit
        except InvalidEdit:
            continue
    return f"{forms} forms"


def words_that_repeat() -> str:
    """Count a phrase in one example, and return whether both sentences of another example are equal."""
    [flies] = [example.text.count("flies like") for example in EXAMPLES if example.name == "time flies"]
    [same] = [example.text == example.other for example in TOGETHER if example.name == "the same twice"]
    return f"“flies like” occurs {flies} times; both sentences are the same: {same}"


def limits_of_texts() -> str:
    """Return the limits of texts, for a model of 12 × 12 heads and for the bundled model."""

    def longest(weights: int, heads: int) -> int:
        return int((weights / heads) ** 0.5)

    curves = re.search(r"MANY_TOKENS = (\d+)", (ROOT / "attnviz" / "widgets" / "lines.js").read_text("utf-8"))
    heads, weights = MINILM.layers * MINILM.heads, config.MAX_ATTENTION_WEIGHTS
    return (
        f"{MINILM.token_limit} tokens for the bundled model, at most {weights:,} weights "
        f"above {config.ALWAYS_TOKENS:,} tokens: "
        f"{longest(weights, 144):,} tokens of 12 × 12 heads; {MAX_CHARACTERS:,} characters; "
        f"{MAX_WEIGHTS:,} weights on a page: {longest(MAX_WEIGHTS, 144)} tokens of 12 × 12 heads, "
        f"{longest(MAX_GUEST_WEIGHTS, 72)} of 6 × 12 for other visitors; "
        f"{MAX_NEW_TOKENS} generated tokens; {report.MAX_WEIGHTS:,} weights in a "
        f"report: {longest(report.MAX_WEIGHTS, heads)} and {longest(report.MAX_WEIGHTS, 144)} tokens; "
        f"fewer lines above {curves and curves[1]}"
    )


def weights_that_do_not_matter() -> str:
    """Count the directions in which weights can change without changing their sum or the output."""
    size = MINILM.d_head
    free = []
    for tokens in (size + 1, size + 2):
        values = np.random.default_rng(0).standard_normal((tokens, size))
        free.append(tokens - int(np.linalg.matrix_rank(np.column_stack([values, np.ones(tokens)]))))
    return (
        f"values of {size} numbers: {size + 1} tokens leave {free[0]} directions, {size + 2} leave {free[1]}"
    )


def it_in_french() -> str:
    """Return the translations of both sentences."""
    return "; ".join(" ".join(translate("translator", text).words) for text in (TIRED, NARROW))


@cache
def _stored_results(variant: str) -> tuple[dict[str, Any], ...]:
    """Return the stored results of a variant's training runs, one per seed."""
    runs = json.loads((WEIGHTS / "figures.json").read_text("utf-8"))
    return tuple(run for run in runs if run["variant"] == variant)


def long_distances() -> str:
    """Return the sizes of the networks, and whether the LSTM reads the source from left to right."""
    networks = {name: distances.build(name) for name in distance.NAMES}
    parameters = [f"{sum(each.numel() for each in network.parameters()):,}" for network in networks.values()]
    lstm, transformer = RecurrentEncoderDecoder(attention=False), translator.build(distances.SIZES, seed=0)
    depths = [lstm.encoder.num_layers, lstm.decoder.num_layers]
    depths += [len(transformer.encoder.layers), len(transformer.decoder.layers)]
    target = torch.tensor([[1]])
    first, same = (lstm(torch.tensor([[5, last]]), target).outputs[0, 0] for last in (6, 7))
    in_order = torch.equal(first, same)  # the first output does not depend on the last word
    return f"layers: {depths}; parameters: {', '.join(parameters)}; source from left to right: {in_order}"


def translators_measured_again() -> str:
    """Compare the stored results of the bundled translators with new results from their weights."""
    same = []
    for name, variant in VARIANTS.items():
        [stored] = [run for run in _stored_results(name) if run["shipped"]]
        new = asdict(measure(Translator.load(variant.file)))
        same.append(all(_near(new[key], stored[key]) for key in new))
    return f"{sum(same)} of {len(same)} translators have the stored results"


def distances_measured_again() -> str:
    """Compare the stored results of the saved networks with new results from their weights."""
    found = distance.read()
    tested = [
        distances.held_out_sentences(distances.SENTENCES, clauses) for clauses in range(len(found.words))
    ]
    same = (
        _near(
            [*zip(run.exact, run.pronoun, strict=True)],
            [distances.count_correct(model, each) for each in tested],
        )
        for name in distance.NAMES
        for run, model in [(found.chosen(name)[0], distances.load(name))]
    )
    return f"equal to the stored results: {all(same)}"


def shapes_measured_again() -> str:
    """Evaluate the model of coloured shapes on images outside its training set."""
    found = shapes.measure()
    results = [f"{found.right} of {found.pictures} correct"]
    for name, head in (("shape", found.by_shape), ("colour", found.by_colour)):
        low, high = map(percent, head.interval)
        number = "-".join(map(str, head.head))
        results.append(f"by {name}: head {number} {percent(head.weight)}, {low} to {high}")
    return f"{'; '.join(results)}; equal to the stored results: {_near(found, figures.stored())}"


def _near(one: Any, other: Any) -> bool:
    """Return whether two records are equal, with a tolerance of 1 % + 0.01 for each number."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_near(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_near, one, other))
    number = isinstance(one, int | float) and isinstance(other, int | float)
    return abs(one - other) <= 0.01 * abs(other) + 0.01 if number else bool(one == other)


@cache
def texts(file: str) -> list[str]:
    """Return the texts of a file: Markdown, a notebook's Markdown cells, or the strings of a Python file.

    Values in f-strings are replaced with {}.
    """
    content = (ROOT / file).read_text("utf-8")
    if file.endswith(".ipynb"):
        cells = json.loads(content)["cells"]
        return [
            " ".join("".join(cell["source"]).split()) for cell in cells if cell["cell_type"] == "markdown"
        ]
    found = [content] if file.endswith(".md") else list(_strings(ast.parse(content)))
    return [" ".join(text.split()) for text in found]


def _strings(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                yield from _strings(part.value)
    else:
        for child in ast.iter_child_nodes(node):
            docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            if not docstring:
                yield from _strings(child)


def limits_of_a_visitor() -> str:
    """Return the default limits for one visitor to a server."""
    from attnviz.app.server.patches import MAX_UPLOADED_BYTES, MAX_UPLOADS
    from attnviz.app.traces import MAX_WAITING_TOKENS
    from attnviz.capture.pictures import MAX_PIXELS
    from attnviz.models.limits import DEFAULT_GB
    from attnviz.readable import MAX_CHARACTERS

    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))
    server = settings["server"]
    return (
        f"{MAX_CHARACTERS:,} characters, uploads of {server['maxUploadSize']} MB, {MAX_UPLOADS} files, "
        f"{MAX_UPLOADED_BYTES / 1e6:.0f} MB in all, messages of {server['maxMessageSize']} MB, "
        f"{MAX_PIXELS / 1e6} million pixels, {DEFAULT_GB:.0f} GB, {MAX_WAITING_TOKENS:,} queued tokens"
    )


def unstated() -> list[str]:
    """Return a message for each sentence of the ledger that is not in its file."""
    return [
        f"{name}: {file} does not contain “{sentence}”"
        for name, claim in LEDGER["claim"].items()
        for file, sentences in claim["stated_in"].items()
        for sentence in sentences
        if not any(sentence in text for text in texts(file))
    ]


def recompute(name: str) -> str:
    """Return the recomputed value of a claim, in the ledger's form."""
    return str(globals()[name.replace("-", "_")]())


def main(names: list[str]) -> int:
    """Print each value, and each difference from the ledger; return the exit status."""
    if missing := set(names) - LEDGER["claim"].keys():
        sys.exit(f"There is no claim {', '.join(missing)}. Choose from: {', '.join(LEDGER['claim'])}.")
    wrong = unstated()
    for name in names or LEDGER["claim"]:
        claim = LEDGER["claim"][name]
        if claim.get("recomputed") == "manually":
            print(f"{name}: {claim['value']}; depends on the machine. Measure it with: {claim['command']}")
            continue
        value = recompute(name)
        print(f"{name}: {value}", flush=True)
        if value != claim["value"]:
            wrong.append(f"{name}: the ledger has “{claim['value']}”")
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
