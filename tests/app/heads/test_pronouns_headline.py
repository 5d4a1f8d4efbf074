"""The headline about pronouns, for every kind of model: heads that look there, one that does, none."""

import numpy as np
import pytest
from attnviz.app.heads.pronouns import headline
from attnviz.app.heads.pronouns.figures import at_most
from attnviz.app.heads.pronouns.headline import Best, best
from attnviz.experiments.coreference import Baseline, Looks, Scores, Verdicts

from attnviz.experiments import pairs
from attnviz.experiments.sentences import SkippedSentence

NEAREST, COIN = Baseline("nearest noun", 0.5, 0.0), Baseline("a coin", 0.5, 0.25)


def scores(pairs: list[int], wrong: list[int], given: list[float], total: int = 101) -> Scores:
    """Of one layer, whose heads are right in half of the sentences that they do not change."""
    counts = np.array([pairs]), np.array([wrong])
    sentences = total + counts[0] - counts[1]
    return Scores(total, sentences, *counts, counts[0], np.array([given]))


def told(found: Scores, looks: Looks = "pronoun", *, finished: bool = True) -> list[str]:
    return plain(headline.paragraphs(found, looks, NEAREST, COIN, finished=finished))


def claimed(found: Scores, looks: Looks = "pronoun", *, finished: bool = True) -> str:
    [said] = plain((headline.claim(found, looks, NEAREST, finished=finished),))
    return said


def plain(said: tuple[str, ...]) -> list[str]:
    return [each.replace("\N{NO-BREAK SPACE}", " ").replace("\N{WORD JOINER}", "") for each in said]


def test_the_best_head_that_looks_there_leads_and_the_one_with_most_pairs_follows() -> None:
    found = scores(pairs=[19, 17, 3], wrong=[2, 2, 0], given=[0.021, 0.62, 0.05])
    assert best(found) == Best(((0, 1),), ((0, 0),))
    chance = 3 * (1 + 19 + 19 * 18 / 2) / 2**19
    assert 0.001 < chance < 0.0015
    lead, coin = told(found)
    assert lead == (
        "**Head 1-2 is the best: it resolves 17 of 101 pairs, 17 %** (95 % interval 11–25 %), the most of "
        "the 2 heads that give the two nouns 5 % or more of their weight; it gives 62 %. Always the nearest "
        "noun: 0 %."
    )
    assert coin == (
        "A coin for each sentence would resolve more, 25 %, only because it changes sides in every second "
        "pair, half of the times the right way. Head 1-2 changes sides in only 19 of 101, **17 times the "
        "right way**; blindly, it would be half. If all 3 heads turned blindly, the probability that any did "
        "so well would be at most 0.2 % (sign test)."
    )
    assert claimed(found) == (
        "**Head 1-2 resolves 17 of 101 pairs, more than any other head that gives the two nouns 5 % or more "
        "of its weight.** Always the nearest noun: 0 %. In 19 pairs it chooses one noun in one sentence and "
        "the other in the other, 17 times the right way round; blindly, it would be half. "
        "Head 1-1 resolves 19, but is not the best: it gives the two nouns only 2.1 % of its weight, so it "
        "hardly looks there."
    )


def test_heads_that_tie_are_all_the_best() -> None:
    found = scores(
        pairs=[17, 1, 17, 17, 19, 17], wrong=[2, 0, 5, 2, 0, 0], given=[0.2, 0.1, 0.3, 0.4, 0.04, 0.01]
    )
    assert best(found) == Best(((0, 0), (0, 3), (0, 2)), ((0, 4), (0, 5)))
    lead, coin = told(found)
    assert lead.startswith("**Heads 1-1, 1-4 and 1-3 are the best: each resolves 17 of 101 pairs, 17 %** (")
    assert "the most of the 4 heads that give the two nouns 5 % or more of their weight; " in lead
    assert "they give 20 %, 40 % and 30 %." in lead
    assert "Heads 1-1 and 1-4 each change sides in only 19 of 101, **17 times the right way**;" in coin
    assert "Head 1-3 changes sides in only 22 of 101, **17 times the right way**;" in coin
    assert claimed(found).endswith(
        " Heads 1-5 and 1-6 resolve as many or more, but are not the best: none gives the two nouns 5 % or "
        "more of its weight, so they hardly look there."
    )


def test_of_many_that_tie_the_first_are_named() -> None:
    lead, coin = told(scores(pairs=[1] * 9, wrong=[0] * 9, given=[0.5, 0.6, 0.9, *[0.7] * 6]))
    assert lead.startswith(
        "**Heads 1-1, 1-2, 1-3 and 6 more are the best: each resolves 1 of 101 pairs, 1 %**"
    )
    assert "; they give 50 % to 90 %." in lead
    assert "**1 time the right way**" in coin


def test_a_tiny_probability_is_not_written_as_nothing() -> None:
    _, coin = told(scores(pairs=[29], wrong=[2], given=[0.5]))
    assert coin.endswith("would be less than 0.1 % (sign test).")


def test_a_bound_is_never_rounded_down() -> None:
    told = [at_most(chance).replace("\xa0", " ") for chance in (0.00122, 0.052, 0.104, 0.25)]
    assert told == ["at most 0.2 %", "at most 5.2 %", "at most 11 %", "at most 25 %"]


def test_where_no_head_looks_there_the_best_of_all_is_alone() -> None:
    found = scores(pairs=[2, 41], wrong=[2, 30], given=[0.01, 0.049])
    assert best(found) == Best(((0, 1),), ())
    lead, coin = told(found, "nouns", finished=False)
    assert lead.startswith("**Head 1-2 is the best so far: it resolves 41 of 101 pairs, 41 %**")
    assert (
        "the most of all, though no head gives the pronoun 5 % or more of its weight; it gives 4.9 %." in lead
    )
    assert "would resolve 25 % because it" in coin
    assert "Head 1-2 changes sides in 71 of 101, **41 times the right way**" in coin
    assert coin.endswith("With 2 heads to choose from, luck could explain that.")


def test_the_only_head_that_looks_there_is_the_best_if_it_resolves_any() -> None:
    found = scores(pairs=[7, 1], wrong=[0, 0], given=[0.001, 0.7])
    lead, _ = told(found)
    assert lead.startswith("**Head 1-2 is the best: it resolves 1 of 101 pairs, 1 %** (")
    assert "as the only head that gives the two nouns 5 % or more of its weight; it gives 70 %." in lead
    assert "Head 1-1 resolves 7, but is not the best: it gives the two nouns only 0.1 % of its" in claimed(
        found
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            [0.001, 0.7],
            "**No head that gives the two nouns 5 % or more of its weight resolves any of the 101",
        ),
        ([0.001, 0.01], "**No head resolves any of the 101 pairs.**"),
    ],
)
def test_where_no_head_that_looks_there_resolves_a_pair_none_is_the_best(
    given: list[float], said: str
) -> None:
    found = scores(pairs=[0, 0], wrong=[0, 3], given=given)
    assert best(found) == Best((), ())
    [lead] = told(found)
    assert lead.startswith(said)


def test_few_pairs_are_told_without_a_share_and_without_a_probability() -> None:
    lead, coin = told(scores(pairs=[8, 1], wrong=[0, 0], given=[1.0, 0.2], total=8))
    assert lead == (
        "Here head 1-1 resolves 8 of only 8 pairs (95 % interval 68–100 %), the most of the 2 heads that "
        "give the two nouns 5 % or more of their weight; it gives 100 %. Always the nearest noun: 0 %."
    )
    assert coin.endswith(
        "Head 1-1 changes sides in 8 of 8, 8 times the right way; blindly, it would be half. Of so few "
        "pairs, that says little."
    )
    assert "**" in told(scores(pairs=[8], wrong=[0], given=[1.0], total=30))[0]
    assert "**" not in told(scores(pairs=[8], wrong=[0], given=[1.0], total=29))[0]


@pytest.mark.parametrize(
    ("read", "left", "finished", "said"),
    [
        (158, 0, True, []),
        (
            8,
            150,
            True,
            ["**Only 8 of the 158 pairs were read.** The other 150 are left out, the first because: "],
        ),
        (
            40,
            1,
            True,
            ["**40 of the 41 pairs were read.** The other one is left out because: No “\\*into\\*”."],
        ),
        (
            1,
            2,
            False,
            ["**Only 1 of the first 3 pairs was read.** The other 2 are left out, the first because: "],
        ),
        (0, 9, True, ["**None of the 9 pairs were read.** All are left out, the first because: "]),
        (0, 1, True, ["**The only pair was not read:** No “\\*into\\*”."]),
        (2, 0, True, ["**There are only 2 pairs.** So few say little of a model: "]),
        (1, 0, False, ["**There is only 1 pair so far.** So few say little of a model: "]),
    ],
)
def test_how_many_pairs_were_read_is_told_before_everything_else(
    read: int, left: int, finished: bool, said: list[str]
) -> None:
    unread = (SkippedSentence("It.", "No “*into*”."),) * (2 * left)
    empty = np.zeros((2, read, 2, 2, 1, 1), np.float32)
    found = plain(headline.read(Verdicts(pairs.bundled()[:read], empty, unread), finished=finished))
    assert len(found) == len(said)
    for each, begins in zip(found, said, strict=True):
        assert each.startswith(begins)
        assert ("So few say little" in each) == (0 < read < 30)
