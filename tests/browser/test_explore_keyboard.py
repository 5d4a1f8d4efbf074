"""Explore by the keyboard alone."""

import re

from playwright.sync_api import Page, expect

from tests.browser import visit
from tests.browser.explore import Explore
from tests.browser.visit import wait_idle

# The element with the focus, also inside a widget.
_ACTIVE = """
() => {
    let at = document.activeElement;
    while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
    return at;
}
"""

# Numbers every element that the Tab key should stop at, and returns what they are. Buttons of which one is
# pressed at a time are one stop: the arrow keys lead from one to the next.
_NUMBER_STOPS = """
() => {
    const found = [];
    const walk = (root) => {
        for (const one of root.querySelectorAll("*")) {
            const { display, visibility } = getComputedStyle(one);
            const control = one.matches("a[href], button, input, select, textarea, summary, [tabindex]");
            const laid = one.getClientRects().length > 0 && display !== "none" && visibility !== "hidden";
            const enabled = one.tabIndex >= 0 && !one.disabled && !one.closest("[inert]");
            if (control && laid && enabled) found.push(one);
            if (one.shadowRoot) walk(one.shadowRoot);
        }
    };
    walk(document);
    const folded = (one) => one.tagName !== "SUMMARY" && one.closest("details:not([open])");
    const stops = [];
    for (const one of found.filter((one) => !folded(one))) {
        const group = one.closest("[role=radiogroup]");
        one.stop = group?.stop ?? stops.length;
        if (group) group.stop = one.stop;
        if (one.stop === stops.length) stops.push(one);
    }
    return stops.map((one) => `${one.getAttribute("role") ?? one.tagName.toLowerCase()} `
        + `"${(one.ariaLabel ?? one.textContent ?? "").trim().slice(0, 40)}"`);
}
"""

_STOP = f"""
() => {{
    const at = ({_ACTIVE})();
    const {{ outlineStyle, boxShadow }} = getComputedStyle(at);
    const ours = at.getRootNode() !== document;
    return {{ stop: at.stop ?? null, ring: !ours || outlineStyle !== "none" || boxShadow !== "none" }};
}}
"""

_NAMED = f"() => {{ const at = ({_ACTIVE})(); return at.ariaLabel ?? at.textContent ?? ''; }}"


def tab_to(page: Page, name: str, most: int = 120) -> None:
    """Press Tab until the control that is called so has the focus."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if re.search(name, page.evaluate(_NAMED)):
            return
    raise AssertionError(f"The Tab key does not reach {name!r}.")


def test_the_tab_key_reaches_every_control_and_leaves_it_again(explore: Explore) -> None:
    page = explore.page
    explore.open()
    names = page.evaluate(_NUMBER_STOPS)
    assert len(names) > 30
    page.evaluate("document.activeElement?.blur()")
    reached, without_ring = [], []
    for _ in range(len(names) + 10):
        page.keyboard.press("Tab")
        at = page.evaluate(_STOP)
        if at["stop"] is None or at["stop"] in reached:
            break
        reached.append(at["stop"])
        if not at["ring"]:
            without_ring.append(names[at["stop"]])
    assert [name for at, name in enumerate(names) if at not in reached] == []
    assert without_ring == []
    # Groups of many buttons are one stop each; inside, the arrow keys lead on.
    assert len([name for name in names if name.startswith("gridcell")]) == 1
    assert len(names) < 75


def press(page: Page, *keys: str) -> None:
    visit.press(page, *keys)
    wait_idle(page)


def assert_open(explore: Explore, layer: int, head: int) -> None:
    title = explore.page.get_by_role("heading", name=f"Layer {layer} · Head {head}", exact=True)
    expect(title).to_be_visible()


def test_heads_tokens_switches_filters_rankings_and_the_matrix_by_keyboard_alone(explore: Explore) -> None:
    page = explore.page
    explore.open()
    tab_to(page, "^Layer 4, head 2:")
    press(page, "ArrowRight", "ArrowDown", "ArrowDown", "ArrowLeft", "ArrowLeft", "Enter")
    assert_open(explore, 6, 1)
    expect(explore.head(6, 1)).to_be_focused()
    press(page, "Control+End", "Space")
    assert_open(explore, 6, 12)
    tab_to(page, "^12$")
    press(page, "ArrowLeft", "Enter")
    assert_open(explore, 6, 11)
    tab_to(page, "^it$")
    page.keyboard.press("ArrowUp")
    expect(explore.words).to_have_text(re.compile("^as attends to "))
    press(page, "Enter")
    expect(page).to_have_url(re.compile(re.escape("query=9+as")))
    press(page, "ArrowRight", "Home", "ArrowDown", "Enter")
    expect(page).to_have_url(re.compile(re.escape("key=2+the")))
    expect(explore.arithmetic.locator("h3")).to_contain_text("Why does as attend to the?")
    page.evaluate("document.activeElement?.blur()")
    tab_to(page, "^narrow$|^tired$")
    press(page, "ArrowRight", "Enter")
    assert explore.chosen("Show") == "narrow"
    tab_to(page, "^Filter")
    press(page, "Enter")
    tab_to(page, "^previous$")
    press(page, "Space")
    assert explore.chosen("Heads that attend to") == "previous"
    press(page, "Escape")
    expect(explore.head(4, 2)).to_have_accessible_name(re.compile("does not match the filter"))
    first = explore.ranked()[0][0]
    tab_to(page, rf"^{first} · ")
    press(page, "Enter")
    assert_open(explore, *map(int, first.split("-")))
    tab_to(page, "^Hide special tokens$")
    press(page, "Space")
    expect(page.get_by_role("switch", name="Hide special tokens")).to_be_checked()
    tab_to(page, "^Lines$")
    press(page, "ArrowRight", "Enter")
    tab_to(page, "arrow keys move from cell to cell")
    press(page, "ArrowLeft", "ArrowUp")
    expect(explore.words).to_have_text(re.compile(r"^road → "))
    press(page, "Enter")
    expect(page).to_have_url(re.compile(re.escape("query=8+road")))
    press(page, "Escape", "Tab")
    expect(explore.matrix).not_to_be_focused()
