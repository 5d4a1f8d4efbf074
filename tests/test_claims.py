"""The claims in docs/claims.toml are true, and are in the files that make them."""

import pytest

from benchmarks import claims

QUICK = [name for name, claim in claims.LEDGER["claim"].items() if "recomputed" not in claim]


@pytest.mark.parametrize("name", QUICK)
def test_a_claim_has_the_value_that_is_written_down(name: str) -> None:
    assert claims.recompute(name) == claims.LEDGER["claim"][name]["value"]


def test_every_claim_stands_where_it_is_said_to_stand() -> None:
    assert claims.unstated() == []
