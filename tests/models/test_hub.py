import socket
import threading
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

import pytest
from huggingface_hub import constants
from transformers import AutoModel

import attnviz
from attnviz.capture import loading
from attnviz.errors import AttnvizError, ModelFilesDamaged, ModelNotReachable, ModelTooLarge, UnknownModel
from attnviz.models import folder, hub, hub_files, limits, resolve
from attnviz.models.catalogue import MINILM, Downloaded, Hub
from tests.models.fake_hub import COMMIT, FakeHub, go_online, serving

ID = "some-one/tiny.bert_1"


@pytest.fixture
def there(bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """A hub with one small model, which may be spoilt, and an empty cache on this machine."""
    with serving(folders={ID: bert}) as running:
        go_online(running, tmp_path / "cache", monkeypatch)
        yield running


def served(there: FakeHub) -> Path:
    return there.folders[ID]


def refused(kind: type[AttnvizError], *words: str, name: str = ID) -> str:
    with pytest.raises(kind) as caught:
        resolve.entry(name)
    message = str(caught.value)
    for word in words:
        assert word in message
    return message


class Enough(Exception):
    """Somebody no longer wants the model."""


def quietly(came: int, total: int) -> None:
    assert 0 <= came <= total


IDS = ("a/b", "a/b@main", "A-1_x/b.c_d-e", "a/b@refs/pr/3", f"a/b@{COMMIT}", "a/b@v1.0", f"{'a' * 96}/b")
NO_IDS = (
    *("", "a", "a/", "/b", "a/b/c", "../b", "a/..", "a/b..c", "a..b/c", ".a/b", "a/.b", "-a/b", "a/b-"),
    *("a/b.", "a/b.git", "a--b/c", "a\\b/c", "~/b", "a /b", "a/b ", "a/b\n", "https://a/b", "file:a/b"),
    *("a/b@", "a/b@..", "a/b@a/../b", "a/b@/etc", "a/b@a//b", "a/b@x y", "a/b@v1@v2", "a/b?c", "a/b#c"),
    *("é/b", "a/%2e%2e", f"{'a' * 97}/b"),
)


def test_what_an_id_is_and_what_is_none() -> None:
    assert [name for name in IDS if not hub.is_id(name)] == []
    assert [name for name in NO_IDS if hub.is_id(name)] == []


def test_the_sizes_are_known_before_the_weights_come(there: FakeHub) -> None:
    entry = resolve.entry(ID)
    local = folder.entry(served(there), ID)
    facts = attrgetter("layers", "heads", "d_head", "parameters", "token_limit", "expects")
    assert facts(entry) == facts(local)
    assert isinstance(entry.origin, Hub)
    assert entry.origin.commit == COMMIT
    sizes = {file: (served(there) / file).stat().st_size for file in ("tokenizer.json", "model.safetensors")}
    assert entry.origin.size == sum(sizes.values()), "the small ones are here already"
    assert there.files() == ["config.json", "tokenizer_config.json", "model.safetensors"]
    assert not list((Path(constants.HF_HUB_CACHE)).rglob("*.safetensors")), "only the header came"


def test_a_downloaded_model_needs_no_network_any_more(
    there: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = resolve.entry(ID)
    progress: list[tuple[int, int]] = []
    hub.download(ID, ID, lambda came, total: progress.append((came, total)))
    total = sum(file.stat().st_size for file in served(there).iterdir())
    assert (progress[0], progress[-1]) == ((0, total), (total, total))
    assert progress == sorted(progress)
    asked = len(there.asked)
    assert resolve.entry(ID).parameters == before.parameters
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    hub.fetch_listing.cache_clear()
    entry = resolve.entry(ID)
    assert isinstance(entry.origin, Downloaded)
    assert (entry.origin.repository, entry.origin.commit) == (ID, COMMIT)
    assert (entry.title, entry.parameters) == (ID, before.parameters)
    assert len(there.asked) == asked
    assert resolve.entry(f"{ID}@{COMMIT}").origin == entry.origin


@pytest.mark.usefixtures("there")
def test_a_download_can_be_stopped_and_begun_again() -> None:
    def stop(came: int, total: int) -> None:
        if came > total / 2:
            raise Enough

    with pytest.raises(Enough):
        hub.download(ID, ID, stop)
    cache = Path(constants.HF_HUB_CACHE)
    assert not list(cache.rglob("*.incomplete"))
    assert not list(cache.rglob("*.safetensors"))
    assert isinstance(resolve.entry(ID).origin, Hub), "half a model is none"
    assert not constants.HF_HUB_DISABLE_XET, "the setting is as it was"
    hub.download(ID, ID, quietly)
    assert isinstance(resolve.entry(ID).origin, Downloaded)


def test_only_one_model_is_downloaded_at_a_time_and_waiting_can_be_stopped(there: FakeHub) -> None:
    waiting, go_on, calls = threading.Event(), threading.Event(), []

    def first(came: int, total: int) -> None:  # noqa: ARG001 - it only waits
        waiting.set()
        assert go_on.wait(10)

    def second(came: int, total: int) -> None:
        calls.append((came, total))
        raise Enough

    thread = threading.Thread(target=hub.download, args=(ID, ID, first))
    thread.start()
    assert waiting.wait(10)
    with pytest.raises(Enough):
        hub.download(f"{ID}@v1", ID, second)
    assert calls[0][0] == 0
    go_on.set()
    thread.join(10)
    assert not thread.is_alive()
    assert there.files("GET").count("model.safetensors") == 3, "two headers, one file"


def test_nothing_but_numbers_is_downloaded(there: FakeHub) -> None:
    others = (
        *("pytorch_model.bin", "model.pkl", "tf_model.h5", "onnx/model.onnx", "model.fp16.safetensors"),
        *("adapter_model.safetensors", "modeling_own.py", "README.md", "vocab.txt", "1_Pooling/config.json"),
    )
    for file in others:
        (served(there) / file).parent.mkdir(exist_ok=True)
        (served(there) / file).write_bytes(b"never")
    loading.open_model(ID)
    asked = {path.partition("/resolve/")[2].partition("/")[2] for _, path in there.asked} - {""}
    assert asked == {"config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"}
    kept = {file.name for file in Path(constants.HF_HUB_CACHE).rglob("snapshots/*/*")}
    assert kept == asked


def test_weights_in_parts(there: FakeHub) -> None:
    where = served(there)
    AutoModel.from_pretrained(where, local_files_only=True, use_safetensors=True).save_pretrained(
        where, max_shard_size="8KB"
    )
    (where / "model.safetensors").unlink(missing_ok=True)
    parts = sorted(file.name for file in where.glob("*.safetensors"))
    assert len(parts) > 1
    before = resolve.entry(ID)
    assert before.parameters == folder.entry(where, ID).parameters
    hub.download(ID, ID, quietly)
    assert set(parts) <= set(there.files())
    after = resolve.entry(ID)
    assert isinstance(after.origin, Downloaded)
    (after.origin.folder / parts[0]).unlink()
    hub.fetch_listing.cache_clear()
    assert isinstance(resolve.entry(ID).origin, Hub), "a part is missing again"


def test_a_tokenizer_is_tried_before_the_weights_come(there: FakeHub) -> None:
    (served(there) / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelFilesDamaged, match="tokenizer"):
        hub.download(ID, ID, quietly)
    assert "tokenizer.json" in there.files()
    assert not list(Path(constants.HF_HUB_CACHE).rglob("*.safetensors"))


def test_a_private_model_is_as_unknown_as_none(there: FakeHub) -> None:
    there.private.add(ID)
    told = refused(UnknownModel, "or it is private")
    assert told.replace(ID, "some-one/none") == refused(UnknownModel, name="some-one/none")


def test_an_unknown_revision_and_a_gated_model_are_refused(there: FakeHub) -> None:
    refused(UnknownModel, "no such revision", name=f"{ID}@v2")
    there.gated.add(ID)
    refused(ModelNotReachable, "requires agreement to its conditions")


@pytest.mark.parametrize(
    ("status", "words"), [(500, "error 500"), (403, "token"), (200, "another server answers")]
)
def test_a_hub_that_fails_is_asked_again(status: int, words: str, there: FakeHub) -> None:
    there.failing[ID] = status
    refused(ModelNotReachable, words)
    there.failing.clear()
    assert resolve.entry(ID).layers == 2


def test_a_hub_out_of_reach(there: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    refused(ModelNotReachable, "HF_HUB_OFFLINE")
    assert there.asked == []
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hub_files, "TIMEOUT_SECONDS", 0.05)
    there.slow = 0.3
    refused(ModelNotReachable, "cannot be reached")
    monkeypatch.setattr(hub_files, "endpoint", lambda: "http://127.0.0.1:9")
    refused(ModelNotReachable, "cannot be reached")


def test_what_is_wrong_is_found_before_the_weights_come(
    there: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Missing files, files over the limit, and a config that is no config."""
    where = served(there)
    with monkeypatch.context() as patch:
        patch.setenv(limits.SETTING, "0.00001")
        refused(ModelTooLarge, "ATTNVIZ_MAX_GB")
    (where / "tokenizer.json").rename(where / "other.json")
    hub.fetch_listing.cache_clear()
    refused(ModelFilesDamaged, "no tokenizer")
    (where / "other.json").rename(where / "tokenizer.json")
    with (where / "config.json").open("r+b") as file:
        file.truncate(10_000_001)
    hub.fetch_listing.cache_clear()
    there.asked.clear()
    refused(ModelFilesDamaged, "too large")
    assert there.files() == []
    (where / "config.json").unlink()
    hub.fetch_listing.cache_clear()
    refused(ModelFilesDamaged, "no config.json")
    assert "model.safetensors" not in there.files()


def test_a_header_that_cannot_be_read(there: FakeHub) -> None:
    with (served(there) / "model.safetensors").open("r+b") as file:
        file.write((10**13).to_bytes(8, "little"))
    refused(ModelFilesDamaged, "is damaged")


def test_a_model_that_grows_in_memory_is_refused_by_its_header(
    there: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = served(there)
    AutoModel.from_pretrained(where, local_files_only=True, use_safetensors=True).half().save_pretrained(
        where
    )
    needed = 4 * (folder.entry(where, ID).parameters or 0)
    assert (where / "model.safetensors").stat().st_size < needed * 0.8
    monkeypatch.setenv(limits.SETTING, str(needed * 0.8 / 1e9))
    refused(ModelTooLarge)
    with pytest.raises(ModelTooLarge):
        hub.download(ID, ID, quietly)
    assert there.files().count("model.safetensors") == 1, "its header alone"


def test_the_library_works_without_a_network_and_without_being_told_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def no_network(*whom: object, **_: object) -> None:
        asked.append(whom)
        raise OSError("no network")

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)
    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    monkeypatch.setattr(loading, "_models", type(loading._models)())
    for model in ("minilm", str(MINILM.folder)):
        assert attnviz.trace("a dog", model=model).stack("encoder").shape == (6, 12, 4, 4)
    assert asked == [], "nobody is asked for what is here"
    with pytest.raises(ModelNotReachable, match="The hub cannot be reached"):
        attnviz.trace("a dog", model="some/model")
