/* aligned matrices: first, second and difference on one grid of words. */

import { byFinger, element } from "../../../widgets/dom.js";
import { drawLegend, drawMatrix, LEGEND, matrixLayout, Panel } from "../../../widgets/matrix.js";
import { written } from "../../../widgets/numbers.js";
import { SCALE, Theme, valueAt } from "../../../widgets/palette.js";
import { CanvasPen, fitted, saveAs, saveButtons, SvgPen } from "../../../widgets/pens.js";
import { Choice } from "../../../widgets/selection.js";
import { allData } from "../../../widgets/store.js";
import { View, widget } from "../../../widgets/widget.js";
import matrixStyle from "../../../widgets/matrix.css";
import styles from "./aligned_matrices.css";

const MIN_CELL = 5; // pictures are side by side while their cells are this large; else one is shown at a time
const DIFFERENCE = 2; // which of the three
const MIN_FILE_WIDTH = 400; // the width of one picture in a file
const HINTS = {
  mouse: "Point at a cell to read it in all three pictures; click to keep it and its row.",
  finger: "Tap a cell to read it in all three pictures, and to keep it and its row.",
};
const GAP = 20;
const FEW = 0.1; // a scale that ends below this has a decimal

/**
 * @typedef {{ pixels: string, pictures: { title: string, kind: "sequential" | "diverging", high: number }[], sides:
 *   [string, string], rows: (ShownToken & { only: string })[], columns: (ShownToken & { only: string })[], row: number
 *   | null, note: string, caption: string, filename: string }} Message what aligned_matrices.py sends, and describes
 */

/** @extends {View<Message>} */
class AlignedMatrices extends View {
  constructor() {
    super();
    this.at = null;
    this.kept = null; // the cell that was clicked, read while none is pointed at
    this.shown = DIFFERENCE;
    this.marked = new Choice();
    this.grid = element("div", { class: "panels" });
    this.buttons = [0, 1, 2].map((number) => element("button", { type: "button", onclick: () => this.flip(number) }));
    this.switch = element("div", { class: "switch", role: "group", "aria-label": "Picture" }, ...this.buttons);
    this.words = element("p", { class: "words", "aria-live": "polite" });
    const files = saveButtons((ending) => saveAs(ending, this.file(), this.data.filename));
    const bar = element("div", { class: "bar" }, this.words, files);
    this.note = element("p", { class: "note" });
    this.tip = element("div", { class: "tip", "aria-hidden": "true", hidden: "" });
    this.stage = element("div", { class: "stage" }, this.grid, this.tip);
    this.root = element("div", { class: "root aligned" }, this.switch, this.stage, bar, this.note);
    this.parts = [0, 1, 2].map((number) => this.part(number));
    this.onResize(() => this.data && this.draw());
    this.onArrays(["pixels"], () => this.draw());
  }

  /** One matrix with its title and its scale; `panel` reads from `matrix` what all three share. */
  part(number) {
    const all = this;
    const view = {
      get theme() {
        return all.theme;
      },
      get pinned() {
        return { query: all.marked.value, key: all.kept?.j ?? null };
      },
      get data() {
        const { title, kind } = all.data.pictures[number];
        return { heading: title, kind };
      },
      pick: (row, key) => all.pick({ i: row, j: key }),
    };
    const panel = new Panel({
      view,
      get queries() {
        return all.labels("rows");
      },
      get keys() {
        return all.labels("columns");
      },
      get at() {
        return all.at;
      },
      point: (at, cell) => all.point(at, cell, number),
    });
    const title = element("div", { class: "caption" });
    const scale = element("canvas", { role: "img" });
    panel.root.prepend(title);
    panel.root.append(element("div", { class: "legend" }, scale));
    this.grid.append(panel.root);
    return { panel, title, scale };
  }

  labels(side) {
    return this.data[side].map(({ label }) => label);
  }

  update(data) {
    this.data = data;
    this.marked.tell(data.row);
    if (this.kept?.i !== this.marked.value || this.kept.j >= data.columns.length) this.kept = null;
    if (this.at && (this.at.i >= data.rows.length || this.at.j >= data.columns.length)) this.at = null;
    this.note.textContent = data.note;
    this.draw();
  }

  /** Shows another of the three, where there is room for one only: in its place, what differs is seen. */
  flip(number) {
    this.shown = number;
    this.draw();
  }

  arrays() {
    const set = allData().get(this.data.pixels);
    const [rows, columns] = [this.data.rows.length, this.data.columns.length];
    const shape = set?.arrays.levels.shape;
    return shape?.[1] === rows && shape?.[2] === columns ? set.arrays : null;
  }

  draw() {
    const room = this.root.clientWidth;
    const arrays = this.arrays();
    this.root.toggleAttribute("data-waiting", !arrays);
    if (!room || !this.root.isConnected || !arrays) return;
    const third = Math.floor((room - 2 * GAP) / 3);
    const layout = matrixLayout(third, this.labels("rows"), this.labels("columns"), this.theme.font);
    const beside = !this.root.hasAttribute("data-teacher") && room >= 720 && layout.cell >= MIN_CELL;
    const width = beside ? third : room;
    this.switch.hidden = beside;
    [...this.data.sides, "difference"].forEach((name, number) => {
      this.buttons[number].textContent = name;
      this.buttons[number].setAttribute("aria-pressed", String(number === this.shown));
    });
    this.parts.forEach(({ panel, title, scale }, number) => {
      const { title: text, kind } = this.data.pictures[number];
      title.textContent = text;
      panel.root.hidden = !beside && number !== this.shown;
      panel.root.style.width = `${width}px`;
      panel.show(this.head(number), width, false);
      const ticks = this.ticks(number);
      scale.setAttribute("aria-label", `Colour scale: ${ticks.join(", ")}; ${SCALE}`);
      const wide = Math.min(width, beside ? 260 : 200);
      drawLegend(CanvasPen.on(scale, wide, LEGEND, this.theme), 1, 2, wide - 20, { ticks, masked: false }, kind);
    });
    this.showRow();
  }

  /** One of the three, as `drawMatrix` takes it. */
  head(number) {
    const { high } = this.data.pictures[number];
    const [rows, columns] = [this.data.rows.length, this.data.columns.length];
    const values = this.arrays().levels.values.subarray(number * rows * columns, (number + 1) * rows * columns);
    return { values, rows, columns, number: number + 1, high };
  }

  ticks(number) {
    const { kind, high } = this.data.pictures[number];
    const unit = kind === "diverging" ? "signed percent" : "percent";
    return [0, 0.5, 1].map((place) => valueAt(place, kind, high)).map((value) => written(value, unit, high < FEW && value ? 1 : 0));
  }

  /** All three side by side as an SVG file's text, always on a light ground. */
  file() {
    const theme = Theme.forFiles();
    const { pictures, note, caption } = this.data;
    const [rows, columns] = [this.labels("rows"), this.labels("columns")];
    const width = Math.max(MIN_FILE_WIDTH, 2 * MIN_CELL * columns.length);
    const layout = matrixLayout(width, rows, columns, theme.font);
    const pen = new SvgPen(theme);
    let y = 0;
    pictures.forEach(({ title, kind }, number) => {
      const x = number * (width + GAP);
      const heading = fitted(title, width, 13, theme.font);
      pen.text(x, 8, heading, { size: 13, weight: 700, fill: theme.text });
      drawMatrix(pen, x, 22, layout, this.head(number), rows, columns, kind);
      const legend = { ticks: this.ticks(number), masked: false };
      y = drawLegend(pen, x, 32 + layout.total, MIN_FILE_WIDTH / 2, legend, kind) + 18;
    });
    const titles = pictures.map(({ title }) => title).join("; ");
    return pen.file(3 * width + 2 * GAP, y, [note, caption], `${titles}. ${caption}`);
  }

  /** The three numbers of a cell; NaN where there is none. */
  numbers({ i, j }) {
    const [rows, columns] = [this.data.rows.length, this.data.columns.length];
    const values = this.arrays()?.values.values;
    return [0, 1, 2].map((number) => values?.[(number * rows + i) * columns + j] ?? NaN);
  }

  point(panel, cell, number) {
    this.at = cell;
    for (const part of this.parts) part.panel.drawMarks();
    this.place(panel, cell, number);
    this.showRow();
  }

  /** The number of the cell pointed at, beside it. */
  place(panel, cell, number) {
    this.tip.hidden = !cell;
    if (!cell) return;
    const value = this.numbers(cell)[number];
    const unit = number === 2 ? "signed percent" : "percent";
    this.tip.replaceChildren(...this.pair(cell), Number.isNaN(value) ? this.why(cell, number) : written(value, unit));
    panel.placeTip(this.tip, cell, this.root.clientWidth);
  }

  pair({ i, j }) {
    const { rows, columns } = this.data;
    return [element("bdi", { text: rows[i].name }), " → ", element("bdi", { text: columns[j].name }), " "];
  }

  /** Why a cell of one picture has no number. */
  why({ i, j }, number) {
    const side = number === 2 ? "" : ["first", "second"][number];
    const lacking = [this.data.rows[i], this.data.columns[j]].filter(({ only }) => only && only !== side);
    return lacking.length ? (number === 2 ? "cannot be compared" : "no such word") : "masked";
  }

  /** "it → dog 66.4 % in the first sentence, 30.1 % in the second sentence: −36.3 points". */
  showRow() {
    const at = this.at ?? this.kept;
    if (!at) {
      this.words.textContent = HINTS[byFinger() ? "finger" : "mouse"];
      return;
    }
    const [first, second, change] = this.numbers(at);
    const texts = [first, second].map((value, number) => {
      const text = Number.isNaN(value) ? this.why(at, number) : written(value, "percent");
      return `${text} in the ${this.data.sides[number]}`;
    });
    const end = Number.isNaN(change) ? this.why(at, 2) : written(change, "signed percent");
    const { aside } = this.data.rows[at.i];
    this.words.replaceChildren(...this.pair(at), `${texts.join(", ")}: ${end}${aside && ` (${aside})`}`);
  }

  /** Reads a cell, which a finger cannot point at; keeps it and its row, if there is something to compare it with. */
  pick(cell) {
    const row = cell.i;
    const compared = !this.data.rows[row].only;
    this.at = cell;
    if (compared) {
      this.kept = cell;
      this.marked.choose(row);
    }
    for (const part of this.parts) part.panel.drawMarks();
    this.showRow();
    if (compared) this.trigger("pick", { row });
  }
}

export default widget(AlignedMatrices, matrixStyle, styles);
