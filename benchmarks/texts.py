"""English texts of any length, from the repeated words of the project's licence."""

from __future__ import annotations

import re
from itertools import cycle, islice

from attnviz.capture import loading
from tests.browser.server import ROOT


def text_of(tokens: int, skip: int = 0) -> str:
    """Return a text of `tokens` tokens, including [CLS] and [SEP], from the licence after `skip` words."""
    words = cycle(re.findall("[a-z]+", (ROOT / "LICENSE").read_text("utf-8").lower()))
    text, remaining = [], tokens - 2
    for word in islice(words, skip, None):
        pieces = len(loading.tokens("minilm", word)) - 2
        if pieces <= remaining:
            text.append(word)
            remaining -= pieces
        if not remaining:
            break
    return " ".join(text)
