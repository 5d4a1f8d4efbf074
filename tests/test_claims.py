"""The claims in docs/claims.toml are true, and are in the files that make them."""

import pytest

from benchmarks import claims

QUICK = [name for name, claim in claims.LEDGER["claim"].items() if "recomputed" not in claim]


@pytest.mark.parametrize("name", QUICK)
def test_a_claim_has_the_value_that_is_written_down(name: str) -> None:
    assert claims.recompute(name) == claims.LEDGER["claim"][name]["value"]


def test_every_claim_stands_where_it_is_said_to_stand() -> None:
    assert claims.unstated() == []


def test_lost_words_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "texts", lambda _: ["all 71 heads at a glance"])
    assert "size-of-bert: README.md does not state “all 72 heads at a glance”" in claims.unstated()


def test_a_drift_is_told_and_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert claims.main(["guided-until", "time-of-learning"]) == 0
    monkeypatch.setattr(claims, "guided_until", lambda: "the first 21%")
    assert claims.main(["guided-until"]) == 1
    assert capsys.readouterr().out.endswith("guided-until: written down is “the first 20%”\n")
    with pytest.raises(SystemExit, match="There is no claim nonsense"):
        claims.main(["nonsense"])


def test_what_takes_long_can_be_recomputed_too() -> None:
    long = [name for name, claim in claims.LEDGER["claim"].items() if claim.get("recomputed") == "long"]
    assert all(callable(getattr(claims, name.replace("-", "_"))) for name in long)
