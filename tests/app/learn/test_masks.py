"""The page "Who may look at whom?": what a link, a choice and a bad input do."""

import re
from typing import Any

import numpy as np
import pytest

from attnviz.app.examples import OPENING
from attnviz.app.learn import compute
from attnviz.app.learn.masks import compute as masks
from attnviz.app.learn.masks.mask_editor import MOST_TOKENS
from attnviz.text import percent
from tests.app.shown import all_sent, clean, press, sent, try_page, visit, words

IT = 9  # the place of "it" in the opening sentence
LAYER, HEAD = 3, 1  # from 0


def assert_weights(given: list[float], expected: np.ndarray[Any, Any]) -> None:
    assert np.reshape(given, expected.shape) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("link", "arguments"),
    [
        ({}, ("none",)),
        ({"mask": "causal"}, ("causal",)),
        ({"mask": "padding", "mask_size": "2"}, ("padding", 2)),
        ({"mask": "prefix", "mask_size": "5"}, ("prefix", 5)),
        ({"mask": "window", "mask_size": "1", "mask_after": "4"}, ("window", 1, 4)),
    ],
)
def test_the_model_is_run_with_the_mask_of_the_link(link: dict[str, str], arguments: tuple[Any, ...]) -> None:
    app = visit("masks", link)
    assert not app.warning
    kind, *sizes = arguments
    tokens = len(compute.tokens(OPENING.text))
    mask = masks.cells(kind, tokens, *sizes)
    editor = sent(app, "mask_editor")
    assert editor["mask"] == masks.written(mask)
    assert editor["query"] == IT
    assert_weights(editor["with_mask"], masks.weights(OPENING.text, mask, HEAD)[LAYER])
    assert_weights(editor["without"], masks.weights(OPENING.text, masks.cells("none", tokens), HEAD)[LAYER])


def test_the_numbers_are_written_out() -> None:
    told = words(visit("masks", mask="causal"))
    assert "`it` looks at `dog` **66 %**, `road` **12 %**" in told
    assert "with the causal mask, at `cross` **41 %**, `dog` **25 %**, `road` **17 %**" in told
    # Of the first layer, for a calculator: what the open cells had, divided by what is left.
    given, left, share = map(float, *re.findall(r"\*\*([\d.]+) % / ([\d.]+) % = ([\d.]+) %\*\*", told))
    assert 100 * given / left == pytest.approx(share, abs=0.1)
    row = masks.weights(OPENING.text, masks.cells("causal", 15), HEAD)[0, IT]
    assert share == round(100 * float(row.max()), 1)


@pytest.mark.parametrize(
    ("query", "layer"), [("1 [CLS]", 0), ("10 it", 0), ("10 it", LAYER), ("15 [SEP]", LAYER)]
)
def test_the_guess_is_about_the_head_of_the_picture_and_always_has_options(query: str, layer: int) -> None:
    """Also where the mask closes nearly all, or nothing."""
    app = visit("masks", query=query, layer=str(layer + 1))
    at = int(query.partition(" ")[0]) - 1
    free, causal = (
        masks.weights(OPENING.text, masks.cells(kind, 15), HEAD)[layer, at] for kind in ("none", "causal")
    )
    key = int(causal.argmax())
    question = app.button_group(key="guess_masks")
    head = f"head {layer + 1}-{HEAD + 1}"
    assert f"In {head} " in words(app)
    assert f"**{100 * free[key]:.1f} %** without a mask" in words(app)
    assert any(head in heading.value for heading in app.header)
    right = f"{100 * causal[key]:.1f} %"
    options = [option.replace("\\", "") for option in question.options]
    assert right in options
    assert len(options) == len({*options}) > 1
    told = words(press(question.set_value(right).run(), "Reveal"))
    assert "**Yes.** The open cells" in told
    same = f"{100 * free[key] / free[: at + 1].sum():.1f} %"
    assert f"{100 * free[key]:.1f} % / {100 * free[: at + 1].sum():.1f} % = {same}. " in told
    assert (f"run again, gives **{right}**" in told) == (layer > 0)


def test_the_decoder_that_learns_sees_what_the_one_that_writes_sees() -> None:
    told = words(visit("masks"))
    found = masks.teacher_forced(OPENING.text)
    assert f"trains all {len(found.targets)} places" in told
    for place, target in enumerate(found.targets):
        one, other = (percent(float(way[place]), 1) for way in (found.at_once, found.one_by_one))
        assert f"`{found.read[place]}` | `{target}` | {one} | {other} |" in told


def test_a_link_brings_back_a_drawn_mask() -> None:
    mask = np.random.default_rng(0).random((15, 15)) < 0.5
    mask[:, 0] = True
    app = visit("masks", mask="by hand", cells=masks.written(mask), layer="6", head="12")
    assert not app.warning
    editor = sent(app, "mask_editor")
    assert editor["mask"] == masks.written(mask)
    assert_weights(editor["with_mask"], masks.weights(OPENING.text, mask, 11)[5])


def test_drawing_starts_from_the_mask_on_show_and_fits_this_sentence_only() -> None:
    app = visit("masks", mask="window", mask_size="2", mask_after="0")
    window = sent(app, "mask_editor")["mask"]
    clean(app.segmented_control(key="mask").set_value("by hand").run())
    assert sent(app, "mask_editor")["mask"] == window
    assert app.text_input(key="cells").value == window
    assert app.query_params["cells"] == window
    clean(app.text_input(key="text").set_value("Why not?").run())
    assert "drawn for 15 tokens, and this sentence has 5" in app.warning[0].value
    assert "every cell is open now" in app.warning[0].value
    assert sent(app, "mask_editor")["mask"] == masks.written(masks.cells("none", 5))


def test_a_row_without_an_open_cell_is_refused_with_the_reason() -> None:
    mask = masks.cells("causal", 15).copy()
    mask[2] = False
    app = try_page("masks", mask="by hand", cells=masks.written(mask))
    assert "token 3 look nowhere\\: a softmax over nothing has no value" in app.error[0].value
    assert "without an open cell: `dog`" in app.error[0].value
    assert sent(app, "mask_editor")["with_mask"] is None
    assert "with your mask, at" not in words(app)


def test_a_long_sentence_is_computed_but_not_drawn_on() -> None:
    text = " ".join(["road"] * MOST_TOKENS)
    app = visit("masks", text=text, mask="causal")
    assert f"This sentence has {MOST_TOKENS + 2} tokens" in app.info[0].value
    assert "with the causal mask" in words(app)
    assert not all_sent(app, "mask_editor")
    clean(app.segmented_control(key="mask").set_value("by hand").run())
    assert not app.warning
    app.text_input(key="text").set_value(" ".join(["road"] * (MOST_TOKENS - 2))).run()
    assert len(sent(app, "mask_editor")["tokens"]) == MOST_TOKENS


def test_a_size_that_a_shorter_sentence_does_not_have_is_the_largest_it_has() -> None:
    app = visit("masks", mask="padding", mask_size="12")
    clean(app.text_input(key="text").set_value("Why not?").run())
    assert app.number_input(key="mask_size").value == 4
    assert sent(app, "mask_editor")["mask"] == masks.written(masks.cells("padding", 5, 4))


def test_one_word_changes_every_output_or_only_those_behind_it() -> None:
    app = visit("masks")
    [table] = [each for each in all_sent(app, "share_table") if each["title"].startswith("How far each")]
    edited = [row["marked"] for row in table["rows"]]
    assert [row["label"] for row in table["rows"] if row["marked"]] == ["tired → narrow"]
    place = edited.index(True)
    same = [[text == "= same" for text in row["written"]] for row in table["rows"]]
    assert same == [[False, at < place] for at in range(len(same))]
    expected = masks.reach(OPENING.text, OPENING.other)
    found = np.array([row["shares"] for row in table["rows"]])
    np.testing.assert_allclose(found[:, 0], expected.encoder.distance, atol=1e-6)
    np.testing.assert_allclose(found[place:, 1], expected.decoder.distance[place:], atol=1e-6)
    assert "**Without a mask 0** of 15 outputs stayed the same to the bit" in words(app)
    assert f"**With a causal mask {place}** stayed the same: {place} of the {place} before" in words(app)
    for typed, reason in (
        ("very very tired", "17 tokens instead of 15"),
        ("tired", "every output is the same"),
    ):
        clean(app.text_input(key="replacement").set_value(typed).run())
        assert reason in [*app.warning, *app.info][0].value.replace("\\", "")
