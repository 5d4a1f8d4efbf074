"""How fast the Explore page is: server start, change of head, a change that asks the server, and bytes sent.

Everything is seen from a Chromium, as by a visitor, and measured in turns in one run. The app is Streamlit's
own page too: what it costs without us is measured beside it where a target speaks of it.
 Run: python -m benchmarks.page
"""

from __future__ import annotations

import base64
import random
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page

from attnviz.capture import loading
from attnviz.ui.examples import OPENING
from benchmarks.chromium import chromium
from benchmarks.report import Report
from benchmarks.server import running
from tests.browser.visit import DESKTOP, visit

STARTS = 3
ROUNDS = 15
LENGTHS = (16, 64, 128)

ROOT = Path(__file__).parents[1]
STOPWATCH = Path(__file__).with_name("stopwatch.js")
OWN_SENTENCE = "My zebra sleeps because it is tired."
OWN_WORD = "zebra"


def text_of(tokens: int) -> str:
    """English of exactly so many tokens, [CLS] and [SEP] included; the licence, over and over."""
    text, left = [], tokens - 2
    for word in cycle(re.findall("[a-z]+", (ROOT / "LICENSE").read_text("utf-8").lower())):
        pieces = len(loading.tokens("minilm", word)) - 2
        if pieces <= left:
            text.append(word)
            left -= pieces
        if not left:
            return " ".join(text)
    raise AssertionError


def link(text: str, **choices: str) -> str:
    """The address, after the server's, of a sentence without another to compare it with."""
    return "/?" + urlencode({"text": text, "other": "", **choices})


@contextmanager
def visitor(browser: Browser) -> Iterator[Page]:
    """A page without history, with a stopwatch in it."""
    context = browser.new_context(viewport=DESKTOP)
    context.add_init_script(path=STOPWATCH)
    yield context.new_page()
    context.close()


# From the start of the server -----------------------------------------------------------------------------


def first_picture(browser: Browser) -> tuple[float, float]:
    """Seconds from the start of a server to the first picture, and to the picture of a sentence typed then."""
    with fresh_home() as home, visitor(browser) as page:
        begun = time.time()
        with running(home) as server:
            page.goto(server.url, wait_until="commit")
            opening = painted(page, "dog") - begun
            sentence = page.get_by_label("Sentence", exact=True)
            sentence.fill(OWN_SENTENCE)
            sentence.press("Enter")
            return opening, painted(page, OWN_WORD) - begun


def first_own_sentence(browser: Browser) -> float:
    """Seconds from the start of a server to the picture of a link's own sentence: the model must be ready."""
    with fresh_home() as home, visitor(browser) as page:
        begun = time.time()
        with running(home) as server:
            page.goto(server.url + link(OWN_SENTENCE), wait_until="commit")
            return painted(page, OWN_WORD) - begun
