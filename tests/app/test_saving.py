"""What the files of pictures are called, and what they say of themselves."""

from typing import Any

import pytest

from tests.app.shown import sent, visit

TEXT = "A cat sat down since it was very tired indeed."


@pytest.mark.parametrize(
    ("page", "widget", "name", "about"),
    [
        (
            "masks",
            "mask_editor",
            "attnviz-minilm-scratch-head2-3-mask-editor-A-cat-sat-down-since-it-was",
            f"“{TEXT}” · minilm-scratch · head 2-3",
        ),
        (
            "weighted_average",
            "average",
            "attnviz-minilm-scratch-average-A-cat-sat-down-since-it-was",
            f"“{TEXT}” · minilm-scratch · [CLS] and [SEP] are left out",
        ),
        (
            "scale",
            "share_table",
            "attnviz-random-row",
            "Random numbers, draw 8: no model and no sentence.",
        ),
        (
            "explore",
            "atlas",
            "attnviz-minilm-head2-3-atlas-A-cat-sat-down-since-it-was",
            f"“{TEXT}” · minilm · head 2-3 · weights; nothing hidden, merged or rescaled",
        ),
    ],
)
def test_a_picture_s_file_tells_model_head_and_sentence_and_what_is_left_out(
    page: str, widget: str, name: str, about: str
) -> None:
    head = {} if page == "weighted_average" else {"layer": "2", "head": "3"}
    file = sent(visit(page, text=TEXT, **head), widget)["file"]
    assert (file["name"], file["about"]) == (name, about)


@pytest.mark.parametrize(
    ("page", "parameters", "widget", "about"),
    [
        (
            "translate",
            {"translator": "Translator: not told anything"},
            "translation",
            "“The dog did not cross the road as it was too tired.” · Translator: not told anything",
        ),
        (
            "query_key_value",
            {"six_steps_of": "Translator: English reads English", "translator_layer": "2"},
            "walk",
            "“The dog did not cross the road as it was too tired.” · translator · head 2-1",
        ),
    ],
)
def test_a_picture_of_the_translator_is_not_said_to_be_bert_s(
    page: str, parameters: dict[str, Any], widget: str, about: str
) -> None:
    assert sent(visit(page, parameters), widget)["file"]["about"] == about


def test_a_head_s_file_also_has_the_beginning_of_the_sentence() -> None:
    name = sent(visit("explore", text=TEXT), "head_view")["filename"]
    assert name == "attnviz-minilm-layer4-head2-weights-lines-A-cat-sat-down-since-it-was"
