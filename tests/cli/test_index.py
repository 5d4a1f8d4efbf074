"""The commands `index` and `find`: what is written is what is found, and what cannot be is said."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from attnviz import experiments
from attnviz.experiments import text_index
from attnviz.experiments.text_index import opened
from tests.cli.conftest import Run, Say

TIRED = "The dog did not cross the road as it was too tired."
LINES = ("The cat slept as it was old.", "word " * 300, "A horse ran because it was late.")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "corpus.txt").write_text("\n".join(LINES))
    return tmp_path / "corpus.txt"


def test_a_text_is_read_and_searched(corpus: Path, say: Say, refuse: Say, tmp_path: Path) -> None:
    folder = tmp_path / "corpus.index"
    said = say("index", corpus, "--out", folder, "--layer", 4)
    assert "Left out: 1 more sentence." in said
    assert f"{opened(folder).tokens} tokens in 2 lines.\nWritten: {folder} (" in said
    asked = ("find", folder, TIRED, "--token", 10, "--head", "4-2")
    said = say(*asked, "--out", tmp_path / "near.csv")
    found = experiments.find(TIRED, place=9, layer=3, head=1, within=folder).neighbours()
    rows = json.loads(say(*asked, "--json"))
    assert [row["alike"] for row in rows] == [near.alike for near in found]
    assert {row["token"] for row in rows[:2]} == {"6 it"}
    assert said.startswith("By its query, head 4-2 does at ")
    assert f"  {found[0].alike:.2f}  6 it looks at " in said
    assert (tmp_path / "near.csv").read_text().startswith("alike,token,looks at,weight,")
    together = json.loads(say(*asked, "--head", "4-4", "--by", "pattern", "--json"))
    both = experiments.find(TIRED, place=9, layer=3, head=[1, 3], by="pattern", within=folder)
    assert [row["alike"] for row in together] == [near.alike for near in both.neighbours()]
    assert "belong to one layer" in refuse(*asked, "--head", "5-2")
    assert "belongs to Ray" in refuse("index", corpus, "--out", folder, "--address", "127.0.0.1:1")
    assert "no layer 5. It has 4." in refuse(*asked[:-1], "5-2")
    assert "such as 4-2" in refuse(*asked[:-1], "42")
    assert "has 15 tokens" in refuse("find", folder, TIRED, "--token", 16, "--head", "4-2")
    assert "holds no index" in refuse("find", tmp_path, TIRED, "--token", 1, "--head", "4-2")


def test_broken_off_it_goes_on(
    corpus: Path, run: Run, say: Say, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder, whole = tmp_path / "corpus.index", text_index._blocks
    monkeypatch.setattr(text_index, "_PART", 1)

    def broken_off(*given: object) -> Iterator[object]:
        if given[2] == [LINES[2]]:
            raise KeyboardInterrupt
        return whole(*given)  # type: ignore[arg-type]

    with monkeypatch.context() as breaking:
        breaking.setattr(text_index, "_blocks", broken_off)
        answer = run("index", corpus, "--out", folder)
    assert answer.status == 130
    assert f"1 line kept in {folder}. The same command goes on from there." in answer.err
    say("index", corpus, "--out", folder)
    assert opened(folder).done == 2
