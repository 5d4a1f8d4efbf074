"""Each head's share of the output, and the cost of heads and layers, checked against other libraries."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils.flop_counter import FlopCounterMode
from transformers import BertConfig as TheirConfig
from transformers import BertModel

from attnviz.app.lessons.compute import token_ids, tokens
from attnviz.app.lessons.document import document
from attnviz.app.lessons.many_heads import values
from attnviz.app.lessons.many_heads.values import HeadShares, at_token, head_shares
from attnviz.models import catalogue
from attnviz.transformer.multi_head import MultiHeadAttention
from tests import reference_bert

TEXT = "The dog did not cross the road as it was too tired."
IT = 9


def shares_of(attention: MultiHeadAttention, vectors: torch.Tensor, token: int) -> HeadShares:
    with torch.inference_mode():
        return head_shares(attention, attention(vectors, vectors), token)


def two_heads(w_o: torch.Tensor, b_o: list[float]) -> MultiHeadAttention:
    """Return two heads of size 1 with uniform attention; the values of head i are column i of the vectors."""
    attention = MultiHeadAttention(d_model=2, n_heads=2)
    for linear in (attention.to_query, attention.to_key, attention.to_value, attention.to_output):
        nn.init.zeros_(linear.weight)
        nn.init.zeros_(linear.bias)
    with torch.no_grad():
        attention.to_value.weight.copy_(torch.eye(2))
        attention.to_output.weight.copy_(w_o.T)
        attention.to_output.bias.copy_(torch.tensor(b_o))
    return attention


def test_shares_of_two_heads() -> None:
    # Scores are all 0, so every weight is 1/2. Head 1 has the output (2 + 4) / 2 = 3, head 2 (1 + 3) / 2 = 2.
    # Their slices of W_O are (1, 0) and (−1, 2), so they contribute (3, 0) and (−2, 4). The bias is (2, 0).
    # The output is (3, 4), of length 5. The projections onto it are 9/5, 10/5, 6/5: shares 9/25, 10/25, 6/25.
    w_o = torch.tensor([[1.0, 0], [-1, 2]])
    found = shares_of(two_heads(w_o, [2.0, 0]), torch.tensor([[2.0, 1], [4, 3]]), token=0)
    assert found.weights.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert found.lengths == pytest.approx([3, 20**0.5])
    assert found.cosines == pytest.approx([9 / 15, 10 / (5 * 20**0.5)])
    assert found.shares == pytest.approx([0.36, 0.40])
    assert found.output_length == 5
    assert found.bias_share == pytest.approx(0.24)


def test_opposing_head_has_a_negative_share() -> None:
    # (3, 0) and (−1, 0) sum to (2, 0): shares of 150 % and −50 %.
    found = shares_of(
        two_heads(torch.tensor([[1.0, 0], [-0.5, 0]]), [0, 0]), torch.tensor([[2.0, 1], [4, 3]]), 1
    )
    assert found.shares.tolist() == pytest.approx([1.5, -0.5])
    assert found.cosines.tolist() == [1, -1]
    assert found.bias_share == 0


def test_shares_of_a_zero_output_are_zero() -> None:
    found = shares_of(two_heads(torch.zeros(2, 2), [0, 0]), torch.tensor([[2.0, 1], [4, 3]]), 0)
    assert found.shares.tolist() == [0, 0]
    assert found.bias_share == found.output_length == 0


@pytest.mark.parametrize("layer", range(6))
def test_shares_equal_transformers_bert(layer: int) -> None:
    """Reference: each head's output in transformers, multiplied by the head's slice of W_O."""
    theirs = reference_bert.model()
    block = theirs.encoder.layer[layer].attention
    outputs: dict[str, Any] = {}
    with (
        block.self.register_forward_hook(lambda *call: outputs.update(pieces=call[2][0])),
        block.output.dense.register_forward_hook(lambda *call: outputs.update(output=call[2])),
        torch.inference_mode(),
    ):
        result = theirs(token_ids(tokens(TEXT))[None], output_attentions=True)
    found = at_token(TEXT, layer, IT)
    pieces, output = outputs["pieces"][0, IT].reshape(12, 32), outputs["output"][0, IT]
    slices = block.output.dense.weight.detach().T.reshape(12, 32, 384)
    contributions = (pieces[:, :, None] * slices).sum(dim=1)
    np.testing.assert_allclose(found.weights, result.attentions[layer][0, :, IT], atol=1e-5)
    np.testing.assert_allclose(found.lengths, contributions.norm(dim=-1), atol=1e-5)
    shares = [float(one @ output / (output @ output)) for one in contributions]
    np.testing.assert_allclose(found.shares, shares, atol=1e-5)
    assert found.shares.sum() + found.bias_share == pytest.approx(1, abs=1e-5)


def count_parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def count_multiply_adds(module: nn.Module, *inputs: torch.Tensor) -> int:
    """Return half of the operations that PyTorch counts: a multiply-add is two operations."""
    counter = FlopCounterMode(display=False)
    with counter:
        module(*inputs)
    return int(counter.get_total_flops()) // 2


@pytest.mark.parametrize(("d_model", "heads"), [(384, (1, 2, 3, 4, 6, 8, 12)), (5 * 7, (1, 5, 7, 35))])
def test_narrow_heads_cost_as_much_as_one_wide_head(d_model: int, heads: tuple[int, ...]) -> None:
    found = values.costs(d_model, heads, tokens=11)
    counts = 4 * d_model * (d_model + 1), values.multiply_adds(11, d_model, 1)
    assert {(cost.parameters, cost.multiply_adds) for cost in found} == {counts}
    assert [cost.weights for cost in found] == [n * 11 * 11 for n in heads]
    assert all(cost.heads * cost.d_head == d_model for cost in found)


@given(tokens=st.integers(1, 40), heads=st.sampled_from((1, 2, 3, 5)), d_head=st.sampled_from((1, 7, 11)))
@settings(max_examples=25)
def test_multiply_adds_equal_the_count_of_pytorch(tokens: int, heads: int, d_head: int) -> None:
    d_model = heads * d_head
    with torch.device("meta"):
        attention = MultiHeadAttention(d_model, heads)
        vectors = torch.empty(tokens, d_model)
    assert values.multiply_adds(tokens, d_model, heads) == count_multiply_adds(attention, vectors, vectors)


def sizes_in_lesson(model: str) -> list[int]:
    """Return the parameter counts of an attention block, a layer and the model from the lesson's table."""
    [row] = [
        row for row in document("many_heads").sources["sizes"].splitlines() if row.startswith(f"| {model}")
    ]
    return [int(cell.replace(",", "")) for cell in row.strip("| ").split(" | ")[-3:]]


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("BERT base", TheirConfig()),
        (
            "BERT large",
            TheirConfig(
                hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096
            ),
        ),
        ("MiniLM", TheirConfig.from_pretrained(catalogue.MINILM.folder)),
    ],
)
def test_sizes_in_the_table_equal_transformers_bert(name: str, config: TheirConfig) -> None:
    with torch.device("meta"):
        theirs: Any = BertModel(config)
    first = theirs.encoder.layer[0]
    # In transformers, the attention includes Add & Norm, which has d_model weights and d_model biases.
    attention = count_parameters(first.attention) - 2 * config.hidden_size
    assert sizes_in_lesson(name) == [attention, count_parameters(first), count_parameters(theirs)]


def test_sizes_of_the_original_equal_pytorchs_transformer() -> None:
    with torch.device("meta"):
        theirs: Any = nn.Transformer(batch_first=True)  # by default, the paper's base model
    # PyTorch's stacks end with a norm that the paper does not have. The embeddings and the output layer share
    # one table (§3.4) of about 37,000 rows (§5.1).
    norms = count_parameters(theirs.encoder.norm) + count_parameters(theirs.decoder.norm)
    total = count_parameters(theirs) - norms + 37_000 * 512
    first = theirs.encoder.layers[0]
    assert sizes_in_lesson("Original") == [count_parameters(first.self_attn), count_parameters(first), total]
