"""Explore with the keyboard only."""

from tests.browser.explore import Explore

# Return the focused element, which can be inside a widget.
_ACTIVE = """
() => {
    let at = document.activeElement;
    while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
    return at;
}
"""

# Number the elements that the Tab key should reach, and return a name for each. A radio group is one tab
# stop: the arrow keys move inside it.
_NUMBER_STOPS = """
() => {
    const found = [];
    const walk = (root) => {
        for (const one of root.querySelectorAll("*")) {
            const { display, visibility } = getComputedStyle(one);
            const control = one.matches("a[href], button, input, select, textarea, summary, [tabindex]");
            const visible = one.getClientRects().length > 0 && display !== "none" && visibility !== "hidden";
            const enabled = one.tabIndex >= 0 && !one.disabled && !one.closest("[inert]");
            if (control && visible && enabled) found.push(one);
            if (one.shadowRoot) walk(one.shadowRoot);
        }
    };
    walk(document);
    const isCollapsed = (one) => one.tagName !== "SUMMARY" && one.closest("details:not([open])");
    const stops = [];
    for (const one of found.filter((one) => !isCollapsed(one))) {
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


def test_tab_key_reaches_and_leaves_every_control(explore: Explore) -> None:
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
    # A grid is one tab stop; the arrow keys move inside it.
    assert len([name for name in names if name.startswith("gridcell")]) == 1
    assert len(names) < 75
