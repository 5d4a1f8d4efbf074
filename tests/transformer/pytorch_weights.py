"""Copy weights from PyTorch's modules into ours."""

import torch
from torch import nn

from attnviz.transformer.multi_head import MultiHeadAttention


@torch.no_grad()
def copy_attention(theirs: nn.MultiheadAttention, ours: MultiHeadAttention) -> MultiHeadAttention:
    for index, linear in enumerate((ours.to_query, ours.to_key, ours.to_value)):
        linear.weight.copy_(theirs.in_proj_weight.chunk(3)[index])
        linear.bias.copy_(theirs.in_proj_bias.chunk(3)[index])
    ours.to_output.load_state_dict(theirs.out_proj.state_dict())
    return ours
