import doctest
import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import attnviz
from attnviz.models import catalogue

HEAVY = ("torch", "transformers", "tokenizers", "streamlit", "plotly", "pandas")


def test_importing_attnviz_loads_no_large_library() -> None:
    code = f"import attnviz, sys; attnviz.models(); print([name for name in {HEAVY} if name in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert (run.stdout, run.stderr) == ("[]\n", "")


IMPORTS = """
import sys
import attnviz
from attnviz.importing import gate

outside = set()


def hook(event, arguments):
    if event == "import" and arguments[0].startswith("transformers") and not gate._lock._is_owned():
        outside.add(arguments[0])


sys.addaudithook(hook)
attnviz.decomposition("The dog was too tired.", "translator")
print("transformers" in sys.modules, outside)
"""


def test_transformers_is_imported_under_the_import_lock() -> None:
    run = subprocess.run([sys.executable, "-c", IMPORTS], stdout=subprocess.PIPE, text=True, check=True)
    assert run.stdout == "True set()\n"


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


def test_a_path_is_a_folder_even_if_a_model_has_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(catalogue.MINILM.folder.parent)
    with pytest.raises(attnviz.UnknownModel, match="no folder"):
        attnviz.trace("The dog slept.", Path("minilm"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"text": 5}, "must be a str or the token ids"),
        ({"text": ["a", "b"]}, "must be a str or the token ids"),
        ({"text": {"input_ids": [1, 2], "attention_mask": [1]}}, "attention_mask must be 1"),
        ({"text": {"input_ids": [1], "position_ids": [3], "labels": [1]}}, "Remove labels, position_ids"),
        ({"text": {"input_ids": [1, 2], "attention_mask": [0.0, -1e9]}}, "attention_mask must be 1"),
        ({"text": {"input_ids": [1, 2, 3], "attention_mask": [1, 0, 1]}}, "leading or trailing padding"),
        ({"model": None}, "The model must be a name"),
        ({"second": 5}, "second must be a str"),
        ({"target": 5}, "target must be a str"),
        ({"writing": 20}, "writing must be a Writing"),
    ],
)
@pytest.mark.parametrize("function", [attnviz.trace, attnviz.predictions])
def test_wrong_types_are_refused(
    function: Callable[..., object], arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        function(**({"text": "A dog.", "model": "minilm"} | arguments))
