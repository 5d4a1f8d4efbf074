"""Where else does a head do this, without a browser: what is listed, what is said, and where it leads."""

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from attnviz import experiments
from attnviz.app.heads.find import indexes, listed
from attnviz.app.heads.find.figures import interval, rate
from attnviz.experiments import text_index
from attnviz.experiments.corpus import Corpus
from attnviz.text import percent
from tests.app.shown import clean, finished, page_links, press, try_page, visit
from tests.app.shown import words as told_on

TIRED = "The dog did not cross the road as it was too tired."
HOSTILE = "The [cat](http://example.org) slept as <b>it</b> was **old**."
LINES = (TIRED, HOSTILE, "The train was crowded, but it was quiet.", "", "word " * 300)
TEXT = "\n".join([*LINES, *(f"Rain fell on {days} days." for days in range(60))])


def pasted(text: str = TEXT, **link: str | list[str]) -> AppTest:
    app = visit("find", source="Paste", **link)
    assert "Paste some sentences" in app.info[0].value
    app.text_area(key="pasted").set_value(text)
    return finished(app.run())


def test_the_nearest_of_a_pasted_text_are_listed_with_what_they_read() -> None:
    app = pasted()
    found = experiments.find(TIRED, place=9, layer=3, head=1, within=TEXT)
    listed = found.neighbours()
    told = told_on(clean(app))
    assert TIRED not in {found.index.lines[near.line] for near in listed}
    assert "The 50 nearest tokens" in [header.value for header in app.header]
    assert r"The :red-background[train] was crowded, but :blue-background[it] was quiet." in told
    train = next(near for near in listed if "train" in found.index.lines[near.line] and near.place == 7)
    assert f"`it` looks at `train` **{percent(train.weight)}**" in told
    assert f"cosine {train.alike:.2f}" in told
    assert "1 line could not be read" in [each.label for each in app.expander]
    links = page_links(app)["explore"]
    assert links.items() >= {"model": "minilm", "layer": "4", "head": "2"}.items()
    shown = sum(link.proto.label == "Open on Explore" for link in app.get("page_link"))
    more = press(app, "Show 12 more of 50")
    assert sum(link.proto.label == "Open on Explore" for link in more.get("page_link")) == shown + 12


def test_what_a_visitor_pasted_is_neither_markdown_nor_html() -> None:
    told = told_on(clean(pasted(HOSTILE)))
    assert "example" in told
    assert not re.search(r"<b>|\[cat\]\(|\*\*old\*\*", told)


def test_what_is_surely_shared_stands_above_and_all_that_was_asked_below() -> None:
    common = experiments.find(TIRED, place=9, layer=3, head=1, within=TEXT).common()
    told = told_on(pasted())
    assert any(each.sure for each in common)
    for each in common:
        assert (
            f"{rate(each.count, each.total)} | {percent(each.base, 1)} |".replace("\N{NO-BREAK SPACE}", " ")
            in told
        )
        shared = f"- **{percent(each.count / each.total)}** ({interval(each.count, each.total)}) "
        assert not each.sure or shared in told
    assert "`it`" in told


@pytest.mark.parametrize("by", ["Key", "Head output"])
def test_by_another_vector_others_are_near(by: str) -> None:
    app = pasted(found_by=by, query="3 dog")
    name = {"Key": "key", "Head output": "output"}[by]
    found = experiments.find(TIRED, place=2, layer=3, head=1, by=name, within=TEXT).neighbours()
    assert f"cosine {found[0].alike:.2f}" in told_on(clean(app))


def test_by_pattern_and_in_several_heads() -> None:
    app = pasted(found_by="Pattern", also=["4"])
    found = experiments.find(TIRED, place=9, layer=3, head=[1, 3], by="pattern", within=TEXT)
    told = told_on(clean(app))
    assert f"alike by {found.neighbours()[0].alike:.2f}" in told
    assert "the pattern of heads 4-2 and 4-4 together is most like that at `it`" in told
    assert f"correction for the {len(found.attributes)} attributes" in told


@pytest.mark.parametrize(
    ("line", "cut"), [("Eichhörnchen verstecken {} Nüsse.", True), ("It rained on {} days.", False)]
)
def test_a_text_in_another_language_than_the_models_is_said_to_be_one(line: str, cut: bool) -> None:
    app = pasted("\n".join(line.format(number) for number in range(101)))
    told = r"\d+ of \d+ words in 51 lines of this text are cut into pieces \(##\)\. BERT learned from English"
    assert [bool(re.match(told, warning.value)) for warning in app.warning] == [True] * cut


def test_an_index_of_the_operators_is_searched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def indexed(folder: str, lines: int = -1) -> None:
        steps = text_index.index(Corpus.from_text(TEXT), "minilm", tmp_path / folder, layers=[3])
        for step in steps:
            if step.done >= lines >= 0:
                break

    monkeypatch.setattr(text_index, "_PART", 30)
    indexed("whole")
    indexed("half", 30)
    indexed("begun", 0)
    monkeypatch.setenv(indexes.SETTING, str(tmp_path))
    link = {"source": "Index", "index": "whole"}
    app = visit("find", link)
    found = experiments.find(TIRED, place=9, layer=3, head=1, within=TEXT).neighbours()
    assert f"cosine {found[0].alike:.2f}" in told_on(app)
    half, begun = (told_on(visit("find", link, index=name)) for name in ("half", "begun"))
    assert "These are of the 30 lines that have been read." in half
    assert "No other sentence has been read yet." in begun
    other = try_page("find", link, model="translator")
    assert "made with “minilm”" in other.error[0].value
    assert "has no layer 2. It has 4." in try_page("find", link, layer="2").error[0].value
    (tmp_path / "whole" / "header.json").write_text('{"format": "attnviz index", "version": 0}')
    error = try_page("find", link).error[0].value
    assert error.startswith("“whole” was written by another version of attnviz.")
    assert str(tmp_path) not in error


def test_what_is_too_much_or_cannot_be_read_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    app = visit("find", source="Paste")
    app.text_area(key="pasted").set_value("a b\n" * 10_001).run()
    assert "10,001 lines; this page reads at most 10,000" in app.error[0].value
    assert app.text_area(key="pasted").value == "a b\n" * 10_001
    monkeypatch.setattr(listed, "MOST_BYTES", 100_000)
    app = pasted("\n".join(f"A dog ate {n} hats." for n in range(99)))
    assert "Take about " in app.error[0].value
    assert "can read none of the lines" in pasted("word " * 300).error[0].value
