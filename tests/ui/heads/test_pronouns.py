"""The page of pronouns without a browser: figures beside those of the pairs read apart, links, bad input."""

from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import attnviz
from attnviz.analysis.intervals import wilson
from attnviz.capture import loading
from attnviz.heads import pairs, relations
from attnviz.heads.pairs import Pair
from attnviz.trace import Floats
from attnviz.ui.heads.pronouns import computing
from attnviz.ui.work import RUNNING, Works
from tests.ui.conftest import VisitPage
from tests.ui.shown import clean, sent, words

FEW = (*pairs.bundled()[:9], *pairs.bundled()[-2:])
SERVED = Works()
TIRED, NARROW = (reading.text for reading in FEW[0].readings)


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eleven pairs and six sentences, read once for all these tests."""
    monkeypatch.setattr(pairs, "bundled", lambda: FEW)
    sentences = relations.bundled()[:6]
    monkeypatch.setattr(relations, "bundled", lambda: sentences)
    monkeypatch.setattr(computing, "SERVER", SERVED)


def read(app: AppTest) -> AppTest:
    """The page when everything has been read."""
    for work in SERVED._works.values():
        for _ in range(60):
            work.watched()  # as an open page does, every second
            if work.wait(1) not in RUNNING:
                break
        assert work.state == "finished", work.problem
    app.run()
    clean(app)
    return app


def spaced(app: AppTest) -> str:
    """All Markdown, with ordinary spaces."""
    return words(app).replace("\N{NO-BREAK SPACE}", " ")


def looks(pair: Pair) -> list[list[Floats]]:
    """Of each sentence, how much every head looks from the pronoun to either noun, [layer, head]."""
    found = []
    for reading in pair.readings:
        trace = attnviz.trace(reading.text)
        starts = [token.start if not token.special else -1 for token in trace.block("encoder", 0).key_tokens]
        it, *nouns = (starts.index(span.start) for span in (reading.pronoun, *reading.candidates))
        found.append([trace.stack("encoder")[:, :, it, noun] for noun in nouns])
    return found


@pytest.fixture(scope="module")
def resolved() -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """[pair, layer, head], by the traces of the public API."""
    return np.array(
        [
            np.all(
                [
                    weights[reading.right] > weights[1 - reading.right]
                    for reading, weights in zip(pair.readings, looks(pair), strict=True)
                ],
                axis=0,
            )
            for pair in FEW
        ]
    )


def test_the_map_the_ranking_and_the_open_head_have_the_models_figures(
    visit_page: VisitPage, resolved: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
) -> None:
    app = read(visit_page("pronouns"))
    counted = resolved.sum(axis=0)
    np.testing.assert_allclose(sent(app, "head_map")["values"], (counted / 11).ravel(), rtol=1e-5)
    ranking = sent(app, "curves")["lines"][0]
    np.testing.assert_allclose(ranking["y"], -np.sort(-100 * counted.ravel() / 11), rtol=1e-5)
    low, high = wilson(int(counted[3, 1]), 11)
    told = spaced(app)
    share = f"**{counted[3, 1]} of 11 pairs, {100 * counted[3, 1] / 11:.0f} %**"
    assert f"It resolves {share} (95 % interval {100 * low:.0f}–{100 * high:.0f} %)" in told
    assert "Always the nearest noun: 0 %; a coin for each sentence: 25 %." in told
    assert f"resolves {counted[3, 1]} pairs and fails on {11 - counted[3, 1]}" in told


def test_the_headline_names_the_best_head_that_looks_at_the_nouns(visit_page: VisitPage) -> None:
    app = read(visit_page("pronouns"))
    weights = np.array([looks(pair) for pair in FEW]).reshape(11, 2, 2, 6, 12)
    given = weights.sum(axis=2).mean(axis=(0, 1))
    meant = np.array([[reading.right for reading in pair.readings] for pair in FEW])[:, :, None, None, None]
    gaps = np.take_along_axis(weights, meant, 2) - np.take_along_axis(weights, 1 - meant, 2)
    right = gaps[:, :, 0] > 0
    pairs_right, sentences_right = right.all(axis=1).sum(axis=0), right.sum(axis=(0, 1))
    merit = np.where(given >= 0.05, 100 * pairs_right + sentences_right, -1)
    best = np.unravel_index(merit.argmax(), merit.shape)
    turns = pairs_right[best] + (~right).all(axis=1).sum(axis=0)[best]
    lead, coin = (
        line for line in spaced(app).splitlines() if " of 11" in line and line[:5] in ("**Hea", "A coi")
    )
    assert lead.startswith(f"**Head {best[0] + 1}-{best[1] + 1} resolves {pairs_right[best]} of 11 pairs, ")
    assert f"the most of the {(given >= 0.05).sum()} heads that give the two nouns 5 %" in lead
    assert f"this one gives {100 * given[best]:.{0 if given[best] >= 0.0995 else 1}f} %." in lead
    assert f"changes sides in only {turns} of 11, **{pairs_right[best]} times the right way**" in coin


def test_failures_come_first_and_each_opens_on_explore(
    visit_page: VisitPage, resolved: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
) -> None:
    app = read(visit_page("pronouns", cases="All pairs"))
    links = [
        {
            name: value
            for name, [value] in parse_qs(
                urlsplit(each.proto.query_string).query or each.proto.query_string
            ).items()
        }
        for each in app.get("page_link")
        if each.proto.label == "Open this pair on Explore"
    ]
    fails = [pair for pair, right in zip(FEW, resolved[:, 3, 1], strict=True) if not right]
    succeeds = [pair for pair, right in zip(FEW, resolved[:, 3, 1], strict=True) if right]
    texts = [tuple(reading.text for reading in pair.readings) for pair in (*fails, *succeeds)]
    assert [(link["text"], link["other"]) for link in links] == texts
    dog = next(link for link in links if link["text"] == TIRED)
    assert dog == {
        "model": "minilm",
        "text": TIRED,
        "other": NARROW,
        "layer": "4",
        "head": "2",
        "query": "10 it",
    }


def test_a_filter_of_a_link_lists_only_those(
    visit_page: VisitPage, resolved: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]
) -> None:
    app = read(visit_page("pronouns", cases="Successes", layer="5", head="6", looks="The pronoun looks"))
    listed = [each for each in app.get("page_link") if each.proto.label == "Open this pair on Explore"]
    assert len(listed) == resolved[:, 4, 5].sum()
    assert "Head 5-6" in [heading.value for heading in app.header]


def test_the_visitors_own_pair_is_judged(visit_page: VisitPage) -> None:
    text, other = "The dog saw the other dog when it sat.", "The dog saw the other dog when it barked."
    app = read(visit_page("pronouns", text=text, other=other, query="9 it", first="3 dog", second="7 dog"))
    weights = [attnviz.trace(each).block("encoder", 3).weights[1, 8] for each in (text, other)]
    told = spaced(app)
    for row, sentence in zip(weights, (text, other), strict=True):
        shares = [
            f"{100 * row[dog]:.0f} %" if row[dog] > 0.0995 else f"{100 * row[dog]:.1f} %" for dog in (2, 6)
        ]
        assert f"`{sentence}` Head 4-2: `dog#1` **{shares[0]}** and `dog#2` **{shares[1]}**." in told
    verdict = weights[0][2] > weights[0][6] and weights[1][6] > weights[1][2]
    assert f"Head 4-2 **{'resolves' if verdict else 'does not resolve'} this pair**" in told


@pytest.mark.parametrize(
    ("text", "other", "said"),
    [
        (TIRED, TIRED, "The two sentences are the same"),
        (TIRED, "", "Type a second sentence"),
        (TIRED, "😀 **bold** <script>alert(1)</script>", "The two sentences differ in “it”"),
        ("it", "they", "must be three different tokens"),
        ("a " * 5000, NARROW, "the model reads at most 512"),
        (" ", NARROW, "nothing here for the model to read"),
        ("שלום עולם, זה כלב", NARROW, "The two sentences differ in"),
    ],
)
def test_what_is_no_pair_is_told_kindly_and_the_rest_of_the_page_stays(
    visit_page: VisitPage, text: str, other: str, said: str
) -> None:
    app = read(visit_page("pronouns", text=text, other=other))
    assert said in app.info[0].value.replace("\\", "")
    assert app.session_state["text"] == text
    assert sent(app, "head_map")


@pytest.mark.parametrize(("text", "other"), [("Birds sing.", ""), (NARROW, TIRED), (TIRED, NARROW)])
def test_of_one_sentence_the_other_is_only_filled_in_where_it_is_known(
    visit_page: VisitPage, text: str, other: str
) -> None:
    app = read(visit_page("pronouns", text=text))
    assert [app.text_input(key=key).value for key in ("text", "other")] == [text, other]
    assert ("Type a second sentence" in " ".join(info.value for info in app.info)) == (not other)


def test_rubbish_in_the_link_is_told(visit_page: VisitPage) -> None:
    app = visit_page("pronouns", layer="99", cases="nothing", part="Poems", head="x")
    clean(app)
    assert "cannot be" in app.warning[0].value


def test_the_grammar_has_the_best_head_with_its_offset(visit_page: VisitPage) -> None:
    app = read(visit_page("pronouns", part="Grammar", relation="Object"))
    *_, end = relations.measure(relations.bundled(), loading.load("minilm").trace, "encoder")
    place = relations.SORTS.index("object")
    hits, total = end.found.hits[0, place], end.found.totals[place]
    np.testing.assert_allclose(sent(app, "head_map")["values"], (hits / total).ravel(), rtol=1e-5)
    layer, head = np.unravel_index(hits.argmax(), hits.shape)
    offset, by_offset = end.found.best_offset(place)
    told = spaced(app)
    assert (
        f"Head {layer + 1}-{head + 1} finds **{hits.max()} of {total}, {100 * hits.max() / total:.0f} %**"
        in told
    )
    assert offset == -3
    assert f"3 words earlier, always: {100 * by_offset / total:.0f} %." in told


def test_sentences_that_a_model_cannot_read_are_counted_and_named(visit_page: VisitPage) -> None:
    app = read(visit_page("pronouns", model="translator"))
    told = words(app)
    assert f"`{FEW[8].readings[0].text}` This model has never seen “into”" in told
    assert "3 pairs left out, 8 read" in [expander.label for expander in app.expander]
    assert "was told which noun “it” means" in told


def test_pasted_pairs_are_read_instead_and_wrong_lines_are_named(visit_page: VisitPage) -> None:
    app = visit_page("pronouns", pairs="Paste pairs")
    written = "The [dog] saw the [cat] when *it* {sat > dog | ran > cat}."
    app.text_area[0].set_value(f"{written}\nThe dog slept.").run()
    assert app.error[0].value.replace("\\", "").startswith("Line 2: it needs two words in [ ]")
    assert app.text_area[0].value == f"{written}\nThe dog slept."
    app.text_area[0].set_value(written).run()
    app = read(app)
    [pair] = pairs.parse(written)
    right = np.array([w[r.right] > w[1 - r.right] for r, w in zip(pair.readings, looks(pair), strict=True)])
    np.testing.assert_allclose(sent(app, "head_map")["values"], right.all(axis=0).ravel())
