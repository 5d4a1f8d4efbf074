/* window: controls for the shown part of a long text: moving, zooming, search and a threshold. */

import { element } from "./dom.js";

export const MAX_CELLS = 128; // blocks or cells along a side of a picture
const MIN_SPAN = 16; // tokens along a side
export const THRESHOLDS = [0, 0.001, 0.01, 0.05, 0.1];

/**
 * The first query and the first key, from 0, and the number of tokens along a side.
 * @typedef {{ row: number, column: number, span: number }} Place
 */

/**
 * The shown part, as sent by Python or computed by a report.
 * @typedef {Place & { size: [number, number], matches: string, below: number, hidden_weight: string }} Part `size`: numbers
 *   of queries and keys; `matches`: result of the search; `below`: threshold; `hidden_weight`: note on the weights below it
 */

/** Returns the number of tokens that a cell spans along each side. */
export const blockOf = (/** @type {number} */ span) => Math.max(1, Math.ceil(span / MAX_CELLS));

/**
 * Clamps a place to the bounds of the text.
 * @param {Place} place
 * @param {[number, number]} size
 * @returns {Place}
 */
export function clampPlace({ row, column, span }, [queries, keys]) {
  const length = Math.min(Math.max(MIN_SPAN, Math.round(span)), Math.max(queries, keys));
  const within = (first, count) => Math.max(0, Math.min(Math.round(first), count - length));
  return { row: within(row, queries), column: within(column, keys), span: length };
}

/**
 * Returns the place with `factor` times as many tokens along a side; `point` stays fixed.
 * @param {Place} place
 * @param {number} factor
 * @param {{ down: number, across: number }} [point] from 0 to 1
 * @returns {Place}
 */
export function zoomed({ row, column, span }, factor, { down, across } = { down: 0.5, across: 0.5 }) {
  const shift = span * (1 - factor);
  return { row: row + down * shift, column: column + across * shift, span: span * factor };
}

/** The controls above and below a picture of a part of a long text. */
export class WindowBar {
  /** @param view the HeadView whose part these controls move */
  constructor(view) {
    this.view = view;
    const tool = (text, title, act) => {
      const button = element("button", { type: "button", class: "tool", text, title, "aria-label": title });
      button.onclick = act;
      return button;
    };
    const move = (down, across) => () => {
      const { row, column, span } = view.place;
      view.goTo({ row: row + (down * span) / 2, column: column + (across * span) / 2, span });
    };
    this.zoomIn = tool("+", "Zoom in", () => view.goTo(view.zoomedIn));
    this.zoomOut = tool("−", "Zoom out", () => view.goTo(zoomed(view.place, 2)));
    this.whole = tool("Whole text", "Show the whole text", () => view.goTo({ row: 0, column: 0, span: Infinity }));
    this.moves = [
      tool("↑", "Earlier queries", move(-1, 0)),
      tool("↓", "Later queries", move(1, 0)),
      tool("←", "Earlier keys", move(0, -1)),
      tool("→", "Later keys", move(0, 1)),
    ];
    this.zoom = element(
      "div",
      { class: "zoom", role: "group", "aria-label": "Part of the text" },
      ...[this.zoomIn, this.zoomOut, this.whole, ...this.moves],
    );
    this.text = element("input", { type: "search", placeholder: "Find a token", "aria-label": "Find a token", maxlength: 100 });
    this.text.onkeydown = (event) => event.key === "Enter" && this.find(event.shiftKey ? -1 : 1);
    this.matches = element("span", { class: "matches", "aria-live": "polite" });
    const search = element(
      "div",
      { class: "search", role: "search" },
      this.text,
      tool("‹", "Previous match", () => this.find(-1)),
      tool("›", "Next match", () => this.find(1)),
      this.matches,
    );
    const options = THRESHOLDS.map((value) =>
      element("option", { value, text: value ? `below ${100 * value} %` : "none" }),
    );
    this.threshold = element("select", {}, ...options);
    this.threshold.onchange = () => view.trigger("hide", { below: Number(this.threshold.value) });
    this.hide = element("label", { class: "hide" }, "Hide weights ", this.threshold);
    this.hiddenWeight = element("span", { class: "hidden-weight", "aria-live": "polite" });
    this.root = element("div", { class: "window" }, this.zoom, search, this.hide, this.hiddenWeight);
  }

  find(step) {
    if (this.text.value.trim()) this.view.trigger("find", { text: this.text.value, step });
  }

  /**
   * @param {Part | null | undefined} part
   * @param {boolean} canZoom whether the picture can be zoomed
   * @param {boolean} hasWeights whether the picture's numbers are weights
   */
  show(part, canZoom, hasWeights) {
    this.root.hidden = !part;
    if (!part) return;
    const { size, matches, below, hidden_weight: hiddenWeight } = part;
    const { row, column, span } = this.view.place;
    this.zoom.hidden = !canZoom;
    this.hide.hidden = !hasWeights;
    const length = Math.max(...size);
    const [up, down, left, right] = this.moves;
    // aria-disabled, because a disabled button loses the focus.
    for (const [button, none] of /** @type {[HTMLElement, boolean][]} */ ([
      [this.zoomIn, span <= Math.min(MIN_SPAN, length)],
      [this.zoomOut, span >= length],
      [this.whole, span >= length],
      [up, row === 0],
      [down, row + span >= size[0]],
      [left, column === 0],
      [right, column + span >= size[1]],
    ])) button.setAttribute("aria-disabled", String(none));
    this.matches.textContent = matches;
    this.threshold.value = String(below);
    this.hiddenWeight.textContent = hiddenWeight;
  }
}

/**
 * Calls `zoom` when the wheel is turned with Ctrl or ⌘ held, as in embedded maps, and on a pinch gesture.
 * @param {HTMLElement} surface
 * @param {(factor: number, point: { down: number, across: number }) => void} zoom
 * @param {() => boolean} active
 */
export function onZoom(surface, zoom, active) {
  const pointOf = ({ clientX, clientY }) => {
    const { left, top, width, height } = surface.getBoundingClientRect();
    return { down: (clientY - top) / height, across: (clientX - left) / width };
  };
  let scrolled = 0;
  surface.addEventListener(
    "wheel",
    (event) => {
      if (!active() || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      scrolled += event.deltaY;
      if (Math.abs(scrolled) < 40) return;
      zoom(scrolled < 0 ? 0.5 : 2, pointOf(event));
      scrolled = 0;
    },
    { passive: false },
  );
  /** @type {Map<number, PointerEvent>} */
  const fingers = new Map();
  let startDistance = 0;
  const distance = () => {
    const [one, other] = [...fingers.values()];
    return Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
  };
  const down = (event) => {
    if (event.pointerType !== "touch" || !active()) return;
    fingers.set(event.pointerId, event);
    if (fingers.size === 2) startDistance = distance();
  };
  const move = (event) => {
    if (!fingers.has(event.pointerId)) return;
    fingers.set(event.pointerId, event);
    if (fingers.size !== 2) return;
    const ratio = distance() / startDistance;
    if (ratio > 2 / 3 && ratio < 1.5) return;
    zoom(ratio > 1 ? 0.5 : 2, pointOf(event));
    startDistance = distance();
  };
  const up = (event) => fingers.delete(event.pointerId);
  surface.addEventListener("pointerdown", down);
  surface.addEventListener("pointermove", move);
  for (const end of ["pointerup", "pointercancel", "pointerleave"]) surface.addEventListener(end, up);
}
