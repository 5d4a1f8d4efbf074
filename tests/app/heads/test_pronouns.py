"""The page of pronouns without a browser: figures beside those of the pairs read apart, links, bad input."""

import re
import threading
from collections.abc import Iterator, Sequence
from typing import Any
from unittest.mock import Mock
from urllib.parse import parse_qs

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import attnviz
from attnviz.analysis.intervals import wilson
from attnviz.app import markdown
from attnviz.app.heads.pronouns import all_heads, computing, figures, headline
from attnviz.app.server.jobs import RUNNING, Jobs
from attnviz.capture import loading
from attnviz.experiments import coreference, pairs, syntax
from attnviz.experiments.coreference import Verdicts
from attnviz.experiments.pairs import Pair
from attnviz.experiments.progress import Progress
from attnviz.experiments.syntax import Grammar
from tests.app.shown import all_sent, clean, sent, stop, visit, words

FEW = (*pairs.bundled()[:9], *pairs.bundled()[-2:])
SERVED = Jobs()
TIRED, NARROW = (reading.text for reading in FEW[0].readings)


@pytest.fixture(autouse=True, scope="module")
def _few() -> Iterator[None]:
    """Eleven pairs and six sentences, read once for all these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "bundled", lambda: FEW)
        sentences = syntax.bundled()[:6]
        patch.setattr(syntax, "bundled", lambda: sentences)
        patch.setattr(computing, "JOBS", SERVED)
        patch.setattr(figures, "FEW", 10)  # so that eleven are not
        yield


def read(app: AppTest) -> AppTest:
    """The page when everything has been read."""
    for job in SERVED._jobs.values():
        for _ in range(60):
            job.watch()  # as an open page does, every second
            if job.wait(1) not in RUNNING:
                break
        assert job.state == "finished", job.problem
    return clean(app.run())


def spaced(app: AppTest) -> str:
    """All Markdown, with ordinary spaces, and without what keeps a line from breaking."""
    return words(app).replace("\N{NO-BREAK SPACE}", " ").replace("\N{WORD JOINER}", "")


def onward(app: AppTest, label: str) -> list[dict[str, str]]:
    """What each link of this name takes along."""
    found = [each.proto for each in app.get("page_link") if each.proto.label == label]
    return [{name: value for name, [value] in parse_qs(each.query_string).items()} for each in found]


def _fine(weight: float) -> str:
    return f"{100 * weight:.0f} %" if weight >= 0.0995 else f"{100 * weight:.1f} %"


def resolved(*which: Pair) -> Verdicts:
    *_, end = coreference.resolve(which, loading.load("minilm").trace, "encoder")
    return end.found


@pytest.fixture(scope="module")
def few() -> Verdicts:
    return resolved(*FEW)


def test_the_map_the_ranking_and_the_open_head_have_the_models_figures(few: Verdicts) -> None:
    app = read(visit("pronouns"))
    counted = few.scores().pairs
    np.testing.assert_allclose(sent(app, "head_map")["values"], (counted / 11).ravel(), rtol=1e-5)
    ranking = sent(app, "curves")["lines"][0]
    np.testing.assert_allclose(ranking["y"], -np.sort(-100 * counted.ravel() / 11), rtol=1e-5)
    low, high = wilson(int(counted[3, 1]), 11)
    told = spaced(app)
    share = f"**{counted[3, 1]} of 11 pairs, {100 * counted[3, 1] / 11:.0f} %**"
    assert f"Head 4-2 resolves {share} (95 % interval {100 * low:.0f}–{100 * high:.0f} %)" in told
    assert "Always the nearest noun: 0 %; a coin for each sentence: 25 %." in told
    assert f"Head 4-2 resolves {counted[3, 1]} pairs and fails on {11 - counted[3, 1]}." in told


def test_headline_table_and_luck_agree_which_head_is_the_best(
    few: Verdicts, monkeypatch: pytest.MonkeyPatch
) -> None:
    hardly = 0.2  # so that the head with most pairs is not the best
    for module in (headline, all_heads):
        monkeypatch.setattr(module, "HARDLY", hardly)
    app = read(visit("pronouns"))
    scores = few.scores()
    pairs_right, given = scores.pairs, scores.given
    most = pairs_right[given >= hardly].max()
    [leader] = map(tuple, np.argwhere((given >= hardly) & (pairs_right == most)).tolist())
    name = f"{leader[0] + 1}-{leader[1] + 1}"
    first = scores.ranking[0]
    assert first != leader, "a head that hardly looks there resolves as many"
    told = spaced(app)
    assert f"\n**Head {name} is the best: it resolves {most} of 11 pairs, {100 * most / 11:.0f} %** (" in told
    assert f"the most of the {(given >= hardly).sum()} heads that give the two nouns 20 %" in told
    assert f"; it gives {100 * given[leader]:.{0 if given[leader] >= 0.0995 else 1}f} %." in told
    assert re.search(rf" Heads? {first[0] + 1}-{first[1] + 1}\b.* not the best: ", told)
    turns = scores.turns[leader]
    assert f"Head {name} changes sides in only {turns} of 11, **{most} times the right way**" in told
    assert (
        f"A coin changes sides in half of the pairs, the median head in {np.median(scores.turns):g}." in told
    )
    assert "hardly looks there, and is not called the best.]" in told
    # The same head is the best in the table, and in the box about luck.
    rows = [line for line in told.splitlines() if re.match(r"\| \W*\d-", line)]
    assert {row.split(" |")[0] for row in rows if "**" in row} == {f"| **{name}**"}
    low, high = wilson(int(most), 11)
    assert f"| **{name}** | {100 * most / 11:.0f} % ({100 * low:.0f}–{100 * high:.0f}) |" in told
    assert f"on average. Head {name} resolves {most}, and turns the wrong way in {turns - most}: " in told


def test_where_no_head_looks_there_one_of_them_is_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (headline, all_heads):
        monkeypatch.setattr(module, "HARDLY", 2)
    told = spaced(read(visit("pronouns")))
    assert "the most of all, though no head gives" in told
    assert "hardly looks there, and is not called the best, unless all do.]" in told


def test_failures_come_first_and_each_opens_on_explore(few: Verdicts) -> None:
    app = read(visit("pronouns", cases="All"))
    links = onward(app, "Open this pair on Explore")
    right = few.right()[:, :, 3, 1].all(axis=1)
    ordered = [FEW[place] for place in np.argsort(right, kind="stable")]
    texts = [tuple(reading.text for reading in pair.readings) for pair in ordered]
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


def test_each_failure_can_be_read_without_the_head(few: Verdicts) -> None:
    app = read(visit("pronouns", cases="Failures"))
    right = few.right()[:, :, 3, 1]
    wrong = [pair.readings[int(each[0])] for pair, each in zip(FEW, right, strict=True) if not each.all()]
    *listed, own = onward(app, "Silence head 4-2 here")
    assert [link["text"] for link in listed] == [reading.text for reading in wrong]
    for link, reading in zip(listed, wrong, strict=True):
        assert link | {"text": "", "query": ""} == {
            "model": "minilm",
            "text": "",
            "layer": "4",
            "head": "2",
            "query": "",
            "edits": "encoder 4-2",
        }
        tokens = attnviz.trace(reading.text).block("encoder", 0).key_tokens[1:]
        number = [token.start for token in tokens].index(reading.pronoun.start) + 2
        assert link["query"] == f"{number} {reading.word(reading.pronoun)}"
    assert (own["text"], own["query"]) == (TIRED, "10 it")


def test_a_filter_of_a_link_lists_only_those(few: Verdicts) -> None:
    app = read(visit("pronouns", cases="Successes", layer="5", head="6", looks="The pronoun looks"))
    listed = [each for each in app.get("page_link") if each.proto.label == "Open this pair on Explore"]
    assert len(listed) == few.scores().pairs[4, 5]
    assert f"Head 5-6 resolves **{len(listed)} of 11 pairs" in spaced(app)


def test_the_visitors_own_pair_is_judged() -> None:
    text, other = "The dog saw the other dog when it sat.", "The dog saw the other dog when it barked."
    app = read(
        visit("pronouns", text=text, other=other, query="9 it", first_meant="3 dog", second_meant="7 dog")
    )
    weights = [attnviz.trace(each).block("encoder", 3).weights[1, 8] for each in (text, other)]
    told = spaced(app)
    for row, sentence in zip(weights, (text, other), strict=True):
        shares = [
            f"{100 * row[dog]:.0f} %" if row[dog] > 0.0995 else f"{100 * row[dog]:.1f} %" for dog in (2, 6)
        ]
        assert f"`{sentence}` Head 4-2: `dog#1` **{shares[0]}** and `dog#2` **{shares[1]}**." in told
    verdict = weights[0][2] > weights[0][6] and weights[1][6] > weights[1][2]
    assert f"Head 4-2 **{'resolves' if verdict else 'does not resolve'} this pair**" in told


def test_what_is_no_pair_is_told_kindly_and_the_rest_of_the_page_stays() -> None:
    app = read(visit("pronouns"))
    same, differ = "The two sentences are the same", "The two sentences differ in"
    for text, other, said in (
        (TIRED, TIRED, same),
        (TIRED, TIRED.replace(" ", "\N{NO-BREAK SPACE}") + " ", same),
        (TIRED, "", "Type a second sentence"),
        (TIRED, "😀 **bold** <script>alert(1)</script>", f"{differ} “it”"),
        ("it", "they", "must be three different tokens"),
        ("a " * 5000, NARROW, "the model reads at most 512"),
        (" ", NARROW, "nothing here for the model to read"),
        ("", NARROW, "There is nothing here for the model to read"),
        ("שלום עולם, זה כלב", NARROW, differ),
    ):
        app.text_input(key="text").set_value(text)
        clean(app.text_input(key="other").set_value(other).run())
        assert said in app.info[0].value.replace("\\", "")
        assert app.text_input(key="text").value == text
        assert sent(app, "head_map")


@pytest.mark.parametrize(
    ("text", "other"), [("", NARROW), ("Birds sing.", ""), (NARROW, TIRED), (TIRED, NARROW)]
)
def test_of_one_sentence_the_other_is_only_filled_in_where_it_is_known(text: str, other: str) -> None:
    app = read(visit("pronouns", text=text))
    assert [app.text_input(key=key).value for key in ("text", "other")] == [text or TIRED, other]
    assert ("Type a second sentence" in " ".join(info.value for info in app.info)) == (not other)


def test_the_grammar_has_the_best_head_with_its_offset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "FEW", 6)
    app = read(visit("grammar", relation="Object"))
    *_, end = syntax.measure(syntax.bundled(), loading.load("minilm").trace, "encoder")
    place = syntax.SORTS.index("object")
    hits, total = end.found.hits[0, place], end.found.totals[place]
    np.testing.assert_allclose(sent(app, "head_map")["values"], (hits / total).ravel(), rtol=1e-5)
    best_heads = [f"{layer + 1}-{head + 1}" for layer, head in np.argwhere(hits == hits.max())]
    assert len(best_heads) == 2, "a tie"
    offset, by_offset = end.found.best_offset(place)
    told = spaced(app)
    named, most = " and ".join(best_heads), f"{100 * hits.max() / total:.0f} %"
    assert f"Heads {named} each find **{hits.max()} of {total}, {most}**" in told
    assert f"| **{named}**: {most} (" in told
    assert offset == -3
    assert f"3 words earlier, always: {100 * by_offset / total:.0f} %." in told
    assert app.title[0].value == "Which head knows the grammar?"


@pytest.mark.parametrize("direction", ["The dependent word looks", "The word it belongs to looks"])
def test_the_grammar_lists_what_the_open_head_fails_on_first(direction: str) -> None:
    app = read(visit("grammar", relation="Object", cases="All", direction=direction))
    told: dict[bool, list[tuple[str, str, str, str]]] = {False: [], True: []}
    for sentence in syntax.bundled():
        trace = attnviz.trace(sentence.text)
        tokens = trace.block("encoder", 3).key_tokens
        weights = trace.block("encoder", 3).weights[1].copy()
        starts = [-1 if token.special else token.start for token in tokens]
        weights[np.diag_indices(len(tokens))] = 0
        weights[[0, -1]] = weights[:, [0, -1]] = 0  # the special tokens
        assert not any(token.text.startswith("##") for token in tokens), "a word in pieces"
        for relation in sentence.relations:
            if relation.sort != "object":
                continue
            dependent, head = starts.index(relation.dependent.start), starts.index(relation.head.start)
            row = weights[dependent] if direction.startswith("The dep") else weights[:, dependent]
            asks = dependent if direction.startswith("The dep") else head
            at = int(row.argmax())
            word = markdown.plain(sentence.text[tokens[at].start : tokens[at].end])
            told[at == head].append((sentence.text, f"{asks + 1} {tokens[asks].text}", word, _fine(row[at])))
    assert told[False]
    links = onward(app, "Open on Explore")
    listed = [*told[False], *told[True]]
    assert [(link["text"], link["query"]) for link in links] == [each[:2] for each in listed]
    assert [link["edits"] for link in onward(app, "Silence head 4-2 here")] == ["encoder 4-2"] * len(listed)
    written = [line for line in spaced(app).splitlines() if line[:2] in ("✗ ", "✓ ")]
    verb = "looks most at" if direction.startswith("The dep") else "gets most from"
    for line, (_, _, word, weight) in zip(written, listed, strict=True):
        quoted = f"**{word}**" if line[0] == "✓" else f"“{word}”"
        assert f" {verb} {quoted} {weight}" in line
    assert [line[0] for line in written] == ["✗"] * len(told[False]) + ["✓"] * len(told[True])
    total = len(listed)
    assert sent(app, "head_map")["title"] == f"Found, of only {total}; one scale for all heads"
    assert f" of only {total}; 3 words earlier, always: " in spaced(app)
    assert f"Head 4-2 finds {len(told[True])} and misses {len(told[False])}." in spaced(app)


def test_a_link_to_the_grammars_list_is_understood_while_the_sentences_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go_on = threading.Event()

    def waits(*_asked: object) -> Iterator[Progress[Grammar]]:
        go_on.wait(60)
        yield from ()

    jobs = Jobs()
    monkeypatch.setattr(computing, "JOBS", jobs)
    monkeypatch.setattr(syntax, "measure", waits)
    app = visit("grammar", cases="Successes")
    go_on.set()
    stop(jobs)
    clean(app)
    assert "This comes when all sentences are read." in words(app)
    assert not app.warning


def test_while_pairs_are_read_no_words_move_the_map(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve, go_on = coreference.resolve, threading.Event()

    def waits(asked: Sequence[Pair], *others: Any) -> Iterator[Progress[Verdicts]]:
        for progress in resolve(asked, *others):
            yield progress
            if len(asked) > 1:  # not the visitor's own pair, which stands below
                go_on.wait(60)

    jobs = Jobs()
    monkeypatch.setattr(computing, "JOBS", jobs)
    monkeypatch.setattr(coreference, "resolve", waits)
    app = visit("pronouns")
    while not all_sent(app, "head_map"):
        app.run()
    drawn, told = sent(app, "head_map"), spaced(app)
    go_on.set()
    stop(jobs)
    assert drawn["title"].startswith("Pairs resolved")
    assert not re.search(r"[Rr]esolves? \*?\*?\d+ of", told)
    assert not [button for button in app.button if button.label.startswith("Open head")]


def test_a_model_that_can_read_no_sentence_of_the_grammar_says_so() -> None:
    app = read(visit("grammar", model="translator"))
    assert "**None of 6 sentences could be read.**" in spaced(app)
    assert "6 sentences left out" in [expander.label for expander in app.expander]


def test_sentences_that_a_model_cannot_read_are_counted_and_named() -> None:
    app = read(visit("pronouns", model="translator"))
    told = spaced(app)
    assert f"`{FEW[8].readings[0].text}` This model has never seen “into”" in told
    assert "3 pairs left out, 8 read" in [expander.label for expander in app.expander]
    assert "was told which noun “it” means" in told
    first = (
        "**Only 8 of the 11 pairs were read.** The other 3 are left out, the first because: This model has"
    )
    assert first in told
    # No share of so few, and nothing of them in bold letters: not in the sentences, the table, the map.
    assert "2-1 resolves 8 of only 8 pairs (95 % interval 68–100 %)" in told
    assert "Head 2-1 resolves 8 of only 8 pairs (95 % interval 68–100 %)." in told
    assert "**8 " not in told
    assert " 8 of 8, 8 times the right way; " in told
    assert "| 2-1 | 8 of 8 | 16 of 16 | 100 % |" in told
    assert "| Pairs resolved, of only 8 |" in told
    assert "Head 2-1 **resolves this pair**. Of 8 heads, 1 does: 2-1." in told
    seen = sent(app, "head_map")
    assert seen["title"] == "Pairs resolved, of only 8; one scale for all heads"
    assert seen["texts"][4].startswith("8 of 8 pairs resolved, ")
    assert "pairs resolved, %, of only 8" in str(sent(app, "curves"))
    assert "probability of" not in told.partition("The best of 8")[0]


def test_pasted_pairs_are_read_instead_once_a_run_and_wrong_lines_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = visit("pronouns", pairs="Paste pairs")
    parsed = Mock(wraps=pairs.parse)
    monkeypatch.setattr(pairs, "parse", parsed)
    written = "The [dog] saw the [cat] when *it* {sat > dog | ran > cat}."
    app.text_area[0].set_value(f"{written}\nThe dog slept.").run()
    assert app.error[0].value.replace("\\", "").startswith("Line 2: it needs two words in [ ]")
    assert app.text_area[0].value == f"{written}\nThe dog slept."
    parsed.reset_mock()
    app.text_area[0].set_value(written).run()
    parsed.assert_called_once_with(written)
    app = read(app)
    right = resolved(*pairs.parse(written)).scores().pairs
    np.testing.assert_allclose(sent(app, "head_map")["values"], right.ravel())
