/* encoding: every position's vector as a row of colours, pointed at or walked through with the arrow keys. */

import { cellUnder, element } from "../../../widgets/dom.js";
import { destination } from "../../../widgets/keyboard.js";
import { fixed } from "../../../widgets/numbers.js";
import { levelsImage } from "../../../widgets/palette.js";
import { saveButtons } from "../../../widgets/pens.js";
import { View, widget } from "../../../widgets/widget.js";
import { savePicture } from "../../components/saved_picture.js";
import styles from "./encoding.css";

/**
 * @typedef {{ vectors: number[][], labels: string[], position: number, pair: number, alt: string,
 *   file: import("../../components/saved_picture.js").FileFacts }} Message what encoding.py sends,
 *   and describes
 */

/** @extends {View<Message>} */
class Encoding extends View {
  constructor() {
    super();
    this.canvas = element("canvas", { role: "img" });
    this.row = element("span", { class: "outline" });
    this.pair = element("span", { class: "outline" });
    this.cell = element("span", { class: "outline cell", hidden: true });
    this.slider = element("div", { class: "slider", role: "slider", tabindex: 0 });
    this.cells = element("div", { class: "cells" }, this.canvas, this.row, this.pair, this.cell, this.slider);
    this.words = element("p", { class: "words" });
    const files = saveButtons((ending) => savePicture(this, ending));
    const bar = element("div", { class: "bar" }, this.words, files);
    this.legend = element("p", { class: "legend" });
    this.root = element("div", { class: "root" }, bar, this.cells, this.legend);
    this.slider.onpointermove = (event) => this.pointAt(event);
    this.slider.onpointerdown = (event) => this.pointAt(event);
    this.slider.onpointerleave = () => this.rest();
    this.slider.onkeydown = (event) => this.move(event);
  }

  update(data) {
    this.data = data;
    this.rows = data.vectors.length;
    this.columns = data.vectors[0].length;
    this.canvas.setAttribute("aria-label", data.alt);
    const image = levelsImage(this.levels(), this.rows, this.columns, this.theme.pixels("diverging"));
    Object.assign(this.canvas, { width: this.columns, height: this.rows });
    this.canvas.getContext("2d").drawImage(image, 0, 0);
    this.cells.style.height = `${Math.min(6 * this.rows, 384)}px`;
    this.place(this.row, data.position, 0, 1, this.columns);
    this.place(this.pair, 0, 2 * data.pair, this.rows, 2);
    this.legend.textContent = "down: position; across: dimension; blue: −1, orange: 1";
    this.slider.setAttribute("aria-label", "Read off: every position's vector");
    this.slider.setAttribute("aria-valuemin", String(1));
    this.slider.setAttribute("aria-valuemax", String(this.rows * this.columns));
    this.rest();
  }

  /** −1 to 1 as the levels 0 to 254. */
  levels() {
    return Uint8Array.from(this.data.vectors.flat(), (value) => Math.round(127 + 127 * value));
  }

  /** Reads the cell that the page is about, while nobody points. */
  rest() {
    this.goTo(this.data.position * this.columns + 2 * this.data.pair, false);
  }

  place(outline, row, column, rows, columns) {
    const percent = (part, whole) => `${(100 * part) / whole}%`;
    const { style } = outline;
    [style.top, style.height] = [percent(row, this.rows), percent(rows, this.rows)];
    [style.left, style.width] = [percent(column, this.columns), percent(columns, this.columns)];
  }

  goTo(at, pointed = true) {
    this.at = at;
    const [row, column] = [Math.floor(at / this.columns), at % this.columns];
    const label = this.data.labels[row];
    const number = fixed(this.data.vectors[row][column], 3);
    const where = `position ${row}${label === undefined ? "" : ` (${label})`}, dimension ${column}`;
    const [even, wave] = [column - (column % 2), column % 2 ? "cos" : "sin"];
    const angle = fixed(row / 10000 ** (even / this.columns), 4);
    const formula = `${wave}(${row} / 10000^(${even}/${this.columns})) = ${wave} ${angle} = `;
    const value = element("span", { class: "formula" }, formula, element("b", { text: number }));
    this.words.replaceChildren(element("bdi", { text: where }), ": ", value);
    this.slider.setAttribute("aria-valuenow", String(at + 1));
    this.slider.setAttribute("aria-valuetext", `${where}: ${formula}${number}`);
    this.cell.hidden = !pointed;
    this.place(this.cell, row, column, 1, 1);
  }

  pointAt(event) {
    const { row, column } = cellUnder(event, this.cells, this.rows, this.columns);
    this.goTo(row * this.columns + column);
  }

  move(event) {
    const to = destination(event, this.at, this.rows * this.columns, this.columns);
    if (to === null) return;
    event.preventDefault();
    this.goTo(to);
  }
}

export default widget(Encoding, styles);
