import doctest
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
    assert doctest.testmod(attnviz) == doctest.TestResults(failed=0, attempted=5)


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


def same_arrays(one: attnviz.Trace, other: attnviz.Trace) -> bool:
    """Every number of every block equal to the bit."""
    return len(one.blocks) == len(other.blocks) and all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for a, b in zip(one.blocks, other.blocks, strict=True)
        for name in ("query", "key", "value", "mask", "scores", "weights", "output", "projection")
    )


def test_a_model_is_the_same_by_its_name_and_by_its_folder() -> None:
    folder = catalogue.MINILM.folder
    by_name, by_folder = attnviz.trace("The dog slept."), attnviz.trace("The dog slept.", folder)
    assert by_folder.model == str(folder)
    assert same_arrays(by_name, by_folder)


def test_a_path_is_a_folder_whatever_models_are_called_like_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(catalogue.MINILM.folder.parent)
    with pytest.raises(attnviz.UnknownModel, match="no folder"):
        attnviz.trace("The dog slept.", Path("minilm"))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Somebody's own models: one that writes on, one that reads two texts, one that sees."""
    folder = tmp_path_factory.mktemp("models")
    return {family: tiny(family, folder / family) for family in ("gpt2", "bart", "vit")}


def test_a_decoder_writes_on_and_says_what_it_expected(folders: dict[str, Path]) -> None:
    writing = attnviz.Writing(tokens=5, temperature=1.5, top_k=7, seed=3)
    read = attnviz.trace(SENTENCE, folders["gpt2"])
    wrote = attnviz.trace(SENTENCE, folders["gpt2"], writing=writing)
    assert (read.written, wrote.written) == (0, 5)
    assert wrote.text.startswith(SENTENCE)
    assert {block.kind for block in wrote.blocks} == {"decoder"}
    expected = attnviz.predictions(SENTENCE, folders["gpt2"], writing=writing)
    tokens = wrote.blocks[0].query_tokens
    drawn = [one for one in expected if len(tokens) - 6 <= one.position < len(tokens) - 1]
    assert [one.actual and one.actual.id for one in drawn] == [token.id for token in tokens[-5:]]
    table = attnviz.tokens_table(wrote)
    assert table["written"].sum() == 5


def test_an_encoder_decoder_reads_both_texts(folders: dict[str, Path]) -> None:
    trace = attnviz.trace(SENTENCE, folders["bart"], target="The cat slept")
    assert trace.target == "The cat slept"
    layers = {kind: len(trace.stack(kind)) for kind in ("encoder", "decoder", "cross")}
    assert layers == {"encoder": 3, "decoder": 2, "cross": 2}
    links = attnviz.links_table(trace)
    assert list(links["kind"].cat.categories) == ["encoder", "decoder", "cross"]
    assert len(links) == sum(block.weights.size for block in trace.blocks)


def test_a_picture_is_looked_at(folders: dict[str, Path], tmp_path: Path) -> None:
    file = tmp_path / "ramp.png"
    Image.linear_gradient("L").save(file)
    trace = attnviz.look(file, folders["vit"])
    assert trace.text == "ramp.png"
    assert set(attnviz.tokens_table(trace)["typed"]) == {""}
    assert same_arrays(trace, attnviz.look(str(file), folders["vit"]))
    assert same_arrays(trace, attnviz.look(file.read_bytes(), folders["vit"], name="a ramp"))
    with pytest.raises(attnviz.UnreadablePicture):
        attnviz.look(b"no picture", folders["vit"])
    with pytest.raises(attnviz.ModelNotSupported, match="sees no pictures"):
        attnviz.look(file, "minilm")


@pytest.mark.parametrize("model", ["minilm", "gpt2", "bart", "vit"])
def test_whatever_was_traced_is_saved_and_loaded_to_the_bit(
    model: str, folders: dict[str, Path], tmp_path: Path
) -> None:
    if model == "vit":
        trace = attnviz.look(Image.linear_gradient("L"), folders["vit"])
    elif model == "gpt2":
        trace = attnviz.trace(SENTENCE, folders["gpt2"], writing=attnviz.Writing(tokens=3))
    else:
        second = "The cat slept." if model == "minilm" else None
        trace = attnviz.trace(SENTENCE, folders.get(model, model), second=second)
    trace.save(tmp_path / "kept.npz")
    again = attnviz.Trace.load(tmp_path / "kept.npz")
    assert same_arrays(trace, again)
    for name in ("model", "text", "second", "target", "written", "edits"):
        assert getattr(again, name) == getattr(trace, name)
    for one, other in zip(again.blocks, trace.blocks, strict=True):
        assert (one.query_tokens, one.key_tokens) == (other.query_tokens, other.key_tokens)


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
        attnviz.UnknownModel, match=r"Did you mean minilm\? These come with attnviz: minilm, minilm-scratch"
    ):
        attnviz.trace("a dog", model="minlm")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"text": None}, r"The text must be one str, not None \(NoneType\)"),
        ({"text": 5}, r"The text must be one str, not 5 \(int\)"),
        ({"text": ["a", "b"]}, r"must be one str, not \['a', 'b'\] \(list\)"),
        ({"model": None}, "The model must be a name, a folder or a Hugging Face id"),
        ({"second": 5}, "second must be a str or None, not 5"),
        ({"target": 5}, "target must be a str or None, not 5"),
        ({"writing": 20}, r"writing must be a Writing, as in Writing\(20\), not 20"),
    ],
)
@pytest.mark.parametrize("ask", [attnviz.trace, attnviz.predictions])
def test_what_is_of_another_type_is_told_what_is_needed(
    ask: Callable[..., object], arguments: dict[str, Any], said: str
) -> None:
    with pytest.raises(TypeError, match=said):
        ask(**({"text": "A dog.", "model": "minilm"} | arguments))


@pytest.mark.parametrize("edits", ["encoder 2-1", [5], None, 5, {"encoder 2-1": 1}, {"encoder 2-1"}])
def test_edits_are_a_list_of_texts(edits: Any) -> None:
    with pytest.raises(TypeError, match="edits must be a list of str"):
        attnviz.trace("A dog.", "translator", edits=edits)


@pytest.mark.parametrize("picture", [None, 5, ["ramp.png"]])
def test_a_picture_is_a_file_or_a_picture(picture: Any) -> None:
    with pytest.raises(TypeError, match="The picture must be the name of a file"):
        attnviz.look(picture, "minilm")


def test_a_model_that_expects_nothing_predicts_nothing() -> None:
    assert attnviz.predictions("The [MASK] slept.", "minilm") == ()


def test_a_second_text_is_refused_by_a_model_that_reads_one() -> None:
    with pytest.raises(attnviz.ModelNotSupported, match="“minilm” has no decoder"):
        attnviz.trace("a dog", target="un chien")


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
