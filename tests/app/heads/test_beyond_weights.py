"""The page Beyond weights: the numbers in its map, its text and its file."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from attnviz.analysis.display_tokens import DisplayTokens
from attnviz.analysis.rank_correlation import correlation_of_ranks, critical_value, ranks, rounded_up
from attnviz.app.heads.beyond_weights.choices import TokenSelection
from attnviz.app.heads.beyond_weights.comparison import job_of
from attnviz.app.heads.beyond_weights.numbers import columns
from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.experiments.beyond_weights import ROLLOUT, MeasuredToken
from attnviz.experiments.progress import Progress
from attnviz.models import catalogue
from attnviz.text import decimal
from tests.app.shown import clean, message_to, page_text, visit, wait_finished, wait_until

TIRED = "The dog did not cross the road as it was too tired."
IT = 8  # index in the translator's tokens


def open_and_finish(**parameters: str) -> AppTest:
    return clean(wait_finished(visit("beyond_weights", {"model": "translator", "text": TIRED, **parameters})))


def selection() -> TokenSelection:
    groups = DisplayTokens(loading.tokens("translator", TIRED), TIRED).groups
    entry, model_input = catalogue.entry("translator"), ModelInput(TIRED)
    return TokenSelection(entry, "encoder", 0, 1, model_input, groups, groups, IT)


@pytest.fixture(scope="module")
def latest() -> Progress[MeasuredToken]:
    """The finished job's measures of the selected token."""
    job = job_of(selection())
    job.start()
    wait_until(lambda: job.finished)
    assert job.latest is not None
    return job.latest


def test_map_and_text_show_the_same_correlations() -> None:
    app = open_and_finish()
    shown = message_to(app, "head_map")
    assert shown["column_labels"] == TIRED.lower().rstrip(".").split()
    assert len(shown["row_labels"]) == 11
    values = np.array(shown["values"], float).reshape(11, 12)
    assert [at for at in range(12) if np.isnan(values[:, at]).all()] == [IT]
    counted = np.arange(12) != IT
    np.testing.assert_allclose(values[:, counted].max(axis=1), 1)
    methods = ["mean vector", "deleted"]
    assert shown["row_labels"][:2] == [f"Occlusion: {method}" for method in methods]
    assert [text.split(",")[0] for text in shown["texts"][IT : 2 * 12 : 12]][1:] == ["–"]
    agreement = open_and_finish(open="Agreement with occlusion")
    [table] = agreement.table
    occlusion = values[:2, counted]
    for row in (2, 10):
        rhos = [correlation_of_ranks(ranks(values[row, counted]), ranks(each)) for each in occlusion]
        assert list(table.value.iloc[row - 2]) == [
            shown["row_labels"][row],
            f"{decimal(min(rhos))} to {decimal(max(rhos))}",
        ]
    bound = critical_value(11, 9)
    assert bound is not None
    assert (
        f"11 tokens and one method of occlusion: {rounded_up(bound)} "
        "(5 % level, Bonferroni-corrected for 9 measures" in page_text(agreement)
    )
    assert any("**Occlusion: mask vector**" in info.value for info in app.info)


def test_table_has_all_measures_of_all_tokens(latest: Progress[MeasuredToken]) -> None:
    table = columns(selection(), latest.found)
    assert table["token"][IT - 1 : IT + 1] == ["8:as", "9:it"]
    methods = ["Occlusion: mean vector", "Occlusion: deleted"]
    assert list(table)[:4] == ["token", *methods, "Weights of head 1-2"]
    assert np.isnan([float(table[method][IT]) for method in methods]).tolist() == [False, True]
    np.testing.assert_array_equal(table[ROLLOUT], latest.found.values[ROLLOUT].astype(float))
