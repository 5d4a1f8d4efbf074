"""Every number that README, docs and pages state is in docs/claims.toml, and is still true."""

import pytest

from benchmarks import claims

# docs/models.md is made by a command and compared; what papers are called, and where a line of a drawing
# stands, says nothing of attnviz.
ELSEWHERE = {"docs/models.md", "attnviz/app/references.py", "attnviz/app/small_pictures.py"}
KINDS = (
    "README.md",
    "docs/*.md",
    "docs/*.ipynb",
    "pages/*.py",
    "attnviz/app/**/*.py",
    "attnviz/models/catalogue.py",
    "attnviz/trained/translator/variants.py",
)
FOUND = {path.relative_to(claims.ROOT).as_posix() for kind in KINDS for path in claims.ROOT.glob(kind)}
TEXTS = sorted(FOUND - ELSEWHERE)
QUICK = [name for name, claim in claims.LEDGER["claim"].items() if "recomputed" not in claim]


@pytest.mark.parametrize("name", QUICK)
def test_a_claim_has_the_value_that_is_written_down(name: str) -> None:
    assert claims.recompute(name) == claims.LEDGER["claim"][name]["value"]


def test_every_claim_stands_where_it_is_said_to_stand() -> None:
    assert claims.unsaid() == []


def test_every_number_of_the_texts_is_a_claim_or_is_said_to_be_none() -> None:
    found = [number for file in TEXTS for number in claims.unknown(file)]
    assert found == [], "write it into docs/claims.toml, with what recomputes it in benchmarks/claims.py"


@pytest.mark.parametrize(
    ("text", "stated"),
    [
        ("all 72 heads, of 1,024 and 0.66", ["72", "1,024", "0.66"]),
        ("Six tools, and eleven heads", ["6", "11"]),
        (r"With $\sqrt{64}$, 37 heads of 10", ["37", "10"]),
        (r"PE(pos, 2i) = \sin \frac{pos}{10000}", []),
        ("head 4-2 of BERT-2 (page 3, Vaswani et al. 2017) gives 100 % of `12` to $x_{13}$", []),
        ("“encoder 4-2 10 >8”, from 0 to 1", []),
        ("GPT-2 is 2e-7 off", ["2e-7"]),
    ],
)
def test_numbers_are_told_from_names_and_places(text: str, stated: list[str]) -> None:
    assert claims.numbers(text) == stated


def test_a_new_number_and_lost_words_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "texts", lambda _: ["all 71 heads at a glance"])
    assert len(claims.unknown("README.md")) == 1
    assert "size-of-bert: README.md does not say “all 72 heads at a glance”" in claims.unsaid()


def test_a_drift_is_told_and_ends_with_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert claims.main(["taught-until", "time-of-learning"]) == 0
    monkeypatch.setattr(claims, "taught_until", lambda: "the first 21%")
    assert claims.main(["taught-until"]) == 1
    assert capsys.readouterr().out.endswith("taught-until: written down is “the first 20%”\n")
    with pytest.raises(SystemExit, match="There is no claim nonsense"):
        claims.main(["nonsense"])


def test_what_takes_long_can_be_recomputed_too() -> None:
    long = [name for name, claim in claims.LEDGER["claim"].items() if claim.get("recomputed") == "long"]
    assert all(callable(getattr(claims, name.replace("-", "_"))) for name in long)
