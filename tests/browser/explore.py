"""The Explore page as a visitor uses and reads it: by roles, names and printed numbers."""

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

# Tokens and texts between them, as the paragraph under the picture has them.
_PARTS = "p => [...p.childNodes].map(node => [node.nodeName === 'BDI', node.textContent])"
_ROWS = "all => all.map(one => [one.firstElementChild.textContent, one.children[1]?.textContent ?? ''])"
_MENUS = {"Merge pieces": "More"}


@dataclass(frozen=True)
class Explore:
    """The page in one visitor's browser.

    Attributes:
        page: the browser's page.
        url: the server's address, without a slash at the end.
    """

    page: Page
    url: str

    def open(self, **choices: Any) -> None:
        """Open the link that makes these choices."""
        visit(self.page, f"{self.url}/?{urlencode(choices, doseq=True)}" if choices else self.url)

    # Choosing

    def choose(self, group: str, option: str) -> None:
        """Press one of several exclusive buttons, in the menu in which they stand."""
        with self.menu_of(group):
            several = self.page.get_by_role("radiogroup", name=group)
            several.get_by_role("radio", name=option, exact=True).click()
            wait_idle(self.page)

    def toggle(self, name: str) -> None:
        """Press a switch, in the menu in which it stands."""
        with self.menu_of(name):
            self.page.get_by_test_id("stCheckbox").get_by_text(name, exact=True).click()
            wait_idle(self.page)

    @contextmanager
    def menu_of(self, name: str) -> Iterator[None]:
        """In here the menu is open in which this stands; nothing, where it stands on the page itself."""
        menu = self.page.get_by_role("button", name=_MENUS.get(name, ""), exact=True)
        if name in _MENUS:
            menu.click()
        yield
        if name in _MENUS:
            menu.press("Escape")
            expect(menu).to_have_attribute("aria-expanded", "false")

    def type(self, box: str, text: str) -> None:
        """Replace the text of a box."""
        type_into(self.page, box, text)
        wait_idle(self.page)

    def pick(self, query: int | None = None, key: int | None = None) -> None:
        """Click tokens of the lines, from 0."""
        for side, index in ((self.queries, query), (self.keys, key)):
            if index is not None:
                side.nth(index).click()
                wait_idle(self.page)

    def open_head(self, layer: int, head: int) -> None:
        """Click a head in the atlas, counted from 1."""
        self.head(layer, head).click()
        wait_idle(self.page)

    # Places

    @property
    def queries(self) -> Locator:
        """The buttons of the tokens that look."""
        return self.page.get_by_role("group", name="from (query)").get_by_role("button")

    @property
    def keys(self) -> Locator:
        """The buttons of the tokens that are looked at."""
        return self.page.get_by_role("group", name="to (key)").get_by_role("button")

    @property
    def words(self) -> Locator:
        """The sentence under the picture."""
        return self.page.locator("p.words")

    @property
    def arithmetic(self) -> Locator:
        """The worked-out numbers."""
        return self.page.locator(".st-key-slide-arithmetic")

    def head(self, layer: int, head: int) -> Locator:
        """A head in the atlas."""
        return self.page.get_by_role("gridcell", name=re.compile(f"^Layer {layer}, head {head}:"))

    def chosen(self, group: str) -> str:
        """Which of several exclusive buttons is pressed; "" for none."""
        pressed = self.page.get_by_role("radiogroup", name=group).get_by_role("radio", checked=True)
        return ", ".join(name.strip() for name in pressed.all_inner_texts())

    # Reading

    def rows(self, side: Locator) -> list[tuple[str, str]]:
        """Every token of one side with the number printed beside it, "" where there is none."""
        return [(label, number) for label, number in side.evaluate_all(_ROWS)]

    def sentence(self) -> list[tuple[str, str]]:
        """The tokens named in the sentence under the picture, each with the text that follows it."""
        named: list[tuple[str, str]] = []
        for is_token, text in self.words.evaluate(_PARTS):
            if is_token:
                named.append((text, ""))
            elif named:
                named[-1] = (named[-1][0], named[-1][1] + text)
        return named


def values(where: Locator, part: str) -> list[float]:
    """The unrounded numbers that stand beside the printed ones."""
    return [
        float(value)
        for value in where.locator(f"[data-part={part}]").evaluate_all("a => a.map(x => x.dataset.value)")
    ]


def value(where: Locator, part: str) -> float:
    """The one unrounded number that stands beside a printed one."""
    [number] = values(where, part)
    return number


def svg(path: Path) -> ET.Element:
    """A saved picture, which must be well-formed XML."""
    return ET.fromstring(path.read_text("utf-8"))  # noqa: S314, our own file
