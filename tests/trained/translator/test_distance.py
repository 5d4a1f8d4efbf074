"""What is written down of both networks: a file read as it was written."""

import json
from pathlib import Path

import pytest

from attnviz.errors import ModelFilesDamaged
from attnviz.trained.translator import distance
from attnviz.trained.translator.distance import Distances, Head, Learned, Point, Spread


@pytest.fixture
def measured() -> Distances:
    points = tuple(
        Point(7 - at, 0.75, 7, Spread(0.1, 0.2, 0.3), Spread(1e-21, 2e-20, 3e-19)) for at in range(3)
    )
    networks = {name: Learned(11, 13, "digest", points) for name in distance.NAMES}
    il, elle = Head(1, 2, (0.5, 0.4, 0.3)), Head(1, 0, (0.2, 0.1, 0.3))
    across = Head(0, 3, (0.6, 0.7, 0.8))
    return Distances(7, 2, (4.5, 9.5, 14.5), networks, {"il": il, "elle": elle}, across)


def test_what_was_measured_is_read_as_it_was_written(measured: Distances, tmp_path: Path) -> None:
    distance.write(measured, tmp_path)
    assert distance.read(tmp_path) == measured


def test_a_head_is_named_as_on_screen(measured: Distances) -> None:
    assert (measured.back["il"].name, measured.across.name) == ("2-3", "1-4")


@pytest.mark.parametrize("damage", ["", "{}", "[1]", "nonsense", '{"networks": {"recurrent": 1}}'])
def test_a_damaged_file_is_refused_with_the_command_that_mends_it(tmp_path: Path, damage: str) -> None:
    (tmp_path / "distances.json").write_text(damage)
    with pytest.raises(ModelFilesDamaged, match="python -m attnviz distances"):
        distance.read(tmp_path)


def test_a_missing_number_is_noticed(measured: Distances, tmp_path: Path) -> None:
    distance.write(measured, tmp_path)
    file = tmp_path / "distances.json"
    written = json.loads(file.read_text("utf-8"))
    del written["networks"]["transformer"]["points"][1]["exact"]
    file.write_text(json.dumps(written))
    with pytest.raises(ModelFilesDamaged):
        distance.read(tmp_path)
