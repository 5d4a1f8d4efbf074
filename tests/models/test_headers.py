import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file

from attnviz.errors import ModelFilesDamaged
from attnviz.models import headers

SAVED = {
    "matrix": torch.ones(3, 5),
    "half": torch.ones(7, dtype=torch.float16),
    "brain": torch.ones(2, 2, dtype=torch.bfloat16),
    "one": torch.ones(()),
    "none": torch.ones(0, 11),
    "places": torch.arange(13),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file as safetensors itself writes it."""
    file = tmp_path_factory.mktemp("saved") / "model.safetensors"
    save_file(SAVED, file, metadata={"format": "pt"})
    return file.read_bytes()


def read(content: bytes) -> headers.Header:
    return headers.read(io.BytesIO(content), len(content), "model.safetensors of “mine”")


def made(header: Any, data: int = 0) -> bytes:
    """A file with that header, and so many bytes behind it."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(data)


def array(**changes: Any) -> dict[str, Any]:
    return {"dtype": "F32", "shape": [3, 5], "data_offsets": [0, 60], **changes}


def test_learned_numbers_are_counted_and_whole_ones_are_not(saved: bytes) -> None:
    found = read(saved)
    assert found.tensors == set(SAVED)
    assert found.parameters == 15 + 7 + 4 + 1 + 0


def test_nothing_behind_the_header_is_read(saved: bytes) -> None:
    file = io.BytesIO(saved)
    headers.read(file, len(saved), "mine")
    assert file.tell() == 8 + int.from_bytes(saved[:8], "little") < len(saved)


@pytest.mark.parametrize("length", [10_000_000_000_000, 2**64 - 1, headers.MOST_HEADER_BYTES + 1])
def test_a_header_that_claims_too_much_is_refused_before_it_is_read(length: int) -> None:
    class Watched(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            assert size == 8, "only the header's length is read"
            return super().read(size)

    content = length.to_bytes(8, "little") + b"{}"
    with pytest.raises(ModelFilesDamaged, match="shorter than its own header says"):
        headers.read(Watched(content), len(content), "mine")
    with pytest.raises(ModelFilesDamaged, match=r"shorter|none has more than 25,000,000"):
        headers.read(Watched(content), 2**63, "mine")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "shorter than its own header says"),
        (b"abc", "shorter than its own header says"),
        (made(b"no JSON"), "header cannot be read"),
        (made(b"\xff\xfe"), "header cannot be read"),
        (made(b"[" * 100_000), "header cannot be read"),
        (made([1, 2]), "no table of arrays"),
        (made({"a": 1}), "without kind, shape or place"),
        (made({"a": {"dtype": "F32", "shape": [3]}}), "without kind, shape or place"),
        (made({"a": array(data_offsets=[0])}, 60), "without kind, shape or place"),
        (made({"a": array(shape=[-3, -5])}, 60), "impossible shape or place"),
        (made({"a": array(shape=[3.0, 5])}, 60), "impossible shape or place"),
        (made({"a": array(shape=15)}, 60), "impossible shape or place"),
        (made({"a": array(data_offsets=[True, 61])}, 61), "impossible shape or place"),
        (made({"a": array(shape=[10**15])}, 60), "wrong number of bytes"),
        (made({"a": array(), "b": array()}, 120), "overlap or leave gaps"),
        (made({"a": array(data_offsets=[4, 64])}, 64), "overlap or leave gaps"),
        (made({"a": array()}, 61), "do not end where the file ends"),
        (made({"a": array()}, 59), "do not end where the file ends"),
        (made({"a": array(dtype="F4")}, 60), "of a kind that attnviz does not read.*not a compressed one"),
        (made({"a": array(dtype=["F32"])}, 60), "of a kind that attnviz does not read"),
    ],
)
def test_damage_is_named(content: bytes, problem: str) -> None:
    with pytest.raises(ModelFilesDamaged, match=f"model.safetensors of “mine”.*{problem}"):
        read(content)


@given(st.data())
def test_whatever_is_changed_in_a_header_it_is_read_or_refused(saved: bytes, data: st.DataObject) -> None:
    """Nothing else comes out of it than a header or a kind error."""
    length = 8 + int.from_bytes(saved[:8], "little")
    place = data.draw(st.integers(0, length - 1))
    changed = saved[:place] + bytes([data.draw(st.integers(0, 255))]) + saved[place + 1 :]
    try:
        assert read(changed).parameters >= 0
    except ModelFilesDamaged as error:
        assert str(error).startswith("model.safetensors of “mine”")  # noqa: PT017 - both ways are good


def test_a_real_file_has_as_many_numbers_as_the_loaded_model(
    folder_of: Callable[[str], Path],
) -> None:
    from transformers import AutoModelForMaskedLM

    folder = folder_of("bert")
    file = folder / "model.safetensors"
    model = AutoModelForMaskedLM.from_pretrained(folder, local_files_only=True, use_safetensors=True)
    with file.open("rb") as opened:
        found = headers.read(opened, file.stat().st_size, "bert")
    assert found.parameters == sum(parameter.numel() for parameter in model.parameters())
