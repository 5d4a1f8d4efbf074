"""Measure Explore with long texts: first picture, another head, zoom, search, and the server's memory.

The model has GPT-2's size, random weights and 8,192 positions; it is opened in the app from a folder.

Run: python -m benchmarks.long_text [--smoke]
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Page, expect
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, PreTrainedTokenizerFast

from benchmarks.browser import launched, visitor
from benchmarks.capture import random_model
from benchmarks.report import Report, parser
from tests.browser.server import running
from tests.browser.visit import visit, wait_idle

WORDS = [*"abcdefghijklmnopqrstuvwxyz"]
TIMEOUT_MS = 120_000


def save_model(folder: Path) -> Path:
    """Save the model in a folder, and return the folder."""
    ids = {word: number for number, word in enumerate(["[UNK]", *WORDS, "narrow"])}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token="[UNK]"))  # noqa: S106 - no password
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    wrap: Any = PreTrainedTokenizerFast  # untyped in transformers
    wrap(tokenizer_object=tokenizer, unk_token="[UNK]").save_pretrained(folder)  # noqa: S106 - no password
    random_model(GPT2Config(n_positions=8_192, vocab_size=len(ids))).save_pretrained(folder)
    return folder


def timed(action: Callable[[], object], check: Callable[[], object]) -> str:
    """Return the seconds from an action until its result is on the page."""
    begun = time.perf_counter()
    action()
    check()
    return f"{time.perf_counter() - begun:.2f} s"


def measure(report: Report, page: Page, tokens: int) -> None:
    """Report the measurements for one length."""
    report.section(f"{tokens:,} tokens")
    generator = random.Random(tokens)  # noqa: S311 - not for security
    text = " ".join([*generator.choices(WORDS, k=tokens - 2), "narrow", "."])
    box, words = page.get_by_label("Sentence", exact=True), page.locator("p.words")
    box.fill(text)
    tiles = f"{-(-tokens // 128)} × "
    first = timed(
        lambda: box.press("Enter"), lambda: expect(words).to_contain_text(f"of {tiles}", timeout=TIMEOUT_MS)
    )
    report.row("first picture", first)
    wait_idle(page)
    head = 7 if tokens < 2_000 else 9  # a different head for each length
    cell = page.get_by_role("gridcell", name=re.compile(f"^Layer 6, head {head}:"))
    shown = page.locator(f'[data-head="6-{head}"]:not([data-waiting])')
    report.row("another head", timed(cell.click, lambda: expect(shown).to_be_attached(timeout=TIMEOUT_MS)))
    wait_idle(page)
    zoom = page.get_by_role("button", name="Zoom in")
    block = f"of {-(-tokens // 256)} × "
    report.row("zoom", timed(zoom.click, lambda: expect(words).to_contain_text(block, timeout=TIMEOUT_MS)))
    wait_idle(page)
    page.get_by_role("searchbox", name="Find a token").fill("narrow")
    found = page.get_by_text(re.compile("^1 of 1:"))
    report.row(
        "search",
        timed(lambda: page.keyboard.press("Enter"), lambda: expect(found).to_be_visible(timeout=TIMEOUT_MS)),
    )
    wait_idle(page)


def main(smoke: bool) -> None:
    """Run the benchmark and print the results."""
    with tempfile.TemporaryDirectory() as home, running(Path(home)) as server, launched() as browser:
        folder = save_model(Path(home) / "gpt2")
        report = Report("Explore with long texts, 12 × 12 heads", browser.version)
        with visitor(browser) as page:
            visit(page, f"{server.url}/?{urlencode({'model': folder, 'text': 'the dog', 'view': 'Matrix'})}")
            page.get_by_role("link", name="on this server …").click()
            page.get_by_role("button", name="Inspect").click()
            page.get_by_role("button", name="Open", exact=True).click()
            expect(page.get_by_test_id("stAlert")).to_contain_text("The model is open", timeout=TIMEOUT_MS)
            page.get_by_role("link", name="Explore with this model").first.click(timeout=TIMEOUT_MS)
            expect(page.get_by_label("Sentence", exact=True)).to_have_value("the dog", timeout=TIMEOUT_MS)
            wait_idle(page)
            page.get_by_role("radio", name="Matrix").click()
            for tokens in (512,) if smoke else (1_024, 4_096):
                measure(report, page, tokens)
                status = Path(f"/proc/{server.process.pid}/status").read_text()
                peak = 1_024 * int(status.partition("VmHWM:")[2].split()[0])
                report.row("peak memory of the server", f"{peak / 1e9:.2f} GB")
        report.end()


if __name__ == "__main__":
    main(parser(__doc__).parse_args().smoke)
    sys.exit()
