/* teachers_view: projector mode, which shows one part of the page at a time and can be controlled with a clicker. */

import { element } from "../../widgets/dom.js";
import styles from "./teachers_view.css";

const html = document.documentElement;
const [WIDTH, HEIGHT] = [853, 480]; // pixels: screen size at which 16-pixel type is large enough
const CONTROLS = ".st-key-slide-picture > :has(.stSlider, .stButtonGroup, .stNumberInput, .stSelectbox)";
const PICTURES = ".stBidiComponent, .stVegaLiteChart, .stPlotlyChart, table";
/** @param {Element} one */
const holdsPicture = (one) => one.querySelector(PICTURES) !== null;
const MIN_ROWS_HEIGHT = 60; // minimum height in pixels of scrolled rows, before the type shrinks
const NAVIGATION_TIMEOUT = 10_000; // milliseconds
const SMALLEST = 0.65; // minimum scale of the type; larger content scrolls

/** Returns the visible parts of the page, in order. */
const parts = () => [...document.querySelectorAll('[class*="st-key-slide-"]')].filter((one) => one.getClientRects().length);

/** Returns the elements inside the widgets of a part of the page.
 * @param {Element} part
 * @param {string} selector
 * @returns {HTMLElement[]} */
const drawn = (part, selector) =>
  [...part.querySelectorAll('[data-testid="stBidiComponentIsolated"]')].flatMap(({ shadowRoot }) =>
    shadowRoot ? [.../** @type {NodeListOf<HTMLElement>} */ (shadowRoot.querySelectorAll(selector))] : [], // not mounted yet
  );

const [REVEAL, ANSWER] = [".st-key-reveal button", ".st-key-answer"];
const TYPED_INTO = "input:not([type=checkbox], [type=radio], [type=range]), textarea, select, [contenteditable]";
const MOVED_BY_ARROWS = "[type=range], [role=slider]";

/** Returns the pieces into which a part can be divided: its children. A tool is replaced by the children of its block, the
 * arithmetic by its columns, and a widget with `data-piece` elements by these.
 * @param {Element} part
 * @returns {Element[]} */
const pieces = (part) =>
  [...part.children].flatMap((child) => {
    const own = drawn(child, "[data-piece]");
    const inner = child.matches(".st-key-slide-tool *") && child.querySelector(":scope > .stVerticalBlock");
    const sides = child.matches(".st-key-slide-arithmetic > *") && child.querySelector(":scope > .stHorizontalBlock");
    return own.length ? own : inner || sides ? pieces(inner || sides) : [child];
  });

class TeachersView {
  on = false;
  at = 0; // index of the shown part
  screen = 0; // index of the shown screen of this part
  screens = [[]];
  page = location.pathname;
  lastPositions = new Map(); // last part and screen of each page
  goesBack = false; // navigating to the previous page
  /** @type {() => boolean} */
  arrived = null; // whether the requested answer or page is drawn; null without a request
  requestedAt = 0; // time of the request
  pressed = 0; // direction of the last step requested while waiting; 0 for none
  /** @type {Set<any>} */
  changed = new Set(); // enlarged, hidden or clipped elements, which Streamlit may reuse on another page

  constructor() {
    const move = (text, name, by) =>
      element("button", { type: "button", text, title: name, "aria-label": name, onclick: () => this.step(by) });
    this.place = element("output");
    this.announcer = element("div", { class: "announcer", "aria-live": "polite" }); // announces an answer to screen readers
    const toggleMenu = () => this.setMenu(!html.hasAttribute("data-menu"));
    this.menu = element("button", { type: "button", text: "☰", title: "Menu", "aria-label": "Menu", onclick: toggleMenu });
    this.setMenu(false);
    this.next = move("→", "Next", 1);
    const moves = [this.menu, move("←", "Back", -1), this.place, this.next];
    document.body.append(element("nav", { class: "teachers-moves", "aria-label": "Parts of this page" }, ...moves, this.announcer));
    this.sizes = new ResizeObserver(() => this.soon());
    this.sized = new WeakSet();
    new MutationObserver(() => this.soon()).observe(document.body, {
      childList: true,
      subtree: true,
      attributeFilter: ["data-test-script-state"],
    });
    window.addEventListener("change", () => this.soon());
    window.addEventListener("resize", () => this.soon());
    window.addEventListener("keydown", (event) => this.press(event, ["PageDown", "PageUp", "."]), { capture: true });
    window.addEventListener("keydown", (event) => this.press(event, ["ArrowRight", "ArrowLeft"]));
    window.addEventListener("pointerdown", () => html.removeAttribute("data-black"), { capture: true });
    this.soon();
  }

  /** Schedules one update for the next frame. */
  soon() {
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = undefined;
      this.update();
    });
  }

  update() {
    const toggle = /** @type {HTMLInputElement | null} */ (document.querySelector(".st-key-teacher input"));
    const app = /** @type {HTMLElement | null} */ (document.querySelector(".stApp"));
    // During a change of page the switch is missing for a moment.
    const on = toggle ? toggle.checked : this.on && app?.dataset.testScriptState !== "notRunning";
    if (on !== this.on) {
      this.on = on;
      html.toggleAttribute("data-teacher", on);
      html.removeAttribute("data-black");
      window.dispatchEvent(new Event("attnviz:redraw")); // widgets redraw
    }
    if (this.page !== location.pathname) {
      this.lastPositions.set(this.page, [this.at, this.screen]);
      this.page = location.pathname;
      [this.at, this.screen] = (this.goesBack && this.lastPositions.get(this.page)) || [0, 0];
      this.goesBack = false;
      this.announcer.textContent = "";
      this.setMenu(false);
    }
    this.release();
    const all = on ? parts() : [];
    const { isWaiting, at: wantedPart, screen: wantedScreen } = this;
    this.at = Math.max(0, Math.min(this.at, all.length - 1));
    if (all.length) this.show(all[this.at]);
    const [screen, screens] = [this.screen + 1, this.screens.length];
    const divided = screens > 1 ? ` (${screen}/${screens})` : "";
    const place = all.length === 1 ? `${screen} of ${screens}` : all.length ? `${this.at + 1} of ${all.length}${divided}` : "";
    if (this.place.textContent !== place) this.place.textContent = place; // a change would trigger the observer
    const next = all[this.at]?.querySelector(REVEAL) ? "Reveal the answer" : "Next";
    if (this.next.title !== next) [this.next.title, this.next.ariaLabel] = [next, next];
    if (isWaiting) [this.at, this.screen] = [wantedPart, wantedScreen]; // the requested part may not be drawn yet
    else if (this.pressed) {
      const by = this.pressed;
      this.pressed = 0;
      this.step(by);
    }
  }

  /** @param {boolean} open whether the menu of all pages is shown */
  setMenu(open) {
    html.toggleAttribute("data-menu", open);
    this.menu.setAttribute("aria-expanded", String(open));
  }

  /** Whether a requested answer or page is not drawn yet. */
  get isWaiting() {
    const app = /** @type {HTMLElement | null} */ (document.querySelector(".stApp"));
    const idle = app?.dataset.testScriptState === "notRunning";
    if ((idle && this.arrived?.()) || performance.now() - this.requestedAt > NAVIGATION_TIMEOUT) this.arrived = null;
    return this.arrived !== null;
  }

  /** @param {any} button
   * @param {() => boolean} arrived whether the answer or page that the button opens is drawn */
  go(button, arrived) {
    [this.arrived, this.requestedAt] = [arrived, performance.now()];
    button.click();
  }

  /** Announces an answer to screen readers; returns whether there is an answer.
   * @param {Element | null} answer */
  announce(answer) {
    this.announcer.textContent = answer?.textContent ?? "";
    return answer !== null;
  }

  /** Undoes `show`. */
  release() {
    for (const one of this.changed) {
      one.removeAttribute("data-shown");
      one.removeAttribute("data-not-now");
      one.style.zoom = one.style.maxHeight = "";
    }
    this.changed.clear();
    this.screens = [[]];
  }

  /** @param {Element} one */
  hide(one, hidden = true) {
    one.toggleAttribute("data-not-now", hidden);
    this.changed.add(one);
  }

  /** Divides the children of a part into screens; controls are shown on every screen.
   * @param {Element[]} children
   * @param {() => number} over returns the pixels by which the part is taller than the screen */
  divided(children, over) {
    const heading = (one) => one.querySelector("h2, h3") && !one.querySelector(".stBidiComponent, .stVegaLiteChart, .stPlotlyChart");
    const others = children.filter((one) => (!one.matches(CONTROLS) || heading(one)) && one.clientHeight);
    for (const one of others) this.hide(one);
    const screens = [];
    for (const one of others) {
      this.hide(one, false);
      const [last] = screens.slice(-1);
      if (last && (over() <= 0 || last.every(heading))) last.push(one);
      else {
        const next = [one];
        while (last && heading(last.at(-1))) next.unshift(last.pop());
        for (const before of last ?? []) this.hide(before);
        screens.push(next);
      }
    }
    return screens;
  }

  /** Shows a part of the page on the full screen.
   * @param {any} part */
  show(part) {
    part.setAttribute("data-shown", "");
    this.changed.add(part);
    const full = Math.max(1, Math.min(window.innerWidth / WIDTH, window.innerHeight / HEIGHT));
    html.style.setProperty("--projector", String(full)); // scale of other text on a projector
    const enlarge = (by) => {
      part.style.zoom = String(by);
      part.style.setProperty("--zoom", String(by));
    };
    enlarge(full);
    for (const child of [part, ...part.children]) {
      if (!this.sized.has(child)) this.sizes.observe(child);
      this.sized.add(child);
    }
    const over = () => part.scrollHeight - part.clientHeight;
    if (over() > 0) this.screens = this.divided(pieces(part), over);
    if (this.screens.length > 1 && part.matches(".st-key-slide-picture, .st-key-slide-section")) {
      // Skip screens that contain only text: the teacher explains it, and students can read it on the page.
      const [pictures, words] = [true, false].map((seen) => this.screens.filter((ones) => seen === ones.some(holdsPicture)));
      for (const one of pictures.length ? words.flat() : []) this.hide(one);
      if (pictures.length) this.screens = pictures;
    }
    this.screen = Math.max(0, Math.min(this.screen, this.screens.length - 1));
    this.screens.forEach((children, at) => children.forEach((one) => this.hide(one, at !== this.screen)));
    for (const rows of drawn(part, "[data-rows]").reverse()) {
      if (over() <= 0) break;
      const { clientHeight: high } = rows;
      this.changed.add(rows);
      const before = over();
      const zoom = rows.getBoundingClientRect().height / high / full || 1;
      rows.style.maxHeight = `${Math.max(Math.min(high, MIN_ROWS_HEIGHT), high - before / zoom - 1)}px`;
      if (over() >= before) rows.style.maxHeight = ""; // another element of its row has the same height
      const followed = [...rows.querySelectorAll("[data-followed]")].map((one) => one.getBoundingClientRect());
      const window = rows.getBoundingClientRect();
      const [top, bottom] = [Math.min(...followed.map((one) => one.top)), Math.max(...followed.map((one) => one.bottom))];
      // Scroll the followed rows to the middle of the window, or to its top if they are taller.
      const by = Math.min(top - window.top, (top + bottom - window.top - window.bottom) / 2);
      if (bottom > window.bottom) rows.scrollTop += (by * rows.clientHeight) / window.height;
    }
    for (let size = 0.95; over() > 0 && size >= SMALLEST; size -= 0.05) enlarge(full * size);
    for (const rows of drawn(part, "[data-rows]")) {
      const markOverflow = () => {
        rows.toggleAttribute("data-before", rows.scrollTop > 4);
        rows.toggleAttribute("data-more", rows.scrollHeight - rows.clientHeight - rows.scrollTop > 4);
      };
      rows.tabIndex = rows.scrollHeight > rows.clientHeight ? 0 : -1; // scrollable by keyboard
      rows.onscroll = markOverflow;
      markOverflow();
    }
  }

  /** @param {KeyboardEvent} event
   * @param {string[]} keys */
  press(event, keys) {
    const { key } = event;
    const targetMatches = (selector) => /** @type {Element} */ (event.composedPath()[0]).matches?.(selector);
    if (!this.on || event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
    if (html.hasAttribute("data-black")) html.removeAttribute("data-black");
    else if (!keys.includes(key) || targetMatches(TYPED_INTO) || (key.startsWith("Arrow") && targetMatches(MOVED_BY_ARROWS))) return;
    else if (key === ".") html.setAttribute("data-black", "");
    else this.step(["PageDown", "ArrowRight"].includes(key) ? 1 : -1);
    event.preventDefault();
    event.stopImmediatePropagation(); // `step` also handles the steps inside a picture
  }

  /** Moves forward (1) or back (-1) by one answer, picture step, screen, part or page.
   * @param {number} by */
  step(by) {
    if (html.hasAttribute("data-asking")) return; // an open poll covers the page
    if (this.isWaiting) {
      this.pressed = by;
      return;
    }
    const all = parts();
    const part = all[this.at];
    const [own] = part ? drawn(part, `[data-move="${by}"]:not(:disabled, [aria-disabled="true"], [hidden])`) : [];
    const reveal = by > 0 && part?.querySelector(REVEAL);
    const page = document.querySelector(`.st-key-page-${by > 0 ? "after" : "before"} a`);
    if (reveal) this.go(reveal, () => this.announce(document.querySelector(ANSWER)));
    else if (own) own.click();
    else if (this.screens[this.screen + by]) {
      this.screen += by;
      this.update();
    } else if (all[this.at + by]) {
      this.at += by;
      this.screen = by > 0 ? 0 : Infinity;
      this.update();
    } else if (page) {
      const { pathname } = location;
      this.goesBack = by < 0;
      this.go(page, () => location.pathname !== pathname && parts().length > 0);
    }
  }
}

/** Installs the teacher's view; call once. */
export function addTeachersView() {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(styles);
  document.adoptedStyleSheets.push(sheet);
  new TeachersView();
}
