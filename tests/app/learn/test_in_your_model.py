"""The section "In your model": what it says of a model is what was read from that model's own parts."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from attnviz.app.examples import OPENING
from attnviz.app.folded import NOT_SHOWN
from attnviz.app.learn.positions import compute
from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.capture.positions import Biases, Slopes, Table, Turns
from tests.app.shown import all_sent, charts, clean, sent, visit, words

Open = Callable[[str], str]


def said(app: AppTest) -> str:
    clean(app)
    return " ".join(words(app).split())


def signed(number: float, digits: int) -> str:
    return f"{number:.{digits}f}".replace("-", "−")


@pytest.mark.parametrize("page", ["positions", "masks"])
def test_the_section_is_closed_at_first_and_loads_nothing(monkeypatch: pytest.MonkeyPatch, page: str) -> None:
    monkeypatch.setattr(compute, "positions", None)
    app = visit(page)
    assert [header.value for header in app.header].count("In your model") == 1
    assert "model" not in app.session_state
    assert not app.warning


def test_the_bundled_berts_table() -> None:
    app = visit("positions", in_your_model="true")
    [table] = compute.positions("minilm").ways
    assert isinstance(table, Table)
    found = compute.likeness(table.vectors, 64)
    told = said(app)
    assert "**512 places** with **384 numbers** each, learned in training. There is no row 513" in told
    assert (
        f"a cosine of **{signed(found.mean[1], 2)}** on average, 10 apart **{signed(found.mean[10], 2)}**"
        in told
    )
    assert f"has the length **{found.lengths[0]:.2f}**" in told
    vectors = all_sent(app, "encoding")[-1]
    np.testing.assert_allclose(vectors["vectors"], table.vectors[:64, :64], atol=1e-6)
    assert vectors["limit"] == pytest.approx(np.abs(table.vectors[:64, :64]).max())
    assert vectors["labels"][9] == "it"


def test_what_other_tables_have_is_told(opened: Open) -> None:
    def of(model: str, **more: str) -> str:
        return said(visit("positions", in_your_model="true", model=model, **more))

    told = of(opened("roberta"))
    assert "**61 places** with **15 numbers**" in told
    assert "2 more rows in front" in told
    assert "sines and cosines, which no training has changed" in of("translator")
    [decoder] = [way for way in compute.positions(opened("bart")).ways if way.part == "decoder"]
    assert isinstance(decoder, Table)
    lengths = compute.likeness(decoder.vectors, 64).lengths
    others = f"has the length **{lengths[0]:.2f}**, the others have **{lengths[1:].mean():.2f}**"
    assert others in of(opened("bart"), own_part="Decoder")


@pytest.mark.parametrize("family", ["llama", "gpt_neox", "modernbert"])
def test_a_turning_models_rates_and_scores(opened: Open, family: str) -> None:
    name = opened(family)
    found, trace = compute.positions(name), loading.trace(name, ModelInput(OPENING.text))
    labels = [token.text for token in trace.blocks[1].query_tokens]
    query, key = labels.index("not"), labels.index("dog")
    link = {
        "own_pair": "2",
        "own_layer": "2",
        "own_head": "3",
        "own_query": f"{query + 1} not",
        "own_key": f"{key + 1} dog",
    }
    app = visit("positions", link, in_your_model="true", model=name)
    assert not app.warning
    told, shown = said(app), charts(app)
    rates = [way for way in found.ways if isinstance(way, Turns)]
    assert len(rates) == (2 if family == "modernbert" else 1)
    assert f"turns {'4 of the' if family == 'gpt_neox' else 'all'} 10 numbers" in told
    for line, turns in zip(shown["How many places one whole turn takes"]["lines"], rates, strict=True):
        assert line["y"] == pytest.approx((2 * np.pi / turns.frequencies).tolist(), rel=1e-5)
        assert f"to the base **{turns.theta:,.0f}**" in told
    block = trace.blocks[1]
    assert f"**{signed(block.scores[2, query, key], 3)}**, {query - key} back" in told
    [curve] = shown["The score by distance"]["lines"]
    here = curve["x"].index(key - query)
    assert curve["y"][here] == pytest.approx(float(block.scores[2, query, key]), abs=1e-4)
    turns = next(turns for turns in rates if 1 in turns.layers)
    angle = query * turns.frequencies[1]
    assert f"Pair 2, numbers 2 and {4 if family == 'gpt_neox' else 7} of 10, turns by" in told
    assert f"{query} · {turns.frequencies[1]:.4g} = **{angle:.4g}**" in told
    assert max(curve["x"]) == (60 if family == "modernbert" else 0)


def test_places_of_a_picture_of_another_size_are_interpolated(opened: Open) -> None:
    told = said(visit("positions", in_your_model="true", model=opened("dinov2")))
    assert "It is made for pictures of 4 rows of 4 patches" in told
    assert "The pictures that it gets here have 3 rows of 5 patches" in told
    assert "There is no row" not in told
    assert "gets here" not in said(visit("positions", in_your_model="true", model=opened("vit")))


def test_sines_that_turn_are_not_called_a_table_that_is_added(opened: Open) -> None:
    told = said(visit("positions", in_your_model="true", model=opened("roformer")))
    assert "turns all 10 numbers of each :blue[query] and :red[key]" in told
    assert "to the base" not in told  # its table does not say it
    assert "adds to each token's vector the vector of its place" not in told


@pytest.mark.parametrize("family", ["bloom", "mpt", "t5"])
def test_slopes_and_biases(opened: Open, family: str) -> None:
    app = visit("positions", in_your_model="true", model=opened(family), own_head="2")
    told, lines = said(app), charts(app)["What is added to the score"]["lines"]
    assert [line["label"] for line in lines] == ["head 2", "head 1", "head 3"]
    way = compute.positions(opened(family)).ways[0]
    if isinstance(way, Slopes):
        assert f"Head 2 has the slope **{way.slopes[1]:.4g}**" in told
        assert lines[0]["y"][5] == pytest.approx(-5 * way.slopes[1], rel=1e-4)
    else:
        assert isinstance(way, Biases)
        assert lines[0]["y"] == pytest.approx(way.biases[1].tolist(), rel=1e-4)
        assert f"**{signed(way.biases[1].max(), 2)}**; least" in told


def test_a_vector_for_each_distance(opened: Open) -> None:
    app = visit("positions", in_your_model="true", model=opened("deberta"))
    [line] = charts(app)["How alike each distance's vector is to that of distance 0"]["lines"]
    assert line["y"][line["x"].index(0)] == pytest.approx(1)
    assert any(heading.value == "Added to the scores of head 1-1" for heading in app.subheader)


def test_a_model_that_cannot_read_the_sentence_says_so_and_the_page_stays() -> None:
    app = visit("positions", text="Xylophones sing.", in_your_model="true", model="translator")
    assert any("has never seen" in warning.value for warning in app.warning)
    assert any(header.value == NOT_SHOWN for header in app.header)


def test_a_link_cannot_name_a_model_that_is_not_here() -> None:
    app = visit("masks", in_your_model="true", model="owner/unknown")
    assert app.selectbox(key="model").value == "minilm"
    assert "`model` cannot be `owner/unknown` here" in app.warning[0].value


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        ("bert", ["**Layers 1–2: nothing closed.**"]),
        ("gpt2", ["**Layers 1–2: causal.**"]),
        ("mistral", ["**Layers 1–2: causal, with a window of 5.**"]),
        ("modernbert", ["**Layers 1, 3: nothing closed.**", "**Layer 2: a window of 7.**"]),
        (
            "bart",
            [
                "**Encoder, layers 1–3: nothing closed.**",
                "**Decoder, layers 1–2: causal.**",
                "**Cross, layers 1–2: nothing closed.**",
            ],
        ),
    ],
)
def test_every_mask_in_words(opened: Open, family: str, expected: list[str]) -> None:
    app = visit("masks", in_your_model="true", model=opened(family))
    told = said(app)
    for mask in expected:
        assert mask in told
    assert len(re.findall(r"[Ll]ayers? [\d–, ]+: [^*]*\.\*\*", told)) == len(expected)
    assert any("under it" in heading.value for heading in app.subheader)
    assert ("There is nothing to draw: all" in told) == ("nothing closed" in expected[0])


def test_a_model_chosen_on_another_page_is_in_no_link_before_the_section_is_opened() -> None:
    app = visit("explore", model="translator")
    clean(app.switch_page("pages/positions.py").run())
    assert "&model=" not in sent(app, "copy_link")["query"]
    app = visit("masks", in_your_model="true", model="translator")
    assert "&model=translator" in sent(app, "copy_link")["query"]


@pytest.mark.parametrize("kind", ["Decoder", "Cross"])
def test_each_kinds_mask_and_weights_are_those_of_the_reading(kind: str) -> None:
    app = visit("masks", in_your_model="true", model="translator", own_kind=kind, own_head="3")
    told = said(app)
    trace = loading.trace("translator", ModelInput(OPENING.text))
    block = trace.of_kind("cross" if kind == "Cross" else "decoder")[0]
    last = block.query_tokens[-1].text
    assert f"The last token, `{last}`, may look at {block.mask[-1].sum()} of {len(block.key_tokens)}" in told
    strongest = int(block.weights[2, -1].argmax())
    share = round(100 * float(block.weights[2, -1, strongest]))
    assert f"looks at `{block.key_tokens[strongest].text}` **{share} %**" in told
