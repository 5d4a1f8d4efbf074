"""Cross-attention to images: weights equal transformers', and patches have the correct positions."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from PIL import Image
from torch import Tensor

import attnviz
from attnviz.capture.model import Writing
from attnviz.capture.picture_readers import ENCODER_NOT_SHOWN
from attnviz.errors import ModelNotSupported
from attnviz.trace import Trace
from tests.capture.test_vision_language import brightened, noise, recorded_inputs
from tests.capture.tiny_readers import READERS, built, eager_weights_by_kind

TEXT = "what is in this picture ?"
WIDE, TALL = noise(60, 40), noise(34, 50)

every_reader = pytest.mark.parametrize("family", READERS)


def traced(family: str, picture: Image.Image, text: str = TEXT, **options: Any) -> Trace:
    network, processor = built(family)
    return attnviz.trace(text, network, images=[picture], processor=processor, **options)


@every_reader
def test_weights_equal_eager(family: str) -> None:
    network: Any = built(family)[0]
    with recorded_inputs(network) as called:
        trace = traced(family, WIDE)
    expected = eager_weights_by_kind(network, called[-1])
    if family == "donut":
        assert trace.notes == (ENCODER_NOT_SHOWN,)
        del expected["vision"]
    assert {block.kind for block in trace.blocks} == expected.keys()
    for block in trace.blocks:
        assert np.array_equal(block.weights, expected[block.kind][block.layer][0])
        scores = np.where(block.mask, block.scores, -np.inf)
        formula = torch.tensor(scores).softmax(dim=-1).numpy()
        np.testing.assert_allclose(block.weights, formula, atol=1e-6)
        assert block.projection is not None
        if block.kind == "decoder":
            assert not np.triu(block.mask, 1).any()


def encoder_states(family: str, picture: Image.Image) -> Tensor:
    """Return the encoder's output, [token, d_model], with attention between patches disabled."""
    network: Any = built(family)[0]
    encoder = network.vision_model if family == "blip" else network.encoder
    ends = ("attention.output.dense.weight", "self_attn.projection.weight", "attention.o_proj.weight")
    mixers = [each for name, each in encoder.named_parameters() if name.endswith(ends)]
    assert mixers
    before = [mixer.detach().clone() for mixer in mixers]
    with torch.no_grad():
        for mixer in mixers:
            mixer.zero_()
        with recorded_inputs(network.text_decoder if family == "blip" else network.decoder) as called:
            traced(family, picture)
        for mixer, values in zip(mixers, before, strict=True):
            mixer.copy_(values)
    found: Tensor = called[-1]["encoder_hidden_states"][0]
    return found


@every_reader
@pytest.mark.parametrize("size", [(240, 160), (100, 200), (160, 160)], ids=["wide", "tall", "square"])
def test_brightened_patch_changes_the_token_at_its_row_and_column(family: str, size: tuple[int, int]) -> None:
    picture = Image.new("RGB", size, (90, 110, 130))
    keys = traced(family, picture).block("cross", 0).key_tokens
    before = encoder_states(family, picture)
    assert len(keys) == len(before)
    patches = [(at, token.patch) for at, token in enumerate(keys) if token.patch is not None]
    columns = 1 + max(patch.column for _, patch in patches)
    assert [patch[2:4] for _, patch in patches] == [divmod(at, columns) for at in range(len(patches))]
    inside = [(at, patch) for at, patch in patches if min(patch.box) >= 0 and max(patch.box) <= 1.0001]
    assert len(inside) >= len(patches) // 4
    for at, patch in (inside[0], inside[1], inside[len(inside) // 2], inside[-1]):
        change = (encoder_states(family, brightened(picture, patch)) - before).norm(dim=-1)
        assert int(change.argmax()) == at, (patch, change)


def test_rotated_image_is_shown_as_the_model_reads_it() -> None:
    processor = built("donut")[1]
    processor.image_processor.do_align_long_axis = True
    try:
        trace, plain = traced("donut", TALL), traced("donut", TALL.transpose(Image.Transpose.ROTATE_270))
    finally:
        processor.image_processor.do_align_long_axis = False
    assert trace.pictures == plain.pictures
    assert np.array_equal(trace.stack("cross"), plain.stack("cross"))
    assert trace.block("cross", 0).key_tokens == plain.block("cross", 0).key_tokens


@every_reader
def test_folder_gives_the_same_trace(family: str, tmp_path: Path) -> None:
    for part in built(family):
        part.save_pretrained(tmp_path)
    found, expected = attnviz.trace(TEXT, tmp_path, images=[WIDE]), traced(family, WIDE)
    for one, other in zip(found.blocks, expected.blocks, strict=True):
        assert (one.kind, one.query_tokens, one.key_tokens) == (
            other.kind,
            other.query_tokens,
            other.key_tokens,
        )
        assert np.array_equal(one.weights, other.weights)


@every_reader
def test_without_a_text_the_model_generates_like_transformers(family: str) -> None:
    network: Any = built(family)[0]
    with recorded_inputs(network) as called:
        trace = traced(family, WIDE, "", writing=Writing(4))
    with torch.inference_mode():
        ids = network.generate(called[-1]["pixel_values"], max_new_tokens=4, do_sample=False)[0].tolist()
    written = [token.id for token in trace.block("cross", 0).query_tokens]
    assert written == ids[: len(written)]
    assert trace.written == len(written) - 1 > 0


def test_decoder_input_starts_as_in_transformers() -> None:
    for family, text, start in (
        ("trocr", TEXT, ["<s>", "what"]),
        ("blip", TEXT, ["[DEC]", "what"]),
        ("donut", f"<s_task> {TEXT}", ["<s_task>", "what"]),
    ):
        trace = traced(family, WIDE, text)
        assert [token.text for token in trace.tokens][:2] == start
        assert trace.text == text


def test_selected_weights_equal_the_complete_trace() -> None:
    complete, selected = traced("trocr", WIDE), traced("trocr", WIDE, layers=1, heads=[2], queries=[3])
    assert [block.kind for block in selected.blocks] == ["decoder", "cross"]
    for block in selected.blocks:
        assert np.array_equal(block.weights[0, 0], complete.block(block.kind, 1).weights[2, 3])


def test_trace_with_cross_attention_to_an_image_can_be_saved() -> None:
    trace, file = traced("blip", WIDE), io.BytesIO()
    trace.save(file)
    file.seek(0)
    loaded = Trace.load(file)
    assert loaded.pictures == trace.pictures
    for one, other in zip(loaded.blocks, trace.blocks, strict=True):
        assert one.key_tokens == other.key_tokens
        assert np.array_equal(one.weights, other.weights)


def test_unsupported_inputs_are_refused() -> None:
    network, processor = built("trocr")
    with pytest.raises(ModelNotSupported, match="reads one image"):
        attnviz.trace(TEXT, network, images=[WIDE, TALL], processor=processor)
    with pytest.raises(ModelNotSupported, match='cannot be traced with store="vectors"'):
        traced("trocr", WIDE, store="vectors")
    with pytest.raises(ModelNotSupported, match="Trace it without edits"):
        traced("trocr", WIDE, edits=["decoder 1-1"])
    blip, processor = built("blip")
    library: Any = transformers
    answers = library.BlipForQuestionAnswering(blip.config).eval()
    with pytest.raises(ModelNotSupported, match="only BlipForConditionalGeneration"):
        attnviz.trace(TEXT, answers, images=[WIDE], processor=processor)
    encoder = library.BeitConfig(hidden_size=24, num_hidden_layers=1, num_attention_heads=3, image_size=20)
    config = library.VisionEncoderDecoderConfig.from_encoder_decoder_configs(encoder, network.config.decoder)
    config.decoder_start_token_id = 2
    with pytest.raises(ModelNotSupported, match="family “beit”"):
        attnviz.trace(
            TEXT, library.VisionEncoderDecoderModel(config).eval(), images=[WIDE], processor=built("trocr")[1]
        )
