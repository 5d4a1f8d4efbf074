"""What is written down of both networks: a file read as it was written."""

import json
from pathlib import Path

import pytest

from attnviz.errors import ModelFilesDamaged
from attnviz.trained.translator import distance
from attnviz.trained.translator.distance import Distances, Head, Looks, Moment, Point, Run


def run(name: distance.Name, rate: float, seed: int, right: int) -> Run:
    points = tuple(Point(7 - at, 0.75, 7, 0.2, 2e-20) for at in range(3))
    curve = (Moment(50, 9), Moment(100, right))
    il, elle = Head(1, 2, (0.5, 0.4, 0.3)), Head(1, 0, (0.2, 0.1, 0.3))
    looks = Looks({"il": il, "elle": elle}, Head(0, 3, (0.6, 0.7, 0.8))) if name == "transformer" else None
    return Run(name, rate, seed, 100, 1.5, 11, curve, points, looks)


@pytest.fixture
def measured() -> Distances:
    runs = [
        run("lstm", 0.1, 0, 5),
        run("lstm", 0.1, 1, 1),
        run("lstm", 0.2, 1, 3),
        run("lstm", 0.2, 0, 4),
        run("lstm_attention", 0.1, 0, 5),
        run("transformer", 0.1, 0, 6),
        run("transformer", 0.2, 0, 2),
    ]
    digests: dict[distance.Name, str] = dict.fromkeys(distance.NAMES, "digest")
    return Distances(7, 9, 2, 16, (4.5, 9.5, 14.5), (1e-3, 1e-5, 1e-7), tuple(runs), digests)


def test_what_was_measured_is_read_as_it_was_written(measured: Distances, tmp_path: Path) -> None:
    distance.write(measured, tmp_path)
    assert distance.read(tmp_path) == measured


def test_a_head_is_named_as_on_screen(measured: Distances) -> None:
    assert (measured.looks.back["il"].name, measured.looks.across.name) == ("2-3", "1-4")


def test_the_learning_rate_is_the_one_with_which_all_seeds_together_end_best(measured: Distances) -> None:
    chosen = {name: measured.chosen(name) for name in distance.NAMES}
    assert [(one.learning_rate, one.seed) for one in chosen["lstm"]] == [(0.2, 0), (0.2, 1)]
    assert [one.learning_rate for one in chosen["transformer"]] == [0.1]


@pytest.mark.parametrize(
    "damage", ["", "{}", "[1]", "nonsense", '{"words": [], "forgetful": [], "runs": [1]}']
)
def test_a_damaged_file_is_refused_with_the_command_that_mends_it(tmp_path: Path, damage: str) -> None:
    (tmp_path / "distances.json").write_text(damage)
    with pytest.raises(ModelFilesDamaged, match="python -m attnviz distances"):
        distance.read(tmp_path)


def test_a_missing_number_is_noticed(measured: Distances, tmp_path: Path) -> None:
    distance.write(measured, tmp_path)
    file = tmp_path / "distances.json"
    written = json.loads(file.read_text("utf-8"))
    del written["runs"][1]["points"][1]["exact"]
    file.write_text(json.dumps(written))
    with pytest.raises(ModelFilesDamaged):
        distance.read(tmp_path)
