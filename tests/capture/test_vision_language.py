"""Images with text: weights equal transformers', and image tokens have the correct positions."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

import attnviz
from attnviz.capture.model import Writing
from attnviz.errors import EmptyText, ModelNotSupported, UnreadablePicture, UnreadableText
from attnviz.trace import Patch, Trace
from tests.capture.tiny_vision import FAMILIES, built

TEXT = "what is in this picture ?"

# Caused by PaliGemma's processor.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ impl:DeprecationWarning")
every_family = pytest.mark.parametrize("family", FAMILIES)


def noise(width: int, height: int) -> Image.Image:
    random = np.random.default_rng(width)
    return Image.fromarray(random.integers(0, 255, (height, width, 3), dtype=np.uint8))


WIDE, TALL = noise(60, 40), noise(34, 50)


def traced(family: str, *pictures: Image.Image, **options: Any) -> Trace:
    network, processor = built(family)
    return attnviz.trace(TEXT, network, images=pictures, processor=processor, **options)


@contextmanager
def recorded_inputs(module: Any) -> Iterator[list[dict[str, Any]]]:
    """Record the arguments of every call of a module inside the `with` block."""
    found: list[dict[str, Any]] = []
    hook = module.register_forward_pre_hook(
        lambda _, args, named: found.append({"args": args, **named}), with_kwargs=True
    )
    try:
        yield found
    finally:
        hook.remove()


@every_family
def test_weights_equal_eager(family: str) -> None:
    network: Any = built(family)[0]
    with (
        recorded_inputs(network) as called,
        recorded_inputs(network.base_model.get_encoder(modality="image")) as encoder_calls,
    ):
        trace = traced(family, WIDE, TALL)
    inputs = {name: value for name, value in called[-1].items() if name != "args"}
    encoder_inputs = {name: value for name, value in encoder_calls[-1].items() if name != "args"}
    network.set_attn_implementation("eager")
    with torch.inference_mode():
        expected: Any = network(**{**inputs, "output_attentions": True})
        encoder: Any = network.base_model.get_encoder(modality="image")
        found = encoder(*encoder_calls[-1]["args"], **{**encoder_inputs, "output_attentions": True})
    for block, weights in zip(trace.of_kind("decoder"), expected.attentions, strict=True):
        assert np.array_equal(block.weights, weights[0])
    blocks = trace.of_kind("vision")
    for block, weights in zip(blocks, found.attentions, strict=True):
        scores = np.where(block.mask, block.scores, -np.inf)
        formula = torch.tensor(scores).softmax(dim=-1).numpy()
        np.testing.assert_allclose(block.weights, formula, atol=1e-6)
        # Qwen's encoder returns attention outputs instead of weights.
        for number, each in enumerate(weights if weights.dim() == 4 else ()):
            inside = slice(number * each.shape[-1], (number + 1) * each.shape[-1])
            assert np.array_equal(block.weights[:, inside, inside], each)
    assert trace.blocks[0].projection is not None
    assert blocks[0].projection is not None


def embeddings(family: str, *pictures: Image.Image) -> Tensor:
    """Return the decoder's input [token, d_model], with attention between patches disabled."""
    network: Any = built(family)[0]
    mixers = [
        parameter
        for name, parameter in network.base_model.get_encoder(modality="image").named_parameters()
        if name.endswith(("out_proj.weight", "attn.proj.weight", "attention.projection_layer.weight"))
    ]
    assert mixers
    before = [mixer.detach().clone() for mixer in mixers]
    with torch.no_grad():
        for mixer in mixers:
            mixer.zero_()
        with recorded_inputs(network.get_decoder()) as called:
            traced(family, *pictures, layers=0)
        for mixer, values in zip(mixers, before, strict=True):
            mixer.copy_(values)
    found: Tensor = called[-1]["inputs_embeds"][0]
    return found


def brightened(picture: Image.Image, patch: Patch) -> Image.Image:
    """Return the image with a different colour in the middle of a patch."""
    left, top, right, bottom = patch.box
    dx, dy = (right - left) / 4, (bottom - top) / 4
    edges = (left + dx, top + dy, right - dx, bottom - dy)
    width, height = picture.size
    place = [round(edge * size) for edge, size in zip(edges, (width, height) * 2, strict=True)]
    changed = picture.copy()
    changed.paste(
        (255, 40, 0), (place[0], place[1], max(place[2], place[0] + 1), max(place[3], place[1] + 1))
    )
    return changed


@every_family
@pytest.mark.parametrize(
    "sizes", [[(240, 160)], [(100, 200)], [(160, 160), (240, 120)]], ids=["wide", "tall", "two"]
)
def test_brightened_patch_changes_the_token_at_its_place(family: str, sizes: list[tuple[int, int]]) -> None:
    pictures = [Image.new("RGB", size, (90, 110, 130)) for size in sizes]
    tokens = traced(family, *pictures, layers=0).tokens
    before = embeddings(family, *pictures)
    views = sorted({(token.patch.picture, token.patch.view) for token in tokens if token.patch is not None})
    assert {picture for picture, _ in views} == {*range(len(pictures))}
    for view in views:
        places = [
            at for at, token in enumerate(tokens) if token.patch is not None and token.patch[:2] == view
        ]
        patches = [patch for at in places if (patch := tokens[at].patch) is not None]
        inside = [at for at, patch in enumerate(patches) if min(patch.box) >= 0 and max(patch.box) <= 1.0001]
        rows = 1 + max(patch.row for patch in patches)
        assert sorted(patch[2:4] for patch in patches) == [
            (at // (len(patches) // rows), at % (len(patches) // rows)) for at in range(len(patches))
        ]
        for at in {inside[1], inside[len(inside) // 2], inside[-2]}:
            changed = list(pictures)
            changed[view[0]] = brightened(pictures[view[0]], patches[at])
            change = (embeddings(family, *changed) - before).norm(dim=-1)[places]
            assert int(change.argmax()) == at, (view, patches[at], change)


@every_family
def test_folder_and_object_have_equal_traces(family: str, tmp_path: Path) -> None:
    network, processor = built(family)
    network.save_pretrained(tmp_path)
    if (video := getattr(processor, "video_processor", processor)) is None:
        processor.video_processor = processor.image_processor  # allows saving without torchvision
    processor.save_pretrained(tmp_path)
    if video is None:
        processor.video_processor = None
    found = attnviz.trace(TEXT, tmp_path, images=[WIDE])
    expected = traced(family, WIDE)
    assert found.tokens == expected.tokens
    for one, other in zip(found.blocks, expected.blocks, strict=True):
        assert np.array_equal(one.weights, other.weights)


@pytest.mark.parametrize("family", [each for each in FAMILIES if each != "paligemma"])
def test_vectors_can_be_stored_instead_of_weights(family: str) -> None:
    complete, lean = traced(family, WIDE, TALL), traced(family, WIDE, TALL, store="vectors")
    for one, other in zip(complete.blocks, lean.blocks, strict=True):
        np.testing.assert_allclose(other.weights, one.weights, atol=2e-6)
        assert np.array_equal(one.mask, other.mask)


def test_selected_weights_equal_the_complete_trace() -> None:
    complete, selected = traced("llava", WIDE), traced("llava", WIDE, layers=1, heads=[2], queries=[18])
    [block] = selected.blocks
    assert block.kind == "decoder"
    assert np.array_equal(block.weights[0, 0], complete.block("decoder", 1).weights[2, 18])


def test_trace_with_images_can_be_saved() -> None:
    trace, file = traced("qwen2_vl", WIDE), io.BytesIO()
    trace.save(file)
    file.seek(0)
    loaded = Trace.load(file)
    assert loaded.tokens == trace.tokens
    assert loaded.pictures == trace.pictures
    with Image.open(io.BytesIO(loaded.pictures[0])) as picture:
        assert np.array_equal(np.array(picture), np.array(WIDE))


@pytest.mark.parametrize("family", ["qwen2_vl", "gemma3", "idefics3"])
def test_generation_equals_transformers(family: str) -> None:
    network: Any = built(family)[0]
    trace = traced(family, WIDE, writing=Writing(3))
    with recorded_inputs(network) as called:
        read = traced(family, WIDE)
    inputs = {name: value for name, value in called[-1].items() if name not in ("args", "logits_to_keep")}
    network.set_attn_implementation("eager")
    with torch.inference_mode():
        ids = network.generate(**inputs, max_new_tokens=3, do_sample=False)[0].tolist()
    written = [token.id for token in trace.tokens]
    assert written == ids[: len(written)]
    assert trace.written == len(written) - len(read.tokens) > 0


def test_unsupported_input_is_refused() -> None:
    network, processor = built("llava")
    with pytest.raises(ModelNotSupported, match=r"attnviz\.trace\(text, model, images="):
        attnviz.trace(TEXT, network, processor=processor)
    with pytest.raises(ModelNotSupported, match="and the model’s processor"):
        attnviz.trace(TEXT, network, images=[WIDE])
    with pytest.raises(UnreadableText, match="rejects this input"):
        attnviz.trace(f"<image> {TEXT}", network, images=[WIDE, TALL], processor=processor)
    with pytest.raises(UnreadablePicture):
        attnviz.trace(TEXT, network, images=[b"no picture"], processor=processor)
    with pytest.raises(UnreadablePicture, match=r"missing\.png. cannot be opened"):
        attnviz.trace(TEXT, network, images="missing.png", processor=processor)
    with pytest.raises(EmptyText):
        attnviz.trace(" ", network, images=WIDE, processor=processor)
    with pytest.raises(ModelNotSupported, match=r"attnviz\.trace\(text, model, images="):
        attnviz.look(WIDE, "shapes")
    with pytest.raises(ModelNotSupported, match='cannot be traced with store="vectors"'):
        traced("paligemma", WIDE, store="vectors")
    with pytest.raises(ModelNotSupported, match="Trace it without edits"):
        traced("llava", WIDE, edits=["decoder 1-1"])
    with pytest.raises(ModelNotSupported, match="does not read images together with a text"):
        attnviz.trace(TEXT, "minilm", images=[WIDE])
