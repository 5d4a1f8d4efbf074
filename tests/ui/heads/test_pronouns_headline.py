"""The headline about pronouns, for every kind of model: heads that look there, one that does, none."""

import numpy as np
import pytest

from attnviz.heads.pronouns import Baseline, Looks, Scores
from attnviz.ui.heads.pronouns import headline

NEAREST, COIN = Baseline("nearest noun", 0.5, 0.0), Baseline("a coin", 0.5, 0.25)


def scores(pairs: list[int], wrong: list[int], given: list[float], total: int = 101) -> Scores:
    """Of one layer, whose heads are right in half of the sentences that they do not change."""
    counts = np.array([pairs]), np.array([wrong])
    sentences = total + counts[0] - counts[1]
    return Scores(total, sentences, *counts, counts[0], np.array([given]))


def told(found: Scores, looks: Looks = "pronoun", *, finished: bool = True) -> list[str]:
    said = headline.paragraphs(found, looks, NEAREST, COIN, finished=finished)
    return [each.replace("\N{NO-BREAK SPACE}", " ") for each in said]


def test_the_best_head_that_looks_there_leads_and_the_one_with_most_pairs_follows() -> None:
    found = scores(pairs=[19, 17, 3], wrong=[2, 2, 0], given=[0.021, 0.62, 0.05])
    assert headline.best(found) == ((0, 1), (0, 0))
    chance = 3 * (1 + 19 + 19 * 18 / 2) / 2**19
    assert chance < 0.0015
    lead, coin, most = told(found)
    assert lead == (
        "**Head 1-2 resolves 17 of 101 pairs, 17 %** (95 % interval 11–25 %), the most of the 2 heads that "
        "give the two nouns 5 % or more of their weight; this one gives 62 %. Always the nearest noun: 0 %."
    )
    assert coin == (
        "A coin for each sentence would resolve more, 25 %, only because it changes sides in every second "
        "pair, half of the times the right way. Head 1-2 changes sides in only 19 of 101, **17 times the "
        "right way**; blindly, it would be half. That any of 3 blind heads does so well has a probability of "
        f"at most {100 * chance:.1f} % (sign test)."
    )
    assert most == (
        "Head 1-1 resolves 19, the most of all, but gives the two nouns only 2.1 % of its weight: it hardly "
        "looks there."
    )


def test_a_tiny_probability_is_not_written_as_nothing() -> None:
    _, coin = told(scores(pairs=[29], wrong=[2], given=[0.5]))
    assert coin.endswith("has a probability of less than 0.1 % (sign test).")


def test_where_no_head_looks_there_the_best_of_all_is_alone() -> None:
    found = scores(pairs=[2, 41], wrong=[2, 30], given=[0.01, 0.049])
    assert headline.best(found) == ((0, 1),)
    lead, coin = told(found, "nouns", finished=False)
    assert lead.startswith("**Head 1-2 resolves 41 of 101 pairs so far, 41 %**")
    assert "the most of all; but no head gives the pronoun 5 % or more of its weight, this one 4.9 %." in lead
    assert "would resolve 25 % because it" in coin
    assert "Head 1-2 changes sides in 71 of 101, **41 times the right way**" in coin
    assert coin.endswith("With 2 heads to choose from, luck explains that.")


@pytest.mark.parametrize(("pairs", "said"), [([0, 0], "as many"), ([7, 0], "7, the most of all")])
def test_a_head_that_never_changes_sides_leads_if_it_alone_looks_there(pairs: list[int], said: str) -> None:
    lead, coin, most = told(scores(pairs=pairs, wrong=[0, 0], given=[0.001, 0.7]))
    assert "and is the only head that gives the two nouns 5 % or more of its weight: 70 %." in lead
    assert coin.endswith("Head 1-2 changes sides in none.")
    assert most.startswith(f"Head 1-1 resolves {said}, but gives the two nouns only 0.1 % of its weight")
