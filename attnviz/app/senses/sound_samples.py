"""Sounds to begin with, computed here from tones and clicks."""

from __future__ import annotations

import io
import wave
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

RATE = 16_000
"""Samples a second: what most models that hear were trained with."""

SECONDS = 0.9

Times = NDArray[np.floating[Any]]


def sample(name: str) -> bytes:
    """The sample of that name in `SAMPLES`, as a WAV file."""
    times = np.arange(int(SECONDS * RATE)) / RATE
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setparams((1, 2, RATE, 0, "NONE", ""))
        written.writeframes(np.round(2**15 * 0.6 * SAMPLES[name](times)).astype("<i2").tobytes())
    return file.getvalue()


def _rising_tone(times: Times) -> Times:
    """From 200 to 2,000 vibrations a second: its phase is the integral of its frequency."""
    tone: Times = np.sin(2 * np.pi * (200 * times + 1_000 * times**2))
    return tone


def _two_tones(times: Times) -> Times:
    """A low tone, silence, and a high tone: does a frame of the one find the rest of it?"""
    low, high = (np.sin(2 * np.pi * frequency * times) for frequency in (220, 880))
    both: Times = (times < 0.35) * low + (times > 0.55) * high
    return both


def _clicks(times: Times) -> Times:
    """Four clicks, each fading away within some hundredths of a second."""
    since = times % 0.225
    clicks: Times = np.exp(-since / 0.01) * np.sin(2 * np.pi * 1_200 * since)
    return clicks


SAMPLES: dict[str, Callable[[Times], Times]] = {
    "two tones": _two_tones,
    "rising tone": _rising_tone,
    "clicks": _clicks,
}
"""By name: the sound at these times in seconds, from −1 to 1."""
