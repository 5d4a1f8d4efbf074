"""Code in a model's files is never run, and a public server reveals nothing about unlisted files."""

import json
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import attnviz
from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.errors import AttnvizError, ModelFilesDamaged, ModelNotSupported, UnknownModel
from attnviz.models import allowed, folder, hub, resolve
from attnviz.models.catalogue import MINILM
from tests.capture.tiny import SENTENCE, FolderOf
from tests.models.fake_hub import go_online, serving


class Payload:
    """An object that creates a file when unpickled."""

    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (f"open({str(self._marker)!r}, 'w').close()",)


@pytest.fixture
def marker(tmp_path: Path) -> Iterator[Path]:
    """A file that exists after the test only if code from a model was run."""
    file = tmp_path / "code-was-run"
    yield file
    assert not file.exists()


@pytest.fixture(autouse=True)
def new_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(allowed.SETTING, raising=False)
    monkeypatch.setattr(allowed, "_opened", {})
    monkeypatch.setattr(loading, "_models", type(loading._models)())


def access_paths(name: str) -> Iterator[Callable[[], object]]:
    """Yield a call to every function that opens a model by name."""
    yield lambda: resolve.entry(name)
    yield lambda: loading.open_model(name)
    yield lambda: loading.load(name)
    yield lambda: loading.tokens(name, SENTENCE)
    yield lambda: loading.trace(name, ModelInput(SENTENCE))
    yield lambda: loading.load(name).predictions(ModelInput(SENTENCE))
    yield lambda: attnviz.trace(SENTENCE, model=name)


def assert_refused(name: str, error: type[AttnvizError], message: str) -> None:
    for call in access_paths(name):
        with pytest.raises(error, match=message):
            call()


def change(file: Path, **changes: Any) -> None:
    settings = json.loads(file.read_text()) if file.is_file() else {}
    file.write_text(json.dumps({**settings, **changes}))


def code(marker: Path) -> str:
    """Return Python code that creates the marker when imported."""
    return f"open({str(marker)!r}, 'w').close()\nclass Own: pass\n"


def test_payload_creates_its_marker(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Payload(tmp_path / "code-was-run")))  # noqa: S301 - the payload must work
    assert (tmp_path / "code-was-run").exists()
    (tmp_path / "own.py").write_text(code(tmp_path / "imported"))
    exec((tmp_path / "own.py").read_text())  # noqa: S102 - the code must work
    assert (tmp_path / "imported").exists()


@pytest.mark.parametrize("file", ["pytorch_model-00001-of-00002.bin", "model.pt"])
def test_pickled_weights_are_never_read(file: str, bert: Path, marker: Path) -> None:
    (bert / "model.safetensors").unlink()
    torch.save({"weights": Payload(marker)}, bert / file)
    assert_refused(str(bert), ModelNotSupported, "pickle")


def test_pickles_next_to_the_weights_are_never_read(bert: Path, marker: Path) -> None:
    payload = pickle.dumps(Payload(marker))
    for file in (
        *("pytorch_model.bin", "training_args.bin", "adapter_model.bin", "optimizer.pt", "rng_state.pth"),
        *("vocab.pkl", "tokenizer.pkl"),
    ):
        (bert / file).write_bytes(payload)
    loading.open_model(str(bert))
    assert attnviz.trace(SENTENCE, model=str(bert)).blocks


@pytest.mark.parametrize("file", ["model.safetensors", "config.json", "tokenizer.json"])
def test_pickle_under_another_name_is_refused(file: str, bert: Path, marker: Path) -> None:
    (bert / file).write_bytes(pickle.dumps(Payload(marker)))
    assert_refused(str(bert), ModelFilesDamaged, file)


@pytest.mark.parametrize("weights", ["adapter_model.bin", "own.safetensors", "../own.safetensors"])
def test_config_cannot_name_other_weights(weights: str, bert: Path, marker: Path) -> None:
    (bert / "adapter_model.bin").write_bytes(pickle.dumps(Payload(marker)))
    change(bert / "config.json", transformers_weights=weights)
    assert_refused(str(bert), ModelNotSupported, r"only model\.safetensors")


def test_adapter_cannot_load_another_model(bert: Path) -> None:
    change(bert / "adapter_config.json", base_model_name_or_path="some/model", peft_type="LORA")
    assert_refused(str(bert), ModelNotSupported, "adapter")


@pytest.mark.parametrize("family", ["bert", "custom"])
def test_code_of_a_model_is_never_run(family: str, bert: Path, marker: Path) -> None:
    (bert / "own.py").write_text(code(marker))
    change(
        bert / "config.json",
        model_type=family,
        auto_map=dict.fromkeys(("AutoConfig", "AutoModel", "AutoModelForMaskedLM"), "own.Own"),
    )
    assert_refused(str(bert), ModelNotSupported, "Python code")


@pytest.mark.parametrize("tokenizer", ["tokenizer.json", "vocab.txt"])
def test_code_of_a_tokenizer_is_never_run(tokenizer: str, bert: Path, marker: Path) -> None:
    (bert / "own.py").write_text(code(marker))
    auto_map = {"AutoTokenizer": ["own.Own", "own.Own"]}
    change(bert / "config.json", auto_map=auto_map)
    change(
        bert / "tokenizer_config.json",
        auto_map=auto_map,
        tokenizer_class="Own",
        chat_template=f"{{{{ cycler.__init__.__globals__.os.system('touch {marker}') }}}}",
        tokenizer_file="/etc/passwd",
        custom_generate="own",
    )
    if tokenizer == "vocab.txt":
        (bert / "tokenizer.json").rename(renamed := bert / "renamed.json")
        words = json.loads(renamed.read_text())["model"]["vocab"]
        (bert / "vocab.txt").write_text("\n".join(sorted(words, key=words.get)))
        with pytest.raises(AttnvizError):
            loading.open_model(str(bert))
    else:
        assert loading.open_model(str(bert)).layers == 2


def test_code_of_an_image_processor_is_never_run(copy_of: FolderOf, marker: Path) -> None:
    vit = copy_of("vit")
    (vit / "own.py").write_text(code(marker))
    change(vit / "preprocessor_config.json", auto_map={"AutoImageProcessor": "own.Own"})
    assert loading.open_model(str(vit)).is_vision_model


@pytest.mark.parametrize(
    "file", ["config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"]
)
def test_symlink_to_outside_the_folder_is_refused(file: str, bert: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("password 1234")
    (bert / file).unlink()
    (bert / file).symlink_to(secret)
    for call in access_paths(str(bert)):
        with pytest.raises(ModelFilesDamaged, match=f"{file}.* links to a file outside") as caught:
            call()
        assert "1234" not in str(caught.value)


def test_symlink_inside_or_to_the_folder_is_followed(bert: Path, tmp_path: Path) -> None:
    (bert / "model.safetensors").rename(bert / "weights")
    (bert / "model.safetensors").symlink_to("weights")
    (tmp_path / "linked").symlink_to(bert, target_is_directory=True)
    assert folder.entry(tmp_path / "linked", "linked").layers == 2


def test_symlinked_shard_outside_the_folder_is_refused(bert: Path, tmp_path: Path) -> None:
    (bert / "model.safetensors").rename(tmp_path / "part.safetensors")
    change(bert / "model.safetensors.index.json", weight_map={"a": "part.safetensors"})
    (bert / "part.safetensors").symlink_to(tmp_path / "part.safetensors")
    with pytest.raises(ModelFilesDamaged, match="links to a file outside the folder"):
        resolve.entry(str(bert))


def test_pickle_on_the_hub_is_never_requested(
    bert: Path, marker: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bert / "model.safetensors").unlink()
    torch.save({"weights": Payload(marker)}, bert / "pytorch_model.bin")
    with serving(folders={"some/pickle": bert}) as fake_hub:
        go_online(fake_hub, tmp_path / "cache", monkeypatch)
        assert_refused("some/pickle", ModelNotSupported, "pickle")
        assert fake_hub.files() == []


@pytest.mark.parametrize("family", ["bert", "custom"])
def test_code_on_the_hub_is_never_requested(
    family: str, bert: Path, marker: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bert / "own.py").write_text(code(marker))
    change(bert / "config.json", model_type=family, auto_map={"AutoModel": "own.Own"})
    with serving(folders={"some/own": bert}) as fake_hub:
        go_online(fake_hub, tmp_path / "cache", monkeypatch)
        assert_refused("some/own", ModelNotSupported, "Python code")
        assert set(fake_hub.files()) == {"config.json", "tokenizer_config.json"}


# White space, paths, URLs, ids, lone surrogates, and a very long name.
HOSTILE = (
    *("", " ", "minilm ", "MiniLM", "minilm\n", "\0", "\ud800", "x" * 100_000),
    *("..", "../..", "~", "~root", "~/.ssh/id_rsa", ".", "/", "/etc/passwd", "/etc"),
    *("\\\\server\\share", "C:\\models", "file:/etc/passwd", "file:///etc/passwd"),
    *("https://huggingface.co/google-bert/bert-base-uncased", "hf://models/a/b"),
    *("google-bert/bert-base-uncased", "no/such-model", "a/b@main", "a/../b"),
)


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch, bert: Path) -> str:
    """The path of a model on a public server; it must not be revealed to visitors."""
    monkeypatch.setenv(allowed.SETTING, f"minilm, tiny={bert}")
    return str(bert)


def error_messages(name: str) -> set[str]:
    """Return the error messages of all functions that open a model, for this name."""
    messages = set()
    for call in access_paths(name):
        with pytest.raises(UnknownModel) as caught:
            call()
        messages.add(str(caught.value))
    with pytest.raises(UnknownModel) as caught:
        allowed.check(name)
    return {*messages, str(caught.value)}


def test_public_server_gives_the_same_error_for_all_unlisted_names(public: str) -> None:
    for name in HOSTILE:
        messages = error_messages(name)
        assert messages == {"This server offers only these models: minilm, tiny."}, ascii(name[:30])
        assert public not in str(messages)


def test_error_does_not_reveal_paths(public: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path)
    existing = {public, str(tmp_path), "there", "./there", str(MINILM.folder)}
    assert {answer for name in existing for answer in error_messages(name)} == error_messages(
        "/no/such/folder"
    )


def test_list_is_checked_before_any_file(public: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, function in ((resolve, "kind_of_name"), (folder, "entry"), (hub, "entry")):
        monkeypatch.setattr(module, function, lambda *_: pytest.fail("a file was accessed"))
    assert error_messages(public) == error_messages("no/such-model")


def test_public_server_opens_models_on_its_list(public: str) -> None:
    entry = loading.open_model("tiny")
    assert (entry.name, entry.title) == ("tiny", "tiny")
    assert public not in entry.description
    trace = attnviz.trace(SENTENCE, model="tiny")
    assert trace.model == "tiny"
    assert allowed.names() == ("minilm", "tiny")


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.json"])
def test_error_of_a_damaged_listed_model_hides_its_path(file: str, public: str) -> None:
    for damage in (lambda path: path.write_bytes(b"{"), Path.unlink):
        damage(Path(public) / file)
        for call in access_paths("tiny"):
            with pytest.raises(AttnvizError) as caught:
                call()
            assert str(Path(public).parent) not in str(caught.value)


def test_lessons_work_although_their_models_are_not_listed(public: str) -> None:
    assert public
    assert loading.trace("translator", ModelInput("The dog was tired.")).target
    with pytest.raises(UnknownModel):
        loading.open_model("translator")
