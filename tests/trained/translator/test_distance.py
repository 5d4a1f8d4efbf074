"""Stored accuracies by distance."""

from attnviz.trained.translator import distance
from attnviz.trained.translator.distance import Distances, Run


def run(name: distance.Name, rate: float, seed: int, tuned: int) -> Run:
    return Run(name, rate, seed, 100, tuned, (), ())


def test_chosen_learning_rate_is_the_best_over_all_seeds() -> None:
    runs = (
        run("lstm", 0.1, 0, 5),
        run("lstm", 0.1, 1, 1),
        run("lstm", 0.2, 1, 3),
        run("lstm", 0.2, 0, 4),
        run("transformer", 0.1, 0, 6),
        run("transformer", 0.2, 0, 2),
    )
    found = Distances(7, 2, (4.5, 9.5, 14.5), runs)
    assert [(one.learning_rate, one.seed) for one in found.chosen("lstm")] == [(0.2, 0), (0.2, 1)]
    assert [one.learning_rate for one in found.chosen("transformer")] == [0.1]
