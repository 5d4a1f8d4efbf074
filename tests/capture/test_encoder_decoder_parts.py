"""Encoders without their decoder, and encoder–decoders for classification, compared with `eager`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from transformers import AutoConfig

import attnviz
from attnviz.errors import ModelNotSupported
from attnviz.trace import Trace
from tests.capture.reference import reference_tokenizer
from tests.capture.tiny import SENTENCE, FolderOf

OTHER = "The cat saw a fish ."


def make_model(folder_of: FolderOf, family: str, name: str) -> tuple[Any, Any]:
    """Return a model of this class with random weights, and its tokenizer."""
    source = folder_of("bart" if "bart" in family else "t5")
    sizes = AutoConfig.from_pretrained(source).to_dict()
    config = AutoConfig.for_model(
        family, **{key: value for key, value in sizes.items() if key != "model_type"}
    )
    network = getattr(transformers, name)(config).eval()
    with torch.random.fork_rng():
        torch.manual_seed(3)
        for parameter in network.parameters():
            torch.nn.init.normal_(parameter, std=0.3)
    network.set_attn_implementation("eager")
    return network, reference_tokenizer(source)


def saved(network: Any, folder_of: FolderOf, family: str, folder: Path) -> Path:
    network.save_pretrained(folder)
    for file in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(folder_of("bart" if "bart" in family else "t5") / file, folder)
    return folder


def assert_same(found: Trace, returned: Any, names: dict[str, str]) -> None:
    assert {block.kind for block in found.blocks} == set(names)
    for kind, name in names.items():
        expected = torch.cat(getattr(returned, name)).numpy()
        np.testing.assert_array_equal(found.stack(kind), expected)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("family", "name"), [("bart", "BartForSequenceClassification"), ("t5", "T5ForQuestionAnswering")]
)
def test_classifier_reads_a_target(folder_of: FolderOf, family: str, name: str, tmp_path: Path) -> None:
    network, tokenizer = make_model(folder_of, family, name)
    names = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
    inputs = tokenizer(SENTENCE, return_tensors="pt")
    target_ids = torch.tensor([[network.config.decoder_start_token_id, *tokenizer(OTHER)["input_ids"][:-1]]])
    with torch.inference_mode():
        returned = network.base_model(**inputs, decoder_input_ids=target_ids, output_attentions=True)
    assert_same(attnviz.trace(SENTENCE, network, target=OTHER, tokenizer=tokenizer), returned, names)
    folder = saved(network, folder_of, family, tmp_path / name)
    assert_same(attnviz.trace(SENTENCE, folder, target=OTHER), returned, names)


@pytest.mark.parametrize(
    ("family", "name"), [("t5", "T5EncoderModel"), ("umt5", "UMT5EncoderModel"), ("bart", "")]
)
def test_encoder_without_its_decoder(folder_of: FolderOf, family: str, name: str, tmp_path: Path) -> None:
    network, tokenizer = make_model(folder_of, family, name or "BartForConditionalGeneration")
    if not name:
        network = network.get_encoder()
    with torch.inference_mode():
        returned = network(**tokenizer(SENTENCE, return_tensors="pt"), output_attentions=True)
    assert_same(attnviz.trace(SENTENCE, network, tokenizer=tokenizer), returned, {"encoder": "attentions"})
    assert network.config.is_encoder_decoder == (family in ("bart", "umt5"))  # the config is unchanged
    if name:
        folder = saved(network, folder_of, family, tmp_path / name)
        assert_same(attnviz.trace(SENTENCE, folder), returned, {"encoder": "attentions"})
        [one, _] = attnviz.trace_many([SENTENCE, OTHER], folder)
        np.testing.assert_allclose(one.stack(), torch.cat(returned.attentions).numpy(), atol=1e-6)


def test_decoder_without_its_encoder_is_refused(folder_of: FolderOf) -> None:
    for family, name in (("bart", "BartModel"), ("t5", "T5Model")):
        network, tokenizer = make_model(folder_of, family, name)
        with pytest.raises(
            ModelNotSupported, match=r"is the decoder of an encoder–decoder.*Pass the complete model"
        ):
            attnviz.trace(SENTENCE, network.decoder, tokenizer=tokenizer)
