"""The command line: what it makes, and what it says to whoever asks for something else."""

import errno
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import attnviz
from attnviz import __main__ as command_line
from attnviz import importing
from attnviz.app.server import serving
from attnviz.models import allowed
from attnviz.text import percent
from tests.capture.tiny import SENTENCE, tiny
from tests.cli.conftest import Run, Say

ROOT = Path(__file__).parents[2]
SLEPT = "The dog slept, as it was very tired."


def test_a_trace_is_told_in_short_and_written(say: Say, tmp_path: Path) -> None:
    out = tmp_path / "tired.npz"
    said = say("trace", "The dog did not cross the road as it was too tired.", "--out", out)
    trace = attnviz.trace("The dog did not cross the road as it was too tired.")
    assert np.array_equal(attnviz.Trace.load(out).stack("encoder"), trace.stack("encoder"))
    first, last = said.splitlines()
    assert first.startswith("encoder: 15 tokens, 6 layers × 12 heads; strongest links: ")
    assert last == f"Written: {out} ({out.stat().st_size / 1e6:.1f} MB)"
    weights = trace.stack("encoder")[:, :, 1:-1, 1:-1] * (1 - np.eye(13))
    layer, head, *pair = (int(place) for place in np.unravel_index(weights.argmax(), weights.shape))
    query, key = (trace.blocks[0].query_tokens[place + 1].text for place in pair)
    strongest = f"{query} attends to {key} {percent(float(weights.max()))} (head {layer + 1}-{head + 1})"
    assert f"strongest links: {strongest}" in first


def test_a_model_goes_on_with_the_edits_that_are_named(say: Say, tmp_path: Path) -> None:
    out, edits = tmp_path / "edited.npz", ["encoder 4-2", "encoder 2-1 9 >7"]
    said = say("trace", SLEPT, "--out", out, "--edit", edits[0], "--edit", edits[1])
    assert said.startswith("edited: encoder 4-2, encoder 2-1 9 >7\nencoder: ")
    edited = attnviz.trace(SLEPT, edits=edits).stack("encoder")
    assert np.array_equal(attnviz.Trace.load(out).stack("encoder"), edited)


def test_layers_and_heads_can_be_selected(say: Say, tmp_path: Path) -> None:
    out = tmp_path / "selected.npz"
    summary = say("trace", SLEPT, "--layer", 4, "--layer", 6, "--head", 2, "--head", 11, "--out", out)
    kept, whole = attnviz.Trace.load(out), attnviz.trace(SLEPT)
    assert [(block.layer, block.heads) for block in kept.blocks] == [(3, (1, 10)), (5, (1, 10))]
    for block in kept.blocks:
        weights = whole.block("encoder", block.layer).weights
        assert np.array_equal(block.weights, weights[[1, 10]])
    named = {*re.findall(r"head (\d+-\d+)", summary)}
    assert named <= {"4-2", "4-11", "6-2", "6-11"}
    assert named


def test_what_an_encoder_decoder_wrote_is_told(say: Say) -> None:
    said = say("trace", "The dog was tired.", "--model", "translator")
    assert f"translator's decoder read: {attnviz.trace('The dog was tired.', 'translator').target}\n" in said
    _, *kinds, last = said.splitlines()
    assert [line.partition(":")[0] for line in kinds] == ["encoder", "decoder", "cross"]
    assert last == "Nothing was saved. Use --out FILE.npz to save all arrays."
    assert "decoder read: Le chat" in say(
        "trace", "The dog was tired.", "--model", "translator", "--target", "Le chat"
    )


def test_a_text_may_be_longer_than_any_files_name(say: Say) -> None:
    assert "encoder: 92 tokens" in say("trace", "dog " * 90)


def test_a_folders_model_writes_on(say: Say, tmp_path: Path) -> None:
    folder, out = tiny("gpt2", tmp_path / "gpt2"), tmp_path / "out.npz"
    said = say("trace", SENTENCE, "--model", folder, "--write", 7, "--out", out)
    kept = attnviz.Trace.load(out)
    assert kept.written == 7
    assert f"{folder} wrote: {kept.text.removeprefix(SENTENCE).strip()}\n" in said
    again = attnviz.trace(SENTENCE, folder, writing=attnviz.Writing(7))
    assert (again.text, again.written) == (kept.text, 7)


def test_a_picture_is_given_as_a_file(say: Say, refuse: Say, tmp_path: Path) -> None:
    folder = tiny("vit", tmp_path / "vit")
    Image.linear_gradient("L").save(tmp_path / "ramp.png")
    assert "encoder: 16 tokens" in say("trace", tmp_path / "ramp.png", "--model", folder)
    assert "“nothing.png” cannot be opened" in refuse("trace", tmp_path / "nothing.png", "--model", folder)
    for asked in (["--edit", "encoder 1-1"], ["--second", "A cat."], ["--layer", "1"]):
        said = refuse("trace", tmp_path / "ramp.png", "--model", folder, *asked)
        assert "does not support --second, --target, --write, --edit, --layer or --head." in said


@pytest.mark.parametrize("ending", ["", "\n"])
def test_a_text_may_come_through_the_pipe(
    say: Say, refuse: Say, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ending: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"Ein Hund – chien{ending}".encode())))
    say("trace", "-", "--out", tmp_path / "a")
    assert attnviz.Trace.load(tmp_path / "a").text == "Ein Hund – chien"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("chien \xe9".encode("latin-1"))))
    assert "Byte 7 of standard input is not UTF-8" in refuse("trace", "-")


def test_a_file_is_written_over_only_with_force(say: Say, refuse: Say, tmp_path: Path) -> None:
    out = tmp_path / "out.npz"
    out.write_text("my thesis", "utf-8")
    for command in (["trace", "A dog."], ["report", "A dog."], ["heads"]):
        assert "already exists" in refuse(*command, "--out", out)
    assert out.read_text("utf-8") == "my thesis"
    say("trace", "A dog.", "--out", out, "--force")
    assert attnviz.Trace.load(out).text == "A dog."


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["trace", ""], "Type a sentence"),
        (["trace", "a dog", "--model", "minlm"], "minilm?"),
        (["trace", "a dog", "--write", "3"], "cannot generate text"),
        (["trace", "a dog", "--model", "translator", "--second", "a cat"], "translator"),
        (["trace", "a dog", "--out", "nowhere/x.npz"], "no folder nowhere"),
        (["trace", "a dog", "--out", "."], "is a folder"),
        (["trace", "a dog", "--edit", "encoder 9-2"], "layer 9"),
        (["models", "\x1b[31mred\x07"], "␛[31mred␇"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    refuse: Say, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    if "--out" in arguments:  # a place that cannot be written is found before the model loads
        monkeypatch.setattr("attnviz.capture.loading.open_model", pytest.fail)
    answer = refuse(*arguments)
    assert said in answer
    assert answer.endswith(".\n")
    assert answer.count("\n") == 1


@pytest.mark.parametrize(
    ("family", "facts"),
    [
        ("gpt2", ["attention   decoder", "layers      2", "heads       3", "expects     the next token"]),
        ("bart", ["attention   encoder, decoder, cross", "layers      3 + 2"]),
        ("vit", ["reads       an image", "expects     nothing"]),
    ],
)
def test_a_model_is_described_before_it_is_loaded(
    say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, family: str, facts: list[str]
) -> None:
    folder = tiny(family, tmp_path / family)
    monkeypatch.setattr("attnviz.capture.loading.load", pytest.fail)
    said = say("models", folder)
    for fact in [*facts, f"family      {family}", f"files       {folder}"]:
        assert f" {fact}" in said


def test_the_list_of_a_servers_operator_does_not_bind_its_owner(
    say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(allowed.SETTING, "translator")
    assert "encoder: " in say("trace", "A dog.", "--model", "minilm")


def test_the_app_is_served_to_the_visitors_of_that_list(
    say: Say, refuse: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = []
    monkeypatch.setattr(serving, "run", lambda *asked: served.append((asked, os.environ[allowed.SETTING])))
    monkeypatch.setenv(allowed.SETTING, "translator")
    say("app")
    say("app", "--port", 8600, "--host", "127.0.0.1")
    assert served == [((8501, None), "translator"), ((8600, "127.0.0.1"), "translator")]
    monkeypatch.setitem(importing.EXTRAS, "app", ("nobodys-streamlit>=2",))
    assert "its extra [app], needs nobodys-streamlit>=2" in refuse("app")


def test_who_has_read_enough_is_no_error() -> None:
    command = [sys.executable, "-m", "attnviz", "models"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert (running.stderr.read(), running.wait()) == (b"", 0)


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), 2, "No space left on device."),
        (KeyboardInterrupt(), command_line.INTERRUPTED, "\nInterrupted.\n"),
    ],
)
def test_a_full_disk_and_ctrl_c_end_without_a_traceback(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int, said: str
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("attnviz.cli.models.table", fail)
    answer = run("models")
    assert answer.status == status
    assert said in answer.err
    assert "Traceback" not in answer.err


def test_asking_for_help_waits_for_no_model() -> None:
    command = [sys.executable, "-X", "importtime", "-m", "attnviz", "--help"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in ("trace", "models", "heads"):
        assert re.search(rf"^ +{name} ", answer.stdout, re.MULTILINE)
    assert " torch\n" not in answer.stderr


@pytest.mark.parametrize("command", ["trace", "report", "heads"])
def test_every_command_that_runs_a_model_is_told_its_numbers_and_its_device(
    command: str, refuse: Say, tmp_path: Path
) -> None:
    (tmp_path / "dog.txt").write_text("The dog slept.\n", "utf-8")
    more: dict[str, list[object]] = {
        "trace": ["Hi."],
        "report": ["Hi.", "--out", tmp_path / "h.html"],
        "heads": [tmp_path / "dog.txt"],
    }
    asked: list[object] = [command, *more.get(command, []), "--model"]
    assert "dtype is float16" in refuse(*asked, "a/b#bfloat16", "--dtype", "float16")
    assert "runs on the CPU" in refuse(*asked, "translator", "--device", "cuda")
