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
    assert attnviz.models() == (
        "minilm",
        "minilm-scratch",
        "translator",
        "translator-training-wheels",
        "translator-candidates",
        "translator-untold",
        "translator-decorative",
    )


def test_the_function_and_the_module_of_one_name_live_together() -> None:
    from attnviz.trace import Trace

    assert callable(attnviz.trace)
    assert Trace is attnviz.Trace


def test_the_examples_in_the_docstrings_work() -> None:
    assert doctest.testmod(attnviz) == doctest.TestResults(failed=0, attempted=4)


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


@pytest.mark.parametrize("model", ["minilm", "minilm-scratch"])
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
    with pytest.raises(attnviz.ModelNotSupported, match="minilm reads one text"):
        attnviz.trace("a dog", edits=["encoder 2-1"])


TIRED = "The dog did not cross the road as it was too tired."
NARROW = "The dog did not cross the road as it was too narrow."


@pytest.mark.parametrize(
    ("text", "target"),
    [
        (TIRED, "Le chien n'a pas traversé la route car il était trop fatigué."),
        (NARROW, "Le chien n'a pas traversé la route car elle était trop étroite."),
    ],
)
def test_the_translator_chooses_il_or_elle(text: str, target: str) -> None:
    trace = attnviz.trace(text, model="translator")
    assert (trace.model, trace.text, trace.target) == ("translator", text, target)
    assert trace.stack("encoder").shape == (2, 4, 13, 13)
    assert trace.stack("decoder").shape == (1, 4, 14, 14)
    assert trace.stack("cross").shape == (1, 4, 14, 13)
    assert np.array_equal(
        attnviz.trace(text, "translator", target=target).stack("cross"), trace.stack("cross")
    )


def test_it_reads_the_noun_that_it_means_and_another_if_told_so() -> None:
    weights = attnviz.trace(TIRED, model="translator").block("encoder", layer=1).weights[0]
    it, dog, road = 8, 1, 6
    assert weights[it].argmax() == dog
    moved = attnviz.trace(TIRED, model="translator", edits=["encoder 2-1 9 2>7"])
    now = moved.block("encoder", layer=1).weights[0]
    assert (now[it, dog], now[it, road]) == (0, weights[it, road] + weights[it, dog])
    assert moved.target is not None
    assert " elle " in moved.target


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("", attnviz.EmptyText, "Type a sentence"),
        ("dog " * 511, attnviz.TextTooLong, "512 tokens"),
        ("dog \ud83d", attnviz.UnreadableText, "half"),
        ("The xylophone was too <b>tired</b>.", attnviz.UnknownWords, "“xylophone”"),
    ],
)
def test_the_translator_answers_kindly_too(text: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said) as caught:
        attnviz.trace(text, "translator")
    assert isinstance(caught.value, attnviz.AttnvizError)


@pytest.mark.parametrize("edit", ["", "encoder 2-1 9 2>", "encoder 3-1", "cross 1-1 99", "<b>"])
def test_an_edit_without_sense_is_refused(edit: str) -> None:
    with pytest.raises(attnviz.InvalidEdit, match=r"\.$"):
        attnviz.trace(TIRED, "translator", edits=[edit])
