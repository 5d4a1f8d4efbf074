"""Measures of a trace or of weights, without a model: entropy, distances, norms, rollout, head behaviour.

Only the names in `__all__` are public. `attnviz.experiments` has the functions that run a model.
"""

from attnviz.analysis.behaviour import Behaviour, behaviour
from attnviz.analysis.distance import total_variation
from attnviz.analysis.divergence import divergence
from attnviz.analysis.entropy import attention_distance, entropy
from attnviz.analysis.norms import head_norms, layer_norms
from attnviz.analysis.rollout import rollout

__all__ = [
    "Behaviour",
    "attention_distance",
    "behaviour",
    "divergence",
    "entropy",
    "head_norms",
    "layer_norms",
    "rollout",
    "total_variation",
]
