/* tour: four steps for a first visit to Explore, or on request, each beside its control. */

import { element } from "../../widgets/dom.js";
import { room } from "../classroom/room.js";
import styles from "./tour.css";

const SEEN = "attnviz-tour"; // in the browser's storage, once it was begun
const GAP = 14; // pixels between the card and what it is about
const HEADER = 64; // pixels of the menu, over which it must not lie

/** Each step: the part of the page that it is about, the choices that show that it was done, and its text.
 * @type {[string, string[], string][]} */
const STEPS = [
  [".st-key-show", ["show"], "The two sentences differ in one word. Choose the other word: every picture then shows its sentence."],
  [".st-key-slide-head .stBidiComponent", ["query"], "One head: a thicker line is a larger share of a word's attention. Click another word on the left to follow it."],
  [".st-key-slide-heads .stBidiComponent", ["layer", "head"], "Each small picture is one head of the model. Open another one."],
  [".st-key-slide-arithmetic", ["key", "stage"], "Why does the word look there? Here the weight is computed, from query and key to softmax."],
];

/** The parameters of some choices in the address.
 * @param {string[]} names */
const parametersOf = (names) => {
  const chosen = new URLSearchParams(location.search);
  return names.map((name) => chosen.get(name)).join();
};

class Tour {
  at = -1;
  begun = false; // whether the card was seen beside what the step is about
  part = "";
  before = "";
  /** @type {string[]} */
  names = [];

  constructor() {
    const button = (text, onclick) => element("button", { type: "button", text, onclick });
    this.text = element("p", { role: "status" });
    this.next = button("Next", () => this.done());
    this.skip = button("Skip the tour", () => this.end());
    this.root = element("section", { class: "tour", "aria-label": "Tour" }, this.text, this.next, this.skip);
    this.press = ({ key, target }) => key === "Escape" && !target.closest("input, textarea, [role=dialog], [role=listbox]") && this.end();
    window.addEventListener("keydown", this.press);
    document.querySelector(".stApp").prepend(this.root); // the first thing that Tab reaches
    this.step();
    this.follow();
  }

  done() {
    if (this.at === STEPS.length - 1) this.end();
    else this.step();
  }

  /** The next step. */
  step() {
    this.at += 1;
    const [part, names, words] = STEPS[this.at];
    Object.assign(this, { part, names, before: parametersOf(names), begun: false });
    this.text.textContent = `${this.at + 1} of ${STEPS.length}. ${words}`;
    if (this.at === STEPS.length - 1) {
      this.next.textContent = "Done";
      this.skip.remove();
    }
  }

  /** The card stays beside what it is about, and marks it, until that is done; on another page it waits. */
  follow() {
    this.frame = requestAnimationFrame(() => this.follow());
    if (!this.root.hidden && parametersOf(this.names) !== this.before) this.done();
    const about = document.querySelector(this.part);
    for (const one of document.querySelectorAll("[data-tour]")) if (one !== about) one.removeAttribute("data-tour");
    this.root.hidden = !about?.checkVisibility() || document.documentElement.hasAttribute("data-teacher");
    if (!this.root.hidden) {
      about.setAttribute("data-tour", "");
      const { offsetWidth: width, offsetHeight: height } = this.root;
      const place = height + 2 * GAP;
      if (!this.begun) {
        const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
        const block = about.clientHeight + place < innerHeight - HEADER ? "nearest" : "start";
        document.documentElement.style.setProperty("--tour", `${place}px`);
        about.scrollIntoView({ block, behavior: still ? "instant" : "smooth" });
      }
      this.begun = true;
      const { left, bottom } = about.getBoundingClientRect();
      const within = (value, most) => `${Math.max(8, Math.min(value, most - 8))}px`;
      this.root.style.left = within(left, innerWidth - width);
      this.root.style.top = within(bottom + GAP, innerHeight - height);
    }
  }

  end() {
    cancelAnimationFrame(this.frame);
    window.removeEventListener("keydown", this.press);
    document.querySelector("[data-tour]")?.removeAttribute("data-tour");
    this.root.remove();
  }
}

/** Whether this browser saw the tour before, which it notes; where it keeps nothing, there is no tour. */
function seen() {
  try {
    const before = localStorage.getItem(SEEN);
    localStorage.setItem(SEEN, "begun");
    return before !== null;
  } catch {
    return true;
  }
}

/** Begins the tour once Explore is drawn, for who was never here before and opened it without a link to a view; and
 * whenever its button is pressed. */
export function offerTour() {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(styles);
  document.adoptedStyleSheets.push(sheet);
  /** @type {Tour | undefined} */
  let tour;
  window.addEventListener("click", ({ target }) => {
    if (!(target instanceof Element && target.closest(".st-key-tour button"))) return;
    tour?.end();
    tour = new Tour();
    const menu = /** @type {HTMLElement | null} */ (document.querySelector(".stPopover [aria-expanded=true]"));
    menu?.click(); // closes it
  });
  // Explore may have written its choices into the address before this code came.
  const [opened] = performance.getEntriesByType("navigation");
  const { pathname, search } = new URL(opened?.name ?? location.href);
  if (search || !pathname.endsWith("/")) return;
  const begin = () => {
    if (!document.querySelector(STEPS[0][0]) || !document.querySelector(STEPS[3][0])) return;
    watch.disconnect();
    if (!room.follows && !seen()) tour = new Tour();
  };
  const watch = new MutationObserver(begin);
  watch.observe(document.body, { childList: true, subtree: true });
  begin();
}
