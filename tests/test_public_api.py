import doctest
import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import attnviz
from attnviz.models import catalogue
from tests.capture.tiny import SENTENCE, tiny

HEAVY = ("torch", "transformers", "tokenizers", "streamlit", "plotly", "pandas")


def test_importing_loads_nothing_heavy() -> None:
    code = f"import attnviz, sys; attnviz.models(); print([name for name in {HEAVY} if name in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert (run.stdout, run.stderr) == ("[]\n", "")


IMPORTS = """
import contextlib, sys
import attnviz
from attnviz.importing import gate

outside = set()


def hook(event, arguments):
    if event == "import" and arguments[0].startswith("transformers") and not gate._lock._is_owned():
        outside.add(arguments[0])


sys.addaudithook(hook)
with contextlib.suppress(attnviz.AttnvizError):
    {call}
print("transformers" in sys.modules, outside)
"""


def test_one_thread_at_a_time_imports_transformers_for_our_own_models() -> None:
    call = 'attnviz.decomposition("the dog slept", "translator")'
    command = [sys.executable, "-c", IMPORTS.replace("{call}", call)]
    assert subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout == "True set()\n"


@pytest.mark.parametrize(
    ("module", "examples"),
    [
        ("attnviz", 17),
        ("attnviz.experiments", 17),
        ("attnviz.analysis.distance", 1),
        ("attnviz.analysis.divergence", 2),
        ("attnviz.analysis.entropy", 2),
        ("attnviz.analysis.rollout", 1),
    ],
)
def test_the_examples_in_the_docstrings_work(module: str, examples: int) -> None:
    tried = doctest.testmod(importlib.import_module(module))
    assert tried == doctest.TestResults(failed=0, attempted=examples)


TIRED = "The dog did not cross the road as it was too tired."
FRENCH = "Le chien n'a pas traversé la route car il était trop fatigué."


def test_as_a_notebook_would_use_it() -> None:
    trace = attnviz.trace(TIRED)
    assert (trace.model, trace.text, trace.target) == ("minilm", TIRED, None)
    assert trace.block(layer=3).weights[1].shape == (15, 15)
    assert np.array_equal(trace.stack(), trace.stack("encoder"))
    assert [token.text for token in trace.tokens][7:10] == ["road", "as", "it"]
    assert trace.stack("encoder").shape == (6, 12, 15, 15)
    assert trace.stack("encoder").dtype == np.float32
    ours = attnviz.trace(TIRED, "minilm-scratch").stack("encoder")
    np.testing.assert_allclose(trace.stack("encoder"), ours, atol=1e-5)
    assert attnviz.trace("A dog.", second="A cat.").second == "A cat."
    assert attnviz.predictions("The [MASK] slept.", "minilm") == ()  # it was saved without its head


def test_the_translator_writes_reads_and_is_edited() -> None:
    trace = attnviz.trace(TIRED, "translator")
    assert (trace.model, trace.text, trace.target) == ("translator", TIRED, FRENCH)
    shapes = {kind: trace.stack(kind).shape for kind in ("encoder", "decoder", "cross")}
    assert shapes == {"encoder": (2, 4, 13, 13), "decoder": (1, 4, 14, 14), "cross": (1, 4, 14, 13)}
    read = attnviz.trace(TIRED, "translator", target=FRENCH)
    assert np.array_equal(read.stack("cross"), trace.stack("cross"))
    moved = attnviz.trace(TIRED, "translator", edits=["encoder 2-1 9 2>7"])
    assert " elle " in str(moved.target)
    with pytest.raises(attnviz.InvalidTrace, match="encoder, decoder, cross attention"):
        trace.stack()
    narrow = attnviz.trace(TIRED.replace("tired", "narrow"), "translator")
    assert narrow.target == "Le chien n'a pas traversé la route car elle était trop étroite."


def test_a_decoder_writes_on_and_says_what_it_expected(tmp_path: Path) -> None:
    folder = tiny("gpt2", tmp_path / "gpt2")
    writing = attnviz.Writing(tokens=5, temperature=1.5, top_k=7, seed=3)
    wrote = attnviz.trace(SENTENCE, folder, writing=writing)
    assert (wrote.model, wrote.written) == (str(folder), 5)
    tokens = wrote.blocks[0].query_tokens
    expected = attnviz.predictions(SENTENCE, folder, writing=writing)
    drawn = [one for one in expected if len(tokens) - 6 <= one.position < len(tokens) - 1]
    assert [one.actual and one.actual.id for one in drawn] == [token.id for token in tokens[-5:]]


def test_a_picture_is_looked_at(tmp_path: Path) -> None:
    file, folder = tmp_path / "ramp.png", tiny("vit", tmp_path / "vit")
    Image.linear_gradient("L").save(file)
    assert attnviz.look(file, folder).text == attnviz.look(str(file), folder).text == "ramp.png"
    assert attnviz.look(file.read_bytes(), folder, name="a ramp").text == "a ramp"


def test_a_path_is_a_folder_whatever_models_are_called_like_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(catalogue.MINILM.folder.parent)
    with pytest.raises(attnviz.UnknownModel, match="no folder"):
        attnviz.trace("The dog slept.", Path("minilm"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"text": 5}, "must be one str"),
        ({"text": ["a", "b"]}, "must be one str"),
        ({"text": {"input_ids": [1, 2], "attention_mask": [1]}}, "input_ids, attention_mask and"),
        ({"text": {"input_ids": [1], "position_ids": [3], "labels": [1]}}, "Leave out labels, position_ids"),
        ({"text": {"input_ids": [1, 2], "attention_mask": [0.0, -1e9]}}, "attention_mask must be 1"),
        ({"text": {"input_ids": [1, 2, 3], "attention_mask": [1, 0, 1]}}, "alone"),
        ({"model": None}, "The model must be a name"),
        ({"second": 5}, "second must be a str"),
        ({"target": 5}, "target must be a str"),
        ({"writing": 20}, "writing must be a Writing"),
    ],
)
@pytest.mark.parametrize("ask", [attnviz.trace, attnviz.predictions])
def test_what_is_of_another_type_is_told_what_is_needed(
    ask: Callable[..., object], arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(TypeError, match=said):
        ask(**({"text": "A dog.", "model": "minilm"} | arguments))
