"""What does each head do: the page's numbers beside independent ones, and what it says of odd texts."""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from operator import add

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import attnviz
from attnviz import experiments
from attnviz.analysis.clusters import scaled
from attnviz.analysis.rules import Special
from attnviz.analysis.shapes import SHAPES, ShapeSums, shapes
from attnviz.analysis.tally import NAMES, RULES, tally
from attnviz.app.heads.behaviour import rules, sections, texts
from attnviz.app.heads.behaviour.findings import Alike, Findings, of_sentence
from attnviz.app.heads.behaviour.table import csv_of
from attnviz.app.heads.behaviour.words import in_full, in_markdown
from attnviz.app.heads.intervene.written import angle
from attnviz.app.job_view import counted
from attnviz.capture.batches import Batch, batches
from attnviz.capture.model import Model
from attnviz.experiments import behaviour
from attnviz.experiments.behaviour import MOST_NAMED
from attnviz.experiments.corpus import Corpus
from attnviz.models.catalogue import Entry
from attnviz.text import percent
from attnviz.trace import Floats
from tests.app.shown import charts, clean, finished, press, sent, visit, words

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


def unread(app: AppTest) -> list[str]:
    """What is said of the lines that could not be read."""
    return [each.label for each in app.expander if "could not be read" in each.label]


def pasted(text: str, **more: str) -> AppTest:
    app = visit("behaviour", on="Many sentences", source="Paste", **more)
    app.text_area(key="pasted").set_value(text)
    return finished(app.run())


def test_one_sentence_and_a_head_of_a_list_is_opened() -> None:
    app = visit("behaviour", text=TIRED, layer="4", head="2")
    expected = to_the_previous(TIRED)
    shown = sent(app, "head_map")
    np.testing.assert_allclose(shown["values"], expected.ravel(), atol=1e-5)
    whole = attnviz.trace(TIRED).stack("encoder")[:, :, 1:-1, 1:-1]
    raw = np.diagonal(whole, -1, axis1=-2, axis2=-1).mean(axis=-1)
    shares = percent(float(raw[0, 2])), percent(float(expected[0, 2]))
    assert shares == ("> 99 %", "> 99 %")
    both = f"{shares[0]} of its attention"  # of what goes to words, as much
    even = "7 % of its attention, 8 % of what goes to words"
    assert shown["texts"][2].startswith(f"gives the token before it {both}; even attention would: {even}")
    assert shown["printed"][13 + 8] == f"{100 * expected[1, 9]:.0f}"
    assert shown["selected"] == [4, 2]
    told = words(app)
    assert (
        "In this sentence, in head **1-3** (layer 1, head 3) a token on average gives the token before it "
        f"**{both}**. A head that shares its attention evenly would give it {even}. One sentence is an "
        "anecdote: choose *Many sentences*."
    ) in told
    assert f"Most: head **1-3**, {both}" in told
    assert "Left out: \\[CLS\\] and \\[SEP\\]; what goes to words counts as 100 %." in told
    found = re.search(r"Explore’s filter “previous” finds (\d+) of 72 heads: ([-\d, ]+)\.", told)
    assert found
    assert int(found[1]) == len(found[2].split(", ")) >= 1
    rows = {row["name"]: row for row in sent(app, "distributions")["rows"]}
    assert list(rows) == list(NAMES)
    assert rows["first"]["words"] == "the first token, [CLS]"
    columns = json.loads(app.dataframe[0].proto.columns)
    assert columns["first, of its attention"]["help"] == "the first token, \\[CLS\\]. Even attention: 7 %"
    assert rows["broad"]["words"] == "0 %: one token, 100 %: all alike"
    assert rows["previous"]["mean"] == pytest.approx(expected[3, 1], abs=1e-5)
    assert rows["previous"]["baseline"] == pytest.approx(1 / 13)
    assert all(not row["heights"] for row in rows.values())
    links = {link.proto.label: link.proto.query_string for link in app.get("page_link")}
    silenced = "&layer=4&head=2&edits=encoder+4-2"
    assert links["See whether head 4-2 matters: silence it"].endswith(silenced)
    which = next(pills for pills in app.button_group if pills.key == "heads that are heterogeneous")
    name = which.options[-1]
    clean(which.set_value(name).run())
    assert sent(app, "head_map")["selected"] == [int(part) for part in name.split("-")]


def test_a_list_of_what_a_head_gives_its_attention_to_sums_to_all_of_it() -> None:
    for model, text in (("minilm", TIRED), ("minilm", LINES[3]), ("translator", TIRED)):
        findings = of_sentence(model, text)
        for layer, head in np.ndindex(findings.tally.shape):
            shares = [share for _, share in rules.of_attention(findings, layer, head)]
            assert min(shares) > -1e-6
            assert sum(shares) == pytest.approx(1)
            # What goes to one place among the words is a part of what goes to words.
            for name in ("previous", "itself", "next", "focused"):
                figures = findings.tally.of(name)
                assert not figures.raw[layer, head] > figures.mean[layer, head] + 1e-6
    weights = attnviz.trace(LINES[3]).stack("encoder")[2, 9, 1:-1]  # head 3-10
    given = weights[:, 0].mean(), weights[:, -1].mean(), weights[:, 1:-1].sum(axis=-1).mean()
    first, separator, words_share = (f"**{percent(float(part), 1)}**" for part in given)
    told = words(visit("behaviour", text=LINES[3], layer="3", head="10"))
    assert (
        f"Of its attention, a token that is not special gives on average {first} to \\[CLS\\], "
        f"{separator} to \\[SEP\\] and {words_share} to everything else."
    ) in told


def test_a_pasted_text() -> None:
    app = pasted("\n".join([*LINES[:2], "", *LINES[2:], "a " * 9_000]), rule="previous")
    clean(app)
    each = np.array([to_the_previous(line) for line in LINES])
    np.testing.assert_allclose(sent(app, "head_map")["values"], each.mean(axis=0).ravel(), atol=1e-5)
    told = words(app)
    assert (
        "In 4 sentences, in head **1-3** (layer 1, head 3) a token on average gives the token before it"
        in told
    )
    assert "anecdote" not in told
    assert "Counted: sentences of two tokens or more, 4 of 4" in told
    assert unread(app) == ["1 line could not be read"]
    [lines] = [each for each in app.expander if each.label in unread(app)]
    assert "- line 6: " in lines.markdown[0].value
    row = sent(app, "distributions")["rows"][0]
    spread = each[:, 3, 1].std()
    assert row["written"] == f"{100 * each[:, 3, 1].mean():.0f} % ± {100 * spread:.0f}"
    assert sum(row["heights"]) == pytest.approx(1, abs=1e-3)
    lines = charts(app)["Heads by what they look at"]["lines"]
    assert sum(len(line["x"]) for line in lines[:-1]) == 72
    assert [line["label"][0] for line in lines[:-1]] == list("ABCDE")
    assert "mean over 4 sentences" in told
    assert len(re.findall(r"^\*\*[A-E]\*\*: (?:\d+ heads look|head \d-\d+ looks) ", told, re.MULTILINE)) == 5
    assert "**No head can be called block here:**" in told
    found = reduce(add, map(shapes_of, LINES)).shapes
    counts = np.bincount(found.ravel())
    commonest = SHAPES[counts.argmax()].name
    assert f"In 4 sentences, no shape is commoner than **{commonest}** ({counts.max()} of 72 heads): " in told
    for number, shape in enumerate(SHAPES):
        assert f"**{shape.name}**, {(found == number).sum()} head" in told
        assert f"- **{shape.name}:** {shape.rule}." in told
    assert "a token looks much at its own; needs a pair of sentences." in told
    assert f"Head **4-2** is **{SHAPES[found[3, 1]].name}**" in told
    # A group of one head is told as one, which a click opens.
    group = re.search(r"\*\*[A-E]\*\*: head (\d-\d+) looks .*", told)
    assert group
    assert "on average" not in group[0]
    clean(press(app, f"Open {group[1]}"))
    opened = [app.number_input(key=key).value for key in ("layer", "head")]
    assert opened == [int(part) for part in group[1].split("-")]


def test_a_pair_shows_blocks() -> None:
    app = visit("behaviour", text="The dog sleeps.", read_with="**It** is tired.", layer="2", head="5")
    trace = attnviz.trace("The dog sleeps.", second="**It** is tired.")
    tokens = trace.blocks[0].query_tokens
    own = np.array([[one.sentence == other.sentence for one in tokens] for other in tokens])
    given, even = (trace.stack("encoder")[1, 4] * own).sum() / len(own), own.mean()
    told = words(app)
    assert f", its own sentence {100 * (given - even) / (1 - even):.0f} % of the way" in told
    assert "No head can be called block" not in told
    assert "needs a pair" not in told
    size, weights = len(tokens), trace.stack("encoder")[1, 4]
    most, near = np.sort(weights.mean(axis=0))[-2:].sum(), np.tri(size, k=1) * np.tri(size, k=1).T
    beside = (weights * near).sum() / size
    assert (
        f"the 2 tokens that it looks at most receive {100 * most:.0f} % of its attention (even attention: "
        f"{200 / size:.0f} %), a token itself and its two neighbours {100 * beside:.0f} % (even attention: "
        f"{100 * near.mean():.0f} %)."
    ) in told
    app.text_input(key="read_with").set_value("a " * 600).run()
    assert "reads at most 512" in app.error[0].value


def test_a_rule_that_means_nothing_here() -> None:
    app = visit("behaviour", text="No two words alike", rule="same word")
    assert "It means something only in sentences with a word that occurs twice, and there is none" in words(
        app
    )
    assert sent(app, "head_map")["values"] == [None] * 72
    assert "same word" not in [row["name"] for row in sent(app, "distributions")["rows"]]


def test_of_many_lines_one_or_none_can_be_read() -> None:
    app = pasted(f"{TIRED}\nQuixotic zebras", model="translator", rule="separator")
    told = words(app)
    assert told.count("In 1 sentence, ") == 2
    assert "One sentence is an anecdote: give more lines." in told
    assert "choose *Many" not in told
    assert "mean over 1 sentence," in told
    assert unread(app) == ["1 line could not be read"]
    app = finished(app.text_area(key="pasted").set_value("Quixotic zebras vex\nJovial gnomes").run())
    assert not app.exception
    assert "The model could read none of these lines." in app.info[0].value
    assert unread(app) == ["2 lines could not be read"]


def test_one_line_is_counted_as_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    units = []

    def listen(doing: str, unit: str) -> Callable[..., str]:
        units.append(unit)
        return counted(doing, unit)

    monkeypatch.setattr(sections, "counted", listen)
    for text in ("One line.", "Two lines.\nOf which this is one."):
        app = visit("behaviour", on="Many sentences", source="Upload")
        app.session_state["the text that the visitor uploaded"] = Corpus.from_text(text, "my.txt")
        app.run()
        clean(app)
        lines = len(text.splitlines())
        assert f"Still here: `my.txt`, {lines} {'line' if lines == 1 else 'lines'}." in words(app)
    assert units == ["line", "lines"]


def test_one_head_reaches_and_several_reach() -> None:
    app = visit("behaviour", text="The dog did not cross the road.", model="translator", rule="itself")
    assert "1 of 8 heads reaches twice the even share of what goes to words." in words(app)
    app.selectbox(key="rule").set_value("first").run()
    told = words(app)
    assert re.search(r"[2-8] of 8 heads reach twice the even share of its attention\.", told)
    # A model's own special tokens are told, and no others.
    assert "The colours: on average a token gives the first token this share of its attention (" in told
    assert "Not counted: what is looked at by \\[END\\]." in told
    assert "CLS" not in told
    rows = {row["name"]: row["words"] for row in sent(app, "distributions")["rows"]}
    assert (rows["first"], rows["separator"]) == ("the first token", "[END]")


def test_names_of_special_tokens_are_no_markdown() -> None:
    special = Special("<s>", ("</s>", "$x$"))
    first, separator = (RULES[NAMES.index(name)] for name in ("first", "separator"))
    assert special.fill(first.does, "5 %") == "gives the first token, <s>, 5 %"
    assert special.fill(separator.does, "5 %") == "gives </s> and $x$ 5 %"
    assert in_markdown(special).fill(separator.short) == r"\</s\> and \$x\$"
    assert r"Left out: \<s\>, \</s\> and \$x\$; what goes to words" in in_full(RULES[0], special)
    assert in_full(RULES[0], special).endswith(" is told by *first* and *separator*. ")
    assert in_full(RULES[0], Special("", ("</s>",))).endswith(" is told by *separator*. ")
    assert in_full(RULES[0], Special("", ())) == ""


def test_of_few_heads_there_are_few_groups() -> None:
    app = visit("behaviour", text=TIRED, model="translator")
    findings = of_sentence("translator", TIRED)
    figures = findings.tally.of("previous")
    previous, raw = figures.mean.ravel(), figures.raw.ravel()
    told = words(app)
    sizes = np.bincount(findings.alike.group)
    assert len(sizes) == 2
    for letter, number in zip("AB", range(2), strict=True):
        members = findings.alike.group == number
        mean, of_all = previous[members].mean(), previous.mean()
        much = "more" if mean > of_all else "less"
        amount = findings.tally.of("previous").rule.amount
        here, everywhere = amount(mean, raw[members].mean()), amount(of_all, raw.mean())
        assert (
            f"**{letter}**: {sizes[number]} heads look {much} at the token before (**{here}** on average; "
            f"all heads: {everywhere}) and "
        ) in told
    assert "That there are 2 groups is our choice" in told


def test_a_single_head_is_like_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    block = attnviz.trace(TIRED).blocks[0]
    weights, masks, tokens = [block.weights[None, :1]], [block.mask], block.query_tokens
    alone = Findings(
        "minilm",
        "In this sentence",
        Special.of(tokens),
        tally([TIRED], [tokens], weights, masks),
        shapes(weights, masks, [0] * len(tokens)),
        Alike(scaled(np.zeros((1, 1))), np.zeros(1, dtype=np.intp), np.zeros((1, 1)), 1),
        TIRED,
    )
    monkeypatch.setattr(sections, "of_sentence", lambda *_: alone)
    app = visit("behaviour", text=TIRED, layer="1", head="1")
    assert "(1 of 1 head): " in words(app)
    assert "Which heads look at the same words?" not in [header.value for header in app.header]


def test_the_bundled_sentences_can_be_read_by_people() -> None:
    app = visit("behaviour", on="Many sentences")
    assert app.code[0].value == behaviour.bundled().strip()
    press(app, "Stop")


def test_where_many_are_read_the_one_sentence_waits() -> None:
    mine = "A zebra that the translator does not know."
    app = visit("behaviour", on="Many sentences", source="Paste", model="translator", text=mine)
    app.selectbox(key="model").set_value("minilm").run()
    clean(app.segmented_control(key="on").set_value("Your sentence").run())
    assert app.text_input(key="text").value == mine


def all_alike(model: Model, entry: Entry, lines: Iterable[tuple[int, str]]) -> Iterator[Batch]:
    """The lines of a part as one batch; only the first of them is really read, and all others are like it."""
    numbers, texts = zip(*lines, strict=True)
    [one] = batches(model, entry, [(0, texts[0])])
    assert isinstance(one, Batch)
    weights = tuple(layer.repeat(len(texts), axis=0) for layer in one.weights)
    yield Batch(numbers, texts, one.tokens * len(texts), weights, one.masks)


def test_as_many_uploaded_lines_as_may_be_are_all_read_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(behaviour, "batches", all_alike)
    monkeypatch.setattr(texts, "MOST_LINES", 2_000)
    lines = [b"a b"] * 2_000
    lines[3::10] = [b""] * 200
    lines[7::10] = [b"caf\xe9"] * 200
    app = visit("behaviour", on="Many sentences", source="Upload")
    app.file_uploader[0].upload("many.txt", b"\n".join(lines), "text/plain")
    clean(finished(app.run()))
    assert "In 1,600 sentences, in head **" in words(app)
    [bad] = [each for each in app.expander if "could not be read" in each.label]
    assert bad.label == "200 lines could not be read"
    told = "\n".join(each.value for each in bad.markdown)
    assert told.startswith("- line 8: ")
    assert f"… and {200 - MOST_NAMED} more." in told


def test_too_many_lines_are_refused_and_stay_in_the_box() -> None:
    text = "a b\n" * 10_001
    app = visit("behaviour", on="Many sentences", source="Paste", rule="next")
    assert "Paste some sentences, one a line: up to 10,000." in app.info[0].value
    app.text_area(key="pasted").set_value(text).run()
    assert "10,001 lines; this page reads at most 10,000" in app.error[0].value
    assert app.text_area(key="pasted").value == text
    assert app.session_state["rule"] == "next"


def test_the_file_has_every_number() -> None:
    rows = list(csv.DictReader(csv_of(of_sentence("minilm", TIRED)).removeprefix("\ufeff").splitlines()))
    assert {(row["model"], row["text"], row["tokens"]) for row in rows} == {("minilm", TIRED, "15")}
    assert rows[0]["what is counted"].startswith("on average a token gives the")
    assert len(rows) == 72 * len(NAMES)
    shown = {(row["layer"], row["head"]): float(row["mean"]) for row in rows if row["rule"] == "previous"}
    expected = to_the_previous(TIRED)
    for (layer, head), mean in shown.items():
        assert mean == pytest.approx(expected[int(layer) - 1, int(head) - 1], abs=1e-5)


@pytest.mark.parametrize(
    "by", ["Sharpest attention", "Strongest contribution", "Largest change when silenced"]
)
def test_where_the_head_does_most_is_listed_of_a_text_and_leads_to_explore(by: str) -> None:
    app = visit("behaviour", on="Many sentences", source="Paste", strongest=by, open="Where it does most")
    app.text_area(key="pasted").set_value(
        f"{TIRED}\nRain fell: {by}."
    ).run()  # a text of its own, not yet read
    app = finished(finished(press(finished(app), "Look through 2 sentences")))
    told = words(clean(app))
    block = attnviz.trace(TIRED).block("encoder", 3)
    if by == "Sharpest attention":
        own = block.weights[1, 1:-1, 1:-1]
        largest = percent(float(own.max()))
        token = block.query_tokens[1 + int(own.max(axis=1).argmax())].text
        assert re.search(rf":small\[`{token}[^`]*` attends most to `[^`]+` \(\*\*{largest}\*\*\)\]", told)
    elif by == "Largest change when silenced":
        turned = experiments.ablate(TIRED).moved.turned[3 * 12 + 1, 1:-1].max()
        assert f"without the head, the output turns by **{angle(float(turned))}**" in told
    else:
        assert block.projection is not None
        longest = np.linalg.norm(block.output[1, 1:-1] @ block.projection[1], axis=-1).max()
        assert f"it adds a vector of length **{longest:.2f}**" in told
    links = [link.proto for link in app.get("page_link") if link.proto.label == "Open on Explore"]
    assert len(links) == 2
