"""The page Find without a browser: its list, its map and its links."""

import json
import re
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from attnviz import experiments
from attnviz.app.heads.find import listed
from attnviz.experiments.neighbours import Vector
from attnviz.text import percent
from tests.app.shown import clean, page_links, visit, wait_finished
from tests.app.shown import page_text as text_of

TIRED = "The dog did not cross the road as it was too tired."
HOSTILE = "The [cat](http://example.org) slept as <b>it</b> was **old**."
LINES = (TIRED, HOSTILE, "The train was crowded, but it was quiet.", "", "word " * 600)
TEXT = "\n".join([*LINES, *(f"Rain fell on {days} days." for days in range(60))])


def paste(text: str = TEXT, **link: str) -> AppTest:
    app = visit("find", source="Paste", **link)
    assert "Paste up to 2,000 sentences, one per line." in app.info[0].value
    app.text_area(key="pasted").set_value(text)
    return wait_finished(app.run())


def figure(app: AppTest) -> dict[str, Any]:
    [chart] = app.get("plotly_chart")
    found: dict[str, Any] = json.loads(chart.proto.spec)
    return found


def test_most_similar_tokens_are_listed_and_marked_on_the_map() -> None:
    app = clean(paste())
    found = experiments.find(TIRED, place=9, layer=3, head=1, within=TEXT, count=10)
    text = text_of(app)
    assert "Most similar queries" in [header.value for header in app.header]
    assert r"The :red-background[train] was crowded, but :blue-background[it] was quiet." in text
    assert re.findall(r"similarity \*\*([\d.]+)\*\*", text) == [
        f"{near.similarity:.2f}" for near in found.nearest
    ]
    train = next(near for near in found.nearest if "train" in near.sentence and near.place == 7)
    assert f"`it` attends most to `train` (**{percent(train.weight)}**)" in text
    assert "Skipped: 1 line" in [each.label for each in app.expander]
    assert page_links(app)["explore"].items() >= {"model": "minilm", "layer": "4", "head": "2"}.items()
    others, nearest, chosen = figure(app)["data"]
    assert {others["type"], nearest["type"], chosen["type"]} == {"scattergl"}
    assert others["name"] == f"{found.tokens - 10} other tokens"
    assert len(nearest["hovertext"]) == 10
    assert TIRED not in str(nearest["hovertext"])
    app.segmented_control(key="count").set_value(20).run()
    assert len(figure(clean(app))["data"][1]["hovertext"]) == 20


@pytest.mark.parametrize("vector", ["key", "output"])
def test_other_vectors_can_be_compared(vector: Vector) -> None:
    app = clean(paste(vector=vector, query="3 dog"))
    found = experiments.find(TIRED, place=2, layer=3, head=1, vector=vector, within=TEXT).nearest
    text = text_of(app)
    assert f"similarity **{found[0].similarity:.2f}**" in text
    assert {"key": ":red-background[", "output": ":green-background["}[vector] in text
    assert ":blue-background[" not in text


def test_pasted_text_is_neither_markdown_nor_html() -> None:
    app = clean(paste(HOSTILE))
    text = text_of(app)
    assert "example" in text
    assert not re.search(r"<b>|\[cat\]\(|\*\*old\*\*", text)
    assert "as &lt;b&gt;it&lt;/b&gt; was" in str(figure(app)["data"])


def test_too_many_or_unreadable_lines_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    app = visit("find", source="Paste")
    app.text_area(key="pasted").set_value("a b\n" * 2_001).run()
    assert "2,001 lines; this page accepts at most 2,000" in app.error[0].value
    assert app.text_area(key="pasted").value == "a b\n" * 2_001
    monkeypatch.setattr(listed, "MAX_BYTES", 100_000)
    app = paste("\n".join(f"A dog ate {n} hats." for n in range(99)))
    assert "Use at most " in app.error[0].value
    assert "cannot read any of the lines" in paste("word " * 600).error[0].value
