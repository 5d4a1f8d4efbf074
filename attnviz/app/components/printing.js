/* printing: the page on paper is narrow and light, and without what one presses. */

import { onPaper } from "../../widgets/dom.js";
import styles from "./printing.css";

const { dataset } = document.documentElement;

/**
 * Puts the page on paper, or back on the screen. While the browser prints, nothing can measure or draw itself again.
 * @param {boolean} on
 */
function print(on) {
  if (on === onPaper()) return;
  /** @type {(selector: string) => NodeListOf<any>} */
  const all = (selector) => document.querySelectorAll(selector);
  if (on) dataset.paper = getComputedStyle(all(".stApp")[0]).colorScheme;
  else delete dataset.paper;
  // A box of one line shows only a part of a long text.
  for (const box of all(":is(.stTextInput, .stSelectbox) input, textarea")) box.parentElement.dataset.typed = box.value;
  for (const { style } of all(".stMarkdownColoredText")) style.setProperty("--ink", style.color);
  // A box is not divided between two sheets, unless it is larger than one.
  for (const box of all(".stVerticalBlock")) {
    box.style.breakInside = on && parseFloat(getComputedStyle(box).borderTopWidth) > 0 ? "avoid" : "";
  }
  for (const { style, parentElement: room, offsetWidth: width } of all(".svg-container, .stDataFrame > *")) {
    style.zoom = on ? String(Math.min(1, room.clientWidth / width)) : "";
  }
  window.dispatchEvent(new Event("attnviz:redraw")); // the widgets draw themselves again
}

/** Call it once: it mends what the browser prints. */
export function mendPrinting() {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(styles);
  document.adoptedStyleSheets.push(sheet);
  window.addEventListener("beforeprint", () => print(true));
  window.addEventListener("afterprint", () => print(false));
  // A browser's tools show the paper without printing.
  matchMedia("print").addEventListener("change", ({ matches }) => print(matches));
}
