/* head map: a coloured button for each head, and the bar of their scale; head_map.py describes the message. */

import { element } from "../../widgets/dom.js";
import { buttonOf, moveFocus, onPointed, tabStop } from "../../widgets/keyboard.js";
import { css, linear } from "../../widgets/palette.js";
import { Choice } from "../../widgets/selection.js";
import { View, widget } from "../../widgets/widget.js";
import styles from "./head_map.css";

/**
 * What head_map.py sends, and describes.
 * @typedef {{
 *   title: string, heads: number, values: (number | null)[], texts: string[], low: [number, string], high: [number,
 *   string], kind: "sequential" | "diverging", printed: string[] | null, selected: [number, number] | null
 * }} Message
 */

/**
 * Where a value lies on the scale, 0 to 1 along its bar.
 * @param {number} value
 * @param {Message} message
 */
const along = (value, { low: [low], high: [high] }) =>
  high > low ? Math.min(1, Math.max(0, (value - low) / (high - low))) : 0;

/**
 * The level, 0 to 254, of a place on the bar. A diverging scale has 127 at zero, however long its two sides.
 * @param {number} place
 * @param {Message} message
 */
function levelAt(place, { kind, low: [low], high: [high] }) {
  if (kind === "sequential") return Math.round(254 * place);
  const furthest = Math.max(Math.abs(low), Math.abs(high)) || 1;
  return Math.round(127 + (127 * (low + place * (high - low))) / furthest);
}

/** @extends {View<Message>} */
class HeadMap extends View {
  constructor() {
    super();
    this.selected = new Choice();
    this.grid = element("div", { class: "grid", role: "grid" });
    this.fact = element("p", { class: "fact" });
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
    this.grid.onclick = (event) => this.pick(this.buttons.indexOf(buttonOf(event)));
    this.grid.onkeydown = (event) => moveFocus(event, this.buttons, this.data.heads);
    onPointed(this.grid, (button) => this.tell(this.buttons.indexOf(button)));
  }

  update(data) {
    this.data = data;
    this.selected.tell(data.selected);
    const shape = `${data.values.length} ${data.heads}`;
    if (this.shape !== shape) this.build();
    this.shape = shape;
    this.grid.setAttribute("aria-label", data.title);
    this.title.textContent = data.title;
    [data.low, data.high].forEach(([, label], end) => (this.ends[end].textContent = label));
    this.paint();
    this.mark();
  }

  build() {
    const { values, heads } = this.data;
    const label = (role, name, text) => element("div", { class: name, role, text });
    const across = Array.from({ length: heads }, (_, head) => label("columnheader", "column-label", head + 1));
    const corner = label("columnheader", "row-label", "");
    corner.append(element("span", { class: "hidden", text: "Layer" }));
    this.buttons = values.map(() => element("button", { type: "button", role: "gridcell", tabindex: -1 }));
    const rows = Array.from({ length: values.length / heads }, (_, layer) => [
      label("rowheader", "row-label", `L${layer + 1}`),
      ...this.buttons.slice(layer * heads, (layer + 1) * heads),
    ]);
    this.root.style.setProperty("--columns", String(heads));
    this.grid.replaceChildren(
      ...[[corner, ...across], ...rows].map((cells) => element("div", { class: "row", role: "row" }, ...cells)),
    );
  }

  paint() {
    const { data } = this;
    const levels = this.theme.levels(data.kind);
    const colour = (place) => levels[levelAt(place, data)];
    const steps = Array.from({ length: 33 }, (_, step) => css(colour(step / 32)));
    this.stripe.style.background = `linear-gradient(to right, ${steps.join(", ")})`;
    this.buttons.forEach((button, at) => {
      const value = data.values[at];
      const rgb = value === null ? null : colour(along(value, data));
      button.textContent = data.printed?.[at] ?? "";
      button.setAttribute("aria-label", `Head ${this.name(at)}: ${data.texts[at]}`);
      button.dataset.value = String(value ?? "");
      button.classList.toggle("none", rgb === null);
      button.style.background = rgb ? css(rgb) : "";
      if (!rgb) return;
      const [r, g, b] = rgb.map(linear);
      button.style.color = 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
    });
  }

  name(at) {
    return `${Math.floor(at / this.data.heads) + 1}-${(at % this.data.heads) + 1}`;
  }

  /** The place of the selected head; -1 for none. */
  ringed() {
    const [layer, head] = this.selected.value ?? [0, 0];
    return layer ? (layer - 1) * this.data.heads + head - 1 : -1;
  }

  mark() {
    const ringed = this.ringed();
    this.buttons.forEach((button, at) => button.setAttribute("aria-selected", String(at === ringed)));
    const focused = this.buttons.indexOf(this.focused);
    tabStop(this.buttons, focused >= 0 ? focused : Math.max(0, ringed));
    this.tell(focused);
  }

  /** Writes one head's number under the map, and marks it on the bar; -1 for the selected head. */
  tell(at) {
    const shown = at >= 0 ? at : this.ringed();
    const value = this.data.values[shown] ?? null;
    this.tick.hidden = value === null;
    if (value !== null) this.tick.style.left = `${100 * along(value, this.data)}%`;
    this.fact.replaceChildren(
      ...(shown < 0 ? [] : [element("strong", { text: `Head ${this.name(shown)}` }), `: ${this.data.texts[shown]}`]),
    );
  }

  pick(at) {
    if (at < 0) return;
    const [layer, head] = this.name(at).split("-").map(Number);
    this.selected.choose([layer, head]);
    this.mark();
    this.trigger("pick", { layer, head });
  }
}

export default widget(HeadMap, styles);
