"""Nothing that comes with a model is ever run, and nobody learns what else there is on a server."""

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
    """Leaves a file behind when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self._marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, (f"open({str(self._marker)!r}, 'w').close()",)


@pytest.fixture
def marker(tmp_path: Path) -> Iterator[Path]:
    """A file that is there after the test if anything was run that came with a model."""
    file = tmp_path / "it-was-run"
    yield file
    assert not file.exists()


@pytest.fixture(autouse=True)
def a_server_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(allowed.SETTING, raising=False)
    monkeypatch.setattr(allowed, "_opened", {})
    monkeypatch.setattr(loading, "_models", type(loading._models)())


def every_way(name: str) -> Iterator[Callable[[], object]]:
    """All doors through which a name reaches a model."""
    yield lambda: resolve.entry(name)
    yield lambda: loading.open_model(name)
    yield lambda: loading.load(name)
    yield lambda: loading.tokens(name, SENTENCE)
    yield lambda: loading.trace(name, ModelInput(SENTENCE))
    yield lambda: loading.load(name).predictions(ModelInput(SENTENCE))
    yield lambda: attnviz.trace(SENTENCE, model=name)


def refused_at_every_door(name: str, error: type[AttnvizError], said: str) -> None:
    for way in every_way(name):
        with pytest.raises(error, match=said):
            way()


def change(file: Path, **changes: Any) -> None:
    settings = json.loads(file.read_text()) if file.is_file() else {}
    file.write_text(json.dumps({**settings, **changes}))


def code(marker: Path) -> str:
    """A Python file that leaves the marker as soon as it is imported."""
    return f"open({str(marker)!r}, 'w').close()\nclass Own: pass\n"


def test_the_payload_does_what_it_should(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Payload(tmp_path / "it-was-run")))  # noqa: S301 - to prove the other tests
    assert (tmp_path / "it-was-run").exists()
    (tmp_path / "own.py").write_text(code(tmp_path / "imported"))
    exec((tmp_path / "own.py").read_text())  # noqa: S102 - likewise
    assert (tmp_path / "imported").exists()


@pytest.mark.parametrize("file", ["pytorch_model-00001-of-00002.bin", "model.pt"])
def test_pickled_weights_are_never_read(file: str, bert: Path, marker: Path) -> None:
    (bert / "model.safetensors").unlink()
    torch.save({"weights": Payload(marker)}, bert / file)
    refused_at_every_door(str(bert), ModelNotSupported, "pickle")


def test_pickles_beside_the_weights_are_never_read(bert: Path, marker: Path) -> None:
    payload = pickle.dumps(Payload(marker))
    for file in (
        *("pytorch_model.bin", "training_args.bin", "adapter_model.bin", "optimizer.pt", "rng_state.pth"),
        *("vocab.pkl", "tokenizer.pkl"),
    ):
        (bert / file).write_bytes(payload)
    loading.open_model(str(bert))
    assert attnviz.trace(SENTENCE, model=str(bert)).blocks


@pytest.mark.parametrize("file", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_pickle_under_another_name_is_damage(file: str, bert: Path, marker: Path) -> None:
    (bert / file).write_bytes(pickle.dumps(Payload(marker)))
    refused_at_every_door(str(bert), ModelFilesDamaged, file)


@pytest.mark.parametrize("weights", ["adapter_model.bin", "own.safetensors", "../own.safetensors"])
def test_a_config_cannot_name_other_weights(weights: str, bert: Path, marker: Path) -> None:
    (bert / "adapter_model.bin").write_bytes(pickle.dumps(Payload(marker)))
    change(bert / "config.json", transformers_weights=weights)
    refused_at_every_door(str(bert), ModelNotSupported, r"only model\.safetensors")


def test_an_adapter_cannot_lead_to_another_model(bert: Path) -> None:
    change(bert / "adapter_config.json", base_model_name_or_path="some/model", peft_type="LORA")
    refused_at_every_door(str(bert), ModelNotSupported, "adapter")


@pytest.mark.parametrize("family", ["bert", "of-its-own"])
def test_code_that_comes_with_a_model_is_never_run(family: str, bert: Path, marker: Path) -> None:
    (bert / "own.py").write_text(code(marker))
    change(
        bert / "config.json",
        model_type=family,
        auto_map=dict.fromkeys(("AutoConfig", "AutoModel", "AutoModelForMaskedLM"), "own.Own"),
    )
    refused_at_every_door(str(bert), ModelNotSupported, "Python code")


@pytest.mark.parametrize("tokenizer", ["tokenizer.json", "vocab.txt"])
def test_code_that_comes_with_a_tokenizer_is_never_run(tokenizer: str, bert: Path, marker: Path) -> None:
    (bert / "own.py").write_text(code(marker))
    own = {"AutoTokenizer": ["own.Own", "own.Own"]}
    change(bert / "config.json", auto_map=own)
    change(
        bert / "tokenizer_config.json",
        auto_map=own,
        tokenizer_class="Own",
        chat_template=f"{{{{ cycler.__init__.__globals__.os.system('touch {marker}') }}}}",
        tokenizer_file="/etc/passwd",
        custom_generate="own",
    )
    if tokenizer == "vocab.txt":
        (bert / "tokenizer.json").rename(tmp := bert / "gone.json")
        words = json.loads(tmp.read_text())["model"]["vocab"]
        (bert / "vocab.txt").write_text("\n".join(sorted(words, key=words.get)))
        with pytest.raises(AttnvizError):
            loading.open_model(str(bert))
    else:
        assert loading.open_model(str(bert)).layers == 2


def test_code_that_comes_with_a_picture_model_is_never_run(copy_of: FolderOf, marker: Path) -> None:
    where = copy_of("vit")
    (where / "own.py").write_text(code(marker))
    change(where / "preprocessor_config.json", auto_map={"AutoImageProcessor": "own.Own"})
    assert loading.open_model(str(where)).sees


@pytest.mark.parametrize(
    "file", ["config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"]
)
def test_a_link_does_not_lead_out_of_a_folder(file: str, bert: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("password 1234")
    (bert / file).unlink()
    (bert / file).symlink_to(secret)
    for way in every_way(str(bert)):
        with pytest.raises(ModelFilesDamaged, match=f"{file}.* is a link to outside") as caught:
            way()
        assert "1234" not in str(caught.value)


def test_a_link_inside_of_a_folder_and_to_a_folder_is_followed(bert: Path, tmp_path: Path) -> None:
    (bert / "model.safetensors").rename(bert / "weights")
    (bert / "model.safetensors").symlink_to("weights")
    (tmp_path / "linked").symlink_to(bert, target_is_directory=True)
    assert folder.entry(tmp_path / "linked", "linked").layers == 2


def test_a_part_of_the_weights_does_not_lie_elsewhere(bert: Path, tmp_path: Path) -> None:
    (bert / "model.safetensors").rename(tmp_path / "part.safetensors")
    change(bert / "model.safetensors.index.json", weight_map={"a": "part.safetensors"})
    (bert / "part.safetensors").symlink_to(tmp_path / "part.safetensors")
    with pytest.raises(ModelFilesDamaged, match="link to outside the folder"):
        resolve.entry(str(bert))


def test_a_pickle_on_the_hub_is_never_asked_for(
    bert: Path, marker: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bert / "model.safetensors").unlink()
    torch.save({"weights": Payload(marker)}, bert / "pytorch_model.bin")
    with serving(folders={"some/pickle": bert}) as running:
        go_online(running, tmp_path / "cache", monkeypatch)
        refused_at_every_door("some/pickle", ModelNotSupported, "pickle")
        assert running.files() == []


@pytest.mark.parametrize("family", ["bert", "of-its-own"])
def test_code_on_the_hub_is_never_asked_for(
    family: str, bert: Path, marker: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bert / "own.py").write_text(code(marker))
    change(bert / "config.json", model_type=family, auto_map={"AutoModel": "own.Own"})
    with serving(folders={"some/own": bert}) as running:
        go_online(running, tmp_path / "cache", monkeypatch)
        refused_at_every_door("some/own", ModelNotSupported, "Python code")
        assert set(running.files()) == {"config.json", "tokenizer_config.json"}


# White space, paths, addresses, ids, half characters, and far too much.
HOSTILE = (
    *("", " ", "minilm ", "MiniLM", "minilm\n", "\0", "\ud800", "x" * 100_000),
    *("..", "../..", "~", "~root", "~/.ssh/id_rsa", ".", "/", "/etc/passwd", "/etc"),
    *("\\\\server\\share", "C:\\models", "file:/etc/passwd", "file:///etc/passwd"),
    *("https://huggingface.co/google-bert/bert-base-uncased", "hf://models/a/b"),
    *("google-bert/bert-base-uncased", "no/such-model", "a/b@main", "a/../b"),
)


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch, bert: Path) -> str:
    """A public server with two models; the path of one of them, which visitors must not learn."""
    monkeypatch.setenv(allowed.SETTING, f"minilm, tiny={bert}")
    return str(bert)


def told(name: str) -> set[str]:
    """What is answered to a name at every door."""
    answers = set()
    for way in every_way(name):
        with pytest.raises(UnknownModel) as caught:
            way()
        answers.add(str(caught.value))
    with pytest.raises(UnknownModel) as caught:
        allowed.check(name)
    return {*answers, str(caught.value)}


def test_on_a_public_server_every_other_name_is_answered_alike(public: str) -> None:
    for name in HOSTILE:
        answers = told(name)
        assert answers == {"This server offers these models and no others: minilm, tiny."}, ascii(name[:30])
        assert public not in str(answers)


def test_what_exists_is_answered_like_what_does_not(
    public: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path)
    existing = {public, str(tmp_path), "there", "./there", str(MINILM.folder)}
    assert {answer for name in existing for answer in told(name)} == told("/no/such/folder")


def test_no_file_is_touched_before_the_list_is_asked(public: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, function in ((resolve, "kind_of_name"), (folder, "entry"), (hub, "entry")):
        monkeypatch.setattr(module, function, lambda *_: pytest.fail("looked"))
    assert told(public) == told("no/such-model")


def test_a_public_server_opens_what_is_on_its_list(public: str) -> None:
    entry = loading.open_model("tiny")
    assert (entry.name, entry.title) == ("tiny", "tiny")
    assert public not in entry.description
    trace = attnviz.trace(SENTENCE, model="tiny")
    assert trace.model == "tiny"
    assert allowed.names() == ("minilm", "tiny")


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_broken_model_on_the_list_does_not_tell_where_it_lies(file: str, public: str) -> None:
    for spoil in (lambda path: path.write_bytes(b"{"), Path.unlink):
        spoil(Path(public) / file)
        for way in every_way("tiny"):
            with pytest.raises(AttnvizError) as caught:
                way()
            assert str(Path(public).parent) not in str(caught.value)


def test_the_lessons_work_on_a_public_server_without_their_models_on_the_list(public: str) -> None:
    assert public
    assert loading.trace("translator", ModelInput("The dog was tired.")).target
    with pytest.raises(UnknownModel):
        loading.open_model("translator")
