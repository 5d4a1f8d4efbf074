"""The command `find`: its table is what the library finds, and bad arguments are refused."""

import json
from pathlib import Path

import pytest

from attnviz import experiments
from tests.cli.conftest import Say

TIRED = "The dog did not cross the road as it was too tired."
LINES = ("The cat slept as it was old.", "word " * 600, "", "A horse ran because it was late.")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "corpus.txt").write_text("\n".join(LINES))
    return tmp_path / "corpus.txt"


@pytest.mark.parametrize("vector", ["query", "key", "output"])
def test_the_table_is_what_the_library_finds(vector: str, corpus: Path, say: Say, tmp_path: Path) -> None:
    asked = ("find", corpus, TIRED, "--token", 10, "--head", "4-2", "--vector", vector, "--count", 7)
    found = experiments.find(
        TIRED,
        place=9,
        layer=3,
        head=1,
        vector=vector,  # type: ignore[arg-type]
        within=corpus,
        count=7,
    )
    rows = json.loads(say(*asked, "--json"))
    assert [(row["similarity"], row["line"], row["sentence"], row["weight"]) for row in rows] == [
        (near.similarity, near.line + 1, near.sentence, near.weight) for near in found.nearest
    ]
    assert [row["token"].split()[0] for row in rows] == [str(near.place + 1) for near in found.nearest]
    said = say(*asked, "--out", tmp_path / "near.csv")
    assert "Skipped: 1 line." in said
    assert f"{found.tokens} tokens in 4 lines compared." in said
    assert f"  {found.nearest[0].similarity:.2f}  " in said
    assert (tmp_path / "near.csv").read_text().startswith("similarity,token,attends to,weight,line,sentence")


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"--head": "42"}, "such as 4-2"),
        ({"--head": "7-1"}, "has 6 layers"),
        ({"--head": "1-13"}, "has 12 heads"),
        ({"--token": 16}, "has 15 tokens"),
        ({"--address": "127.0.0.1:1"}, "--address requires --ray"),
        ({"--out": "corpus.txt"}, "is an input file"),
    ],
)
def test_bad_arguments_are_refused(
    changed: dict[str, object], reason: str, corpus: Path, refuse: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(corpus.parent)
    options = {"--token": 10, "--head": "4-2", **changed}
    assert reason in refuse("find", corpus, TIRED, *(part for option in options.items() for part in option))
