"""Formatting for display: percentages, counts, sizes, lists such as "a, b and c", and names of heads.

Minus signs are typographic, and there is a space before "%".
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from math import isnan

NO_NUMBER = "–"
"""Shown in place of a missing number."""

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def percent(share: float, digits: int = 0) -> str:
    """Format a fraction as a percentage: 0.664 → "66 %" or, with one digit, "66.4 %".

    Only 0 and 1 are shown as 0 % and 100 %; fractions that round to them, as "< 1 %" and "> 99 %".
    """
    rounded, minimum = f"{100 * share:.{digits}f}", 10**-digits
    if share > 0 and float(rounded) == 0:
        rounded = f"< {minimum:.{digits}f}"
    elif share < 1 and float(rounded) == 100:
        rounded = f"> {100 - minimum:.{digits}f}"
    return f"{rounded} %"


def signed_share(share: float) -> str:
    """Format a fraction that can be negative or above 1: 0.312 → "31.2 %", −0.02 → "−2.0 %"."""
    return f"{decimal(100 * share, 1)} %"


def interval(low: float, high: float) -> str:
    """Format a confidence interval of a fraction: "13.1–25.1 %"."""
    return f"{100 * low:.1f}–{100 * high:.1f} %"


def signed_percent(change: float) -> str:
    """Format a signed difference in percentage points: 0.364 → "+36 points", −0.364 → "−36 points"."""
    size = round(abs(100 * change))
    return ("" if not size else "+" if change > 0 else "−") + plural(size, "point")


def decimal(number: float, digits: int = 2) -> str:
    """Format a number with a fixed number of digits: −14.2 → "−14.20"; never "−0.00"; "–" for NaN."""
    return NO_NUMBER if isnan(number) else f"{number:z.{digits}f}".replace("-", "−")


def scientific(number: float) -> str:
    """Format a non-negative number: 0, 0.37, 12.50, or 4.0 × 10⁻¹⁷."""
    if number == 0:
        return "0"
    if 0.01 <= number < 1000:
        return f"{number:.2f}"
    digits, power = f"{number:.1e}".split("e")
    return f"{digits} × 10{str(int(power)).translate(_SUPERSCRIPT)}"


def isolated(text: str) -> str:
    """Return a text, isolated from the text around it if it has right-to-left letters."""
    if any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in text):
        return f"\N{FIRST STRONG ISOLATE}{text}\N{POP DIRECTIONAL ISOLATE}"
    return text


def in_order(first: str, between: str, second: str) -> str:
    """Join two texts with a separator, from left to right even if both are written from right to left."""
    parts = isolated(first), isolated(second)
    if parts == (first, second):
        return f"{first}{between}{second}"
    # With `dir="auto"`, the first letter sets the direction, even if it is between isolating marks.
    return "\N{LEFT-TO-RIGHT MARK}" + between.join(parts)


def plural(number: int, thing: str) -> str:
    """Format a count with its noun: "1 line", "1,204 lines"."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def rounded_count(number: int) -> str:
    """Format a count that may be large: "22.7 million", "1.1 billion", "12,345"."""
    for size, word in ((1e9, "billion"), (1e6, "million")):
        if number >= size:
            return f"{number / size:.1f} {word}"
    return f"{number:,}"


def in_bytes(count: float, digits: int = 0) -> str:
    """Format a number of bytes: "700 bytes", "12 kB", "91 MB" or, with one digit, "90.9 MB"; "1.1 GB"."""
    if count < 999.5:
        return f"{count:.0f} bytes"
    if count < 999.5e3:
        return f"{count / 1e3:.0f} kB"
    if count < 999.5e6:
        return f"{count / 1e6:.{digits}f} MB"
    return f"{f'{count / 1e9:,.1f}'.removesuffix('.0')} GB"


def joined(parts: Sequence[str]) -> str:
    """Join a list for a sentence: "a, b and c"; "" if it is empty."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def layers_by_kind(kinds: Mapping[int, str], first: int = 1) -> str:
    """Describe layers by kind: "layers 1–3 and 5: linear attention; layer 4: a convolution".

    Args:
        kinds: the kind of each layer, by index from 0.
        first: the number of the first layer in the description.
    """
    parts = []
    for kind in dict.fromkeys(kinds.values()):
        runs: list[list[int]] = []
        for layer in sorted(number + first for number in kinds if kinds[number] == kind):
            if runs and runs[-1][-1] == layer - 1:
                runs[-1].append(layer)
            else:
                runs.append([layer])
        named = joined([f"{run[0]}–{run[-1]}" if run[1:] else f"{run[0]}" for run in runs])
        parts.append(f"layer{'s' if len(runs) > 1 or runs[0][1:] else ''} {named}: {kind}")
    return "; ".join(parts)


def head_name(layer: int, head: int) -> str:
    """Return a head's name, as in Clark et al. 2019: "4-2" for layer 3 and head 1, both from 0."""
    return f"{layer + 1}-{head + 1}"
