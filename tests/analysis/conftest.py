import pytest

import attnviz
from attnviz.trace import Trace

TIRED = "The dog did not cross the road as it was too tired."
NARROW = "The dog did not cross the road as it was too narrow."


@pytest.fixture(scope="session")
def tired() -> Trace:
    return attnviz.trace(TIRED, model="minilm")


@pytest.fixture(scope="session")
def narrow() -> Trace:
    return attnviz.trace(NARROW, model="minilm")
