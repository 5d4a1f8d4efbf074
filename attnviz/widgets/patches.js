/* patches: a picture with a button per patch, tinted by the attention of a patch or a word. */

import { element } from "./dom.js";
import { buttonOf, moveFocus, onHover } from "./keyboard.js";
import { formatNumber } from "./numbers.js";
import { css } from "./palette.js";
import { Choice } from "./selection.js";
import { allData } from "./store.js";
import { View, widget } from "./widget.js";
import styles from "./patches.css";

const ORIGINAL_SIZE = 112; // pixels; longer side of the small copy of the original picture
const COLOUR = [102, 51, 199]; // in both themes, because the picture behind it does not change either
const MAX_OPACITY = 0.82; // of the tint for the largest weight
const GRID_OPACITY = 0.15; // of the lines between patches

/**
 * @typedef {{ picture: string, whole: string, pixels: string, rows: number, columns: number, names: string[], layer: number, head:
 *   number, heads: number, query: number, words: number, box: [number, number, number, number] }} Message as sent
 *   and described by patches.py
 */

/** @extends {View<Message>} */
class Patches extends View {
  constructor() {
    super();
    this.queryChoice = new Choice();
    this.head = new Choice();
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.grid = element("div", { class: "grid", role: "grid", "aria-label": "Patches of the picture" });
    this.sheet = element("div", { class: "sheet" }, this.canvas, this.grid);
    this.tokenList = element("div", { class: "tokens", role: "group", "aria-label": "Other tokens" });
    this.original = element("canvas", { class: "original", "aria-hidden": "true" });
    this.ramp = element("span", { class: "ramp", "aria-hidden": "true" });
    this.high = element("span");
    this.legend = element("p", { class: "legend" }, element("span", { text: "0 %" }), this.ramp, this.high);
    this.large = element("div", { class: "large" }, this.sheet, this.legend);
    this.side = element("div", { class: "side" }, this.original, this.tokenList);
    this.words = element("p", { class: "words", "aria-live": "polite" });
    this.root = element("div", { class: "root" }, element("div", { class: "frame" }, this.large, this.side), this.words);
    this.image = new Image();
    this.whole = new Image();
    for (const image of [this.image, this.whole]) image.onload = () => this.draw();
    for (const place of [this.grid, this.tokenList]) {
      place.onclick = (event) => this.pick(this.buttons.indexOf(buttonOf(event)));
      onHover(place, (button) => this.report(this.buttons.indexOf(button)));
    }
    this.grid.onkeydown = (event) => moveFocus(event, this.patches, this.data.columns);
    this.onResize(() => this.draw());
    this.onArrays(["pixels"], () => this.draw());
    this.listen({
      "attnviz:heads": ({ detail }) => {
        this.head.choose({ layer: detail.layer, head: detail.heads[0] });
        this.draw();
      },
    });
  }

  update(data) {
    this.data = data;
    this.queryChoice.receive({ query: data.query });
    this.head.receive({ layer: data.layer, head: data.head });
    const shape = JSON.stringify([data.rows, data.columns, data.names]);
    if (this.shape !== shape) this.build();
    this.root.toggleAttribute("data-words", data.words > 0);
    this.shape = shape;
    this.tokenList.ariaLabel = data.words ? "Words of the text" : "Other tokens";
    if (this.image.src !== data.picture) this.image.src = data.picture;
    if (this.whole.src !== data.whole) this.whole.src = data.whole;
    this.draw();
  }

  /** Creates the buttons in the model's order: first the tokens that are not patches, then the patches. */
  build() {
    const { rows, columns, names, words } = this.data;
    const button = (attributes) => element("button", { type: "button", ...attributes });
    this.extras = names.map(() => button({ class: "extra" }));
    this.tokenList.replaceChildren(...this.extras);
    this.patches = Array.from({ length: rows * columns }, () => button({ role: "gridcell", tabindex: -1 }));
    this.grid.replaceChildren(
      ...Array.from({ length: rows }, (_, row) =>
        element("div", { class: "row", role: "row" }, ...this.patches.slice(row * columns, (row + 1) * columns)),
      ),
    );
    this.buttons = [...this.extras, ...this.patches];
    this.tokenList.hidden = !names.length;
    if (words) this.root.prepend(this.tokenList);
    else this.original.after(this.tokenList);
  }

  name(token) {
    const { names, columns } = this.data;
    if (token < names.length) return names[token];
    const patch = token - names.length;
    return `row ${Math.floor(patch / columns) + 1}, column ${(patch % columns) + 1}`;
  }

  /** True if the shown weights are from the words of a text to the chosen patch. */
  get showsReceived() {
    return this.data.words > 0 && this.queryChoice.value.query >= this.data.words;
  }

  /** The selected token's weights in the open head, received ones if `showsReceived`; null until they arrive. */
  weights() {
    const set = allData().get(this.data.pixels);
    if (!set) return null;
    const { values, shape } = set.arrays.rows;
    const { layer, head } = this.head.value;
    const at = (layer - 1) * this.data.heads + head - 1;
    return values.subarray(at * shape[1], (at + 1) * shape[1]);
  }

  pick(token) {
    if (token < 0) return;
    this.queryChoice.choose({ query: token });
    this.draw();
    this.trigger("pick", { query: token });
  }

  draw() {
    if (!this.root.isConnected || !this.data) return;
    const { rows, columns, names } = this.data;
    const weights = this.weights();
    const { query } = this.queryChoice.value;
    // Draw no weights until Python has sent the weights of the clicked token.
    const waiting = !weights || query !== allData().get(this.data.pixels).facts.query;
    this.root.toggleAttribute("data-waiting", waiting);
    this.root.style.setProperty("--shape", `${columns} / ${rows}`);
    const focused = this.keepTabStop(this.patches, Math.max(0, query - names.length));
    this.buttons.forEach((button, token) => {
      const isQuery = token === query;
      button.setAttribute(token < names.length ? "aria-pressed" : "aria-selected", String(isQuery));
      const weight = waiting || Number.isNaN(weights[token]) ? "" : formatNumber(weights[token], "percent");
      if (token < names.length) button.replaceChildren(names[token], element("span", { text: weight }));
      else button.setAttribute("aria-label", `${this.name(token)}${weight && `: ${weight}`}`);
    });
    this.paint(waiting ? null : weights);
    this.report(focused >= 0 ? focused + names.length : -1);
  }

  paint(weights) {
    const { rows, columns, names } = this.data;
    const [width, height] = [this.sheet.clientWidth, this.sheet.clientHeight];
    if (!width || ![this.image, this.whole].every((image) => image.complete && image.naturalWidth)) return;
    const ratio = window.devicePixelRatio || 1;
    const { naturalWidth, naturalHeight } = this.whole;
    const shape = naturalHeight / naturalWidth;
    const side = Math.min(ORIGINAL_SIZE, ORIGINAL_SIZE / shape);
    this.original.style.width = `${side}px`;
    this.copy(this.original, this.whole, side * ratio, shape);
    const context = this.copy(this.canvas, this.image, width * ratio, rows / columns, this.data.box, "grayscale(1)");
    const high = Math.max(0, ...(weights?.subarray(names.length).filter((weight) => weight > 0) ?? []));
    context.fillStyle = css(COLOUR);
    const edge = (at, count, length) => Math.round((at * length * ratio) / count);
    for (let patch = 0; high && patch < rows * columns; patch++) {
      const [row, column] = [Math.floor(patch / columns), patch % columns];
      const [x, y] = [edge(column, columns, width), edge(row, rows, height)];
      context.globalAlpha = (MAX_OPACITY * (weights[names.length + patch] || 0)) / high;
      context.fillRect(x, y, edge(column + 1, columns, width) - x, edge(row + 1, rows, height) - y);
    }
    context.globalAlpha = GRID_OPACITY;
    context.fillStyle = "#000";
    for (let row = 1; row < rows; row++) context.fillRect(0, edge(row, rows, height), this.canvas.width, 1);
    for (let column = 1; column < columns; column++)
      {context.fillRect(edge(column, columns, width), 0, 1, this.canvas.height);}
    this.high.textContent = high ? formatNumber(high, "percent") : "";
    this.ramp.style.background = `linear-gradient(to right, transparent, rgb(${COLOUR.join(" ")} / ${MAX_OPACITY})), #fff`;
  }

  /** Draws a part of a picture on a canvas; `shape` is the ratio of the canvas's height to its width. */
  copy(canvas, image, width, shape, [left, top, right, bottom] = [0, 0, 1, 1], filter = "none") {
    canvas.width = Math.round(width);
    canvas.height = Math.max(1, Math.round(width * shape));
    const context = canvas.getContext("2d");
    context.filter = filter;
    const { naturalWidth, naturalHeight } = image;
    const from = [left * naturalWidth, top * naturalHeight, (right - left) * naturalWidth, (bottom - top) * naturalHeight];
    context.drawImage(image, ...from, 0, 0, canvas.width, canvas.height);
    context.filter = "none";
    return context;
  }

  /** Shows a token's weight in words, or instructions if `token` is −1 or has no weight. */
  report(token) {
    const { query } = this.queryChoice.value;
    const weights = this.root.hasAttribute("data-waiting") ? null : this.weights();
    if (token < 0 || !weights || Number.isNaN(weights[token])) {
      const patch = "Click a patch to see what it attends to. By keyboard: arrow keys and Enter.";
      const word = "Click a word to see what it attends to, or a patch to see what attends to it.";
      this.words.replaceChildren(this.data.words ? word : patch);
      return;
    }
    const [from, to] = this.showsReceived ? [token, query] : [query, token];
    const target = from === to ? "itself" : this.name(to);
    this.words.replaceChildren(
      element("strong", { text: this.name(from) }),
      ` attends to ${target}: `,
      element("strong", { text: formatNumber(weights[token], "percent") }),
    );
  }
}

export default widget(Patches, styles);
