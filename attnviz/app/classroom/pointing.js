/* pointing: the element of a picture that a teacher points at, and the frame around it. */

import { element } from "../../widgets/dom.js";

const KEY = "st-key-"; // Streamlit's class prefix for elements with a key
const PICTURES =
  '[data-testid="stBidiComponentIsolated"], .stPlotlyChart, [data-testid="stImage"], .stSelectbox, .stMultiSelect, .stTextInput, .stNumberInput';
const NO_PICTURES = ".st-key-room-bar, .st-key-link, .st-key-title";
const TARGETS = "button, [role], [data-key], td, th, text";
const LARGE = 150; // pixels; in elements that are wider and higher than this, the position of the click is sent
const MAX_LENGTH = 80; // characters of the element's text

/** Returns a picture's shadow root, or the picture if it has none.
 * @param {Element} picture
 * @returns {Element | ShadowRoot} */
const inside = (picture) => picture.shadowRoot ?? picture;

/** @param {Element} one */
function isLarge(one) {
  const { width, height } = one.getBoundingClientRect();
  return width > LARGE && height > LARGE;
}

/** Returns the point of a click on a picture; undefined outside of all pictures.
 * @param {MouseEvent} event
 * @returns {import("./room.js").Point | undefined} */
export function pointOf(event) {
  const path = event.composedPath();
  const picture = path.find((one) => one instanceof Element && one.matches(PICTURES) && !one.closest(NO_PICTURES));
  if (!(picture instanceof Element)) return undefined;
  const root = inside(picture);
  const part = picture.closest(`[class*="${KEY}"]`);
  const [clicked] = /** @type {Element[]} */ (path);
  const target = clicked.closest(TARGETS);
  const thing = target && root.contains(target) && !isLarge(target) ? target : clicked;
  const steps = [];
  for (let one = thing; one !== root; one = /** @type {Element} */ (one.parentNode)) steps.unshift([...one.parentNode.children].indexOf(one));
  const place = [[...part.querySelectorAll(PICTURES)].indexOf(picture), ...steps].join(".");
  const key = [...part.classList].find((name) => name.startsWith(KEY)).slice(KEY.length);
  const large = isLarge(thing);
  const { left, top, width, height } = thing.getBoundingClientRect();
  const share = (distance, length) => Math.round((1000 * distance) / length);
  const at = large ? ` ${share(event.clientX - left, width)} ${share(event.clientY - top, height)}` : "";
  const named = large ? root.querySelector(".tip:not([hidden])") : thing;
  const parts = [...(named?.childNodes ?? [])].map(({ textContent }) => textContent);
  const words = (named?.ariaLabel || parts.join(" ")).replace(/\s+/g, " ").trim();
  return { words: words.length > MAX_LENGTH ? `${words.slice(0, MAX_LENGTH - 1)}…` : words, picture: key, place: place + at };
}

/** Returns the element at a point, and the rectangle to frame on the screen; undefined if the element is not drawn.
 * @param {import("./room.js").Point} point */
function find({ picture, place }) {
  const part = document.querySelector(`.stMain .${KEY}${CSS.escape(picture)}`);
  const [path, across, down] = place.split(" ");
  const [which, ...steps] = path.split(".").map(Number);
  const root = part && [...part.querySelectorAll(PICTURES)][which];
  const thing = root && steps.reduce((one, step) => one?.children[step], inside(root));
  const node = /** @type {Element} */ (thing) ?? part; // if the picture has changed, frame all of it
  if (!node?.checkVisibility({ visibilityProperty: true })) return undefined;
  const { left, top, width, height } = node.getBoundingClientRect();
  if (!thing || !down) return { node, left, top, width, height };
  return { node, left: left + (Number(across) * width) / 1000, top: top + (Number(down) * height) / 1000, width: 0, height: 0 };
}

/** The frame around the element that the teacher points at. */
export class Spot {
  root = element("div", { class: "spot", hidden: true });
  point = "";

  /** @param {import("./room.js").Point | null} point
   * @param {boolean} scroll true to scroll the element into view, once */
  show(point, scroll) {
    cancelAnimationFrame(this.next);
    const at = point && find(point);
    this.root.hidden = !at;
    if (!point) this.point = "";
    else this.next = requestAnimationFrame(() => this.show(point, scroll)); // the frame follows its element
    if (!at) return;
    for (const each of ["left", "top", "width", "height"]) this.root.style[each] = `${at[each]}px`;
    const now = JSON.stringify([location.href, point]);
    if (now === this.point) return;
    this.point = now;
    const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth";
    if (scroll) at.node.scrollIntoView({ block: "center", inline: "nearest", behavior });
  }
}
