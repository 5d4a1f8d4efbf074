"""Queries and keys of many sentences without a browser: the points that are sent, and what was picked."""

import re
from urllib.parse import parse_qs

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import attnviz
from attnviz.analysis.plane import jointly_scaled, plane
from attnviz.text import percent
from tests.app.shown import clean, finished, press, sent, visit, words

HOSTILE = "The [cat](http://x.org) slept, and <b>it</b> was **old**."
LINES = (HOSTILE, *(f"Rain fell on {days} days, and it was cold." for days in range(9)))


def pasted(text: str = "\n".join(LINES), **link: str) -> AppTest:
    app = visit("plane", on="Many sentences", source="Paste", **link)
    app.text_area(key="pasted").set_value(text)
    return finished(app.run())


@pytest.mark.parametrize("link", [{}, {"scaled": "true"}, {"keeps": "dot products"}])
def test_the_plane_of_many_sentences_is_that_of_the_heads_own_vectors(link: dict[str, str]) -> None:
    app = clean(pasted(**link))
    blocks = [attnviz.trace(line).block("encoder", 3) for line in LINES]
    query, key = (np.concatenate([getattr(each, by)[1] for each in blocks]) for by in ("query", "key"))
    if "scaled" in link:
        query, key = jointly_scaled(query, key)
    kept = percent(plane(query, key, "dot products" if "keeps" in link else "distances").kept)
    assert f"{len(query)} queries and as many keys of 10 sentences. The plane keeps **{kept}**" in words(app)
    message = sent(app, "cloud")
    assert (message["by"], message["origin"]) == ("kind", "keeps" in link)


def at(point: int) -> str:
    """The area of a single point, queries first, as a link has it."""
    blocks = [attnviz.trace(line).block("encoder", 3) for line in LINES]
    query, key = (np.concatenate([getattr(each, by)[1] for each in blocks]) for by in ("query", "key"))
    laid = plane(query, key, "distances")
    return "{:.3f}_{:.3f}".format(*np.concatenate([laid.queries, laid.keys])[point])


def test_a_link_with_an_area_lists_its_points_which_lead_to_explore_until_the_picture_is_another() -> None:
    first = len(attnviz.trace(HOSTILE).block("encoder", 3).query_tokens)
    app = clean(pasted(area=at(first + 1)))  # the second token of the second line
    assert re.search(r":small\[`rain` looks at `\S+` \*\*\d+ %", words(app))
    [link] = [link.proto for link in app.get("page_link") if link.proto.label == "Open on Explore"]
    assert "Rain+fell+on+0+days" in link.query_string
    assert "query=2+rain" in link.query_string
    every = sum(len(attnviz.trace(line).block("encoder", 3).key_tokens) for line in LINES)
    app.session_state["area"] = at(every + first + 1)
    assert ":small[key of `rain`]" in words(clean(app.run()))
    assert parse_qs(sent(app, "copy_link")["query"])["area"] == [at(every + first + 1)]
    app.session_state["area"] = "-99_-99_99_-99_99_99_-99_99"
    assert f"{2 * every} points" in [header.value for header in app.run().header]
    app.toggle(key="hide").set_value(True).run()
    assert "Draw a line around points" in words(clean(app))
    assert sent(app, "cloud")["area"] == []


@pytest.mark.parametrize("area", ["1_2_3", "1_nan", "1_1e9", "_", "<b>", "0_" * 81 + "0"])
def test_what_is_no_area_is_left_out_and_said(area: str) -> None:
    app = visit("plane", on="Many sentences", source="Paste", area=area)
    assert "`area` cannot be" in app.warning[0].value
    assert "area" not in parse_qs(sent(app, "copy_link")["query"])


def test_what_a_visitor_pasted_is_neither_markdown_nor_html() -> None:
    told = words(pasted(area=at(1)))
    assert "x.org" in told.replace("\u2060", "").replace("\\", "")
    assert not re.search(r"<b>|\[cat\]\(|\*\*old\*\*", told)


def test_what_makes_no_picture_is_said() -> None:
    assert "too few tokens" in pasted("Rain fell.").info[0].value
    assert "can read none of the lines" in pasted("word " * 300).error[0].value


def test_all_heads_at_a_glance_say_what_they_keep() -> None:
    app = finished(press(pasted(open="All heads at a glance"), "Draw all 72 heads"))
    assert f"and as many keys of each head, of the first {len(LINES)} sentences. Blue: more queries" in words(
        clean(app)
    )
    message = sent(app, "atlas")
    assert message["selected"] == {"layer": 4, "heads": [2]}
    assert len(message["facts"]) == 72
    assert all(
        re.fullmatch(r"keeps \d+ % of the variance, .+ nearest points", fact) for fact in message["facts"]
    )
