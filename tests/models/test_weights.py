import json
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

from attnviz.errors import ModelFilesDamaged, ModelNotSupported
from attnviz.models import weights

SAVED = {
    "matrix": torch.ones(3, 5),
    "half": torch.ones(7, dtype=torch.float16),
    "brain": torch.ones(2, 2, dtype=torch.bfloat16),
    "one": torch.ones(()),
    "none": torch.ones(0, 11),
    "places": torch.arange(13),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file written by safetensors."""
    save_file(SAVED, tmp_path / "model.safetensors", metadata={"format": "pt"})
    return tmp_path / "model.safetensors"


def count(file: Path) -> int:
    return weights.count_parameters(file, "model.safetensors of “mine”").total()


def array(**changes: Any) -> dict[str, Any]:
    return {"a": {"dtype": "F32", "shape": [3, 5], "data_offsets": [0, 60], **changes}}


def test_floating_point_numbers_are_counted_and_integers_are_not(file: Path) -> None:
    assert count(file) == 15 + 7 + 4 + 1 + 0


@pytest.mark.parametrize(
    ("header", "data", "problem"),
    [
        ("no JSON", 60, "is damaged"),
        (array(shape=[-3, -5]), 60, "is damaged"),
        (array(shape=[2**40], data_offsets=[0, 2**42]), 60, "is damaged"),
        (array(data_offsets=[4, 64]), 64, "is damaged"),
        (array(), 59, "is damaged"),
        (array(dtype="F8_E4M3", data_offsets=[0, 15]), 15, "has the unsupported dtype “F8_E4M3”"),
    ],
)
def test_inconsistent_header_is_refused(header: Any, data: int, problem: str, tmp_path: Path) -> None:
    text = json.dumps(header).encode()
    (tmp_path / "made").write_bytes(len(text).to_bytes(8, "little") + text + bytes(data))
    with pytest.raises(ModelFilesDamaged, match=f"model.safetensors of “mine”.*{problem}"):
        count(tmp_path / "made")


@pytest.mark.parametrize("length", [0, 300, 10**13, 2**64 - 1])
def test_wrong_header_length_is_refused(length: int, file: Path) -> None:
    file.write_bytes(length.to_bytes(8, "little") + file.read_bytes()[8:])
    with pytest.raises(ModelFilesDamaged, match="is damaged"):
        count(file)


def test_file_with_too_many_tensors_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert count(file)
    for limit, value in (("MAX_TENSORS", len(SAVED) - 1), ("MAX_HEADER_BYTES", 100)):
        with monkeypatch.context() as patch:
            patch.setattr(weights, limit, value)
            with pytest.raises(ModelNotSupported, match="too many tensors"):
                count(file)


@given(st.data())
def test_changed_header_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """The result is a count or a ModelFilesDamaged error."""
    file = tmp_path_factory.getbasetemp() / "changed.safetensors"
    save_file(SAVED, file)
    saved = file.read_bytes()
    place = data.draw(st.integers(0, 8 + int.from_bytes(saved[:8], "little") - 1))
    file.write_bytes(saved[:place] + bytes([data.draw(st.integers(0, 255))]) + saved[place + 1 :])
    try:
        assert count(file) >= 0
    except ModelFilesDamaged as error:
        assert str(error).startswith("model.safetensors of “mine”")  # noqa: PT017 - both results are valid
