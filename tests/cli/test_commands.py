"""The command line: what it makes, and what it says to whoever asks for something else."""

import errno
import io
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import attnviz
from attnviz import __main__ as command_line
from attnviz import importing
from attnviz.app.server import serving
from attnviz.capture.loading import Tell
from attnviz.cli import translators as commands
from attnviz.cli.trace import summary
from attnviz.models import allowed, catalogue
from attnviz.text import percent
from attnviz.trained.storyteller import figures as figures_of_stories
from attnviz.trained.storyteller import measures as story_measures
from attnviz.trained.storyteller import training as stories
from attnviz.trained.storyteller.storyteller import Storyteller
from attnviz.trained.translator import contest, distance, measures, splits, training
from attnviz.trained.translator.training import Settings
from attnviz.trained.translator.translator import Sizes, Translator
from tests.capture.tiny import SENTENCE, tiny
from tests.cli.conftest import Run, Say

ROOT = Path(__file__).parents[2]
SLEPT = "The dog slept, as it was very tired."
SIZES = Sizes(d_model=12, n_heads=3, d_feed_forward=7)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trainings of a few steps, measured on a few short translations."""
    of, measure = Settings.of, measures.measure

    def shortly(variant: str, seed: int | None = None) -> Settings:
        return replace(of(variant, seed), steps=6, warm_up=2, sentences=100, batch=16, sizes=SIZES)

    monkeypatch.setattr(training.Settings, "of", shortly)
    monkeypatch.setattr(measures, "measure", lambda translator: measure(translator, sentences=4, pairs=3))
    # Who learned for six steps never says [END], and would be asked for thirty words each time.
    monkeypatch.setattr("attnviz.trained.translator.translator.longest_translation", lambda _source: 3)


@pytest.fixture
def figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where figures are written instead."""
    monkeypatch.setattr(commands, "FIGURES", tmp_path / "figures.json")
    return tmp_path / "figures.json"


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
    strongest = f"{query} looks at {key} {percent(float(weights.max()))} (head {layer + 1}-{head + 1})"
    assert f"strongest links: {strongest}" in first


def test_a_model_goes_on_with_the_edits_that_are_named(say: Say, tmp_path: Path) -> None:
    out, edits = tmp_path / "edited.npz", ["encoder 4-2", "encoder 2-1 9 >7"]
    said = say("trace", SLEPT, "--out", out, "--edit", edits[0], "--edit", edits[1])
    assert said.startswith("edited: encoder 4-2, encoder 2-1 9 >7\nencoder: ")
    edited = attnviz.trace(SLEPT, edits=edits).stack("encoder")
    assert np.array_equal(attnviz.Trace.load(out).stack("encoder"), edited)


def test_a_trace_is_written_even_if_nobody_reads_what_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def gone(*_: object) -> str:
        raise BrokenPipeError

    monkeypatch.setattr("attnviz.cli.trace.summary", gone)
    monkeypatch.setattr(os, "dup2", lambda *_: None)  # it would close this process's output
    command_line.main(["trace", "A dog.", "--out", str(tmp_path / "dog.npz")])
    assert attnviz.Trace.load(tmp_path / "dog.npz").text == "A dog."


def test_what_an_encoder_decoder_wrote_is_told(say: Say) -> None:
    said = say("trace", "The dog was tired.", "--model", "translator")
    assert f"translator's decoder read: {attnviz.trace('The dog was tired.', 'translator').target}\n" in said
    _, *kinds, last = said.splitlines()
    assert [line.partition(":")[0] for line in kinds] == ["encoder", "decoder", "cross"]
    assert last == "Nothing was kept: --out FILE.npz keeps every number."
    assert "decoder read: Le chat" in say(
        "trace", "The dog was tired.", "--model", "translator", "--target", "Le chat"
    )


def test_a_text_may_begin_with_a_dash_or_be_longer_than_any_files_name(say: Say, tmp_path: Path) -> None:
    say("trace", "- No, it slept.", "--second", "- No.", "--out", tmp_path / "no")
    kept = attnviz.Trace.load(tmp_path / "no")
    assert (kept.text, kept.second) == ("- No, it slept.", "- No.")
    assert "encoder: 92 tokens" in say("trace", "dog " * 90)


def test_a_folders_model_writes_on(say: Say, tmp_path: Path) -> None:
    folder, out = tiny("gpt2", tmp_path / "gpt2"), tmp_path / "out.npz"
    drawn = ["--write", 7, "--temperature", 2, "--top-k", 9, "--top-p", 0.9, "--seed", 5]
    said = say("trace", SENTENCE, "--model", folder, *drawn, "--out", out)
    kept = attnviz.Trace.load(out)
    assert kept.written == 7
    assert f"{folder} wrote: {kept.text.removeprefix(SENTENCE).strip()}\n" in said
    again = attnviz.trace(SENTENCE, folder, writing=attnviz.Writing(7, 2, 9, 0.9, 5))
    assert (again.text, again.written) == (kept.text, 7)


def test_what_a_decoder_wrote_is_told_and_that_it_wrote_nothing_to_be_seen(tmp_path: Path) -> None:
    trace = attnviz.trace("The dog was tired .", tiny("bart", tmp_path / "bart"))
    assert trace.written > 0
    said = summary(trace)
    assert said.startswith(f"{trace.model} wrote: {trace.target}\n")
    assert f"cross: {len(trace.block('cross', 0).query_tokens)} × " in said
    trace = attnviz.trace("The dog was tired.", "translator")
    silent = replace(trace, target="", blocks=trace.of_kind("encoder"))
    assert summary(silent).startswith("translator's decoder wrote nothing, and read its first token only\n")
    trace = attnviz.trace(SENTENCE, tiny("gpt2", tmp_path / "gpt2"))
    spaces = replace(trace, text=f"{SENTENCE[: trace.blocks[0].query_tokens[-2].end]} \n", written=1)
    assert "wrote: white space only\n" in summary(spaces)


def test_a_picture_is_given_as_a_file(say: Say, refuse: Say, tmp_path: Path) -> None:
    folder = tiny("vit", tmp_path / "vit")
    Image.linear_gradient("L").save(tmp_path / "ramp.png")
    assert "encoder: 16 tokens" in say("trace", tmp_path / "ramp.png", "--model", folder)
    assert "nothing.png: No such file" in refuse("trace", tmp_path / "nothing.png", "--model", folder)
    for asked in (["--edit", "encoder 1-1"], ["--second", "A cat."]):
        said = refuse("trace", tmp_path / "ramp.png", "--model", folder, *asked)
        assert "sees a picture, and takes no --second, --target, --write or --edit." in said


def test_a_file_is_no_text_but_comes_through_the_pipe(
    say: Say, refuse: Say, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("story.txt").write_text("A dog.", "utf-8")
    assert "“story.txt” is a file" in refuse("trace", "story.txt")
    assert "encoder: " in say("trace", "story.tx")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"story.txt")))
    assert "encoder: " in say("trace", "-")


@pytest.mark.parametrize("ending", ["", "\n"])
def test_a_text_may_come_through_the_pipe(
    say: Say, refuse: Say, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ending: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"Ein Hund – chien{ending}".encode())))
    say("trace", "-", "--out", tmp_path / "a")
    assert attnviz.Trace.load(tmp_path / "a").text == "Ein Hund – chien"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("chien \xe9".encode("latin-1"))))
    assert "Byte 7 of standard input is not UTF-8" in refuse("trace", "-")


def test_a_trace_is_written_over_an_older_one_and_over_nothing_else(
    say: Say, refuse: Say, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    say("trace", "A dog.", "--out", out)
    say("trace", "A cat.", "--out", out)
    assert attnviz.Trace.load(out).text == "A cat."
    out.write_text("my thesis", "utf-8")
    assert "is there already. This file is not a trace that attnviz wrote" in refuse(
        "trace", "A dog.", "--out", out
    )
    assert out.read_text("utf-8") == "my thesis"
    other = tmp_path / "dog.txt"  # another ending
    for forced in (out, other):
        say("trace", "A dog.", "--out", forced, "--force")
        assert attnviz.Trace.load(forced).text == "A dog."


@pytest.mark.parametrize("command", ["trace", "report"])
def test_what_is_read_is_never_written_over(refuse: Say, tmp_path: Path, command: str) -> None:
    picture = tmp_path / "cat.png"
    picture.write_bytes(b"my only picture")
    same = tmp_path / ".." / tmp_path.name / "cat.png"
    assert "it would be lost" in refuse(command, picture, "--out", same, "--force")
    assert picture.read_bytes() == b"my only picture"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["trace", ""], "Type a sentence"),
        (["trace", "a dog", "--model", "minlm"], "Did you mean minilm?"),
        (["trace", "a dog", "--model", "./nothing"], "no folder"),
        (["trace", "a dog", "--write", "3"], "writes nothing"),
        (["trace", "a dog", "--write", "-3"], "-3"),
        (["trace", "a dog", "--model", "translator", "--second", "a cat"], "translator"),
        (["trace", "a dog", "--out", "nowhere/x.npz"], "There is no folder nowhere"),
        (["trace", "a dog", "--out", "."], "is a folder"),
        (["trace", "a dog", "--out", "-"], "the name of a file, such as attention.npz"),
        (["trace", "a dog", "--out", "dog.TXT"], "ends in .npz. Choose dog.npz, or say --force"),
        (["trace", "a dog", "--temperature", "0"], "--temperature says how to write on: it needs --write"),
        (["trace", "a dog", "--top-k", "3"], "--top-k says"),
        (["trace", "a dog", "--edit", "Encoder 4-2"], "Mind the spaces and small letters: “encoder 4-2”"),
        (
            ["trace", "a dog", "--edit", "encoder 9-2"],
            "names encoder layer 9, which this model does not have",
        ),
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


def test_how_far_a_model_is_shows_where_somebody_watches(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    said = run("trace", "A dog.")
    assert said.status == 0
    assert "━" in said.err
    assert said.err.endswith("\x1b[2K")  # wiped away
    assert "\x1b" not in said.out


def test_models_are_listed_with_what_is_known_of_them(say: Say) -> None:
    lines = say("models").splitlines()
    for name in catalogue.names():
        entry = catalogue.entry(name)
        [line] = [line for line in lines if line.startswith(f"{name} ")]
        assert f" {', '.join(entry.kinds)} " in line
        assert f" {entry.heads} " in line
    assert re.search(r"^minilm .* 22,713,216 ", "\n".join(lines), re.MULTILINE)


@pytest.mark.parametrize(
    ("family", "facts"),
    [
        ("gpt2", ["attention   decoder", "layers      2", "heads       3", "expects     the next token"]),
        ("bert", ["attention   encoder", "reads       one text, or a pair", "typed as [MASK]"]),
        ("roberta", ["typed as <mask>"]),
        ("bart", ["attention   encoder, decoder, cross", "layers      3 + 2"]),
        ("vit", ["reads       a picture", "expects     nothing"]),
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


def test_a_model_that_is_refused_is_told_why(refuse: Say, tmp_path: Path) -> None:
    assert "state-space" in refuse("models", tiny("mamba", tmp_path / "mamba"))


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


def test_the_version_is_told(say: Say) -> None:
    assert say("--version") == f"attnviz {attnviz.__version__}\n"


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
        (
            OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
            2,
            "What is printed here: No space left on device.",
        ),
        (KeyboardInterrupt(), command_line.BROKEN_OFF, "\nBroken off.\n"),
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


def test_training_writes_a_translator(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "mine.safetensors"
    answer = run("train", "--variant", "candidates", "--seed", 3, "--out", out)
    assert (answer.status, answer.out) == (0, f"Written: {out}\n")
    assert "6 of 6 steps" in answer.err
    translator = Translator.load(out)
    assert translator.sizes == SIZES
    assert translator.about["command"] == "python -m attnviz train --variant candidates --seed 3"
    assert [*tmp_path.iterdir()] == [out]


def test_ctrl_c_leaves_a_checkpoint_and_the_same_command_goes_on(
    run: Run, say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "mine.safetensors"
    step = training.Training.step

    def step_and_stop(self: training.Training) -> float:
        if self.done == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return step(self)

    with monkeypatch.context() as patched:
        patched.setattr(training.Training, "step", step_and_stop)
        said = say("train", "--out", out)
    assert "goes on from" in said
    assert not out.exists()
    assert re.findall(r"(\d) of 6", run("train", "--out", out).err) == ["5", "6"]
    in_one_go = tmp_path / "other.safetensors"
    say("train", "--out", in_one_go)
    broken_off, whole = Translator.load(out).model, Translator.load(in_one_go).model
    for one, other in zip(broken_off.parameters(), whole.parameters(), strict=True):
        assert torch.equal(one, other)


def test_measuring_prints_every_figure_and_what_is_missed(say: Say, tmp_path: Path, figures: Path) -> None:
    out = tmp_path / "mine.safetensors"
    say("train", "--out", out)
    said = say("measure", out)
    found = measures.measure(Translator.load(out))
    for name, value in measures.flat(found).items():
        assert re.search(rf"^ *{name} +{value:.4g}$", said, re.MULTILINE)
    assert "mine misses a target: exact triple is 0" in said
    assert not figures.exists()


def test_figures_are_written_for_each_training_once(say: Say, tmp_path: Path, figures: Path) -> None:
    files = [tmp_path / f"{number}.safetensors" for number in range(3)]
    for file, (variant, seed) in zip(files, [("untold", 1), ("taught", 2), ("taught", 0)], strict=True):
        say("train", "--variant", variant, "--seed", seed, "--out", file)
    say("measure", "--write", files[0], files[1])
    say("measure", "--write", files[1], files[2])
    written = json.loads(figures.read_text("utf-8"))
    assert [(run["variant"], run["seed"]) for run in written] == [
        ("taught", "0"),
        ("taught", "2"),
        ("untold", "1"),
    ]
    assert not any(run["shipped"] for run in written)
    found = asdict(measures.measure(Translator.load(files[2])))
    assert written[0].items() >= found.items()
    assert written[0]["familiarity"] == asdict(measures.familiarity(splits.training(100, seed=0)))


def test_a_storyteller_is_trained_and_measured(
    run: Run, say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train = stories.train
    monkeypatch.setattr(stories, "train", lambda variant, seed: train(variant, seed, steps=2))
    monkeypatch.setattr(figures_of_stories, "FILE", tmp_path / "figures.json")
    out = tmp_path / "mine.safetensors"
    answer = run("train", "--variant", "storyteller", "--seed", 3, "--out", out)
    assert (answer.status, answer.out) == (0, f"Written: {out}\n")
    assert "2 of 2 steps" in answer.err
    model = Storyteller.load(out)
    assert model.about["command"] == "python -m attnviz train --variant storyteller --seed 3"
    said = say("measure-storyteller", out, "--write")
    found = story_measures.measure(model)
    for task, right in found.right.items():
        assert re.search(rf"^{task} +{100 * right / found.items:.1f} % \(", said, re.MULTILINE)
    [written] = json.loads((tmp_path / "figures.json").read_text("utf-8"))
    assert (written["variant"], written["seed"], written["right"]) == ("storyteller", "3", found.right)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "COMMAND"),
        (["dance"], "No such command 'dance'"),
        (["train", "--variant", "taugth"], "'taugth' is none of taught, "),
        (["train", "--seed", "one"], "'--seed': Input should be a valid integer"),
        (["train", "--fast"], "No such option: --fast"),
        # What attnviz ships is written over only by who names it.
        (["train"], "Missing option '--out'"),
        (["learning"], "Missing option '--out'"),
        (["distances"], "Name the folder to write with --out."),
        (["trace"], "Missing argument 'TEXT'"),
        (["trace", "--fast"], "No such option: --fast"),
        (["trace", "-f"], "No such option: -f"),
        (["trace", "a dog", "--fast"], "Error: No such option: --fast"),
        (["pronouns", "--looks", "away"], "'away' is not one of 'pronoun', 'nouns'"),
    ],
)
def test_what_does_not_exist_is_named(run: Run, arguments: list[str], message: str) -> None:
    answer = run(*arguments)
    assert answer.status == 2
    assert message in answer.err


def test_distances_are_measured_without_training_again(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = distance.read()

    def measure(folder: Path, tell: Tell) -> distance.Distances:
        assert folder == tmp_path
        tell("half of it", 0.5)
        return found

    monkeypatch.setattr(contest, "train", pytest.fail)
    monkeypatch.setattr(contest, "measure", measure)
    answer = run("distances", "--only-measure", "--out", tmp_path)
    assert answer.err == "half of it\n"
    for name in distance.NAMES:
        right = [point.exact for point in found.chosen(name)[0].points]
        assert f"{name}: of 300 translations are right: {' '.join(map(str, right))}\n" in answer.out
    assert distance.read(tmp_path) == found


def test_missing_weights_are_named_with_the_command_that_makes_them(refuse: Say, tmp_path: Path) -> None:
    said = refuse("measure", tmp_path / "taught.safetensors")
    assert "taught.safetensors is missing" in said
    assert "python -m attnviz train --variant taught" in said


def test_asking_for_help_waits_for_no_model() -> None:
    command = [sys.executable, "-X", "importtime", "-m", "attnviz", "--help"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in ("trace", "models", "train", "measure", "corpus"):
        assert re.search(rf"^ +{name} ", answer.stdout, re.MULTILINE)
    assert " torch\n" not in answer.stderr


@pytest.mark.parametrize("command", ["trace", "report", "heads", "index", "pronouns", "relations"])
def test_every_command_that_runs_a_model_is_told_its_numbers_and_its_device(
    command: str, refuse: Say, tmp_path: Path
) -> None:
    (tmp_path / "dog.txt").write_text("The dog slept.\n", "utf-8")
    more: dict[str, list[object]] = {
        "trace": ["Hi."],
        "report": ["Hi.", "--out", tmp_path / "h.html"],
        "heads": [tmp_path / "dog.txt"],
        "index": [tmp_path / "dog.txt", "--out", tmp_path / "dog.index"],
    }
    asked: list[object] = [command, *more.get(command, []), "--model"]
    said = refuse(*asked, "a/b#bfloat16", "--dtype", "float16")
    assert "“a/b#bfloat16” says #bfloat16, but dtype is float16. Leave one of them out." in said
    said = refuse(*asked, "translator", "--device", "cuda")
    assert "“translator” runs on the processor. Leave cuda out." in said
