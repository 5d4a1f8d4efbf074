/* steps: a computation as a list of steps, each with its input and output arrays, and a formula for every number. */

import { isTouchScreen, cellUnder, element } from "../../widgets/dom.js";
import { destination, tabStop } from "../../widgets/keyboard.js";
import { fixed, number, percent, strongestIndex } from "../../widgets/numbers.js";
import { gradient, levelsImage } from "../../widgets/palette.js";
import { Choice } from "../../widgets/selection.js";
import { allData } from "../../widgets/store.js";
import { View, widget } from "../../widgets/widget.js";
import { explain, symbolOf } from "./step_formulas.js";
import styles from "./steps.css";

const LINES = { narrow: 6, wide: 4 }; // number of lines into which a long vector is wrapped
const NARROW = 480; // widget width, in pixels
const SCALES = [0.1, 0.2, 0.3, 0.5, 1]; // possible values of a full bar
const COLOUR_QUANTILE = 0.98; // the colour scale of a matrix ends at this quantile of its absolute values
const WIDTHS = { matrix: "minmax(0, 1fr)", numbers: "clamp(2.6rem, 12cqi, 4rem)", bars: "clamp(2.9rem, 16cqi, 6rem)" };

/** One matrix or vector of a step. */
class Block {
  /** @param {Steps} steps */
  constructor(steps, name, height) {
    this.steps = steps;
    this.name = name;
    this.about = steps.data.arrays[name];
    const { values, shape } = steps.array(name);
    this.values = values;
    const { drawn_as: as, role, title } = this.about;
    this.wrapped = as === "wrapped";
    this.columns = this.wrapped ? Math.ceil(values.length / steps.lines) : as === "numbers" ? 1 : shape.at(-1);
    this.rows = this.wrapped ? steps.lines : values.length / this.columns;
    this.head = element("div", { class: "head", "aria-hidden": "true" }, symbolOf(this.about));
    const weights = as === "numbers" && role === "weights";
    this.full = weights ? SCALES.find((scale) => scale >= Math.max(...values)) : 1;
    if (as === "matrix") this.head.append(element("small", {}, `${this.rows} × ${this.columns}`));
    if (this.full < 1) this.head.append(element("small", {}, `full bar: ${100 * this.full} %`));
    this.body = element("div", { class: `block ${as} ${role}`, role: "application", tabindex: 0, "data-name": name, "data-part": name });
    this.body.setAttribute("aria-roledescription", "matrix");
    const size = this.wrapped ? `${values.length} numbers` : `${this.rows} by ${this.columns}`;
    this.body.setAttribute("aria-label", `${title}, ${size}: arrow keys move from cell to cell`);
    if (!this.wrapped) this.body.style.height = `${height ?? this.rows * steps.rowHeight}px`;
    this.body.append(...(as === "numbers" ? this.numbers() : [this.canvas()]));
    this.marks = this.body.appendChild(element("div", { class: "marks", "aria-hidden": "true" }));
    this.line = element("p", { class: "line" });
    this.root = element("div", { class: "figure" }, ...(this.wrapped ? [] : [this.head]), this.body);
    if (this.wrapped) this.root.append(element("div", { class: "below" }, this.line, element("p", { class: "facts" }, ...this.facts())));
    this.body.onpointermove = (event) => event.pointerType !== "touch" && steps.point({ name, ...this.cellAt(event) });
    this.body.onpointerleave = () => steps.point(null);
    this.body.onclick = (event) => steps.pin({ name, ...this.cellAt(event) });
    this.body.onkeydown = (event) => this.onKey(event);
    this.body.onfocus = () => this.body.matches(":focus-visible") && steps.pin(steps.pinned?.name === name ? steps.pinned : this.home());
  }

  /** Draws one pixel per number; the browser stretches them. */
  canvas() {
    const { values, rows, columns, steps } = this;
    const sizes = Float32Array.from(values, Math.abs).sort();
    const reach = steps.data.reach ?? (sizes[Math.floor(COLOUR_QUANTILE * (sizes.length - 1))] || 1);
    const levels = Uint8Array.from({ length: rows * columns }, (_, at) =>
      at < values.length ? Math.round(127 + 127 * Math.min(1, Math.max(-1, values[at] / reach))) : 255,
    );
    return levelsImage(levels, rows, columns, steps.theme.pixels("diverging"));
  }

  /** Returns a column of numbers; weights also have bars. */
  numbers() {
    const weights = this.about.role === "weights";
    return [...this.values].map((value) => {
      const bar = element("span", { class: "bar", style: `width:${(100 * value) / this.full}%` });
      const text = weights ? percent(value) : fixed(value);
      return element("div", { class: "cell" }, ...(weights ? [bar] : []), number(`${this.name}-cell`, value, text));
    });
  }

  facts() {
    const facts = this.steps.data.facts?.[this.name] ?? [];
    return facts.map(({ label, part, value }) => element("span", {}, `${label} `, number(`${this.name}-${part}`, value, Number.isInteger(value) ? String(value) : fixed(value))));
  }

  cellAt(event) {
    const { row, column } = cellUnder(event, this.body, this.rows, this.columns);
    return this.cell(Math.min(this.values.length - 1, row * this.columns + column));
  }

  /** Returns the cell of a number; a wrapped vector has one row. */
  cell(at) {
    if (this.wrapped) return { row: 0, column: at };
    return { row: Math.floor(at / this.columns), column: at % this.columns };
  }

  /** Returns the cell to select first: a vector's selected number, a column's largest weight, or the query's largest number. */
  home() {
    const { steps, columns, values } = this;
    if (this.wrapped) return { name: this.name, row: 0, column: steps.number(this) };
    if (this.about.drawn_as === "numbers") return { name: this.name, row: strongestIndex(steps.array("weights").values), column: 0 };
    const row = this.rows === steps.data.tokens.length ? (steps.data.query ?? 0) : 0;
    return { name: this.name, row, column: strongestIndex(values.slice(row * columns, (row + 1) * columns)) };
  }

  onKey(event) {
    const { row, column } = this.steps.pinned?.name === this.name ? this.steps.pinned : this.home();
    if (event.key === "Escape") this.steps.pin(null);
    else {
      const to = destination(event, row * this.columns + column, this.values.length, this.columns);
      if (to === null) return;
      this.steps.pin({ name: this.name, ...this.cell(to) });
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** Outlines a cell, a row, a column, or the whole array. */
  mark({ row = null, column = null }, kind) {
    if (this.wrapped && column !== null) [row, column] = [Math.floor(column / this.columns), column % this.columns];
    const part = (at, count) => [`${at === null ? 0 : (100 * at) / count}%`, `${at === null ? 100 : 100 / count}%`];
    const [[top, height], [left, width]] = [part(row, this.rows), part(column, this.columns)];
    const ring = element("div", { class: `ring ${kind}` });
    Object.assign(ring.style, { top, height, left, width });
    this.marks.append(ring);
  }
}

/**
 * @typedef {{ width: "matrix" | "numbers" | "bars", top: string[], rows: string[], bottom: string[] }} Column
 * @typedef {{ op: string, of: string[], drawn_as: "matrix" | "numbers" | "wrapped", role: string, symbol: string[], title: string }} ArrayInfo
 * @typedef {{ source: string, step: number, keep_open: boolean, steps: { title: string, formula: string, sentence: string,
 *   lane: string, splits: string, merges: string, columns: Column[] }[], arrays: { [name: string]: ArrayInfo }, facts: { [name: string]: {
 *   label: string, part: string, value: number }[] } | null, tokens: ShownToken[], query: number | null, total: number,
 *   rest: { count: number } | null, origin: string, reach: number | null }} Message sent and documented by steps.py
 */

/** @extends {View<Message>} */
export class Steps extends View {
  constructor() {
    super();
    this.choice = new Choice();
    this.pinned = null; // the selected cell: { name, row, column }
    this.blocks = new Map();
    this.back = element("button", { type: "button", class: "move", "data-move": -1, text: "← Back", onclick: () => this.go(this.step - 1) });
    this.next = element("button", { type: "button", class: "move", "data-move": 1, text: "Next →", onclick: () => this.go(this.step + 1) });
    this.place = element("span", { class: "place muted", "aria-live": "polite" });
    this.bar = element("div", { class: "step-bar" }, this.back, this.next, this.place);
    this.list = element("ol", { "data-rows": true });
    this.detail = element("section", { class: "detail", "data-rows": true, "aria-label": "How this number was computed" });
    // Screen readers announce only the result, not all the products.
    this.announcer = element("p", { class: "hidden", "aria-live": "polite" });
    this.legend = element("p", { class: "legend" });
    this.root = element("div", { class: "root steps" }, this.bar, this.list, this.legend, this.detail, this.announcer);
    this.root.onkeydown = (event) => /** @type {Element} */ (event.target).closest("button.title, .step-bar") && this.onArrow(event);
    this.listen({ keydown: (event) => !this.data?.keep_open && event.target.matches?.("body, main") && this.onArrow(event) });
    this.onArrays(["source"], () => this.draw());
    this.onResize(() => this.data && this.lines !== this.linesPerVector() && this.draw());
  }

  update(data) {
    if (this.data?.source !== data.source) {
      this.numbers = new Map(); // index of the selected number, by vector length
      this.pinned = null;
    }
    this.data = data;
    this.choice.receive(data.step);
    this.draw();
  }

  get step() {
    return this.choice.value;
  }

  get set() {
    return allData().get(this.data.source);
  }

  array(name) {
    return this.set.arrays[name];
  }

  /** Returns the index of the selected number, shared by vectors of equal length. */
  number({ values }) {
    if (!this.numbers.has(values.length)) this.numbers.set(values.length, values.indexOf(Math.max(...values)));
    return this.numbers.get(values.length);
  }

  linesPerVector() {
    return this.root.clientWidth < NARROW ? LINES.narrow : LINES.wide;
  }

  // The list of steps

  go(step) {
    if (step < 1 || step > this.data.steps.length || step === this.step) return;
    this.choice.choose(step);
    this.pinned = null;
    this.draw();
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (this.data.keep_open) this.items[step - 1].scrollIntoView({ block: "nearest", behavior: still ? "auto" : "smooth" });
    this.trigger("step", { step });
  }

  /** @param {any} event */
  onArrow(event) {
    if (this.data.steps.length === 1) return;
    const by = { ArrowLeft: -1, ArrowRight: 1, ...(event.target.closest?.("button.title") && { ArrowUp: -1, ArrowDown: 1 }) }[event.key];
    if (!by || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.go(this.step + by);
  }

  /** Redraws everything if the arrays have arrived. */
  draw() {
    const { data, step } = this;
    this.root.toggleAttribute("data-waiting", !this.set);
    if (!this.set || !this.root.clientWidth) return;
    const focused = this.focused?.dataset.name;
    this.lines = this.linesPerVector();
    const low = this.root.hasAttribute("data-teacher") || this.lines === LINES.narrow;
    this.rowHeight = low ? 14 : 17;
    this.root.style.setProperty("--row", `${this.rowHeight}px`);
    this.root.dataset.step = step;
    this.root.classList.toggle("all", data.keep_open);
    this.blocks.clear();
    this.titles = [];
    this.items = data.steps.map((about, at) => this.item(about, at + 1));
    this.list.replaceChildren(...this.items);
    tabStop(this.titles, step - 1);
    this.bar.hidden = data.steps.length === 1;
    this.back.setAttribute("aria-disabled", String(step === 1));
    const last = step === data.steps.length;
    this.next.setAttribute("aria-disabled", String(last));
    this.next.classList.toggle("on", !last);
    this.place.textContent = `step ${step} of ${data.steps.length}`;
    this.showLegend();
    this.drawn = true;
    const again = focused === "title" ? this.titles[step - 1] : this.blocks.get(focused)?.body;
    again?.focus({ preventScroll: true });
    this.showDetail();
  }

  item({ title, formula, sentence, lane, splits, merges, columns }, step) {
    const open = this.data.keep_open ? step <= this.step : step === this.step;
    const button = element(
      "button",
      { type: "button", class: "title", "data-name": "title", "aria-current": step === this.step ? "step" : null, onclick: () => this.go(step) },
      element("span", { class: "muted" }, String(step)),
      " ",
      element("span", { class: "name" }, title),
      ...(formula ? [" ", element("span", { class: "code" }, formula)] : []),
    );
    this.titles.push(button);
    const rail = element("div", { class: "rail", "aria-hidden": "true" });
    const turn = (kind, to) => rail.append(element("span", { class: kind, "data-lane": to }));
    if (step < this.data.steps.length || lane !== "stream") turn("way", "stream");
    if (lane !== "stream") turn("way", lane);
    if (merges) turn("merge", merges);
    if (splits) turn("split", splits);
    rail.append(element("span", { class: "node", "data-lane": lane, text: merges ? "+" : "" }));
    const words = sentence ? [element("p", { class: "sentence", text: sentence })] : [];
    const heading = title ? [button] : [];
    const body = element("div", { class: "body" }, element("div", { class: "heading" }, ...heading, ...(open ? words : [])), ...(open ? [this.grid(columns)] : []));
    const attributes = { "data-lane": lane, "data-ahead": step > this.step, "data-here": step === this.step, "data-followed": step === this.step };
    return element("li", attributes, ...(lane ? [rail] : []), body);
  }

  /** Returns a step's blocks: at the top, arrays without token rows; then arrays with token rows; then results computed from all rows. */
  grid(columns) {
    const labelled = columns.some(({ rows }) => rows.length);
    const stack = (at, names, place, height) => {
      const blocks = names.map((name) => {
        const block = new Block(this, name, this.array(name).shape.length > 1 ? height : undefined);
        this.blocks.set(name, block);
        return block.root;
      });
      return element("div", { class: `stack ${place}`, style: `grid-column:${at + 1 + Number(labelled)}` }, ...blocks);
    };
    const cells = columns.flatMap(({ top, rows, bottom }, at) => [
      stack(at, top, "top", 110),
      this.alignWithQuery(stack(at, rows, "rows"), rows),
      stack(at, bottom, "bottom"),
    ]);
    const grid = element("div", { class: "grid" }, ...(labelled ? [this.labels()] : []), ...cells);
    grid.style.gridTemplateColumns = [...(labelled ? ["minmax(3rem, auto)"] : []), ...columns.map(({ width }) => WIDTHS[width])].join(" ");
    return grid;
  }

  /** Moves a vector without token rows down to the query token's row. */
  alignWithQuery(stack, [name]) {
    if (name && this.array(name).shape.length === 1 && this.data.arrays[name].drawn_as === "matrix") {
      stack.style.marginTop = `${(this.data.query ?? 0) * this.rowHeight}px`;
      stack.classList.add("one-row");
    }
    return stack;
  }

  labels() {
    const { tokens, query } = this.data;
    const names = tokens.map(({ label, title }, at) => {
      const classes = `label${at === query ? " chosen query" : ""}`;
      return element("div", { class: classes, title }, element("bdi", { text: label }));
    });
    return element("div", { class: "stack rows labels" }, element("div", { class: "head" }, element("small", {}, "tokens")), ...names);
  }

  showLegend() {
    const ramp = element("span", { class: "ramp", "aria-hidden": "true" });
    ramp.style.background = gradient(this.theme.levels("diverging"));
    const { reach } = this.data;
    const [low, high] = reach ? [`≤ −${fixed(reach, 1)} `, ` ≥ ${fixed(reach, 1)}`] : ["negative ", " positive"];
    const scale = reach ? "All vectors share one colour scale." : "Each matrix has its own colour scale. Boxes: the inputs of the marked number.";
    const how = isTouchScreen() ? "Tap a cell." : "Point at a cell, or tab to a matrix and use the arrow keys.";
    this.legend.replaceChildren(low, ramp, `${high} · ${scale} ${how}`);
  }

  // The explanation of a number

  point(cell) {
    const same = ["name", "row", "column"].every((part) => cell?.[part] === this.at?.[part]);
    if (same) return;
    this.at = cell;
    this.follow(cell);
    this.showDetail();
  }

  pin(cell) {
    this.pinned = cell;
    this.at = null;
    this.follow(cell);
    this.showDetail();
  }

  /** Selects the same index in all vectors of the same length. */
  follow(cell) {
    const block = this.blocks.get(cell?.name);
    if (block?.wrapped) this.numbers.set(block.values.length, cell.column);
  }

  showDetail() {
    if (!this.drawn || !this.set) return;
    for (const block of this.blocks.values()) {
      block.marks.replaceChildren();
      if (!block.wrapped) continue;
      const column = this.number(block);
      block.mark({ column }, "cell");
      block.line.replaceChildren(...explain(this, { name: block.name, row: 0, column }).line);
    }
    const own = this.data.steps[this.step - 1].columns.flatMap(({ top, rows, bottom }) => [...top, ...rows, ...bottom]);
    const cell = [this.at, this.pinned].find((each) => each && this.blocks.has(each.name)) ?? this.blocks.get(own.at(-1)).home();
    const { title = [], notes = [], list = [], line, from = [] } = explain(this, cell);
    this.detail.hidden = this.data.keep_open;
    if (!this.data.keep_open) {
      this.blocks.get(cell.name).mark(cell, "cell");
      for (const [name, part] of from) this.blocks.get(name)?.mark(part, "source");
      const text = notes.map((parts) => element("p", { class: "muted" }, ...parts));
      this.detail.replaceChildren(element("h2", {}, ...title), ...list, ...line, ...text);
      this.detail.dataset.cell = `${cell.name} ${cell.row} ${cell.column}`;
      this.detail.toggleAttribute("data-pinned", Boolean(this.pinned));
    }
    if (!this.at && this.pinned) this.announcer.textContent = [...title, ": ", ...line].map((part) => part.textContent ?? part).join("");
  }
}

export default widget(Steps, styles);
