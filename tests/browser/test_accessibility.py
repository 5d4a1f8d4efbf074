"""The page can be read and used by everybody: axe, the keyboard alone, a phone, letters twice as large."""

import re
from typing import Any, Literal
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.browser.explore import Explore
from tests.browser.server import Server
from tests.browser.visit import DESKTOP, PHONE, axe, visit, wait_idle

ZOOMED: ViewportSize = {"width": 720, "height": 450}  # 1440 × 900 at 200 %

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

_SIDEWAYS = """
() => [document.documentElement, ...document.querySelectorAll('body, .stApp, [data-testid="stMain"]')]
    .filter((one) => one.scrollWidth > one.clientWidth + 1)
    .map((one) => `${one.tagName} ${one.scrollWidth} > ${one.clientWidth}`)
"""

CROSS = {"model": "translator", "kind": "cross"}
MASKED = {"model": "translator", "kind": "decoder", "view": "Matrix", "show": "change"}

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")

# What each view is looked at in; the opening view and the page About are looked at in all four.
LINKS: dict[tuple[str, str], list[dict[str, Any]]] = {
    ("desktop", "light"): [{"view": "Heatmap", "find": "itself"}, {"text": ""}, CROSS],
    ("desktop", "dark"): [{"view": "Matrix", "also": [5], "layer": 2}, {"show": "change"}, MASKED],
    ("phone", "light"): [{"show": "change", "view": "Matrix"}, {"stage": "scaled", "hide": "true"}, MASKED],
    ("phone", "dark"): [{"view": "Heatmap", "show": "change"}, {"layer": 99, "text": "word " * 600}, CROSS],
}


@pytest.fixture
def explore(page: Page, server: Server) -> Explore:
    return Explore(page, server.url)


@pytest.mark.parametrize("colour_scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_axe_finds_nothing(explore: Explore, viewport: ViewportSize, colour_scheme: str) -> None:
    screen = "desktop" if viewport == DESKTOP else "phone"
    breaches: list[str] = []
    for choices in LINKS[screen, colour_scheme]:
        explore.open(**choices)
        if choices.get("view") == "Heatmap":
            expect(explore.page.locator(".js-plotly-plot")).to_be_visible()
        breaches += [f"{choices}: {breach}" for breach in axe(explore.page)]
    assert breaches == []


@pytest.mark.parametrize("path", ["", "/about"])
def test_axe_finds_nothing_in_light_and_dark_wide_and_narrow(page: Page, server: Server, path: str) -> None:
    visit(page, f"{server.url}{path}")
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        expect(page.locator(".stApp")).to_have_css("color-scheme", scheme)
        for size in (PHONE, DESKTOP):
            page.set_viewport_size(size)
            wait_idle(page)
            assert axe(page) == []


def test_axe_finds_nothing_once_everything_is_unfolded(explore: Explore) -> None:
    explore.open(merge="true", hide="true", text="The unbelievable tokenization.", query="3 unbelievable")
    explore.page.get_by_text("Show all 32 numbers").click()
    explore.page.get_by_role("button", name="Largest first").click()
    explore.page.get_by_role("button", name="Several", exact=True).click()
    assert axe(explore.page) == []


def tab_to(page: Page, name: str, most: int = 120) -> None:
    """Press Tab until the control that is called so has the focus."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if re.search(name, page.evaluate(_NAMED)):
            return
    raise AssertionError(f"The Tab key does not reach {name!r}.")


@pytest.mark.parametrize("view", ["Lines", "Matrix"])
def test_the_tab_key_reaches_every_control_and_leaves_it_again(explore: Explore, view: str) -> None:
    page = explore.page
    explore.open(view=view)
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


def test_a_head_and_two_tokens_by_keyboard_alone(explore: Explore) -> None:
    page = explore.page
    explore.open()
    tab_to(page, "^Layer 4, head 2:")
    for key in ("ArrowRight", "ArrowDown", "ArrowDown", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    wait_idle(page)
    expect(page.get_by_role("heading", name="Layer 6 · Head 1", exact=True)).to_be_visible()
    expect(explore.head(6, 1)).to_be_focused()
    page.keyboard.press("Control+End")
    page.keyboard.press("Space")
    wait_idle(page)
    expect(page.get_by_role("heading", name="Layer 6 · Head 12", exact=True)).to_be_visible()

    tab_to(page, "^12$")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    wait_idle(page)
    expect(page.get_by_role("heading", name="Layer 6 · Head 11", exact=True)).to_be_visible()

    tab_to(page, "^it$")
    page.keyboard.press("ArrowUp")
    expect(explore.words).to_have_text(re.compile("^as looks at "))
    page.keyboard.press("Enter")
    wait_idle(page)
    expect(page).to_have_url(re.compile(re.escape("query=9+as")))
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    wait_idle(page)
    expect(page).to_have_url(re.compile(re.escape("key=2+the")))
    expect(explore.arithmetic).to_have_accessible_name("Why does as look at the?")
    tab_to(page, "^the, ")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    wait_idle(page)
    expect(explore.arithmetic).to_have_accessible_name("Why does as look at dog?")


def test_switches_filters_rankings_and_the_matrix_by_keyboard_alone(explore: Explore) -> None:
    page = explore.page
    explore.open()
    tab_to(page, "^narrow$|^tired$")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    wait_idle(page)
    assert explore.chosen("Show") == "narrow"
    tab_to(page, "^previous$")
    page.keyboard.press("Space")
    wait_idle(page)
    assert explore.chosen("Find heads") == "previous"
    expect(explore.head(4, 2)).to_have_accessible_name(re.compile("does not match the filter"))
    first = explore.ranked()[0][0]
    tab_to(page, rf"^{first} · ")
    page.keyboard.press("Enter")
    wait_idle(page)
    layer, head = first.split("-")
    expect(page.get_by_role("heading", name=f"Layer {layer} · Head {head}", exact=True)).to_be_visible()
    tab_to(page, "^Hide special tokens$")
    page.keyboard.press("Space")
    wait_idle(page)
    expect(page.get_by_role("switch", name="Hide special tokens")).to_be_checked()
    tab_to(page, "^Lines$")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    wait_idle(page)
    tab_to(page, "arrow keys move from cell to cell")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowUp")
    expect(explore.words).to_have_text(re.compile(r"^as → "))
    page.keyboard.press("Enter")
    wait_idle(page)
    expect(page).to_have_url(re.compile(re.escape("query=9+as")))
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(explore.matrix).not_to_be_focused()


@pytest.mark.parametrize("viewport", [PHONE], ids=["phone, zoomed"])
def test_nothing_is_wider_than_the_screen(explore: Explore) -> None:
    page = explore.page
    links = [{}, {"view": "Matrix", "show": "change"}, {"view": "Heatmap"}, {"text": "x" * 300}]
    for path in (*(f"?{urlencode(choices)}" for choices in links), "about"):
        page.set_viewport_size(PHONE)
        visit(page, f"{explore.url}/{path}")
        for size in (PHONE, ZOOMED):
            page.set_viewport_size(size)
            wait_idle(page)
            assert page.evaluate("innerWidth") == size["width"]
            assert page.evaluate(_SIDEWAYS) == [], page.url


@pytest.mark.parametrize("viewport", [PHONE], ids=["phone"])
def test_a_finger_opens_a_head_and_keeps_a_token(explore: Explore) -> None:
    explore.open()
    explore.head(6, 12).tap()
    wait_idle(explore.page)
    expect(explore.page.get_by_role("heading", name="Layer 6 · Head 12", exact=True)).to_be_visible()
    explore.queries.nth(2).tap()
    wait_idle(explore.page)
    expect(explore.page).to_have_url(re.compile(re.escape("query=3+dog")))
    expect(explore.words).to_have_text(re.compile(r"^dog looks at .*\d"))
