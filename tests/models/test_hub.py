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
def fake_hub(bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """A hub with one small model, which a test may damage, and an empty local cache."""
    with serving(folders={ID: bert}) as hub_server:
        go_online(hub_server, tmp_path / "cache", monkeypatch)
        yield hub_server


def served_folder(fake_hub: FakeHub) -> Path:
    return fake_hub.folders[ID]


def assert_refused(kind: type[AttnvizError], *words: str, name: str = ID) -> str:
    with pytest.raises(kind) as caught:
        resolve.entry(name)
    message = str(caught.value)
    for word in words:
        assert word in message
    return message


class Stopped(Exception):
    """Raised by a progress callback to stop a download."""


def check_progress(done: int, total: int) -> None:
    assert 0 <= done <= total


IDS = ("a/b", "a/b@main", "A-1_x/b.c_d-e", "a/b@refs/pr/3", f"a/b@{COMMIT}", "a/b@v1.0", f"{'a' * 96}/b")
NOT_IDS = (
    *("", "a", "a/", "/b", "a/b/c", "../b", "a/..", "a/b..c", "a..b/c", ".a/b", "a/.b", "-a/b", "a/b-"),
    *("a/b.", "a/b.git", "a--b/c", "a\\b/c", "~/b", "a /b", "a/b ", "a/b\n", "https://a/b", "file:a/b"),
    *("a/b@", "a/b@..", "a/b@a/../b", "a/b@/etc", "a/b@a//b", "a/b@x y", "a/b@v1@v2", "a/b?c", "a/b#c"),
    *("é/b", "a/%2e%2e", f"{'a' * 97}/b"),
)


def test_ids_are_recognized() -> None:
    assert [name for name in IDS if not hub.is_id(name)] == []
    assert [name for name in NOT_IDS if hub.is_id(name)] == []


def test_sizes_are_known_before_the_weights_are_downloaded(fake_hub: FakeHub) -> None:
    entry = resolve.entry(ID)
    local = folder.entry(served_folder(fake_hub), ID)
    facts = attrgetter("layers", "heads", "d_head", "parameters", "token_limit", "expects")
    assert facts(entry) == facts(local)
    assert isinstance(entry.origin, Hub)
    assert entry.origin.commit == COMMIT
    sizes = {
        file: (served_folder(fake_hub) / file).stat().st_size
        for file in ("tokenizer.json", "model.safetensors")
    }
    assert entry.origin.size == sum(sizes.values()), "the small files are already downloaded"
    assert fake_hub.files() == ["config.json", "tokenizer_config.json", "model.safetensors"]
    assert not list((Path(constants.HF_HUB_CACHE)).rglob("*.safetensors")), "only the header is downloaded"


def test_downloaded_model_works_offline(fake_hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    before = resolve.entry(ID)
    progress: list[tuple[int, int]] = []
    hub.download(ID, ID, lambda done, total: progress.append((done, total)))
    total = sum(file.stat().st_size for file in served_folder(fake_hub).iterdir())
    assert (progress[0], progress[-1]) == ((0, total), (total, total))
    assert progress == sorted(progress)
    num_requests = len(fake_hub.requests)
    assert resolve.entry(ID).parameters == before.parameters
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    hub.fetch_listing.cache_clear()
    entry = resolve.entry(ID)
    assert isinstance(entry.origin, Downloaded)
    assert (entry.origin.repository, entry.origin.commit) == (ID, COMMIT)
    assert (entry.title, entry.parameters) == (ID, before.parameters)
    assert len(fake_hub.requests) == num_requests
    assert resolve.entry(f"{ID}@{COMMIT}").origin == entry.origin


@pytest.mark.usefixtures("fake_hub")
def test_download_can_be_stopped_and_restarted() -> None:
    def stop(done: int, total: int) -> None:
        if done > total / 2:
            raise Stopped

    with pytest.raises(Stopped):
        hub.download(ID, ID, stop)
    cache = Path(constants.HF_HUB_CACHE)
    assert not list(cache.rglob("*.incomplete"))
    assert not list(cache.rglob("*.safetensors"))
    assert isinstance(resolve.entry(ID).origin, Hub), "a partial download does not count"
    assert not constants.HF_HUB_DISABLE_XET, "the setting is restored"
    hub.download(ID, ID, check_progress)
    assert isinstance(resolve.entry(ID).origin, Downloaded)


def test_downloads_run_one_at_a_time_and_waiting_can_be_stopped(fake_hub: FakeHub) -> None:
    waiting, go_on, calls = threading.Event(), threading.Event(), []

    def first(done: int, total: int) -> None:  # noqa: ARG001 - unused
        waiting.set()
        assert go_on.wait(10)

    def second(done: int, total: int) -> None:
        calls.append((done, total))
        raise Stopped

    thread = threading.Thread(target=hub.download, args=(ID, ID, first))
    thread.start()
    assert waiting.wait(10)
    with pytest.raises(Stopped):
        hub.download(f"{ID}@v1", ID, second)
    assert calls[0][0] == 0
    go_on.set()
    thread.join(10)
    assert not thread.is_alive()
    assert fake_hub.files("GET").count("model.safetensors") == 3, "two headers, one file"


def test_only_needed_files_are_downloaded(fake_hub: FakeHub) -> None:
    others = (
        *("pytorch_model.bin", "model.pkl", "tf_model.h5", "onnx/model.onnx", "model.fp16.safetensors"),
        *("adapter_model.safetensors", "modeling_own.py", "README.md", "vocab.txt", "1_Pooling/config.json"),
    )
    for file in others:
        (served_folder(fake_hub) / file).parent.mkdir(exist_ok=True)
        (served_folder(fake_hub) / file).write_bytes(b"never")
    loading.open_model(ID)
    requested = {path.partition("/resolve/")[2].partition("/")[2] for _, path in fake_hub.requests} - {""}
    assert requested == {"config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"}
    cached = {file.name for file in Path(constants.HF_HUB_CACHE).rglob("snapshots/*/*")}
    assert cached == requested


def test_sharded_weights(fake_hub: FakeHub) -> None:
    where = served_folder(fake_hub)
    AutoModel.from_pretrained(where, local_files_only=True, use_safetensors=True).save_pretrained(
        where, max_shard_size="8KB"
    )
    (where / "model.safetensors").unlink(missing_ok=True)
    shards = sorted(file.name for file in where.glob("*.safetensors"))
    assert len(shards) > 1
    before = resolve.entry(ID)
    assert before.parameters == folder.entry(where, ID).parameters
    hub.download(ID, ID, check_progress)
    assert set(shards) <= set(fake_hub.files())
    after = resolve.entry(ID)
    assert isinstance(after.origin, Downloaded)
    (after.origin.folder / shards[0]).unlink()
    hub.fetch_listing.cache_clear()
    assert isinstance(resolve.entry(ID).origin, Hub), "one shard is missing"


def test_tokenizer_is_checked_before_the_weights_are_downloaded(fake_hub: FakeHub) -> None:
    (served_folder(fake_hub) / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelFilesDamaged, match="tokenizer"):
        hub.download(ID, ID, check_progress)
    assert "tokenizer.json" in fake_hub.files()
    assert not list(Path(constants.HF_HUB_CACHE).rglob("*.safetensors"))


def test_private_and_missing_models_have_the_same_error(fake_hub: FakeHub) -> None:
    fake_hub.private.add(ID)
    message = assert_refused(UnknownModel, "or it is private")
    assert message.replace(ID, "some-one/none") == assert_refused(UnknownModel, name="some-one/none")


def test_unknown_revision_and_gated_model_are_refused(fake_hub: FakeHub) -> None:
    assert_refused(UnknownModel, "no model or revision", name=f"{ID}@v2")
    fake_hub.gated.add(ID)
    assert_refused(ModelNotReachable, "requires agreement to its conditions")


@pytest.mark.parametrize(
    ("status", "words"), [(500, "error 500"), (403, "token"), (200, "cannot be reached")]
)
def test_hub_errors_are_not_cached(status: int, words: str, fake_hub: FakeHub) -> None:
    fake_hub.failing[ID] = status
    assert_refused(ModelNotReachable, words)
    fake_hub.failing.clear()
    assert resolve.entry(ID).layers == 2


def test_unreachable_hub_is_reported(fake_hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert_refused(ModelNotReachable, "HF_HUB_OFFLINE")
    assert fake_hub.requests == []
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(hub_files, "TIMEOUT_SECONDS", 0.05)
    fake_hub.delay = 0.3
    assert_refused(ModelNotReachable, "cannot be reached")
    monkeypatch.setattr(hub_files, "endpoint", lambda: "http://127.0.0.1:9")
    assert_refused(ModelNotReachable, "cannot be reached")


def test_problems_are_found_before_the_download(fake_hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """The problems: a model that is too large, no tokenizer, and a config that is too large or missing."""
    where = served_folder(fake_hub)
    with monkeypatch.context() as patch:
        patch.setenv(limits.SETTING, "0.00001")
        assert_refused(ModelTooLarge, "ATTNVIZ_MAX_GB")
    (where / "tokenizer.json").rename(where / "other.json")
    hub.fetch_listing.cache_clear()
    assert_refused(ModelFilesDamaged, "no tokenizer")
    (where / "other.json").rename(where / "tokenizer.json")
    with (where / "config.json").open("r+b") as file:
        file.truncate(10_000_001)
    hub.fetch_listing.cache_clear()
    fake_hub.requests.clear()
    assert_refused(ModelFilesDamaged, "too large")
    assert fake_hub.files() == []
    (where / "config.json").unlink()
    hub.fetch_listing.cache_clear()
    assert_refused(ModelFilesDamaged, "no config.json")
    assert "model.safetensors" not in fake_hub.files()


def test_damaged_header_is_refused(fake_hub: FakeHub) -> None:
    with (served_folder(fake_hub) / "model.safetensors").open("r+b") as file:
        file.write((10**13).to_bytes(8, "little"))
    assert_refused(ModelFilesDamaged, "is damaged")


def test_memory_limit_applies_to_float32_weights(fake_hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    where = served_folder(fake_hub)
    AutoModel.from_pretrained(where, local_files_only=True, use_safetensors=True).half().save_pretrained(
        where
    )
    needed = 4 * (folder.entry(where, ID).parameters or 0)
    assert (where / "model.safetensors").stat().st_size < needed * 0.8
    monkeypatch.setenv(limits.SETTING, str(needed * 0.8 / 1e9))
    assert_refused(ModelTooLarge)
    with pytest.raises(ModelTooLarge):
        hub.download(ID, ID, check_progress)
    assert fake_hub.files().count("model.safetensors") == 1, "only its header"


def test_bundled_models_work_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    lookups = []

    def no_network(*host: object, **_: object) -> None:
        lookups.append(host)
        raise OSError("no network")

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)
    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    monkeypatch.setattr(loading, "_models", type(loading._models)())
    for model in ("minilm", str(MINILM.folder)):
        assert attnviz.trace("a dog", model=model).stack("encoder").shape == (6, 12, 4, 4)
    assert lookups == [], "bundled and local models need no request"
    with pytest.raises(ModelNotReachable, match="hub cannot be reached"):
        attnviz.trace("a dog", model="some/model")
