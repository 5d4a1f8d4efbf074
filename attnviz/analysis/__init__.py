"""What can be read off a trace: which tokens are shown, what heads do, and where each number comes from.

These are for everybody; what else stands in the modules may change with the pages that need it.
"""

from attnviz.analysis.distance import jensen_shannon, total_variation
from attnviz.analysis.entropy import entropy
from attnviz.analysis.flow import flow, rollout
from attnviz.analysis.norms import head_norms, layer_norms

__all__ = ["entropy", "flow", "head_norms", "jensen_shannon", "layer_norms", "rollout", "total_variation"]
