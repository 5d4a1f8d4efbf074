"""Memory that long work no longer uses goes back to the system, batch by batch."""

import ctypes
import sys
from pathlib import Path

import pytest

from attnviz.capture.batches import MOST_TOKENS
from attnviz.experiments import behaviour
from attnviz.experiments.behaviour import give_back, over
from attnviz.experiments.corpus import Corpus

SIZE, MANY = 60_000, 1_000  # bytes that malloc takes from its heap, not each from the system


def resident() -> int:
    """How many bytes of this process lie in memory."""
    fields = dict(line.split(":") for line in Path("/proc/self/status").read_text("ascii").splitlines())
    return 1024 * int(fields["VmRSS"].split()[0])


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="only glibc keeps gaps"
)
def test_a_gap_goes_back_to_the_system() -> None:
    library = ctypes.CDLL(None)
    library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    library.free.argtypes = [ctypes.c_void_p]
    blocks = [library.malloc(SIZE) for _ in range(MANY)]
    for block in blocks:
        ctypes.memset(block, 1, SIZE)
    *gap, kept = blocks  # behind the gap, so that it cannot go back by itself
    for block in gap:
        library.free(block)
    before = resident()
    give_back()
    given = before - resident()
    library.free(kept)
    assert given > SIZE * MANY / 2


def test_it_goes_back_after_each_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[None] = []
    monkeypatch.setattr(behaviour, "give_back", lambda: given.append(None))
    lengths = [1, 1, 2, 3, 3, 3]
    text = "\n".join("a" + " b" * (length - 1) for length in lengths)
    assert sum(lengths) + 2 * len(lengths) < MOST_TOKENS  # each length is one batch
    seen = [(int(step.found.tally.sentences), len(given)) for step in over(Corpus.from_text(text), "minilm")]
    assert dict(seen) == {0: 0, 2: 0, 3: 1, 6: 3}
