"""How the turn of an output is written."""

from attnviz.heads.ablation import angles


def angle(turned: float) -> str:
    """1 − cosine as an angle: "5.7°"; what is not nothing never reads as 0."""
    told = f"{float(angles(turned)):.1f}°"
    return "<0.1°" if told == "0.0°" and turned > 0 else told


def cosine(turned: float) -> str:
    """1 − cosine itself: "0.0049"; what is not nothing never reads as 0."""
    told = f"{turned:.4f}"
    return "<0.0001" if told == "0.0000" and turned > 0 else told
