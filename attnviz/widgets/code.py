"""The JavaScript bundles, built by `npm run build`, and shared CSS."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

LOOK = Path(__file__).with_name("look.css").read_text("utf-8")
"""Font sizes and spacing as CSS variables, for the pages around the pictures."""


@cache
def bundle(name: Literal["app", "report", "site", "worker"]) -> str:
    """Return the bundle of the app, a report, the static site, or the site's worker."""
    return (Path(__file__).parent / "bundle" / f"{name}.js").read_text("utf-8")
