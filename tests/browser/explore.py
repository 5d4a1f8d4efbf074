"""Page object for Explore: its controls, its pictures and their printed numbers."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Locator, Page, expect

from tests.browser.visit import type_into, visit, wait_idle

TIRED = "The dog did not cross the road as it was too tired."
NARROW = "The dog did not cross the road as it was too narrow."

# The tokens of the paragraph under the picture, and the texts between them.
_PARTS = "p => [...p.childNodes].map(node => [node.nodeName === 'BDI', node.textContent])"
_ROWS = "all => all.map(one => [one.firstElementChild.textContent, one.children[1]?.textContent ?? ''])"
_MENUS = {"Merge pieces": "More"}


@dataclass(frozen=True)
class Explore:
    """The Explore page in one browser page.

    Attributes:
        page: the browser's page.
        url: the server's URL, without a trailing slash.
    """

    page: Page
    url: str

    def open(self, **choices: Any) -> None:
        """Open the page with these URL parameters."""
        visit(self.page, f"{self.url}/?{urlencode(choices, doseq=True)}" if choices else self.url)

    # Controls

    def choose(self, group: str, option: str) -> None:
        """Press a radio button; if it is in a menu, open the menu first."""
        with self.menu_of(group):
            buttons = self.page.get_by_role("radiogroup", name=group)
            buttons.get_by_role("radio", name=option, exact=True).click()
            wait_idle(self.page)

    def toggle(self, name: str) -> None:
        """Press a switch; if it is in a menu, open the menu first."""
        with self.menu_of(name):
            self.page.get_by_test_id("stCheckbox").get_by_text(name, exact=True).click()
            wait_idle(self.page)

    @contextmanager
    def menu_of(self, name: str) -> Iterator[None]:
        """Keep the menu with this control open; do nothing if the control is on the page itself."""
        menu = self.page.get_by_role("button", name=_MENUS.get(name, ""), exact=True)
        if name in _MENUS:
            menu.click()
        yield
        if name in _MENUS:
            menu.press("Escape")
            expect(menu).to_have_attribute("aria-expanded", "false")

    def type(self, box: str, text: str) -> None:
        """Replace the text of a text box."""
        type_into(self.page, box, text)
        wait_idle(self.page)

    def pick(self, query: int | None = None, key: int | None = None) -> None:
        """Click the query and key tokens at these indices (from 0) in the lines view."""
        for side, index in ((self.queries, query), (self.keys, key)):
            if index is not None:
                side.nth(index).click()
                wait_idle(self.page)

    def open_head(self, layer: int, head: int) -> None:
        """Click a head in the atlas; layers and heads count from 1."""
        self.head(layer, head).click()
        wait_idle(self.page)

    # Elements

    @property
    def queries(self) -> Locator:
        """The buttons of the query tokens."""
        return self.page.get_by_role("group", name="from (query)").get_by_role("button")

    @property
    def keys(self) -> Locator:
        """The buttons of the key tokens."""
        return self.page.get_by_role("group", name="to (key)").get_by_role("button")

    @property
    def words(self) -> Locator:
        """The sentence under the picture."""
        return self.page.locator("p.words")

    @property
    def arithmetic(self) -> Locator:
        """The section with the arithmetic."""
        return self.page.locator(".st-key-slide-arithmetic")

    def head(self, layer: int, head: int) -> Locator:
        """A head in the atlas."""
        return self.page.get_by_role("gridcell", name=re.compile(f"^Layer {layer}, head {head}:"))

    def chosen(self, group: str) -> str:
        """Return the selected radio button of a group; "" for none."""
        pressed = self.page.get_by_role("radiogroup", name=group).get_by_role("radio", checked=True)
        return ", ".join(name.strip() for name in pressed.all_inner_texts())

    # Texts and numbers

    def rows(self, side: Locator) -> list[tuple[str, str]]:
        """Return every token of one side with the number printed next to it; "" for no number."""
        return [(label, number) for label, number in side.evaluate_all(_ROWS)]

    def sentence(self) -> list[tuple[str, str]]:
        """Return the tokens named in the sentence under the picture, each with the text that follows it."""
        named: list[tuple[str, str]] = []
        for is_token, text in self.words.evaluate(_PARTS):
            if is_token:
                named.append((text, ""))
            elif named:
                named[-1] = (named[-1][0], named[-1][1] + text)
        return named


def values(where: Locator, part: str) -> list[float]:
    """Return the unrounded values of the printed numbers."""
    return [
        float(value)
        for value in where.locator(f"[data-part={part}]").evaluate_all("a => a.map(x => x.dataset.value)")
    ]


def value(where: Locator, part: str) -> float:
    """Return the unrounded value of the only printed number."""
    [number] = values(where, part)
    return number


def svg(path: Path) -> ET.Element:
    """Parse a saved SVG, which must be well-formed XML."""
    return ET.fromstring(path.read_text("utf-8"))  # noqa: S314, our own file
