"""Hebrew and Arabic tokens do not reorder the text next to them."""

from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.browser.server import Server
from tests.browser.visit import visit

HEBREW = "הילד אמר 12 שלום לילדה כי היא שמחה"
# Return texts and attributes with right-to-left letters that are not isolated from digits or Latin letters.
_MIXED = r"""
() => {
    const isolates = /\u2068[^\u2066-\u2069]*\u2069/g;
    const mixed = (text) => {
        const outside = text.replace(isolates, " ");
        return /[\u0590-\u08ff\ufb1d-\ufdff]/.test(outside) && /[0-9A-Za-z%→]/.test(outside);
    };
    const isIsolated = (node) => /isolate|plaintext/.test(getComputedStyle(node).unicodeBidi);
    const inline = (node) => /^(inline|contents)$/.test(getComputedStyle(node).display);
    const line = (node) => {
        if (node.nodeType === Node.TEXT_NODE) return node.data;
        if (node.nodeType !== Node.ELEMENT_NODE || !inline(node) || isIsolated(node)) return " ";
        return [...node.childNodes].map(line).join("");
    };
    const found = [];
    const look = (root) => {
        for (const node of root.querySelectorAll("*")) {
            if (node.shadowRoot) look(node.shadowRoot);
            for (const { name, value } of node.attributes) {
                if (/^(title|aria-label|aria-valuetext|alt)$/.test(name) && mixed(value)) found.push(value);
            }
            if (/^(style|script)$/i.test(node.tagName)) continue;
            if (inline(node) && node.tagName !== "text") continue;
            const text = [...node.childNodes].map(line).join("");
            if (mixed(text) && getComputedStyle(node).unicodeBidi !== "plaintext" && node.tagName !== "BDI") {
                found.push(text);
            }
        }
    };
    look(document.querySelector(".stMain"));
    return found;
}
"""


@pytest.mark.parametrize(
    "link",
    [
        *("weighted_average?", "beyond_weights?", "explore?", "explore?view=Heatmap&"),
        f"compare?other={quote(HEBREW.replace('12', '13'))}&",
    ],
)
def test_tokens_are_isolated_from_adjacent_numbers(page: Page, server: Server, link: str) -> None:
    visit(page, f"{server.url}/{link}text={quote(HEBREW)}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    if (reveal := page.get_by_role("button", name="Reveal", exact=True)).count():
        reveal.first.click()
        expect(reveal).to_have_count(0)
    assert page.evaluate(_MIXED) == []
