"""What was found, as a file: equal when it comes back, and nothing else is taken for it."""

import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from attnviz.analysis.tally import Tally
from attnviz.experiments.behaviour import BehaviourFindings, Skipped
from attnviz.experiments.findings_file import RunKey, read, write

from attnviz.errors import AttnvizError
from attnviz.experiments import findings_file

KEY = RunKey(model="mine/ä", files="ab", text="cd", lines=13, layers=2, heads=3)


def found() -> BehaviourFindings:
    """Sums that nothing else has."""
    sums = Tally.nothing(2, 3)
    for number, array in enumerate(sums.arrays().values(), 2):
        array[...] = np.arange(array.size).reshape(array.shape) + number
    return BehaviourFindings(
        sums,
        empty=5,
        skipped=7,
        named=(Skipped(3, "“no”"), Skipped(11, "no")),
        parts=frozenset({0, 4}),
        single=frozenset({2_003, 7_001}),
    )


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    file = tmp_path / "kept"
    write(file, KEY, found())
    job, back = read(file)
    assert job == KEY
    for name, array in found().tally.arrays().items():
        assert np.array_equal(back.tally.arrays()[name], array)
    assert (back.empty, back.skipped, back.named, back.parts, back.single) == (
        5,
        7,
        found().named,
        frozenset({0, 4}),
        frozenset({2_003, 7_001}),
    )
    assert [each.name for each in tmp_path.iterdir()] == ["kept"]


def test_a_file_of_version_2_lacks_shares_of_all_attention(tmp_path: Path) -> None:
    file = tmp_path / "heads.npz"
    write(file, KEY, found())
    arrays = dict(np.load(file))
    header = json.loads(arrays["header"].tobytes())
    rules = ["relative distance" if name == "far away" else name for name in header["rules"]]
    header |= {"version": 2, "rules": rules}
    del arrays["raw"], arrays["raw_even"]
    np.savez(file, **{**arrays, "header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)})
    key, back = read(file)
    assert key == KEY
    assert np.array_equal(back.tally.total, found().tally.total)
    assert np.isnan(back.tally.of("far away").raw).all()
    assert np.isnan(back.tally.of("previous").raw_baseline).all()


def test_who_is_interrupted_while_writing_keeps_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "kept"
    write(file, KEY, found())
    before = file.read_bytes()

    def interrupted(opened: io.BufferedWriter, **_: object) -> None:
        opened.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(file, KEY, found())
    assert file.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["kept"]


def test_another_version_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "kept", KEY, found())
    monkeypatch.setattr(findings_file, "NAMES", ("other",))
    with pytest.raises(AttnvizError, match="“kept” was written by another version"):
        read(tmp_path / "kept")


@pytest.mark.parametrize(
    "kind", ["text", "cut", "flipped", "other archive", "pickle", "array", "other sizes"]
)
def test_other_files_are_refused(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "kept"
    write(file, KEY, found())
    content = file.read_bytes()
    if kind == "text":
        file.write_text("a,b\n")
    elif kind == "cut":
        file.write_bytes(content[: len(content) // 2])
    elif kind == "flipped":
        middle = len(content) // 2
        file.write_bytes(content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :])
    elif kind == "other archive":
        with file.open("wb") as opened:
            np.savez(opened, header=np.frombuffer(b'{"format": "other"}', dtype=np.uint8))
    elif kind == "pickle":
        with file.open("wb") as opened:
            np.savez(opened, header=np.array([{}], dtype=object))
    elif kind == "array":
        with file.open("wb") as opened:
            np.save(opened, np.array([{}], dtype=object))
    else:
        write(file, replace(KEY, heads=4), found())
    with pytest.raises(
        AttnvizError, match=r"^“kept” does not hold what heads do, or it is damaged"
    ) as refused:
        read(file)
    assert not any(word in str(refused.value) for word in ("pickle", "zip", "numpy", "(", "Error"))


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "none")
