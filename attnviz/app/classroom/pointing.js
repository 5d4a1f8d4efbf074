/* pointing: which picture of a page a teacher means, and how a student's page shows it. */

const KEY = "st-key-"; // Streamlit marks each part that has a key so
const PICTURES = '[data-testid="stBidiComponentIsolated"], .stPlotlyChart, [data-testid="stImage"]';

/** The part of the page in which a picture was touched last. @type {Element | null} */
let touched = null;

/** The key of a part of the page; "" if it has none.
 * @param {Element} part */
const keyOf = (part) => [...part.classList].find((name) => name.startsWith(KEY))?.slice(KEY.length) ?? "";

/** @param {EventTarget} one */
const holdsPicture = (one) =>
  one instanceof Element && keyOf(one) && one.closest(".stMain") && one.querySelector(PICTURES);

/** The part of the page with the picture in which something happened.
 * @param {Event} event */
export const pictureOf = (event) => /** @type {Element | undefined} */ (event.composedPath().find(holdsPicture));

window.addEventListener(
  "pointerdown",
  (event) => {
    touched = pictureOf(event) ?? touched;
  },
  { capture: true },
);

/** How much of the window a part of the page takes, in pixels.
 * @param {Element} part */
function inSight(part) {
  const { top, bottom, left, right } = part.getBoundingClientRect();
  const across = (from, to, most) => Math.max(0, Math.min(to, most) - Math.max(from, 0));
  return across(top, bottom, window.innerHeight) * across(left, right, window.innerWidth);
}

/** The key of the picture that was touched last, if it is in sight still; else of the one that is seen most. */
export function pictureInSight() {
  if (touched?.isConnected && inSight(touched)) return keyOf(touched);
  const all = [...document.querySelectorAll(`.stMain [class*="${KEY}slide-"]`)].filter(holdsPicture);
  const [most] = all.sort((one, other) => inSight(other) - inSight(one));
  return most ? keyOf(most) : "";
}

let shown = ""; // what was brought into sight last

/** Frames the picture that is pointed at, and brings it into sight once.
 * @param {import("./room.js").Point | null} point
 * @param {boolean} scroll */
export function showPointed(point, scroll) {
  const part = point?.picture ? document.querySelector(`.stMain .${KEY}${CSS.escape(point.picture)}`) : null;
  for (const one of document.querySelectorAll("[data-pointed]")) if (one !== part) one.removeAttribute("data-pointed");
  if (!point) shown = "";
  if (!part) return;
  part.setAttribute("data-pointed", "");
  const now = JSON.stringify([location.pathname, point]);
  if (!scroll || now === shown) return;
  shown = now;
  const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "instant" : "smooth";
  part.scrollIntoView({ block: part.clientHeight < window.innerHeight / 2 ? "center" : "start", behavior });
}
