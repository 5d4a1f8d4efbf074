import doctest
import subprocess
import sys

import numpy as np
import pytest

import attnviz

HEAVY = ("torch", "transformers", "tokenizers", "streamlit", "plotly", "pandas")


def test_importing_loads_nothing_heavy() -> None:
    code = f"import attnviz, sys; attnviz.models(); print([name for name in {HEAVY} if name in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert (run.stdout, run.stderr) == ("[]\n", "")


def test_the_names_are_all_there() -> None:
    assert sorted(attnviz.__all__) == attnviz.__all__
    assert all(getattr(attnviz, name) is not None for name in attnviz.__all__)
    errors = [
        name
        for name in attnviz.__all__
        if isinstance(error := getattr(attnviz, name), type) and issubclass(error, Exception)
    ]
    assert all(issubclass(getattr(attnviz, name), attnviz.AttnvizError) for name in errors)
    assert attnviz.models() == ("minilm", "minilm-scratch")


def test_the_function_and_the_module_of_one_name_live_together() -> None:
    from attnviz.trace import Trace

    assert callable(attnviz.trace)
    assert Trace is attnviz.Trace


def test_the_examples_in_the_docstrings_work() -> None:
    assert doctest.testmod(attnviz) == doctest.TestResults(failed=0, attempted=1)


def test_as_a_notebook_would_use_it() -> None:
    text = "The dog did not cross the road as it was too tired."
    trace = attnviz.trace(text)
    assert (trace.model, trace.text, trace.target) == ("minilm", text, None)
    assert trace.block("encoder", layer=3).weights[1].shape == (15, 15)
    assert trace.stack("encoder").shape == (6, 12, 15, 15)
    assert trace.stack("encoder").dtype == np.float32
    assert np.array_equal(trace.stack("encoder"), attnviz.trace(text, model="minilm").stack("encoder"))
    np.testing.assert_allclose(
        trace.stack("encoder"), attnviz.trace(text, "minilm-scratch").stack("encoder"), atol=1e-5
    )


def test_what_was_typed_is_kept_as_it_is() -> None:
    text = "  <b>dog</b> ![x](http://a.b)\x00 e\u0301 $x$ 😀\n"
    trace = attnviz.trace(text)
    assert trace.text == text
    spelled = [text[token.start : token.end] for token in trace.blocks[0].query_tokens if not token.special]
    assert "".join(spelled) == "".join(text.split()).replace("\x00", "")


@pytest.mark.parametrize("model", attnviz.models())
@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("", attnviz.EmptyText, "Type a sentence"),
        (" \u200b\n", attnviz.EmptyText, "Type a sentence"),
        ("dog " * 511, attnviz.TextTooLong, "513 tokens; the model reads at most 512"),
        ("dog \ud83d", attnviz.UnreadableText, "Character 5"),
    ],
)
def test_unreadable_texts_are_answered_kindly(
    model: str, text: str, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said) as caught:
        attnviz.trace(text, model)
    assert isinstance(caught.value, attnviz.AttnvizError)


def test_an_unknown_model_is_answered_with_the_known_ones() -> None:
    with pytest.raises(
        attnviz.UnknownModel, match=r"Did you mean minilm\? These are known: minilm, minilm-scratch"
    ):
        attnviz.trace("a dog", model="minlm")


def test_a_second_text_is_refused_by_a_model_that_reads_one() -> None:
    with pytest.raises(attnviz.ModelNotSupported, match="minilm reads one text"):
        attnviz.trace("a dog", target="un chien")
