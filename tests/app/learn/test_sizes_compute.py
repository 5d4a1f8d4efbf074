"""Counts of parameters and multiply-adds against PyTorch, transformers, and PyTorch's own counter."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.utils.flop_counter import FlopCounterMode
from transformers import BertConfig as TheirConfig
from transformers import BertModel

from attnviz.app.learn.many_heads import compute_sizes
from attnviz.models import catalogue
from attnviz.transformer.layers import EncoderLayer
from attnviz.transformer.multi_head import MultiHeadAttention
from attnviz.transformer.published import BertConfig


def counted(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def counted_multiply_adds(module: nn.Module, *inputs: torch.Tensor) -> int:
    """What PyTorch counts while the module runs without numbers; it counts a multiply-add as two."""
    counter = FlopCounterMode(display=False)
    with counter:
        module(*inputs)
    return int(counter.get_total_flops()) // 2


def test_a_tiny_block_counted_by_hand() -> None:
    # d_model 6 = 2 × 3: four matrices of 36 and four biases of 6.
    (block,) = compute_sizes.costs(6, [2], tokens=5)
    assert (block.heads, block.d_head) == (2, 3)
    assert block.parameters == 4 * 36 + 4 * 6 == 168
    # Projections: 4 · 5 · 36 = 720. Each of the 2 · 5 · 5 scores takes 3 products; the averages as many.
    assert compute_sizes.multiply_adds(5, 6, 2) == compute_sizes.MultiplyAdds(720, 150, 150, 0)
    assert block.multiply_adds == 720 + 150 + 150 == 1020
    assert block.weights == 2 * 5 * 5 == 50


@pytest.mark.parametrize(("d_model", "heads"), [(384, (1, 2, 3, 4, 6, 8, 12)), (5 * 7, (1, 5, 7, 35))])
def test_narrow_heads_cost_what_one_wide_head_costs(d_model: int, heads: tuple[int, ...]) -> None:
    found = compute_sizes.costs(d_model, heads, tokens=11)
    assert len({(cost.parameters, cost.multiply_adds) for cost in found}) == 1
    assert [cost.weights for cost in found] == [n * 11 * 11 for n in heads]
    assert all(cost.heads * cost.d_head == d_model for cost in found)


def test_heads_that_cannot_share_equally_are_refused() -> None:
    with pytest.raises(ValueError, match="5 heads cannot share"):
        compute_sizes.costs(384, [5], tokens=3)


@given(
    tokens=st.integers(1, 40),
    heads=st.sampled_from((1, 2, 3, 5)),
    d_head=st.sampled_from((1, 7, 11)),
    wide=st.integers(1, 50),
)
def test_multiply_adds_are_those_that_pytorch_counts(tokens: int, heads: int, d_head: int, wide: int) -> None:
    d_model = heads * d_head
    with torch.device("meta"):
        attention = MultiHeadAttention(d_model, heads)
        layer = EncoderLayer(d_model, heads, wide)
        vectors = torch.empty(tokens, d_model)
    found = compute_sizes.multiply_adds(tokens, d_model, heads, wide)
    assert found.attention == counted_multiply_adds(attention, vectors, vectors)
    assert found.layer == counted_multiply_adds(layer, vectors)


def test_looking_costs_as_much_as_projecting_at_twice_d_model() -> None:
    found = compute_sizes.multiply_adds(2 * 384, 384, 12)
    assert found.scores + found.averages == found.projections


@pytest.mark.parametrize("config", [compute_sizes.BERT_BASE, compute_sizes.BERT_LARGE], ids=["base", "large"])
def test_bert_has_the_parameters_of_transformers_bert(config: BertConfig) -> None:
    with torch.device("meta"):
        theirs: Any = BertModel(
            TheirConfig(
                hidden_size=config.hidden_size,
                num_hidden_layers=config.num_hidden_layers,
                num_attention_heads=config.num_attention_heads,
                intermediate_size=config.intermediate_size,
            )
        )
    ours = compute_sizes.bert("", "", config)
    assert ours.everything == counted(theirs)
    assert ours.encoder == counted(theirs.encoder)
    assert ours.layer == counted(theirs.encoder.layer[0])
    # Their attention includes its Add & Norm: a weight and a bias for each of the d_model numbers.
    assert ours.attention == counted(theirs.encoder.layer[0].attention) - 2 * config.hidden_size


def test_the_published_sizes() -> None:
    """The numbers of CONCEPTS row 11, as the papers write them."""
    original, base, large, *bundled = compute_sizes.known()
    assert [(s.d_model, s.heads, s.d_head) for s in (original, base, large)] == [
        (512, 8, 64),
        (768, 12, 64),
        (1024, 16, 64),
    ]
    assert all(s.d_feed_forward == 4 * s.d_model for s in (original, base, large, *bundled))
    assert (base.everything, large.everything) == (109_482_240, 335_141_888)
    for size in (original, base, large):
        assert size.published is not None
        assert size.everything / 1e6 == pytest.approx(size.published, rel=0.03)


def test_the_original_has_the_parameters_of_pytorchs_transformer() -> None:
    with torch.device("meta"):
        theirs: Any = nn.Transformer(batch_first=True)  # its defaults are the paper's base model
    ours = compute_sizes.original()
    # PyTorch's stacks end in one more norm each, which the paper does not have.
    norms = counted(theirs.encoder.norm) + counted(theirs.decoder.norm)
    table = compute_sizes.ORIGINAL_VOCABULARY * 512
    assert ours.layer == counted(theirs.encoder.layers[0])
    assert ours.attention == counted(theirs.encoder.layers[0].self_attn)
    assert ours.everything == counted(theirs) - norms + table


def test_the_bundled_bert_is_counted_as_transformers_counts_it() -> None:
    entry = catalogue.entry("minilm")
    (ours,) = compute_sizes.known()[3:]
    with torch.device("meta"):
        theirs = BertModel(TheirConfig.from_pretrained(catalogue.MINILM.folder))
    assert ours.name == entry.title
    assert ours.everything == counted(theirs)
    assert (ours.d_model, ours.layers, ours.heads, ours.d_head) == (
        entry.d_model,
        entry.layers,
        entry.heads,
        entry.d_head,
    )
