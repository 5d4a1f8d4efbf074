"""The frame around every page: settings, navigation, styles and the bar of a live room."""

from copy import copy
from functools import cache
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from attnviz.app import cards
from attnviz.app.classroom import bar
from attnviz.app.components.component import send_code
from attnviz.app.heads.contents import TOOLS
from attnviz.app.lessons.contents import LESSONS
from attnviz.app.server import metrics, patches
from attnviz.app.state import memory
from attnviz.widgets.code import LOOK

ICON = Path(__file__).with_name("icon.png")
"""The icon in the browser's tab."""

_SUBPAGES = {
    "learn": {lesson.name for lesson in LESSONS},
    "heads": {tool.name for tool in TOOLS},
    "models": {"images"},
    "about": {"references"},
}
"""Pages that belong to each menu entry."""

# On a phone the pictures of all heads and the open head come before their filters and options.
PICTURE_FIRST_ON_PHONES = "picture-first"

# Streamlit leaves 96 pixels above a page, 80 at its sides and 24 around a title; pictures need that space.
# The element that loads the widgets' code takes no space. A room's bar covers the bottom of the page; it must
# not fade during reruns, or the page's text would show through.
# Text on chips and primary buttons would be white on the primary colour, which is light in the dark theme.
# Right-to-left text must not change the direction of its surroundings.
# Streamlit sets a font size of 16 pixels, ignoring the browser's. iOS zooms in on inputs with smaller text.
# Labels of buttons are not truncated, and keyboard focus is visible in the menu.
# With forced colours, pressed buttons, sliders and switches would be invisible.
# On a phone the picture must be on the first screen: titles and gaps are smaller there.
# Phones do not offer the teacher's view. Code has no colours: contrast would be low, and blue is for queries.
_STYLE = """
<style>
html { font-size: 100% !important; }
.stMainBlockContainer {
  --side: clamp(var(--space-3), 3.5vw, 4rem);
  position: relative;
  padding: 4rem var(--side) calc(var(--space-5) + var(--room-bar, 0px));
}
.stMain { scroll-padding: 4rem 0 var(--room-bar, 0px); }
.stMainBlockContainer h3, .st-key-picture-first h2, .st-key-slide-arithmetic h2 { padding: 0.2rem 0 0.5rem; }
.stAppHeader [data-testid="stExpandSidebarButton"] { width: auto; gap: 0.25rem; padding-inline: 0.5rem; }
.stAppHeader [data-testid="stExpandSidebarButton"]::after { content: "Menu"; }
.st-key-code, .st-key-room-bar { position: absolute; max-width: calc(100% - 2 * var(--side)); }
[data-voting] .st-key-question, [data-student] .st-key-write-quiz { display: none; }
.st-key-reveal-or-cover { min-height: 2.5rem; }
.st-key-room-bar [data-stale] { opacity: 1 !important; }
.st-key-bar {
  :is(.stTextInput, .stSelectbox, .stNumberInput) { display: flex; align-items: center; gap: 0.5rem; }
  :is(.stTextInput, .stSelectbox, .stNumberInput) > :not(label) { flex: 1; min-width: 0; }
  [data-testid="stWidgetLabel"] { flex: none; gap: 0.4rem; min-height: 0; margin: 0; }
  .stNumberInput input { padding-inline: 0.5rem 0; }
}
.st-key-bar .stElementContainer:has(> .stButton) { flex: none; }
.st-key-second [role="radiogroup"] { min-height: 1.75rem; margin: -0.125rem 0; }
.stButtonGroup [role="radiogroup"] { flex-wrap: wrap; }
.stMain :is(.stButtonGroup, .stButton, .stPopover, .stPageLink) :is(button, a) {
  height: auto; max-width: 100%;
}
.stMain :is(.stMarkdownEllipsis, .stMarkdownEllipsis p, .stButtonGroup p, .stPageLink a > span) {
  overflow: visible; white-space: normal; text-overflow: clip;
}
:is(.stAppHeader, [data-testid="stSidebar"], [data-testid="stTopNavPopover"]) :is(a, button):focus-visible {
  outline: 2px solid light-dark(#b45309, #fbbf24) !important; outline-offset: -2px;
}
.stMain .stTooltipIcon button { padding: 4px; margin: -4px; }
@media (forced-colors: active) {
  .stButtonGroup [aria-checked="true"] { background: Highlight; color: HighlightText; }
  .stButtonGroup [aria-checked="true"], .stSlider [role="group"] > div { forced-color-adjust: none; }
  .stCheckbox label > div:first-of-type { forced-color-adjust: none; }
}
.st-key-slide-sentences .st-key-model { flex-basis: 6rem; }
.st-key-slide-head > * > .stHorizontalBlock:has(h2) { gap: 0.5rem; }
@media (min-width: 62.5em) {
  .st-key-title:has(.st-key-remark), .st-key-title > * > :has(> * > .st-key-remark) { flex-wrap: nowrap; }
  .st-key-title :is(:has(> * > * > .st-key-remark), :has(> .st-key-remark)) { flex-shrink: 1; }
}
@media (max-width: 62.5em) {
  :is(.st-key-bar, .st-key-slide-sentences) .stHorizontalBlock { flex-wrap: wrap; }
  .st-key-slide-sentences .stColumn { flex: 1 1 18rem; }
  .st-key-bar .stColumn { flex: 1 1 10.5rem; min-width: min-content; }
  .st-key-bar .stSelectbox > :not(label) { min-width: 6rem; }
  .st-key-bar .stColumn:has(.stNumberInput) { flex-basis: 8rem; min-width: min(8rem, 100%); }
  .st-key-bar .stColumn:has(.stColumn, .stButtonGroup) { min-width: min(18rem, 100%); }
  .st-key-bar .stColumn:has(.stTextInput) { min-width: 100%; }
}
:not(pre) > code, .stTextInput input, .stTextArea textarea { unicode-bidi: plaintext; text-align: start; }
@media (max-width: 60em) {
  .st-key-picture-first > * > .stHorizontalBlock:has(> .stColumn) { flex-direction: column-reverse; }
  .st-key-picture-first > * > .stHorizontalBlock > .stColumn { flex: none; width: 100%; }
}
.stCode .token { color: inherit !important; }
.stMultiSelect [data-tag] { background-color: rgb(99 102 241 / 22%); color: inherit; }
[data-testid="stBaseButton-primary"] { color: light-dark(#ffffff, #0f1016) !important; }
@media (max-width: 40em) {
  .stMainBlockContainer { padding-top: 3.25rem; }
  .stMainBlockContainer h1 { font-size: 1.375rem; padding: 0.25rem 0; }
  .stMainBlockContainer h2 { font-size: 1rem; padding: 0 0 1rem; }
  .stMainBlockContainer > * > * > .stHeading h1 { padding-bottom: 1.25rem; }
  html:not([data-teacher]) .stVerticalBlock:has(> * > :is(.st-key-lesson, .st-key-slide-tool)) {
    :is(.st-key-title, .st-key-lesson, .st-key-slide-tool, .st-key-bar:has(.stTextInput)),
    :has(> :is(.st-key-title, .st-key-room-bar, .st-key-lesson, .st-key-slide-tool)),
    :has(> .st-key-bar .stTextInput), .st-key-bar :has(.stTextInput):not(.stElementContainer) {
      display: contents;
    }
    .st-key-bar:has(.stTextInput) > :not(:has(.stTextInput)), :has(> .st-key-bar .st-key-learner),
    .st-key-bar :has(.stTextInput) > :not(:has(.stTextInput), .stTextInput),
    :is(.st-key-special, .st-key-cells) { order: 1; }
    .st-key-bar :has(.stTextInput) > .stColumn { flex: none; width: 100%; }
    .st-key-title > * ~ * { order: 2; }
    :is(:has(> .st-key-lesson), :has(> .st-key-slide-tool), .st-key-lesson > *) ~ *,
    .st-key-slide-tool > :is(.st-key-open, :has(> .st-key-section)) { order: 3; }
    .st-key-bar:not(:has(.stColumn ~ .stColumn .stTextInput)) .stTextInput label {
      position: absolute; clip-path: inset(50%);
    }
    .st-key-slide-picture { gap: 0.5rem; padding: 0.5rem 0.75rem; }
    :has(.st-key-edits) + * > .stHorizontalBlock,
    .stHorizontalBlock:has(> * .st-key-heads-of-the-word) { flex-wrap: wrap-reverse; }
  }
  .stMainBlockContainer > .stVerticalBlock, .st-key-title,
  .st-key-bar, .st-key-bar :is(.stVerticalBlock, .stHorizontalBlock) { gap: 0.5rem; }
  .st-key-title :is(button, a) { min-height: 2rem; padding-block: 0; }
  .stMain .stColumn { min-width: calc(100% - 1.5rem); }
  .stMain .stHorizontalBlock { gap: 0.5rem; }
  .stMain :is(input, textarea) { font-size: max(1rem, 16px) !important; }
  .st-key-bar .stTextInput { flex-direction: column; align-items: stretch; gap: 0; }
  .st-key-bar .stSelectbox { flex-wrap: wrap; }
  .st-key-bar .stHorizontalBlock > :has(.stTextInput) { min-width: 100%; }
  .st-key-picture-first .stHorizontalBlock .stHorizontalBlock:has(> .stColumn) { flex-direction: column; }
  .st-key-picture-first .stColumn { flex: none; width: 100%; }
  :has(> .st-key-writing) { order: 1; }
  .stMainBlockContainer > * > :is(:has(> .stHeading h1), :has(> .st-key-title, > .st-key-picture-first)) {
    order: -1;
  }
  .st-key-slide-sentences .stSelectbox label { position: absolute; clip-path: inset(50%); }
  .st-key-slide-head > * > .stHorizontalBlock > :has(h2) { width: auto; }
  .st-key-slide-head h2 { padding: 0; }
  .st-key-view button { padding-inline: 0.6rem; }
  .stColumn .st-key-image-and-answer .stHorizontalBlock:has(> .stColumn) {
    flex-direction: column-reverse !important;
  }
  .st-key-stage [role="radiogroup"] button { padding-inline: 0.45rem; }
  .st-key-remark .stElementContainer:has(+ .stElementContainer), .st-key-asking { display: none; }
  .st-key-slide-sentences, .st-key-slide-head { gap: 0.5rem; }
  .stMainBlockContainer > * > :has(> .st-key-title) { padding-top: 0.5rem; }
  .st-key-title:has(.st-key-remark) { gap: 0.25rem; }
  .st-key-title > :has(.st-key-remark), .st-key-title :has(> * > .st-key-remark) { display: contents; }
  .st-key-title :has(> .st-key-remark) { order: 1; }
  html:not([data-teacher]) .st-key-title .st-key-teacher { display: none; }
  html:not([data-teacher]) .st-key-picture-first {
    > * > .stHorizontalBlock:has(.st-key-slide-heads) { flex-direction: column; }
    :is(:has(> .st-key-slide-heads), :has(> * > .st-key-slide-heads), :has(> * > * > .st-key-slide-heads)),
    .st-key-slide-heads { display: contents; }
    .st-key-slide-heads > :not(:has(.st-key-atlas)), :has(> .st-key-slide-tokens) { order: 1; }
    .st-key-atlas { --atlas-notes: none; }
    .st-key-one-head { --chips: none; }
  }
  html:not([data-teacher]) .st-key-slide-head {
    display: grid; grid-template-columns: 1fr max-content; align-items: center;
    > :has(h2), .stHorizontalBlock:has(h2) { display: contents; }
    > *, .stHorizontalBlock:has(h2) > * { grid-column: 1 / -1; }
    .stHorizontalBlock:has(h2) > :is(:has(h2), .st-key-hide) { grid-column: 1; }
    .stHorizontalBlock:has(h2) > :is(.st-key-view, :has(.stPopover)) { grid-column: 2; justify-self: end; }
    .stHorizontalBlock:has(h2) > :is(.st-key-hide, :has(.stPopover)) { order: 1; }
    > :has(.st-key-save) { order: 2; }
  }
  .st-key-slide-sentences .stTextInput label { position: absolute; clip-path: inset(50%); }
}
</style>
"""


_MENU = {
    "explore": ("Explore", "grid_view"),
    "learn": ("Learn", "school"),
    "heads": ("Heads", "psychology"),
    "classroom": ("Classroom", "groups"),
    "models": ("Models", "deployed_code"),
    "about": ("About", "info"),
}
"""The pages of the menu, each with its title and its icon.

Lessons and tools are linked from the pages Learn and Heads: on phones, Streamlit turns a menu with sections
into a list that screen readers cannot read.
"""

TITLES = (
    {name: title for name, (title, _) in _MENU.items()}
    | {lesson.name: lesson.title for lesson in LESSONS}
    | {tool.name: tool.label for tool in TOOLS}
    | {"images": "Images", "references": "References"}
)
"""The title of every page, by file name."""


def pages() -> list[StreamlitPage]:
    """Return copies of all pages for one run, because `st.navigation` modifies the page that it selects."""
    return list(map(copy, _pages()))


@cache
def _pages() -> list[StreamlitPage]:
    """Return all pages; the URL path of a page is its file name, except that Explore is at "/".

    Cached, because Streamlit checks each page's file, which takes a tenth of a rerun's CPU time.
    """
    return [
        st.Page(
            f"pages/{name}.py",
            title=title,
            icon=f":material/{_MENU[name][1]}:" if name in _MENU else None,
            default=name == "explore",
            visibility="visible" if name in _MENU else "hidden",
        )
        for name, title in TITLES.items()
    ]


@metrics.RERUNS.time()
def run() -> None:
    """Draw the requested page inside the frame."""
    patches.apply()
    # Without an icon before the navigation, the browser would fetch the page's icon from an outside host.
    st.set_page_config(page_icon=str(ICON), layout="wide")
    page = st.navigation(pages(), position="top")
    st.set_page_config(page_title=f"{page.title} · attnviz")
    st.html(f"<style>{LOOK}</style>{_STYLE}{cards.STYLE}{_menu_style(page)}")
    send_code()
    with memory.drawing(), bar.after(page):
        page.run()


def _menu_style(page: StreamlitPage) -> str:
    """Return the style that marks the menu entry of a page that is not in the menu itself."""
    entry = next((entry for entry, names in _SUBPAGES.items() if page.url_path in names), None)
    if entry is None:
        return ""
    links = ", ".join(f'[data-testid="st{kind}NavLink"][href$="/{entry}"]' for kind in ("Top", "Sidebar"))
    return f"<style>:is({links}) {{ background-color: rgb(141 157 206 / 25%); font-weight: 600; }}</style>"
