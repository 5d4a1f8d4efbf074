"""What the server keeps of sounds between two clicks."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attnviz.app.caches import cached, named
from attnviz.capture import loading
from attnviz.trace import Block, Floats, Trace

_COLUMNS = 300  # of the drawn waveform


class Envelope(NamedTuple):
    """From where to where a sound goes in each of many short spans of equal length.

    Attributes:
        times: [span], the middle of each, in seconds.
        low, high: [span], the smallest and the largest sample, from −1 to 1.
    """

    times: Floats
    low: Floats
    high: Floats


@cached(named, "Listening to the sound with the model …")
def trace(model: str, name: str, file: bytes) -> Trace:
    """One forward pass of a model over a sound, without the attention inside of Whisper's encoder.

    Args:
        model: one that hears sounds.
        name: what the trace calls it.
        file: the sound, as a WAV file.

    Raises:
        AttnvizError: the model or the sound cannot be used; the message says what to do.
    """
    return loading.listen(model, file, name, encoder=False)


@cached()
def envelope(file: bytes) -> Envelope:
    """The waveform of a sound that `trace` could read."""
    from attnviz.capture import sounds

    samples, rate = sounds.opened(file)
    edges = np.linspace(0, len(samples), min(_COLUMNS, len(samples)) + 1).astype(int)
    times = (edges[1:] + edges[:-1]) / (2 * rate)
    return Envelope(
        times.astype(np.float32),
        np.minimum.reduceat(samples, edges[:-1]),
        np.maximum.reduceat(samples, edges[:-1]),
    )


def layers(trace: Trace) -> tuple[Block, ...]:
    """Those whose keys are times: from Whisper's words, or from the frames themselves."""
    return trace.of_kind("encoder" if trace.target is None else "cross")
