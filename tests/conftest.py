"""What every test stands on: no network, repeatable examples, and shapes that are checked."""

import os

# Set before torch and the tokenizers are first imported; later they are not read any more.
os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
# Two test processes on two cores: with one thread each they need half the time that they need with two.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from hypothesis import settings
from jaxtyping import install_import_hook

# From here on every function of our transformer checks the shapes that it promises.
install_import_hook("attnviz.transformer", "beartype.beartype")

# In CI the same examples every time, at home new ones. A slow first example (a model loads) is no failure.
settings.register_profile("home", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "home")
