"""Train and measure the model of coloured shapes: `python -m training.shapes`, some minutes on one thread.

It writes the folder of the model, as `save_pretrained` does, and `figures.json`.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import torch
from PIL import Image
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import Tensor
from transformers import (
    CLIPVisionConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
)
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

from attnviz.trained.shapes.pictures import (
    BACKGROUND,
    CELL,
    COLOURS,
    FOLDER,
    GRID,
    SHAPES,
    Question,
    draw,
    question,
    stamp,
)

STEPS, BATCH, SEED = 4000, 64, 0
PATCH = 12  # pixels of a side, after the picture has been made smaller
_SPECIAL = {"pad_token": "<pad>", "unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
_IMAGE = "<image>"
_WORDS = ("what", "colour", "is", "the", "which", "shape", "?", *SHAPES, *COLOURS)


def processor() -> LlavaProcessor:
    """Return what prepares pictures and questions."""
    vocabulary = {word: number for number, word in enumerate((*_SPECIAL.values(), _IMAGE, *_WORDS))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, "<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    begin = _SPECIAL["bos_token"]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A", special_tokens=[(begin, vocabulary[begin])]
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **_SPECIAL, extra_special_tokens={"image_token": _IMAGE}
    )
    side = {"height": GRID * PATCH, "width": GRID * PATCH}
    images = CLIPImageProcessorPil(
        size=side, crop_size=side, do_center_crop=False, resample=Image.Resampling.BILINEAR,
        image_mean=[0.5] * 3, image_std=[0.5] * 3,
    )  # fmt: skip
    return LlavaProcessor(
        images,
        fast,
        patch_size=PATCH,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
    )


def network(prepares: Any) -> LlavaForConditionalGeneration:
    """Return an untrained model."""
    token = prepares.tokenizer.convert_tokens_to_ids
    sizes = {"hidden_size": 48, "intermediate_size": 96, "num_attention_heads": 4}
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(
            **sizes, num_hidden_layers=1, image_size=GRID * PATCH, patch_size=PATCH, projection_dim=48
        ),
        text_config=LlamaConfig(
            **sizes, num_hidden_layers=2, vocab_size=len(prepares.tokenizer), max_position_embeddings=128,
            tie_word_embeddings=True, pad_token_id=token("<pad>"), bos_token_id=token("<s>"), eos_token_id=token("</s>"),
        ),
        image_token_id=token(_IMAGE), vision_feature_layer=-1, image_seq_length=GRID * GRID, tie_word_embeddings=True,
        pad_token_id=token("<pad>"),
    )  # fmt: skip
    return LlavaForConditionalGeneration(config)


class Batches:
    """Questions as tensors; each shape is brought to the size of a patch once."""

    def __init__(self, prepares: Any) -> None:
        self._token = prepares.tokenizer.convert_tokens_to_ids
        empty = np.full((3 * CELL, 3 * CELL, 3), BACKGROUND, np.uint8)
        self._small = {}
        for shape in SHAPES:
            for colour in COLOURS:
                drawn = empty.copy()
                drawn[CELL : 2 * CELL, CELL : 2 * CELL] = stamp(shape, colour)
                side = 3 * PATCH
                given = prepares.image_processor(
                    Image.fromarray(drawn), size={"height": side, "width": side}, return_tensors="pt"
                )
                self._small[shape, colour] = given["pixel_values"][0, :, PATCH : 2 * PATCH, PATCH : 2 * PATCH]
        self._empty = given["pixel_values"][0, :, :PATCH, :PATCH].repeat(1, GRID, GRID)

    def pixels(self, some: Sequence[Question]) -> Tensor:
        """[picture, colour, row, column]."""
        found = self._empty.repeat(len(some), 1, 1, 1)
        for picture, each in zip(found, some, strict=True):
            for shape in each.shapes:
                top, left = shape.row * PATCH, shape.column * PATCH
                picture[:, top : top + PATCH, left : left + PATCH] = self._small[shape.shape, shape.colour]
        return found

    def ids(self, some: Sequence[Question]) -> Tensor:
        """[question, token], padded on the left, so that all end with the question mark."""
        texts = [["<s>", *[_IMAGE] * (GRID * GRID), *each.text.split()] for each in some]
        longest = max(map(len, texts))
        return torch.tensor([self._token(["<pad>"] * (longest - len(text)) + text) for text in texts])

    def answers(self, some: Sequence[Question]) -> Tensor:
        """[question]."""
        return torch.tensor(self._token([each.answer for each in some]))


def train(steps: int = STEPS, seed: int = SEED) -> tuple[LlavaForConditionalGeneration, Any]:
    """Return a trained model and its processor."""
    torch.manual_seed(seed)
    random, prepares = Random(seed), processor()
    model, batches = network(prepares), Batches(prepares)
    for name, parameter in model.named_parameters():
        if "vision_tower" in name and "self_attn.out_proj" in name:  # patches do not mix
            parameter.requires_grad_(False).zero_()
    optimizer = torch.optim.AdamW(
        [each for each in model.parameters() if each.requires_grad], lr=3e-3, weight_decay=0.01
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, steps)
    for step in range(1, steps + 1):
        most = 1 + min(5, int(8 * step / steps))  # few shapes first
        some = [question(random, fewest=1, most=most) for _ in range(BATCH)]
        ids = batches.ids(some)
        given = {"input_ids": ids, "attention_mask": (ids != 0).long(), "pixel_values": batches.pixels(some)}
        logits = model(**given, logits_to_keep=1).logits[:, -1]
        loss = torch.nn.functional.cross_entropy(logits, batches.answers(some))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 0:
            print(f"step {step}, loss {float(loss):.4f}", flush=True)
    return model.eval(), prepares


if __name__ == "__main__":
    import sys, time

    t = time.time()
    model, prepares = train(
        int(sys.argv[1]) if len(sys.argv) > 1 else STEPS, int(sys.argv[2]) if len(sys.argv) > 2 else 0
    )
    print(time.time() - t, sum(p.numel() for p in model.parameters()))
    b = Batches(prepares)
    for held in (False,):
        r = Random(1)
        qs = [question(r) for _ in range(1000)]
        with torch.no_grad():
            ids = b.ids(qs)
            model.set_attn_implementation("eager")
            out = model(
                input_ids=ids,
                attention_mask=(ids != 0).long(),
                pixel_values=b.pixels(qs),
                output_attentions=True,
            )
        print(held, (out.logits[:, -1].argmax(-1) == b.answers(qs)).float().mean())
        L = ids.shape[1]
        at = torch.tensor(
            [
                (ids[i] == 4).nonzero()[0].item() + q.asked.row * GRID + q.asked.column
                for i, q in enumerate(qs)
            ]
        )
        for l, a in enumerate(out.attentions):
            w = a[torch.arange(1000), :, -1].gather(2, at[:, None, None].expand(-1, 4, 1))[..., 0]
            n = torch.tensor([[*ids[i].tolist()].index(b._token(q.named)) for i, q in enumerate(qs)])
            w2 = a[torch.arange(1000), :, n].gather(2, at[:, None, None].expand(-1, 4, 1))[..., 0]
            print(l, "?", w.mean(0).tolist(), "named", w2.mean(0).tolist())
    model.save_pretrained("/tmp/wt/shapes_model")
    prepares.save_pretrained("/tmp/wt/shapes_model")
