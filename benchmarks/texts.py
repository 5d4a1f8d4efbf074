"""English of any length, for measuring: the project's licence, over and over."""

from __future__ import annotations

import re
from itertools import cycle, islice

from attnviz.capture import loading
from tests.browser.server import ROOT


def text_of(tokens: int, skip: int = 0) -> str:
    """English of exactly so many tokens, [CLS] and [SEP] included; it begins `skip` words later."""
    words = cycle(re.findall("[a-z]+", (ROOT / "LICENSE").read_text("utf-8").lower()))
    text, left = [], tokens - 2
    for word in islice(words, skip, None):
        pieces = len(loading.tokens("minilm", word)) - 2
        if pieces <= left:
            text.append(word)
            left -= pieces
        if not left:
            break
    return " ".join(text)
