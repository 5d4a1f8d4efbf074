"""How the turn of an output is written, and that of several on average."""

import numpy as np

from attnviz.experiments.ablation import Numbers, angles


def angle(cosine_change: float) -> str:
    """1 − cosine as an angle: "5.7°"; what is not nothing never reads as 0."""
    text = f"{float(angles(cosine_change)):.1f}°"
    return "<0.1°" if text == "0.0°" and cosine_change > 0 else text


def cosine(cosine_change: float) -> str:
    """1 − cosine itself: "0.0049"; what is not nothing never reads as 0."""
    text = f"{cosine_change:.4f}"
    return "<0.0001" if text == "0.0000" and cosine_change > 0 else text


def average(cosine_change: Numbers) -> Numbers:
    """The mean of angles, [… token] to […], as 1 − cosine: degrees are averaged in degrees."""
    half = np.radians(angles(cosine_change).mean(axis=-1)) / 2
    mean: Numbers = 2 * np.sin(half) ** 2  # 1 − cos, and small angles do not drown in rounding
    return mean
