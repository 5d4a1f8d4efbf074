"""Compare the sizes of notebooks with ten figures of attnviz, BertViz and CircuitsVis.

The figures show the bundled BERT on 15 tokens: the heads of one layer, or all 72 heads. Downloads from other
hosts are not counted: BertViz's libraries, and the code of CircuitsVis if "online".

Run: python -m benchmarks.notebook_size [--smoke]
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from types import ModuleType
from typing import Any
from unittest.mock import patch

import attnviz
from benchmarks.report import parser

TEXT = "The dog did not cross the road as it was too tired."
FIGURES = 10

Figure = Callable[[int, int], dict[str, str]]  # (layer, head) to content by MIME type


@contextmanager
def notebook() -> Iterator[None]:
    """Replace the parts of IPython that BertViz uses, so that it returns its page as text."""

    class Text:
        def __init__(self, data: str) -> None:
            self.data = data

    display: Any = ModuleType("IPython.display")
    display.HTML = display.Javascript = display.display = Text
    with patch.dict(sys.modules, {"IPython": ModuleType("IPython"), "IPython.display": display}):
        yield


def size(figure: Figure, layers: int) -> int:
    """Return the size in bytes of a notebook with ten cells, each with one figure."""
    outputs = [
        {"data": figure(at % layers, at), "metadata": {}, "output_type": "display_data"}
        for at in range(FIGURES)
    ]
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [output], "source": ""} for output in outputs]
    return len(json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5}, ensure_ascii=False).encode())


def figures() -> dict[str, Figure]:
    """Return the figures of all installed tools, by name."""
    import torch

    trace = attnviz.trace(TEXT)
    tokens = [token.text for token in trace.tokens]
    layers = [torch.from_numpy(layer.copy())[None] for layer in trace.stack()]

    def ours(view: Any) -> Figure:
        def drawn(layer: int, head: int) -> dict[str, str]:
            return {"text/html": attnviz.show(trace, layer=layer, head=head, view=view)._repr_html_()}

        return drawn

    found = {f"attnviz, {view}": ours(view) for view in ("lines", "matrix", "atlas")}
    if find_spec("bertviz"):
        with notebook():
            bertviz = importlib.import_module("bertviz")
        options = {"tokens": tokens, "html_action": "return"}
        found["BertViz, head_view of one layer"] = lambda layer, head: (
            {"text/html": bertviz.head_view(layers, include_layers=[layer], heads=[head], **options).data}
        )
        found["BertViz, model_view"] = lambda *_: {"text/html": bertviz.model_view(layers, **options).data}
    if find_spec("circuitsvis"):
        heads = importlib.import_module("circuitsvis.attention").attention_heads
        found["CircuitsVis, online"] = lambda layer, _: {"text/html": heads(layers[layer][0], tokens).cdn_src}
        found["CircuitsVis, offline"] = lambda layer, _: {
            "text/html": heads(layers[layer][0], tokens).local_src
        }
    return found


def main() -> None:
    """Print the size of each notebook."""
    parser(__doc__).parse_args()
    for name, figure in figures().items():
        print(f"{name:34} {size(figure, 6) / 1e6:7.2f} MB")


if __name__ == "__main__":
    main()
