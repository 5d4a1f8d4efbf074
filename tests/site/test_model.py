"""The model in the browser compared with PyTorch: tokens, weights, and the labels of the page."""

import json
import random
import shutil
import string
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attnviz.analysis.arithmetic import weight_arithmetic
from attnviz.analysis.display_tokens import queries_and_keys
from attnviz.capture import loading
from attnviz.errors import AttnvizError
from attnviz.experiments.corpus import FILE
from attnviz.export.report.contents import contents
from attnviz.models.catalogue import MINILM
from attnviz.models.resolve import entry
from attnviz.models.tokenizer import tokenizer_of
from attnviz.site import build, weights
from attnviz.transformer.bert import Bert
from attnviz.transformer.masks import causal_mask

MODEL = entry("minilm")
SENTENCES = FILE.read_text("utf-8").splitlines()
TIRED = "The dog did not cross the road as it was too tired."
_SAME = ("keys", "rows", "explanation", "hidden")
NODE = Path(__file__).with_name("model.js")
UNUSUAL_TEXTS = [
    "[MASK] and [CLS]",
    "café Ångström ﬁ",
    "x" * 101,
    "日本語です",
    "İstanbul ß Σς",
    "a\u0301b",
    "한국어",
]
UNUSUAL_TEXTS += ["👩‍👩‍👧 ok", "a\u200bb\ufeffc\u00a0d\u0085e"]
CHARACTERS = (
    " " * 12 + string.punctuation + string.digits + "\t\n–—äöüßéèñçøåÄÉİıαβγΣжщяאבاب漢字かなカナ한글ไทย"
    "😀€£\u0301\u200d\u00ad\ufffd"
)

RunModel = Callable[..., Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("model")
    return out / weights.write(MINILM.folder, out)


@pytest.fixture
def run_model(folder: Path, tmp_path: Path) -> RunModel:
    """Return a function that runs the model in Node.js."""

    def run(texts: Sequence[str], **options: object) -> Any:
        input_file = tmp_path / "input.json"
        request = {"folder": str(folder), "texts": texts, "weights": str(tmp_path / "weights"), **options}
        input_file.write_text(json.dumps(request))
        command = [shutil.which("node") or "node", str(NODE), str(input_file)]
        return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)

    return run


def test_the_tokens_equal_the_python_tokens(run_model: RunModel) -> None:
    draw = random.Random(42)  # noqa: S311 - not security-relevant
    words = [word for sentence in SENTENCES for word in sentence.split()]
    texts = [*UNUSUAL_TEXTS, *SENTENCES]
    while len(texts) < 10_000:
        unusual = ("".join(draw.choices(string.ascii_letters + CHARACTERS, k=6)) for _ in range(2))
        texts.append(draw.choice(("", " ")).join([*draw.choices(words, k=2), *unusual]))
    tokenizer = tokenizer_of(MODEL)
    for text, found in zip(texts, run_model(texts, only_tokens=True), strict=True):
        try:
            tokens = tokenizer.tokens(text)
        except AttnvizError:  # the text contains no tokens
            assert len(found) == 2, text
        else:
            assert found == [[each.id, each.start, each.end, each.special] for each in tokens], text


@pytest.mark.parametrize("count", [10, pytest.param(200, marks=pytest.mark.everything)])
@pytest.mark.parametrize(("exact", "limit"), [(True, 1e-5), (False, 5e-4)])
def test_weights_equal_pytorch(
    run_model: RunModel, tmp_path: Path, count: int, exact: bool, limit: float
) -> None:
    # The page states an error of 0.05 percentage points for the rounded weights.
    sentences, floats = SENTENCES[:: len(SENTENCES) // count][:count], tmp_path / "floats"
    if exact:
        bert = Bert.from_folder(MINILM.folder)
        arrays = [*(tensor for _, tensor in weights.tensors(bert)), weights.words(bert)]
        floats.write_bytes(b"".join(array.astype("<f4").tobytes() for array in arrays))
    run_model(sentences, floats=str(floats) if exact else None)
    found = np.fromfile(tmp_path / "weights", "<f4")
    model = loading.load(MODEL.name)
    expected = np.concatenate([model.trace(sentence).stack("encoder").ravel() for sentence in sentences])
    assert 0 < np.abs(found - expected).max() <= limit


def test_the_weights_with_a_mask_equal_pytorch(run_model: RunModel, tmp_path: Path) -> None:
    ids = [token.id for token in tokenizer_of(MODEL).tokens(SENTENCES[0])]
    steps = Bert.from_folder(MINILM.folder)(torch.tensor(ids), causal_mask(len(ids)))
    expected = torch.stack([layer.attention.attention.weights for layer in steps.layers]).detach().numpy()
    run_model(SENTENCES[:1], mask="causal")
    np.testing.assert_allclose(np.fromfile(tmp_path / "weights", "<f4"), expected.ravel(), atol=5e-4)


def test_the_labels_of_tokens_and_heads_equal_a_report(run_model: RunModel) -> None:
    texts = [TIRED, "She put the keys on the café’s table, zzyzx 😀!"]
    model = loading.load(MODEL.name)
    traces = [model.trace(text) for text in texts]
    for trace_data, expected in zip(run_model(texts)["traces"], contents(traces).traces, strict=True):
        kind = expected["kinds"][0]
        assert (trace_data["layers"], trace_data["heads"]) == (kind["layers"], kind["heads"])
        for name, token_view in kind["token_views"].items():
            found = trace_data["token_views"][name]
            assert [found[part] for part in _SAME] == [token_view[part] for part in _SAME]
            # A percentage halfway between two whole numbers can be rounded either way.
            facts = [fact.replace("\N{NO-BREAK SPACE}", " ") for fact in found["facts"]]
            differ = [pair for pair in zip(facts, token_view["facts"], strict=True) if pair[0] != pair[1]]
            assert len(differ) <= 2, differ


def test_the_steps_of_a_weight_equal_explore(run_model: RunModel) -> None:
    trace = loading.load(MODEL.name).trace(TIRED)
    [shown] = queries_and_keys(trace, "encoder", hide_special=True)
    expected = weight_arithmetic(trace.block("encoder", 3), head=1, query=8, key=1, queries=shown)
    found = run_model([TIRED], chosen={"layer": 4, "head": 2, "query": 9, "key": 2, "hide": True})["steps"]
    assert found["names"][:3] == ["[CLS] (hidden)", "the", "dog"]
    for name in (
        "query_vector",
        "key_vector",
        "dot_product",
        "score",
        "weight",
        "shown_share",
        "shown_weight",
    ):
        np.testing.assert_allclose(found[name], getattr(expected, name), atol=5e-3, err_msg=name)


def test_the_site_is_not_built_into_a_folder_with_other_files(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("Chapter 1")
    with pytest.raises(AttnvizError, match="other files"):
        build.build(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
