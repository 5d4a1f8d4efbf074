"""What does each head do: the page's numbers beside independent ones, and what it says of odd texts."""

import csv
import re
import time
from functools import reduce
from operator import add

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import attnviz
from attnviz.analysis.shapes import SHAPES, ShapeSums, shapes
from attnviz.analysis.tally import NAMES
from attnviz.heads import behaviour
from attnviz.trace import Floats
from attnviz.ui import caches
from attnviz.ui.heads.behaviour.findings import of_sentence
from attnviz.ui.heads.behaviour.table import csv_of
from tests.ui.conftest import VisitPage
from tests.ui.shown import charts, clean, sent, words

TIRED = "The dog did not cross the road as it was too tired."
LINES = [TIRED, "The ferry was late again.", "Who left the gate open?", "Bees dance, and bears dance, too."]


def to_the_previous(text: str) -> Floats:
    """[layer, head]: the mean weight of the token before, without [CLS] and [SEP], rows rescaled."""
    kept = attnviz.trace(text).stack("encoder")[:, :, 1:-1, 1:-1]
    kept = kept / kept.sum(axis=-1, keepdims=True)
    before = np.stack([kept[:, :, at, at - 1] for at in range(1, kept.shape[-1])])
    return np.asarray(before.mean(axis=0), dtype=np.float32)


def shapes_of(text: str) -> ShapeSums:
    weights = attnviz.trace(text).stack("encoder")
    size = weights.shape[-1]
    return shapes([layer[None] for layer in weights], [np.ones((size, size), dtype=np.bool_)] * 6, [0] * size)


def finished(app: AppTest) -> AppTest:
    """The page when its text has been read."""
    for _ in range(200):
        if not app.get("progress") and not any(button.label == "Stop" for button in app.button):
            return app
        time.sleep(0.05)
        app.run()
    raise AssertionError("still reading")


def pasted(visit_page: VisitPage, text: str, **more: str) -> AppTest:
    app = visit_page("behaviour", on="Many sentences", source="Paste", **more)
    app.text_area(key="pasted").set_value(text)
    return finished(app.run())


def test_one_sentence(visit_page: VisitPage) -> None:
    app = visit_page("behaviour", text=TIRED, layer="4", head="2")
    clean(app)
    expected = to_the_previous(TIRED)
    shown = sent(app, "head_map")
    np.testing.assert_allclose(shown["values"], expected.ravel(), atol=1e-5)
    assert shown["texts"][2].startswith(
        "gives the token before it 100 % of its attention; even attention would"
    )
    assert shown["printed"][13 + 8] == f"{100 * expected[1, 9]:.0f}"
    assert shown["selected"] == [4, 2]
    told = words(app)
    assert "In this sentence, head **1-3** gives the token before it **100 %** of its attention (even" in told
    assert "Most: head **1-3**, 100 %" in told
    found = re.search(r"Explore’s filter “previous” finds (\d+) of 72 heads: ([-\d, ]+)\.", told)
    assert found
    assert int(found[1]) == len(found[2].split(", ")) >= 1
    rows = {row["name"]: row for row in sent(app, "distributions")["rows"]}
    assert list(rows) == list(NAMES)
    assert rows["previous"]["mean"] == pytest.approx(expected[3, 1], abs=1e-5)
    assert rows["previous"]["baseline"] == pytest.approx(1 / 13)
    assert all(not row["heights"] for row in rows.values())
    links = {link.proto.label: link.proto.query_string for link in app.get("page_link")}
    assert links["Open 4-2 in Explore"].endswith("&layer=4&head=2")
    assert links["Silence it"].endswith("&layer=4&head=2&edits=encoder+4-2")


def test_a_pasted_text(visit_page: VisitPage) -> None:
    app = pasted(visit_page, "\n".join([*LINES[:2], "", *LINES[2:], "a " * 9_000]), rule="previous")
    clean(app)
    each = np.array([to_the_previous(line) for line in LINES])
    np.testing.assert_allclose(sent(app, "head_map")["values"], each.mean(axis=0).ravel(), atol=1e-5)
    told = words(app)
    assert "In 4 sentences, head **1-3** gives the token before it" in told
    assert "Counted: sentences of two tokens or more, 4 of 4" in told
    assert app.expander[0].label == "1 line could not be read"
    assert "- line 6: " in app.expander[0].markdown[0].value
    row = sent(app, "distributions")["rows"][0]
    spread = each[:, 3, 1].std()
    assert row["written"] == f"{100 * each[:, 3, 1].mean():.0f} % ± {100 * spread:.0f}"
    assert sum(row["heights"]) == pytest.approx(1, abs=1e-3)
    lines = charts(app)["Heads by what they look at"]["lines"]
    assert sum(len(line["x"]) for line in lines[:-1]) == 72
    assert [line["label"][0] for line in lines[:-1]] == list("ABCDE")
    assert "mean over 4 sentences" in told
    assert "**No head can be called block here:**" in told
    found = reduce(add, map(shapes_of, LINES)).shapes
    for number, shape in enumerate(SHAPES):
        assert f"**{shape.name}**, {(found == number).sum()} head" in told
    assert f"Head **4-2** is **{SHAPES[found[3, 1]].name}**" in told


def test_a_pair_shows_blocks(visit_page: VisitPage) -> None:
    app = visit_page("behaviour", text="The dog sleeps.", pair="**It** is tired.", layer="2", head="5")
    clean(app)
    trace = attnviz.trace("The dog sleeps.", second="**It** is tired.")
    tokens = trace.blocks[0].query_tokens
    own = np.array([[one.sentence == other.sentence for one in tokens] for other in tokens])
    given, even = (trace.stack("encoder")[1, 4] * own).sum() / len(own), own.mean()
    told = words(app)
    assert f", its own sentence {100 * (given - even) / (1 - even):.0f} % of the way" in told
    assert "No head can be called block" not in told
    app.text_input(key="pair").set_value("a " * 600).run()
    assert "reads at most 512" in app.error[0].value


def test_a_rule_that_means_nothing_here(visit_page: VisitPage) -> None:
    app = visit_page("behaviour", text="No two words alike", rule="same word")
    clean(app)
    assert "It means something only in sentences with a word that occurs twice, and there is none" in words(
        app
    )
    assert sent(app, "head_map")["values"] == [None] * 72
    assert "same word" not in [row["name"] for row in sent(app, "distributions")["rows"]]


def test_the_bundled_sentences_can_be_read_by_people(visit_page: VisitPage) -> None:
    app = visit_page("behaviour", on="Many sentences")
    assert not app.exception
    assert app.code[0].value == behaviour.bundled().strip()
    for button in app.button:
        if button.label == "Stop":
            button.click().run()


def test_where_many_are_read_the_one_sentence_waits(visit_page: VisitPage) -> None:
    mine = "A zebra that the translator does not know."
    app = visit_page("behaviour", on="Many sentences", source="Paste", model="translator", text=mine)
    clean(app)
    app.selectbox(key="model").set_value("minilm").run()
    app.segmented_control(key="on").set_value("Your sentence").run()
    clean(app)
    assert app.text_input(key="text").value == mine


def test_a_text_that_nobody_gave_is_asked_for(visit_page: VisitPage) -> None:
    app = visit_page("behaviour", on="Many sentences", source="Paste")
    clean(app)
    assert "Paste some sentences, one a line: up to 10,000." in app.info[0].value


def test_too_many_lines_are_refused_and_stay_in_the_box(visit_page: VisitPage) -> None:
    text = "a b\n" * 10_001
    app = visit_page("behaviour", on="Many sentences", source="Paste", rule="next")
    app.text_area(key="pasted").set_value(text).run()
    assert "10,001 lines; this page reads at most 10,000" in app.error[0].value
    assert app.text_area(key="pasted").value == text
    assert app.session_state["rule"] == "next"


def test_a_model_that_knows_none_of_the_words(visit_page: VisitPage) -> None:
    app = pasted(visit_page, "Quixotic zebras vex\nJovial gnomes", model="translator")
    assert not app.exception
    assert "The model could read none of these lines." in app.info[0].value
    assert app.expander[0].label.startswith("2 lines could not be read")


def test_the_file_has_every_number() -> None:
    lines = csv_of(of_sentence(caches.entry("minilm"), TIRED)).removeprefix("\ufeff").splitlines()
    comments = [line for line in lines if line.startswith("# ")]
    assert comments[:2] == ["# model,minilm", "# sentences,1"]
    rows = list(csv.DictReader(lines[len(comments) :]))
    assert len(rows) == 72 * len(NAMES)
    shown = {(row["layer"], row["head"]): float(row["mean"]) for row in rows if row["rule"] == "previous"}
    expected = to_the_previous(TIRED)
    for (layer, head), mean in shown.items():
        assert mean == pytest.approx(expected[int(layer) - 1, int(head) - 1], abs=1e-5)
