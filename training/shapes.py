"""Train and evaluate the model for coloured shapes: `python -m training.shapes`, a few minutes on one thread.

It writes the model's folder, as `save_pretrained` does, and prints the digests of its files for
`attnviz/models/catalogue.py`. `python -m training.shapes figures` evaluates it and writes `figures.json`.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import torch
import transformers
from PIL import Image
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import Tensor
from transformers import CLIPVisionConfig, LlamaConfig
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

from attnviz.analysis.intervals import BOOTSTRAP_SAMPLES
from attnviz.capture import loading
from attnviz.capture.model import ModelInput
from attnviz.trace import Doubles, Floats
from attnviz.trained.shapes import figures
from attnviz.trained.shapes.figures import Figures, Head
from attnviz.trained.shapes.pictures import (
    BACKGROUND,
    CELL,
    COLOURS,
    FOLDER,
    GRID,
    MAX_SHAPES,
    SHAPES,
    Question,
    draw,
    question,
    stamp,
)

STEPS, BATCH, SEED = 3000, 64, 0
PICTURES = 400
LOSS_FOR_MORE_SHAPES = 0.5  # mean loss below which images get one more shape
PATCH = 12  # pixels per side, after downscaling
_transformers: Any = transformers  # its constructors are untyped
_SPECIAL = {"pad_token": "<pad>", "unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
_IMAGE = "<image>"
_WORDS = ("what", "colour", "is", "the", "which", "shape", *SHAPES, *COLOURS)


def build_processor() -> Any:
    """Return the processor for images and questions."""
    vocabulary = {word: number for number, word in enumerate((*_SPECIAL.values(), _IMAGE, *_WORDS))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    begin = _SPECIAL["bos_token"]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A", special_tokens=[(begin, vocabulary[begin])]
    )
    fast = _transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **_SPECIAL, extra_special_tokens={"image_token": _IMAGE}
    )
    side = {"height": GRID * PATCH, "width": GRID * PATCH}
    images = CLIPImageProcessorPil(
        size=side, crop_size=side, do_center_crop=False, resample=Image.Resampling.BILINEAR,
        image_mean=[0.5] * 3, image_std=[0.5] * 3,
    )  # fmt: skip
    return _transformers.LlavaProcessor(
        images,
        fast,
        patch_size=PATCH,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
    )


def build_network(vl_processor: Any) -> Any:
    """Return an untrained model."""
    token = vl_processor.tokenizer.convert_tokens_to_ids
    sizes: dict[str, Any] = {"hidden_size": 48, "intermediate_size": 96, "num_attention_heads": 4}
    config = _transformers.LlavaConfig(
        vision_config=CLIPVisionConfig(
            **sizes, num_hidden_layers=1, image_size=GRID * PATCH, patch_size=PATCH, projection_dim=48
        ),
        text_config=LlamaConfig(
            **sizes, num_hidden_layers=2, vocab_size=len(vl_processor.tokenizer), max_position_embeddings=128,
            tie_word_embeddings=True, pad_token_id=token("<pad>"), bos_token_id=token("<s>"),
            eos_token_id=token("</s>"),
        ),
        image_token_id=token(_IMAGE), vision_feature_layer=-1, image_seq_length=GRID * GRID,
        tie_word_embeddings=True, pad_token_id=token("<pad>"),
    )  # fmt: skip
    return _transformers.LlavaForConditionalGeneration(config)


class Batches:
    """Tensors of questions and images; each shape is drawn and resized to a patch only once."""

    def __init__(self, vl_processor: Any) -> None:
        self._token = vl_processor.tokenizer.convert_tokens_to_ids
        empty = np.full((3 * CELL, 3 * CELL, 3), BACKGROUND, np.uint8)
        self._small: dict[tuple[str, str], Tensor] = {}
        for shape in SHAPES:
            for colour in COLOURS:
                drawn = empty.copy()
                drawn[CELL : 2 * CELL, CELL : 2 * CELL] = stamp(shape, colour)
                side = 3 * PATCH
                given = vl_processor.image_processor(
                    Image.fromarray(drawn), size={"height": side, "width": side}, return_tensors="pt"
                )
                self._small[shape, colour] = given["pixel_values"][0, :, PATCH : 2 * PATCH, PATCH : 2 * PATCH]
        self._empty = given["pixel_values"][0, :, :PATCH, :PATCH].repeat(1, GRID, GRID)

    def pixels(self, items: Sequence[Question]) -> Tensor:
        """Return the pixels of images, [picture, channel, row, column]."""
        found: Tensor = self._empty.repeat(len(items), 1, 1, 1)
        for picture, each in zip(found, items, strict=True):
            for shape in each.shapes:
                top, left = shape.row * PATCH, shape.column * PATCH
                picture[:, top : top + PATCH, left : left + PATCH] = self._small[shape.shape, shape.colour]
        return found

    def ids(self, items: Sequence[Question]) -> Tensor:
        """Return token ids, [question, token], padded on the left; the last token is a shape or a colour."""
        texts = [["<s>", *[_IMAGE] * (GRID * GRID), *each.text.split()] for each in items]
        longest = max(map(len, texts))
        return torch.tensor([self._token(["<pad>"] * (longest - len(text)) + text) for text in texts])

    def answers(self, items: Sequence[Question]) -> Tensor:
        """Return the token ids of the answers, [question]."""
        return torch.tensor(self._token([each.answer for each in items]))


def train(steps: int = STEPS, seed: int = SEED) -> tuple[Any, Any]:
    """Return a trained model and its processor."""
    torch.manual_seed(seed)
    random, vl_processor = Random(seed), build_processor()  # noqa: S311 - not for security
    model, batches = build_network(vl_processor), Batches(vl_processor)
    for name, parameter in model.named_parameters():
        if "vision_tower" in name and "self_attn.out_proj" in name:  # the patches exchange no information
            parameter.requires_grad_(False).zero_()
    optimizer = torch.optim.AdamW(
        [each for each in model.parameters() if each.requires_grad], lr=3e-3, weight_decay=0.01
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1.5e-3, steps)
    # Images have one shape at first, and one more whenever the loss is low enough.
    num_shapes, average = 1, float("inf")
    for step in range(1, steps + 1):
        items = [question(random, minimum=1, maximum=num_shapes) for _ in range(BATCH)]
        ids = batches.ids(items)
        given = {"input_ids": ids, "attention_mask": (ids != 0).long(), "pixel_values": batches.pixels(items)}
        logits = model(**given, logits_to_keep=1).logits[:, -1]
        loss = torch.nn.functional.cross_entropy(logits, batches.answers(items))
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]  # untyped in torch
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        average = min(average, 2.0) * 0.9 + loss.item() * 0.1
        if average < LOSS_FOR_MORE_SHAPES and num_shapes < MAX_SHAPES:
            num_shapes, average = num_shapes + 1, float("inf")
        if step % 100 == 0:
            print(f"step {step}, {num_shapes} shapes, loss {loss.item():.4f}", flush=True)
    return model.eval(), vl_processor


def measure(count: int = PICTURES) -> Figures:
    """Evaluate the saved model on images that are not in its training set."""
    random = Random(SEED + 1)  # noqa: S311 - not for security
    correct = 0
    weights: dict[bool, list[Floats]] = {True: [], False: []}
    for _ in range(count):
        item = question(random)
        given = ModelInput(item.text, images=(Image.fromarray(draw(item.shapes)),))
        [expected] = loading.load("shapes").predictions(given)
        correct += expected.candidates[0].text.strip() == item.answer
        trace = loading.trace("shapes", given)
        patches = [token.patch[2:4] if token.patch else None for token in trace.tokens]
        place = patches.index((item.target.row, item.target.column))
        weights[item.names_shape].append(trace.stack("decoder")[:, :, -1, place])
    found = (_best(np.array(weights[by_shape], np.float64)) for by_shape in (True, False))
    return Figures(count, correct, round(1 / len(trace.tokens), 3), *found)


def _best(weights: Doubles) -> Head:
    """Return the head with the largest mean weight on one half of the images, measured on the other half."""
    selection, report = weights[::2], weights[1::2]
    layer, head = np.unravel_index(selection.mean(axis=0).argmax(), selection.shape[1:])
    head_weights = report[:, layer, head]
    count = len(head_weights)
    draws = np.random.default_rng(SEED).integers(count, size=(BOOTSTRAP_SAMPLES, count))
    low, high = np.quantile(head_weights[draws].mean(axis=1), [0.025, 0.975])
    others = np.delete(report.mean(axis=0).reshape(-1), layer * report.shape[2] + head)
    mean, low, high, least, most = (
        round(float(each), 3) for each in (head_weights.mean(), low, high, others.min(), others.max())
    )
    return Head((int(layer) + 1, int(head) + 1), mean, (low, high), (least, most))


def main(*, evaluate: bool) -> None:
    """Train the model and print the digests for the catalogue, or evaluate the saved model."""
    if evaluate:
        figures.FILE.write_text(json.dumps(measure()._asdict(), indent=1) + "\n", "utf-8")
        return
    model, vl_processor = train()
    model.half().save_pretrained(FOLDER)
    vl_processor.save_pretrained(FOLDER)
    for file in sorted(FOLDER.iterdir()):
        print(file.name, hashlib.sha256(file.read_bytes()).hexdigest())


if __name__ == "__main__":
    main(evaluate=sys.argv[1:] == ["figures"])
