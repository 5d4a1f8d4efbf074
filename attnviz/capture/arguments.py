"""What the library's functions take, for type checkers: at run time it imports PyTorch and Transformers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import Module
from transformers import BaseImageProcessor, PreTrainedTokenizerBase, ProcessorMixin

Text = str | Sequence[int] | NDArray[np.integer[Any]] | Tensor | Mapping[str, Any]
"""A text, the ids of its tokens, or what a tokenizer of transformers returns."""
Network = str | Path | Module
"""A name, a folder, or a model object of transformers."""
Tokenizer = PreTrainedTokenizerBase | Callable[[str], Any]
"""Of transformers, or a function from a text to ids with the method `convert_ids_to_tokens`."""
Processor = BaseImageProcessor | ProcessorMixin
"""What prepares images for a model."""
DType = str | torch.dtype
Device = str | torch.device
