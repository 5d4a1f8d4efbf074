/* head map: a coloured button for each head, and a colour bar. */

import { element, isolated } from "../../widgets/dom.js";
import { HeadGrid } from "../../widgets/head_grid.js";
import { gradient, paint } from "../../widgets/palette.js";
import { widget } from "../../widgets/widget.js";
import gridStyle from "../../widgets/head_grid.css";
import styles from "./head_map.css";

/**
 * @typedef {{ title: string, heads: number, values: (number | null)[], texts: string[], low: [number, string], high:
 *   [number, string], kind: "sequential" | "diverging", printed: string[] | null, selected: [number, number] | null,
 *   row_labels: string[] | null, column_labels: string[] | null }} Message sent and documented by head_map.py
 */

/**
 * Returns the position of a value on the colour bar, 0 to 1.
 * @param {number} value
 * @param {Message} message
 */
const positionOf = (value, { low: [low], high: [high] }) =>
  high > low ? Math.min(1, Math.max(0, (value - low) / (high - low))) : 0;

/**
 * Returns the level, 0 to 254, at a position on the bar. On a diverging scale, zero has level 127.
 * @param {number} place
 * @param {Message} message
 */
function levelAt(place, { kind, low: [low], high: [high] }) {
  if (kind === "sequential") return Math.round(254 * place);
  const furthest = Math.max(Math.abs(low), Math.abs(high)) || 1;
  return Math.round(127 + (127 * (low + place * (high - low))) / furthest);
}

/** @extends {HeadGrid<Message>} */
class HeadMap extends HeadGrid {
  constructor() {
    super();
    this.title = element("span", { class: "title" });
    this.ends = [element("span"), element("span")];
    this.tick = element("span", { class: "tick" });
    this.stripe = element("span", { class: "stripe" }, this.tick);
    const bar = element("span", { class: "bar" }, this.ends[0], this.stripe, this.ends[1]);
    this.root = element(
      "div",
      { class: "root head-map" },
      element("div", { class: "scale" }, this.title, bar),
      element("div", { class: "scroller" }, this.grid),
      this.fact,
    );
  }

  update(data) {
    this.data = data;
    this.selected.receive(data.selected && { layer: data.selected[0], heads: [data.selected[1]] });
    const shape = JSON.stringify([data.values.length, data.heads, data.row_labels, data.column_labels]);
    this.root.classList.toggle("labelled", Boolean(data.row_labels));
    if (this.shape !== shape) this.build(data.values.length);
    this.shape = shape;
    this.root.style.setProperty("--columns", String(data.heads));
    const longest = Math.max(0, ...(data.row_labels ?? []).map(({ length }) => length));
    this.root.style.setProperty("--names", `min(${7 * longest + 12}px, 45cqw)`);
    this.grid.setAttribute("aria-label", data.title);
    this.title.textContent = data.title;
    [data.low, data.high].forEach(([, label], end) => (this.ends[end].textContent = label));
    this.paint();
    this.mark();
  }

  paint() {
    const { data } = this;
    const levels = this.theme.levels(data.kind);
    const colour = (place) => levels[levelAt(place, data)];
    this.stripe.style.background = gradient(levels.slice(levelAt(0, data), levelAt(1, data) + 1));
    this.buttons.forEach((button, at) => {
      const value = data.values[at];
      const rgb = value === null ? null : colour(positionOf(value, data));
      button.textContent = data.printed?.[at] ?? "";
      button.setAttribute("aria-label", `${this.name(at)}: ${data.texts[at]}`);
      button.dataset.value = String(value ?? "");
      button.classList.toggle("none", rgb === null);
      button.style.background = "";
      if (rgb) paint(button, rgb);
    });
  }

  name(at) {
    const { layer, head } = this.place(at);
    const { row_labels: rows, column_labels: columns } = this.data;
    return rows ? `${isolated(rows[layer - 1])}, ${isolated(columns[head - 1])}` : `Head ${layer}-${head}`;
  }

  factOf(at) {
    return this.data.texts[at];
  }

  /** Also marks the head's value on the colour bar. */
  describeHead(at) {
    const value = this.data.values[super.describeHead(at)] ?? null;
    this.tick.hidden = value === null;
    if (value !== null) this.tick.style.left = `${100 * positionOf(value, this.data)}%`;
    return at;
  }

  pick(at) {
    if (at < 0) return;
    const { layer, head } = this.place(at);
    this.selected.choose({ layer, heads: [head] });
    this.mark();
    this.trigger("pick", { layer, head });
  }
}

export default widget(HeadMap, gridStyle, styles);
