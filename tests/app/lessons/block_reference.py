"""Every vector inside a block, as transformers' own BERT computes it, and nothing of attnviz."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray

from tests import reference_bert

Array = NDArray[np.float64]

# What our pages call the outputs of transformers' modules, and the input of a layer.
MODULES = {
    "attention": "attention.output.dense",
    "attended": "attention.output.LayerNorm",
    "expanded": "intermediate.dense",
    "activated": "intermediate.intermediate_act_fn",
    "feed_forward": "output.dense",
    "came_out": "output.LayerNorm",
}


@dataclass(frozen=True, eq=False)
class Blocks:
    """One forward pass.

    Attributes:
        tokens: the word pieces.
        vectors: of each layer, by name: [token, dimension].
        hidden_states: [layer + 1, token, d_model].
        parameters: the published tensors of each layer, by their published names.
    """

    tokens: tuple[str, ...]
    vectors: tuple[Mapping[str, Array], ...]
    hidden_states: Array
    parameters: tuple[Mapping[str, Array], ...]


@cache
def blocks(text: str) -> Blocks:
    """The bundled BERT over `text`, overheard module by module; run once for each text."""
    tokenizer, model = reference_bert.tokenizer(), reference_bert.model()
    inputs = tokenizer(text, return_tensors="pt")
    recorded: list[dict[str, Array]] = [{} for _ in model.encoder.layer]
    hooks = []

    def listen(place: dict[str, Array], name: str) -> Any:
        def note(_: object, __: object, output: torch.Tensor) -> None:
            place[name] = _array(output[0] if output.ndim == 3 else output)

        return note

    for place, layer in zip(recorded, model.encoder.layer, strict=True):
        modules = dict(layer.named_modules())
        hooks += [modules[path].register_forward_hook(listen(place, name)) for name, path in MODULES.items()]
    try:
        with torch.inference_mode():
            outputs = model(**inputs, output_hidden_states=True)
    finally:
        for hook in hooks:
            hook.remove()
    states = np.stack([_array(state[0]) for state in outputs.hidden_states])
    for number, place in enumerate(recorded):
        place["came_in"] = states[number]
        place["first_sum"] = place["came_in"] + place["attention"]
        place["second_sum"] = place["attended"] + place["feed_forward"]
    return Blocks(
        tuple(tokenizer.convert_ids_to_tokens(inputs["input_ids"][0].tolist())),
        tuple(recorded),
        states,
        tuple({name: _array(p) for name, p in layer.named_parameters()} for layer in model.encoder.layer),
    )


def cosine(one: Array, other: Array) -> float:
    """Of the angle between two vectors."""
    return float(one @ other / np.sqrt((one @ one) * (other @ other)))


def _array(tensor: torch.Tensor) -> Array:
    return cast("Array", tensor.detach().numpy().astype(np.float64))
