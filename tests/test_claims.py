"""The claims in docs/claims.toml are true, and the listed files state them."""

import pytest

from benchmarks import claims

QUICK = [name for name, claim in claims.LEDGER["claim"].items() if "recomputed" not in claim]


@pytest.mark.parametrize("name", QUICK)
def test_recomputing_a_claim_gives_the_stored_value(name: str) -> None:
    assert claims.recompute(name) == claims.LEDGER["claim"][name]["value"]


def test_every_claim_is_stated_in_the_listed_files() -> None:
    assert claims.unstated() == []
