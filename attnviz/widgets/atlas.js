/* atlas: every head as a small picture under a grid of real buttons. */

import { element } from "./dom.js";
import { buttonOf, moveFocus, onPointed, tabStop } from "./keyboard.js";
import { css, levelsImage } from "./palette.js";
import { Choice, unanswered } from "./selection.js";
import { allData } from "./store.js";
import { pooled } from "./thumbnails.js";
import { View, widget } from "./widget.js";
import styles from "./atlas.css";

const CELL = { least: 24, most: 56 };
const LABEL = 24; // the width of the row labels
const MARGIN = 4; // at the right, for the rings of the last column
const NAME = { tall: 14, wide: 36 }; // a head's name over its picture, where heads are sorted

/** @typedef {import("./thumbnails.js").Pictures} Pictures */

/**
 * What app/components/atlas.py sends, and describes.
 * @typedef {{
 *   pixels: string, layers: number, heads: number, selected: { layer: number, heads: number[] }, facts: string[],
 *   dim: number[], order: number[], kind: "sequential" | "diverging"
 * }} Message
 */

/** @extends {View<Message>} */
class Atlas extends View {
  constructor() {
    super();
    this.selected = new Choice();
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.grid = element("div", { class: "grid", role: "grid", "aria-label": "All heads" });
    this.scroller = element(
      "div",
      { class: "scroller" },
      element("div", { class: "sheet" }, this.canvas, this.grid),
    );
    this.fact = element("p", { class: "fact" });
    this.root = element("div", { class: "root" }, this.scroller, this.fact);
    this.grid.onclick = (event) => this.pick(this.buttons.indexOf(buttonOf(event)));
    this.grid.onkeydown = (event) => moveFocus(event, this.placed, this.columns);
    onPointed(this.grid, (button) => this.tell(this.buttons.indexOf(button)));
    this.onResize(() => this.draw());
    this.listen({
      "attnviz:data": ({ detail }) => detail.id === this.data.pixels && this.draw(),
      "attnviz:heads": ({ detail }) => {
        this.selected.choose({ layer: detail.layer, heads: detail.heads });
        this.mark();
      },
    });
  }

  update(data) {
    this.data = data;
    this.selected.tell(data.selected);
    this.layOut();
    this.describe();
    this.mark();
    this.draw();
  }

  /** Which head stands where: layers downwards, or sorted, as many in a row as there is room for with names. */
  layOut() {
    const { layers, heads, order } = this.data;
    this.sorted = Boolean(order?.length);
    const most = Math.floor((this.root.clientWidth - LABEL - MARGIN) / NAME.wide);
    const columns = this.sorted && most > 0 ? Math.min(heads, most) : heads;
    const shape = [layers, heads, columns, this.sorted ? order : []].join("|");
    if (this.shape === shape) return false;
    this.shape = shape;
    this.columns = columns;
    this.order = this.sorted ? order : Array.from({ length: layers * heads }, (_, at) => at);
    this.build();
    return true;
  }

  describe() {
    const { data } = this;
    const dim = new Set(data.dim);
    this.buttons.forEach((button, at) => {
      const note = dim.has(at) ? "; does not match the filter" : "";
      button.setAttribute("aria-label", `${this.name(at).replace(" · H", ", h")}: ${data.facts[at]}${note}`);
      button.classList.toggle("dim", dim.has(at));
    });
  }

  build() {
    const { heads } = this.data;
    const { columns, sorted, order } = this;
    this.placed = order.map(() => element("button", { type: "button", role: "gridcell", tabindex: -1 }));
    this.buttons = [];
    order.forEach((at, place) => (this.buttons[at] = this.placed[place]));
    const rows = sorted ? [] : [this.numbers(heads)];
    for (let first = 0; first < order.length; first += columns) {
      const label = sorted ? first + 1 : `L${first / heads + 1}`;
      const header = element("div", { class: "row-label", role: "rowheader", text: label });
      rows.push(element("div", { class: "row", role: "row" }, header, ...this.placed.slice(first, first + columns)));
    }
    this.root.toggleAttribute("data-sorted", sorted);
    this.grid.replaceChildren(...rows);
  }

  /** The first row of the grid: which column is which head. */
  numbers(heads) {
    const top = element("div", { class: "row", role: "row" });
    top.append(
      element(
        "div",
        { class: "corner", role: "columnheader" },
        element("span", { class: "hidden", text: "Layer" }),
      ),
    );
    for (let head = 1; head <= heads; head++) {
      top.append(element("div", { class: "column-label", role: "columnheader", text: head }));
    }
    return top;
  }

  name(at) {
    const { heads } = this.data;
    return `Layer ${Math.floor(at / heads) + 1} · Head ${(at % heads) + 1}`;
  }

  number(layer, head) {
    return (layer - 1) * this.data.heads + head - 1;
  }

  /** Rings the selected heads, and makes one of them the way in for the keyboard. */
  mark() {
    const { layer, heads } = this.selected.value;
    const selected = new Set(heads.map((head) => this.number(layer, head)));
    this.buttons.forEach((button, at) => button.setAttribute("aria-selected", selected.has(at)));
    const focused = this.buttons.indexOf(this.focused);
    tabStop(this.buttons, focused >= 0 ? focused : this.number(layer, heads[0]));
    this.tell(focused);
  }

  /** Writes what one head does under the atlas; -1 for the selected one. */
  tell(at) {
    const { layer, heads } = this.selected.value;
    const shown = at >= 0 ? at : this.number(layer, heads[0]);
    const name = element("strong", { text: this.name(shown) });
    this.fact.replaceChildren(name, `: ${this.data.facts[shown] ?? ""}`);
  }

  pick(at) {
    if (at < 0) return;
    const layer = Math.floor(at / this.data.heads) + 1;
    const head = (at % this.data.heads) + 1;
    // First the widgets of this page, in this very frame; then Python.
    window.dispatchEvent(new CustomEvent("attnviz:heads", { detail: { layer, heads: [head] } }));
    this.trigger("pick", { layer, head, ...unanswered("heads") });
  }

  /** { values, shape: [picture, row, column], places: whose each picture is }; null before they come. */
  pictures() {
    const { pixels: id, kind } = this.data;
    const set = allData().get(id);
    if (!set) return null;
    const name = `${id} ${kind}`;
    // Dimming and a new width draw again, but need not pool again.
    if (this.small?.name !== name) {
      const { thumbnails, pixels } = set.arrays;
      const { values, shape } = thumbnails ?? pooled(/** @type {Pictures} */ (pixels), kind);
      const places = thumbnails
        ? this.buttons.map((_, at) => at)
        : set.facts.heads.map(([layer, head]) => this.number(layer, head));
      this.small = { name, values, shape, places };
    }
    return this.small;
  }

  draw() {
    const room = this.root.clientWidth;
    if (!this.root.isConnected || !this.data || room === 0) return;
    const started = performance.now();
    if (this.layOut()) {
      this.describe();
      this.mark();
    }
    const { kind, dim } = this.data;
    const { columns, order } = this;
    const name = this.sorted ? NAME.tall : 0;
    const cell = Math.max(
      CELL.least,
      Math.min(CELL.most, Math.floor((10 * (room - LABEL - MARGIN)) / columns) / 10),
    );
    const gap = cell < 30 ? 1 : 2;
    const width = columns * cell;
    const height = Math.ceil(order.length / columns) * (cell + name);
    this.root.style.setProperty("--cell", `${cell}px`);
    this.root.style.setProperty("--name", `${name}px`);
    this.root.style.setProperty("--gap", `${gap}px`);
    const pictures = this.pictures();
    this.root.toggleAttribute("data-waiting", !pictures);
    const ratio = window.devicePixelRatio || 1;
    // A message that only moves the ring leaves the pictures as they are.
    const drawing = [this.data.pixels, kind, dim, this.shape, cell, ratio, this.theme.background].join("|");
    if (!pictures || drawing === this.drawing) return;
    this.drawing = drawing;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const context = this.canvas.getContext("2d");
    const palette = this.theme.pixels(kind);
    const faint = new Set(dim);
    // Whole device pixels, so that no picture is blurred at its edges.
    const edge = (at) => Math.round(at * ratio);
    const inset = Math.round((gap / 2) * ratio);
    // One image of all pictures, one below the other: a canvas for each of them takes ten times as long.
    const [count, tall, wide] = pictures.shape;
    const image = levelsImage(pictures.values, count * tall, wide, palette);
    const places = [];
    order.forEach((at, place) => (places[at] = place));
    pictures.places.forEach((at, picture) => {
      const [column, row] = [places[at] % columns, Math.floor(places[at] / columns)];
      const x = edge(column * cell) + inset;
      const y = edge(row * (cell + name) + name) + inset;
      const w = edge((column + 1) * cell) - inset - x;
      const h = edge((row + 1) * (cell + name)) - inset - y;
      context.imageSmoothingEnabled = wide > w || tall > h;
      context.globalAlpha = faint.has(at) ? 0.14 : 1;
      context.drawImage(image, 0, picture * tall, wide, tall, x, y, w, h);
    });
    context.globalAlpha = 1;
    if (name) this.names(context, ratio, cell);
    this.countDrawing(started);
  }

  /** Where heads are sorted, row and column no longer say which is which: each bears its name. */
  names(context, ratio, cell) {
    context.font = `${Math.round(11 * ratio)}px ${this.theme.font}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    const faint = new Set(this.data.dim);
    this.order.forEach((at, place) => {
      const [column, row] = [place % this.columns, Math.floor(place / this.columns)];
      const [x, y] = [(column + 0.5) * cell, row * (cell + NAME.tall) + NAME.tall / 2 + 1];
      context.fillStyle = css(faint.has(at) ? this.theme.muted : this.theme.text);
      const { heads } = this.data;
      context.fillText(`${Math.floor(at / heads) + 1}-${(at % heads) + 1}`, x * ratio, y * ratio);
    });
  }
}

export default widget(Atlas, styles);
