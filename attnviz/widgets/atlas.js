/* atlas: thumbnails of all heads, under a grid of buttons. */

import { element } from "./dom.js";
import { HeadGrid } from "./head_grid.js";
import { levelsImage } from "./palette.js";
import { pendingChoices } from "./selection.js";
import { allData } from "./store.js";
import { pooled } from "./thumbnails.js";
import { widget } from "./widget.js";
import styles from "./atlas.css";
import gridStyle from "./head_grid.css";

const CELL = { min: 24, max: 56 };
const LABEL = 24; // width of the row labels, in pixels
const MARGIN = 4; // pixels to the right of the last column, for focus rings

/** @typedef {import("./thumbnails.js").Pictures} Pictures */

/**
 * @typedef {{ pixels: string, layers: number, heads: number, numbers?: number[], selected: { layer: number, heads: number[] }, facts:
 *   string[], dim: number[], column_labels?: string[], kind: "sequential" | "diverging" }} Message as
 *   sent and described by app/components/atlas.py
 */

/** @extends {HeadGrid<Message>} */
class Atlas extends HeadGrid {
  constructor() {
    super();
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.grid.setAttribute("aria-label", "All heads");
    this.scroller = element(
      "div",
      { class: "scroller" },
      element("div", { class: "sheet" }, this.canvas, this.grid),
    );
    this.root = element("div", { class: "root" }, this.scroller, this.fact);
    this.onResize(() => this.draw());
    this.onArrays(["pixels"], () => this.draw());
    this.listen({
      "attnviz:heads": ({ detail }) => {
        this.selected.choose({ layer: detail.layer, heads: detail.heads });
        this.mark();
      },
    });
  }

  update(data) {
    this.data = data;
    this.selected.receive(data.selected);
    const { layers, heads, numbers, column_labels: labels } = data;
    const shape = [layers, heads, numbers, labels].join("|");
    if (this.shape !== shape) this.build(layers * heads);
    this.shape = shape;
    this.describe();
    this.mark();
    this.draw();
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

  name(at) {
    const { layer, head } = this.place(at);
    return `Layer ${layer} · ${this.data.column_labels?.[head - 1] ?? `Head ${head}`}`;
  }

  factOf(at) {
    return this.data.facts[at];
  }

  pick(at) {
    if (at < 0) return;
    const { layer, head } = this.place(at);
    // Update the other widgets on this page first, in the same frame; then notify Python.
    window.dispatchEvent(new CustomEvent("attnviz:heads", { detail: { layer, heads: [head] } }));
    this.trigger("pick", { layer, head, ...pendingChoices("heads") });
  }

  /** Returns { values, shape: [picture, row, column], places: button of each picture }; null until the arrays arrive. */
  pictures() {
    const { pixels: id, kind } = this.data;
    const set = allData().get(id);
    if (!set) return null;
    const name = `${id} ${kind}`;
    // After dimming or resizing, the pictures are redrawn, but not pooled again.
    if (this.thumbnails?.name !== name) {
      const { thumbnails, pixels } = set.arrays;
      const { values, shape } = thumbnails ?? pooled(/** @type {Pictures} */ (pixels), kind);
      const places = thumbnails
        ? this.buttons.map((_, at) => at)
        : set.facts.heads.map(([layer, head]) => this.number(layer, head));
      this.thumbnails = { name, values, shape, places };
    }
    return this.thumbnails;
  }

  draw() {
    const available = this.root.clientWidth;
    if (!this.root.isConnected || !this.data || available === 0) return;
    const { kind, dim, heads: columns } = this.data;
    const cell = Math.max(
      CELL.min,
      Math.min(CELL.max, Math.floor((10 * (available - LABEL - MARGIN)) / columns) / 10),
    );
    const gap = cell < 30 ? 1 : 2;
    const width = columns * cell;
    const height = (this.buttons.length / columns) * cell;
    this.root.style.setProperty("--cell", `${cell}px`);
    this.root.style.setProperty("--gap", `${gap}px`);
    const pictures = this.pictures();
    this.root.toggleAttribute("data-waiting", !pictures);
    const ratio = window.devicePixelRatio || 1;
    // A message that only changes the selection needs no redrawing.
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
    // Rounded to device pixels, because fractional edges are blurred.
    const edge = (at) => Math.round(at * ratio);
    const inset = Math.round((gap / 2) * ratio);
    // One image with all pictures stacked: a canvas per picture takes ten times as long.
    const [count, rows, pixelsAcross] = pictures.shape;
    const image = levelsImage(pictures.values, count * rows, pixelsAcross, palette);
    pictures.places.forEach((at, picture) => {
      const [column, row] = [at % columns, Math.floor(at / columns)];
      const x = edge(column * cell) + inset;
      const y = edge(row * cell) + inset;
      const w = edge((column + 1) * cell) - inset - x;
      const h = edge((row + 1) * cell) - inset - y;
      context.imageSmoothingEnabled = pixelsAcross > w || rows > h;
      context.globalAlpha = faint.has(at) ? 0.14 : 1;
      context.drawImage(image, 0, picture * rows, pixelsAcross, rows, x, y, w, h);
    });
    context.globalAlpha = 1;
    this.countDrawing();
  }
}

export default widget(Atlas, gridStyle, styles);
