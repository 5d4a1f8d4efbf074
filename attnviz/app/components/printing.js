/* printing: print layout, narrow, light and without interactive controls. */

import { onPaper } from "../../widgets/dom.js";
import styles from "./printing.css";

const { dataset } = document.documentElement;

/**
 * Switches to the print layout before the browser prints, or back: while it prints, widgets cannot redraw themselves.
 * @param {boolean} on
 */
function print(on) {
  if (on === onPaper()) return;
  /** @type {(selector: string) => NodeListOf<any>} */
  const all = (selector) => document.querySelectorAll(selector);
  if (on) dataset.paper = getComputedStyle(all(".stApp")[0]).colorScheme;
  else delete dataset.paper;
  // A one-line input shows only part of a long text, so printing.css replaces it with the complete text.
  for (const box of all(":is(.stTextInput, .stSelectbox) input, textarea")) box.parentElement.dataset.typed = box.value;
  for (const { style } of all(".stMarkdownColoredText")) style.setProperty("--ink", style.color);
  // Keep a bordered box on one page, unless it is larger than a page.
  for (const box of all(".stVerticalBlock")) {
    box.style.breakInside = on && parseFloat(getComputedStyle(box).borderTopWidth) > 0 ? "avoid" : "";
  }
  for (const { style, parentElement: container, offsetWidth: width } of all(".svg-container, .stDataFrame > *")) {
    style.zoom = on ? String(Math.min(1, container.clientWidth / width)) : "";
  }
  window.dispatchEvent(new Event("attnviz:redraw"));
}

/** Installs the print handlers; call once. */
export function installPrintHandlers() {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(styles);
  document.adoptedStyleSheets.push(sheet);
  window.addEventListener("beforeprint", () => print(true));
  window.addEventListener("afterprint", () => print(false));
  // Developer tools emulate print media without printing.
  matchMedia("print").addEventListener("change", ({ matches }) => print(matches));
}
