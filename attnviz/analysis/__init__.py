"""What can be read off a trace: which tokens are shown, what heads do, and where each number comes from.

All of it is computed from a trace, or from weights, without a model; what runs a model is in
`attnviz.experiments`. These are public; everything else in the modules may change with the pages that
need it.
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
