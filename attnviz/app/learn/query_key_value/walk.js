/* walk: the six steps from a token's vector to a head's output, as one picture that grows. Every matrix keeps its
   place or moves there in sight, and every cell tells what made it. */

import { byFinger, cellUnder, element } from "../../../widgets/dom.js";
import { destination } from "../../../widgets/keyboard.js";
import {
  fewestDigits,
  fixed,
  inBrackets,
  MOST_DIGITS,
  number,
  percent,
  rounded,
  scoreDigits,
  strongest,
  sumDigits,
  total,
} from "../../../widgets/numbers.js";
import { css, oklabFromRgb, rgbFromOklab } from "../../../widgets/palette.js";
import { Choice } from "../../../widgets/selection.js";
import { allData } from "../../../widgets/store.js";
import { View, widget } from "../../../widgets/widget.js";
import { formula, productList, quotient, scaled, timesTexts, token } from "../../components/worked.js";
import workedStyle from "../../components/worked.css";
import styles from "./walk.css";

const LAST = 6;
const FIRST = 8; // of a vector, this many numbers are written out
const LARGEST = 8; // of a long sum, this many products are written out
const RESULT_DIGITS = 3;
const FEWEST_DIGITS = 4; // decimals of a product that is printed
const NARROW = 520; // pixels
const MOST_FACTOR_DIGITS = 8; // decimals of a number that it is worked out from, at most
const FACTOR_DIGITS = [RESULT_DIGITS, MOST_FACTOR_DIGITS];
const MOVE_MS = 450;
const STRIP = 72; // pixels of the chosen token's vector in step 1, which is drawn in bars
const WIDEST_SHARE = 0.98; // the colours end where this share of a matrix's numbers is contained

/** Every matrix of the picture: the step that makes it, its role, and how it is called. */
const MATRICES = [
  { name: "vector", step: 1, role: "plain", symbol: ["x"], title: "the vector of the token that looks", row: true },
  { name: "vectors", step: 1, role: "plain", symbol: ["X"], title: "the tokens’ vectors" },
  { name: "query_matrix", step: 2, role: "query", symbol: ["W", "Q"], title: "the query matrix" },
  { name: "key_matrix", step: 2, role: "key", symbol: ["W", "K"], title: "the key matrix" },
  { name: "value_matrix", step: 2, role: "value", symbol: ["W", "V"], title: "the value matrix" },
  { name: "query_bias", step: 2, role: "query", symbol: ["b", "Q"], title: "the query bias", row: true },
  { name: "key_bias", step: 2, role: "key", symbol: ["b", "K"], title: "the key bias", row: true },
  { name: "value_bias", step: 2, role: "value", symbol: ["b", "V"], title: "the value bias", row: true },
  { name: "query", step: 2, role: "query", symbol: ["q"], title: "the query", row: true },
  { name: "keys", step: 2, role: "key", symbol: ["K"], title: "the keys" },
  { name: "values", step: 2, role: "value", symbol: ["V"], title: "the values" },
  { name: "dot_products", step: 3, role: "plain", symbol: ["q·k"], title: "the dot products", column: true },
  { name: "scores", step: 4, role: "plain", symbol: ["÷ √d"], title: "the scores", column: true },
  { name: "weights", step: 5, role: "weights", symbol: ["softmax"], title: "the weights", column: true },
  { name: "output", step: 6, role: "value", symbol: ["output"], title: "the output", row: true },
];

/** What a matrix of step 2 is made of. */
const MADE_OF = {
  query: { matrix: "query_matrix", bias: "query_bias", sub: "Q" },
  keys: { matrix: "key_matrix", bias: "key_bias", sub: "K" },
  values: { matrix: "value_matrix", bias: "value_bias", sub: "V" },
};

// Numbers -------------------------------------------------------------------------------------------------

/** The size that the colours of a matrix end at: a few outliers must not make all others look alike. */
function reachOf(values) {
  const sizes = Float32Array.from(values, Math.abs).sort();
  return sizes[Math.floor(WIDEST_SHARE * (sizes.length - 1))] || 1;
}

// Document ------------------------------------------------------------------------------------------------

/** @param {string[]} parts the letter, and what stands below it */
function symbol([letter, sub], role) {
  const node = element("b", { class: role }, letter);
  if (sub) node.append(element("sub", {}, sub));
  return node;
}

/** What Python says in parts: text, or { text, role }. */
const spoken = (parts) =>
  parts.map((part) => (typeof part === "string" ? part : element("b", { class: part.role }, element("bdi", { text: part.text }))));

const place = (node, { x, y, width, height }) => {
  const style = { left: x, top: y, width, height };
  for (const [name, value] of Object.entries(style)) if (value !== undefined) node.style[name] = `${value}px`;
};

/** One matrix: its frame, its colours or numbers, and its name above. */
class Block {
  constructor(walk, about) {
    this.name = about.name;
    this.role = about.role;
    this.title = about.title;
    this.step = about.step;
    this.row = about.row;
    this.column = about.column;
    this.walk = walk;
    this.about = about;
    this.head = element("div", { class: "head", "aria-hidden": "true" });
    this.body = element("div", { class: `block ${this.role}`, role: "application" });
    this.body.setAttribute("aria-roledescription", "matrix");
    this.body.dataset.name = this.name;
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.body.onpointermove = (event) => event.pointerType !== "touch" && walk.point(this, this.cellAt(event));
    this.body.onpointerleave = () => walk.point(null);
    this.body.onclick = (event) => walk.pin(this, this.cellAt(event));
    this.body.onkeydown = (event) => this.onKey(event);
    this.body.onfocus = () => this.body.matches(":focus-visible") && walk.pin(this, this.home());
  }

  fill(array, theme) {
    const { values, shape } = array;
    this.cells = values;
    this.rows = this.row ? 1 : shape[0];
    this.columns = this.row ? shape[0] : this.column ? 1 : shape[1];
    this.reach = reachOf(values);
    if (this.column) this.write();
    else this.paint(theme);
  }

  /** Whether it stands alone, large enough for bars. */
  get inBars() {
    return this.name === "vector" && this.walk.step === 1;
  }

  /** One canvas pixel a cell: the browser stretches it, also while the matrix moves. */
  paint(theme) {
    const { rows, columns, cells, reach } = this;
    this.painted = this.inBars;
    if (this.inBars) {
      this.paintBars(theme);
      return;
    }
    this.canvas.width = columns;
    this.canvas.height = rows;
    const low = oklabFromRgb(theme.background);
    const high = oklabFromRgb(this.role === "plain" ? theme.text : theme.role(this.role));
    const table = Array.from({ length: 256 }, (_, level) =>
      rgbFromOklab(low.map((from, at) => from + (high[at] - from) * (0.03 + (0.97 * level) / 255))),
    );
    const image = new ImageData(columns, rows);
    for (let at = 0; at < cells.length; at++) {
      const level = Math.round(255 * Math.min(1, Math.max(0, (cells[at] / reach + 1) / 2)));
      image.data.set(table[level], 4 * at);
      image.data[4 * at + 3] = 255;
    }
    this.canvas.getContext("2d").putImageData(image, 0, 0);
    this.body.replaceChildren(this.canvas);
  }

  /** One bar a number: up is positive, down is negative. */
  paintBars(theme) {
    const most = Math.max(...this.cells.map(Math.abs)) || 1;
    this.canvas.width = 4 * this.columns;
    this.canvas.height = 2 * STRIP;
    const context = this.canvas.getContext("2d");
    context.fillStyle = css(theme.text);
    this.cells.forEach((value, at) => context.fillRect(4 * at + 0.5, STRIP, 3, (-value / most) * STRIP));
    context.fillRect(0, STRIP - 0.5, this.canvas.width, 1);
    this.body.replaceChildren(this.canvas);
  }

  /** A column of numbers; the weights have bars, too. */
  write() {
    const weights = this.name === "weights";
    const { forbidden } = this.walk.data;
    const cells = [...this.cells].map((value, row) => {
      const masked = forbidden[row] && { scores: [-Infinity, "−∞"], weights: [0, "0"] }[this.name];
      const [exact, text] = masked || [value, weights ? percent(value) : fixed(value, 2)];
      const cell = element("div", { class: "cell" }, number(`${this.name}-cell`, exact, text));
      cell.classList.toggle("forbidden", forbidden[row]);
      if (weights && !masked) {
        const bar = element("span", { class: "bar", "aria-hidden": "true" });
        bar.style.width = `${100 * value}%`;
        cell.prepend(bar);
      }
      return cell;
    });
    this.body.replaceChildren(...cells);
  }

  at(row, column) {
    return this.cells[row * this.columns + column];
  }

  cellAt(event) {
    return cellUnder(event, this.body, this.rows, this.columns);
  }

  /** The cell that tells most: the strongest; in a matrix with a row for each token, of the token that looks. */
  home() {
    const { columns, cells } = this;
    const row = this.rows === this.walk.count && !this.column ? (this.walk.data.query ?? 0) : 0;
    if (this.column) return { row: strongest(this.walk.array("weights")), column: 0 };
    return { row, column: strongest(cells.slice(row * columns, (row + 1) * columns)) };
  }

  onKey(event) {
    const pinned = this.walk.pinned;
    const { row, column } = pinned?.block === this ? pinned : this.home();
    if (event.key === "Escape") this.walk.pin(null);
    else {
      const to = destination(event, row * this.columns + column, this.rows * this.columns, this.columns);
      if (to === null) return;
      this.walk.pin(this, { row: Math.floor(to / this.columns), column: to % this.columns });
    }
    event.preventDefault();
    event.stopPropagation();
  }

  show(box, walk) {
    this.box = box;
    const hidden = !box;
    for (const node of [this.body, this.head]) node.classList.toggle("hidden-block", hidden);
    const current = this.step === walk.step;
    const tellsProducts = !this.name.includes("_matrix") && !this.name.includes("_bias") && !this.name.startsWith("vector");
    this.body.tabIndex = !hidden && (current ? !this.name.includes("_bias") : tellsProducts) ? 0 : -1;
    this.body.classList.toggle("current", current);
    this.body.toggleAttribute("data-followed", current && this.name === "output"); // below all rows
    if (hidden) return;
    if (this.canvas && !this.column && this.painted !== this.inBars) this.paint(walk.theme);
    this.body.classList.toggle("faint", box.faint === true);
    place(this.body, box);
    this.body.style.setProperty("--row", `${box.height / this.rows}px`);
    if (this.canvas) this.canvas.style.imageRendering = this.inBars || box.height < this.rows || box.width < this.columns ? "auto" : "pixelated";
    const size = this.column ? "" : `${this.row ? 1 : this.rows} × ${this.columns}`;
    const parts = [element("span", { class: "badge" }, String(this.step)), symbol(this.headSymbol(walk), this.role)];
    if (box.beside && walk.crosses) parts.unshift(element("bdi", { class: "asker", text: walk.data.across.token.label }));
    else if (box.beside) parts.unshift(element("small", {}, box.beside < 80 ? "query" : "query (looks)"));
    else if (box.width > 84) parts.push(element("small", {}, size));
    this.head.replaceChildren(...parts);
    this.head.classList.toggle("beside", Boolean(box.beside));
    if (box.beside) place(this.head, { x: 0, y: box.y, width: box.beside, height: box.height });
    else if (box.below) place(this.head, { x: box.x, y: box.y + box.height + 2, width: box.width, height: 18 });
    else place(this.head, { x: box.x, y: box.y - 19, width: Math.max(box.width, 40), height: 18 });
    this.head.classList.toggle("hidden-block", box.nameless === true);
    const name = `${this.title}, ${this.rows} by ${this.columns}: arrow keys move from cell to cell`;
    if (this.body.getAttribute("aria-label") !== name) this.body.setAttribute("aria-label", name);
  }

  headSymbol(walk) {
    if (this.name === "scores") return [`÷ √${walk.size}`];
    if (this.name === "vectors") return [walk.read.toUpperCase()];
    return this.name === "weights" && this.box.width < 80 ? ["w"] : this.about.symbol;
  }
}

/**
 * @typedef {{ source: string, step: number, steps: { title: string, sentence: (string | { text: string, role: string
 *   })[] }[], tokens: ShownToken[], query: number | null, across: { token: ShownToken, origin: string } | null,
 *   forbidden: boolean[], total: number, rest: { count: number, weight: number } | null, origin: string }} Message
 *   what walk.py sends, and describes
 */

/** @extends {View<Message>} */
class Walk extends View {
  constructor() {
    super();
    this.choice = new Choice();
    this.pinned = null;
    this.blocks = new Map(MATRICES.map((about) => [about.name, new Block(this, about)]));
    const button = (text, by) =>
      element("button", { type: "button", class: by > 0 ? "move on" : "move", "data-move": by, onclick: () => this.go(this.step + by) }, text);
    this.back = button("← Back", -1);
    this.next = button("Next →", 1);
    this.title = element("h2");
    this.bar = element("div", { class: "bar-of-steps" }, this.back, this.title, this.next);
    this.sentence = element("p", { class: "sentence", "data-part": "sentence" });
    this.labels = element("div", { class: "labels" });
    this.asker = element("div", { class: "asker" });
    this.axis = element("div", { class: "axis" });
    this.ghost = element("div", { class: "ghost", "aria-hidden": "true" });
    this.equation = element("div", { class: "equation" });
    this.rest = element("div", { class: "rest" });
    this.sum = element("div", { class: "sum-of-weights" });
    this.marks = element("div", { class: "marks", "aria-hidden": "true" });
    this.stage = element("div", { class: "stage", "data-rows": true }, this.ghost, this.equation, this.axis, this.asker, this.labels, this.rest, this.sum);
    for (const block of this.blocks.values()) this.stage.append(block.head, block.body);
    this.stage.append(this.marks);
    this.legend = element("p", { class: "legend" });
    this.detail = element("section", { class: "detail", "data-rows": true, "aria-label": "What made this number" });
    // Only the outcome is read out: nobody wants to hear all the products at every key.
    this.said = element("p", { class: "hidden", "aria-live": "polite" });
    this.root = element("div", { class: "root walk" }, this.bar, this.sentence, this.stage, this.legend, this.detail, this.said);
    this.bar.onkeydown = (event) => this.onArrow(event);
    // Wherever on the page, unless a control or a matrix has the keyboard.
    const onWindowKey = (event) => event.target.matches?.("body, main") && this.onArrow(event);
    this.listen({ keydown: onWindowKey });
    this.onArrays(["source"], () => this.draw());
    this.onResize(() => this.drawn && this.arrange(false));
  }

  close() {
    clearTimeout(this.moving);
    super.close();
  }

  update(data) {
    const before = this.step;
    const other = this.data?.source !== data.source;
    this.data = data;
    this.choice.tell(data.step);
    if (other || before !== this.step) this.pinned = null;
    this.draw(before !== undefined && before !== this.step);
  }

  get step() {
    return this.choice.value;
  }

  get set() {
    return allData().get(this.data.source);
  }

  array(name) {
    return this.set.arrays[name].values;
  }

  get count() {
    return this.data.tokens.length;
  }

  /** True if the token that looks stands in another text: then its vector has a place of its own. */
  get crosses() {
    return Boolean(this.data.across);
  }

  /** What the vectors that are looked at are called in formulas. */
  get read() {
    return this.crosses ? "s" : "x";
  }

  /** d_head */
  get size() {
    return this.set.arrays.query.shape[0];
  }

  go(step) {
    if (step < 1 || step > LAST) return;
    this.choice.choose(step);
    this.pinned = null;
    this.arrange(true);
    this.trigger("step", { step });
  }

  onArrow(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.go(this.step + by);
  }

  /** Fill everything from the data; nothing is drawn before the numbers have come. */
  draw(moves = false) {
    if (!this.set) return;
    for (const block of this.blocks.values()) {
      block.fill(this.set.arrays[block.name], this.theme);
    }
    this.labels.replaceChildren(
      ...this.data.tokens.map(({ label, title }, at) => {
        const node = element("div", { class: "label", title }, element("bdi", { text: label }));
        node.classList.toggle("chosen", at === this.data.query);
        node.classList.toggle("forbidden", this.data.forbidden[at]);
        return node;
      }),
    );
    const { across, tokens, query } = this.data;
    this.asker.replaceChildren(element("bdi", { text: (across?.token ?? tokens[query]).label }));
    this.drawn = true;
    this.arrange(moves);
  }

  // Where everything stands -------------------------------------------------------------------------------

  arrange(moves) {
    const width = this.root.clientWidth;
    if (!width || !this.set) return;
    const { step, data } = this;
    this.stage.classList.toggle("still", !moves);
    if (moves) {
      this.stage.classList.add("moving");
      clearTimeout(this.moving);
      this.moving = setTimeout(() => this.stage.classList.remove("moving"), MOVE_MS);
    }
    const layout = step === 1 ? this.first(width) : step === 2 ? this.second(width) : this.later(width);
    this.stage.style.height = `${layout.height}px`;
    for (const block of this.blocks.values()) block.show(layout.boxes[block.name] ?? null, this);
    place(this.labels, layout.labels);
    this.labels.style.setProperty("--row", `${layout.row}px`);
    place(this.axis, { x: 0, y: layout.labels.y - 19, width: layout.labels.width, height: 18 });
    this.axis.textContent = step < 3 ? "tokens" : width < NARROW ? "key" : "key (is looked at)";
    const beside = step < 3 && layout.boxes.vector; // where the token that looks is no row
    this.asker.hidden = !beside;
    if (beside) {
      place(this.asker, { ...layout.labels, y: beside.y, height: beside.height });
      this.asker.style.setProperty("--row", `${beside.height}px`);
    }
    this.ghost.hidden = step !== 2 || this.crosses;
    this.equation.hidden = step !== 2;
    if (step === 2) {
      place(this.ghost, layout.ghost);
      place(this.equation, layout.equation);
      this.equation.replaceChildren(...this.equations());
    }
    this.rest.hidden = !data.rest || step < 3;
    if (!this.rest.hidden) this.showRest(layout);
    this.sum.hidden = step < 5;
    if (step >= 5) {
      place(this.sum, layout.sum);
      const sum = total(this.array("weights")) + (data.rest?.weight ?? 0);
      this.sum.replaceChildren("sum ", number("sum-of-weights", sum, percent(rounded(sum, MOST_DIGITS)), "weights"));
    }
    this.title.replaceChildren(element("span", { class: "muted" }, `Step ${step} of ${LAST} `), data.steps[step - 1].title);
    this.sentence.replaceChildren(...spoken(data.steps[step - 1].sentence));
    this.back.setAttribute("aria-disabled", String(step === 1));
    this.next.setAttribute("aria-disabled", String(step === LAST));
    this.root.dataset.step = step;
    this.showLegend();
    this.tell();
  }

  labelWidth(width) {
    const longest = Math.max(...this.data.tokens.map(({ label }) => label.length));
    return Math.min(width < NARROW ? 62 : 110, Math.max(44, 12 + 7.5 * longest));
  }

  get onProjector() {
    return this.root.hasAttribute("data-teacher");
  }

  /** Step 1: the vector of the token that looks, large, and those of all tokens, faint. */
  first(width) {
    const [left, row] = [this.labelWidth(width), this.count > 16 || this.onProjector ? 12 : 14];
    const top = 22 + STRIP + 30;
    const height = this.count * row;
    const boxes = {
      vector: { x: left, y: 22, width: width - left, height: STRIP },
      vectors: { x: left, y: top, width: width - left, height, faint: true },
    };
    return {
      row,
      height: top + height,
      labels: { x: 0, y: top, width: left - 8, height },
      boxes,
    };
  }

  /** Step 2: each matrix above its product and beside the vectors, as one multiplies by hand. */
  second(width) {
    const narrow = width < NARROW;
    const [left, gap, row] = [this.labelWidth(width), narrow ? 7 : 16, this.count > 16 && !this.onProjector ? 10 : 13];
    const wide = Math.floor((width - left) * (narrow ? 0.24 : 0.28));
    const each = Math.floor((width - left - wide - 3 * gap) / 3);
    const [tall, top] = [this.onProjector ? 60 : narrow ? 130 : 160, 22];
    const first = top + tall + 40;
    const below = this.crosses ? first + row + 30 : first;
    const height = this.count * row;
    const x = (at) => left + wide + gap + at * (each + gap);
    const boxes = { vectors: { x: left, y: below, width: wide, height } };
    ["query", "key", "value"].forEach((role, at) => {
      boxes[`${role}_matrix`] = { x: x(at), y: top, width: each, height: tall };
      boxes[`${role}_bias`] = { x: x(at), y: top + tall + 4, width: each, height: 8, nameless: true };
    });
    boxes.query = { x: x(0), y: this.crosses ? first : below + this.data.query * row, width: each, height: row };
    if (this.crosses) boxes.vector = { x: left, y: first, width: wide, height: row };
    boxes.keys = { x: x(1), y: below, width: each, height };
    boxes.values = { x: x(2), y: below, width: each, height };
    return {
      row,
      height: below + height,
      labels: { x: 0, y: below, width: left - 8, height },
      ghost: { x: x(0), y: below, width: each, height },
      equation: { x: 0, y: top, width: left + wide, height: tall },
      boxes,
    };
  }

  /** Steps 3 to 6: one row for each key; the query above the keys, the output below the values. */
  later(width) {
    const { step } = this;
    const narrow = width < NARROW;
    const [left, gap] = [narrow ? 62 : Math.max(112, this.labelWidth(width)), narrow ? 6 : 18];
    const boxes = this.onProjector ? {} : this.earlier(width, narrow);
    const row = this.onProjector ? 14 : this.count > 16 ? 17 : 19;
    const top = this.onProjector ? 4 : narrow ? 108 : 92;
    const start = top + row + (narrow ? 42 : 26);
    const height = this.count * row;
    /** @type {[string, number][]} */
    const all = [
      ["dot_products", narrow ? 42 : 60],
      ["scores", narrow ? 40 : 58],
      ["weights", narrow ? 46 : 96],
    ];
    const columns = all.slice(0, Math.min(step, 5) - 2);
    const numbers = total(columns.map(([, wide]) => wide + gap));
    const matrix = Math.floor((width - left - numbers - gap) / 2);
    boxes.query = { x: left, y: top, width: matrix, height: row, beside: left - 8 };
    boxes.keys = { x: left, y: start, width: matrix, height };
    let x = left + matrix + gap;
    for (const [name, wide] of columns) {
      boxes[name] = { x, y: start, width: wide, height };
      x += wide + gap;
    }
    boxes.values = { x, y: start, width: width - x, height };
    const bottom = start + height + (this.data.rest ? row + 4 : 0) + 10;
    if (step === LAST) boxes.output = { x, y: bottom, width: width - x, height: row, below: true };
    return {
      row,
      height: step < 5 ? start + height + (this.data.rest ? row + 4 : 0) : bottom + row + (step === LAST ? 20 : 0),
      sum: { x: left, y: bottom, width: x - gap - left - 3, height: row },
      labels: { x: 0, y: start, width: left - 8, height },
      rest: { x: 0, y: start + height + 4, width: x, height: row, weights: boxes.weights },
      boxes,
    };
  }

  /** Steps 1 and 2 in small, side by side. */
  earlier(width, narrow) {
    const [gap, top, tall] = [narrow ? 8 : 16, 22, 42];
    const each = Math.floor((width - 3 * gap) / (narrow ? 4.6 : 5));
    const wide = width - 3 * (each + gap);
    const boxes = { vectors: { x: 0, y: top, width: wide, height: this.crosses ? tall : tall + 10 } };
    if (this.crosses) boxes.vector = { x: 0, y: top + tall + 3, width: wide, height: 7, nameless: true };
    ["query", "key", "value"].forEach((role, at) => {
      const x = wide + gap + at * (each + gap);
      boxes[`${role}_matrix`] = { x, y: top, width: each, height: tall };
      boxes[`${role}_bias`] = { x, y: top + tall + 3, width: each, height: 7, nameless: true };
    });
    return boxes;
  }

  equations() {
    const line = (made, of, { sub }, role) =>
      element("div", {}, symbol([made], role), " = ", symbol([of], ""), " ", symbol(["W", sub], role), " + ", symbol(["b", sub], role));
    return [
      line("q", "x", MADE_OF.query, "query"),
      line("K", this.read.toUpperCase(), MADE_OF.keys, "key"),
      line("V", this.read.toUpperCase(), MADE_OF.values, "value"),
      element("small", {}, "one row × one column, plus the bias: one number"),
    ];
  }

  /** @param {any} layout of a step that has a rest */
  showRest({ rest, row }) {
    place(this.rest, rest);
    this.rest.style.lineHeight = `${row}px`;
    const parts = [element("span", {}, `${this.data.rest.count} others`)];
    if (rest.weights) {
      const sum = element("span", { class: "rest-weight" }, number("rest-weight", this.data.rest.weight, percent(this.data.rest.weight)));
      sum.style.left = `${rest.weights.x}px`;
      sum.style.width = `${rest.weights.width - 4}px`;
      parts.push(sum);
    }
    this.rest.replaceChildren(...parts);
  }

  // What a cell tells -------------------------------------------------------------------------------------

  /** The cell whose making is told while the visitor points at none. */
  get home() {
    const name = ["vector", "query", "dot_products", "scores", "weights", "output"][this.step - 1];
    const block = this.blocks.get(name);
    return { block, ...block.home() };
  }

  point(block, cell) {
    const at = block && { block, ...cell };
    if (at?.block === this.at?.block && at?.row === this.at?.row && at?.column === this.at?.column) return;
    this.at = at;
    this.tell();
  }

  pin(block, cell) {
    this.pinned = block && { block, ...cell };
    this.at = null;
    this.tell();
  }

  tell() {
    if (!this.drawn || !this.set) return;
    if (this.at && !this.at.block.box) this.at = null;
    const told = this.at ?? this.pinned ?? this.home;
    this.mark(told);
    const { name } = told.block;
    const write =
      {
        vector: this.vectorCell,
        vectors: this.vectorCell,
        query: this.projected,
        keys: this.projected,
        values: this.projected,
        dot_products: this.dotProduct,
        scores: this.score,
        weights: this.weight,
        output: this.outputCell,
      }[name] ?? this.parameter;
    this.detail.replaceChildren(...write.call(this, told));
    this.detail.toggleAttribute("data-pinned", Boolean(this.pinned));
    this.keepHeight();
    const [title, result] = ["h3", '[data-part="result"]'].map((part) => this.detail.querySelector(part).textContent);
    if (!this.at) this.said.textContent = `${title}: ${result}`;
    this.detail.dataset.cell = `${name} ${told.row} ${told.column}`;
  }

  token(row, role = "") {
    return token(this.data.tokens[row].name, role);
  }

  /** What stands below must not jump while the pointer moves: within a step the space only grows. */
  keepHeight() {
    const here = `${this.step} ${this.root.clientWidth}`;
    if (this.keptFor !== here) this.detail.style.minHeight = "";
    this.keptFor = here;
    this.detail.style.minHeight = `${this.detail.offsetHeight}px`;
  }

  /** The token that looks. */
  looking(role = "") {
    const { across, tokens, query } = this.data;
    return token((across?.token ?? tokens[query]).name, role);
  }

  /** Where the vector stands that a cell of step 2 was made from. */
  owner({ block, row = null }) {
    if (!block.row) return { name: "vectors", row };
    return this.crosses ? { name: "vector", row: 0 } : { name: "vectors", row: this.data.query };
  }

  vectorCell({ block, row, column }) {
    const value = block.at(row, column);
    const first = Array.from({ length: FIRST }, (_, at) => fixed(block.at(row, at), RESULT_DIGITS));
    return [
      heading("Number ", String(column + 1), " of the vector of ", block.row ? this.looking() : this.token(row)),
      formula(
        symbol([block.row ? "x" : this.read], "plain"),
        element("sub", {}, String(column + 1)),
        " = ",
        number("result", value, fixed(value, MOST_DIGITS), "outcome"),
      ),
      muted((block.row && this.data.across?.origin) || this.data.origin),
      muted("The vector’s first numbers: ", element("span", { class: "number" }, first.join(", ")), ", …"),
    ];
  }

  parameter({ block, row, column }) {
    const value = block.at(row, column);
    if (block.row) {
      return [
        heading("Number ", String(column + 1), " of ", symbol(block.about.symbol, block.role)),
        formula(number("result", value, fixed(value, MOST_DIGITS), "outcome")),
        muted(`Learned in training; added to number ${column + 1} of every ${block.role}.`),
      ];
    }
    const asks = block.role === "query" || !this.crosses;
    const owner = asks ? this.owner({ block: this.blocks.get("query") }) : { name: "vectors", row: strongest(this.array("weights")) };
    const x = this.blocks.get(owner.name).at(owner.row, row);
    const [left, right, result] = timesTexts(x, value, FEWEST_DIGITS, FACTOR_DIGITS);
    return [
      heading("Row ", String(row + 1), ", column ", String(column + 1), " of ", symbol(block.about.symbol, block.role)),
      formula(number("result", value, fixed(value, MOST_DIGITS), "outcome")),
      muted(
        `Learned in training. It takes number ${row + 1} of every vector to number ${column + 1} of its ${block.role}; for `,
        asks ? this.looking() : this.token(owner.row),
        `: ${left} × ${right} = ${result}.`,
      ),
    ];
  }

  /** x · (a column of W) + b: the largest of 384 products, what the others add up to, and the bias. */
  projected(told) {
    const { block, column } = told;
    const { matrix, bias, sub } = MADE_OF[block.name];
    const owner = this.owner(told);
    const [vectors, weights] = [this.blocks.get(owner.name), this.blocks.get(matrix)];
    const factors = Array.from({ length: vectors.columns }, (_, at) => [vectors.at(owner.row, at), weights.at(at, column)]);
    const result = block.at(told.row, column);
    const vector = block.row ? "x" : this.read;
    const whose = block.row ? this.looking() : this.token(told.row);
    return [
      heading("Number ", String(column + 1), " of the ", element("b", { class: block.role }, block.role), " of ", whose),
      muted(
        `The ${factors.length} numbers of `,
        symbol([vector], "plain"),
        ` times column ${column + 1} of `,
        symbol(["W", sub], block.role),
        `, added up, and the bias. The ${LARGEST} largest products:`,
      ),
      ...this.addition({
        factors,
        roles: ["plain", block.role],
        names: (at) => [element("b", {}, vector), element("sub", {}, String(at + 1))],
        most: LARGEST,
        bias: this.blocks.get(bias).at(0, column),
        biasName: symbol(["b", sub], block.role),
        result,
        role: block.role,
      }),
    ];
  }

  dotProduct({ block, row }) {
    const [query, keys] = [this.blocks.get("query"), this.blocks.get("keys")];
    const factors = Array.from({ length: this.size }, (_, at) => [query.at(0, at), keys.at(row, at)]);
    return [
      heading(symbol(["q"], "query"), " · ", symbol(["k"], "key"), ": the query of ", this.looking("query"), " times the key of ", this.token(row, "key")),
      muted(`Number by number, ${factors.length} products, added up:`),
      ...this.addition({ factors, roles: ["query", "key"], names: (at) => [String(at + 1)], result: block.at(row, 0), role: "outcome" }),
    ];
  }

  score({ block, row }) {
    const score = block.at(row, 0);
    const dot = this.array("dot_products")[row];
    const worked = { dot_product: dot, scale: 1 / Math.sqrt(this.size), d_head: this.size, score };
    return [
      heading("The score of ", this.token(row, "key")),
      scaled({ ...worked, masked: this.data.forbidden[row] }, RESULT_DIGITS, { product: "dot-product", score: "result", root: "root" }),
      ...this.masked(row, "the mask puts −∞ in place of this score"),
    ];
  }

  /** What the mask does to a row that it forbids. */
  masked(row, what) {
    if (!this.data.forbidden[row]) return [];
    return [element("p", {}, this.looking("query"), " may not look at ", this.token(row, "key"), `, which comes later: ${what}.`)];
  }

  weight({ row }) {
    const { largest, sum } = this.set.facts;
    const scores = this.array("scores");
    const masked = this.data.forbidden[row];
    const exponentials = [...scores].map((score, at) => (this.data.forbidden[at] ? 0 : Math.exp(score - largest)));
    const [score, exponential, weight] = [scores[row], exponentials[row], this.array("weights")[row]];
    const outside = this.data.rest ? sum - total(exponentials) : 0;
    const terms = this.data.rest ? [...exponentials, outside] : exponentials;
    // The sum has one decimal less than what it sums: the roundings of many add up.
    const digits = fewestDigits(FEWEST_DIGITS, MOST_FACTOR_DIGITS, (of) => {
      const below = fixed(total(terms.map((term) => rounded(term, of))), of - 1);
      return below === fixed(sum, of - 1) && percent(rounded(exponential, of) / Number(below)) === percent(weight);
    });
    const power = masked ? RESULT_DIGITS : scoreDigits([{ score, exponential, digits }], largest, RESULT_DIGITS, MOST_FACTOR_DIGITS);
    const names = [...this.data.tokens.map(({ name }) => name), `${this.data.rest?.count} others`];
    const list = element(
      "ol",
      { class: "product-list", "data-part": "exponentials" },
      ...terms.map((term, at) =>
        element("li", { class: at === row ? "here" : "" }, element("bdi", { class: "of" }, names[at]), number("exponential", term, fixed(term, digits))),
      ),
    );
    return [
      heading("The weight of ", this.token(row, "key")),
      quotient(
        { score, largest, exponential, sum, weight, masked },
        { score: power, exponential: masked ? "0" : fixed(exponential, digits), sum: digits - 1 },
        masked ? "0" : percent(weight),
        { exponential: "own-exponential", divisor: "sum", weight: "result" },
      ),
      muted(`${fixed(largest, power)} is the largest score: taking it away from all changes no share. The sum of all ${this.data.total}:`),
      list,
      ...this.masked(row, "its score is −∞, and its weight exactly 0"),
    ];
  }

  outputCell({ block, column }) {
    const values = this.blocks.get("values");
    const weights = this.array("weights");
    const factors = [...weights].map((weight, row) => [weight, values.at(row, column)]);
    const { rest } = this.data;
    return [
      heading("Number ", String(column + 1), " of the output for ", this.looking()),
      muted(`Each token’s weight times number ${column + 1} of its value, added up:`),
      ...this.addition({
        factors,
        roles: ["weights", "value"],
        names: (at) => [token(this.data.tokens[at].name)],
        others: rest ? this.array("rest")[column] : null,
        othersName: rest ? `the other ${rest.count} tokens` : "",
        result: block.at(0, column),
        role: "value",
        listClass: "of-tokens",
      }),
    ];
  }

  /**
   * A sum of products, written so that the printed numbers multiply and add up to the printed result.
   *
   * @param most only so many products are written out, the largest; the others as one number.
   * @param others what comes from elsewhere, not as products.
   */
  addition({ factors, roles, names, most = Infinity, bias = null, biasName = null, others = null, othersName = "", result, role, listClass = "" }) {
    const products = factors.map(([a, b]) => a * b);
    let order = products.map((_, at) => at);
    if (order.length > most) {
      order = order.sort((a, b) => Math.abs(products[b]) - Math.abs(products[a])).slice(0, most).sort((a, b) => a - b);
      const written = new Set(order);
      others = total(products.filter((_, at) => !written.has(at)));
      othersName = `the other ${products.length - order.length} products`;
    }
    const terms = [...order.map((at) => products[at]), others ?? 0, bias ?? 0];
    const [digits, resultDigits] = sumDigits(terms, result, RESULT_DIGITS);
    const list = productList(
      order.map((at) => [...factors[at], products[at]]),
      (nth) => names(order[nth]),
      { digits, factorDigits: FACTOR_DIGITS, roles: [...roles, ""], name: listClass },
    );
    const line = formula(`sum of the ${order.length}: `, number("written-sum", total(terms.slice(0, -2)), fixed(total(terms.slice(0, -2).map((term) => rounded(term, digits))), digits)));
    if (others !== null) line.append(" + ", othersName, ": ", number("others", others, inBrackets(fixed(others, digits))));
    if (bias !== null) line.append(" + ", biasName, ": ", number("bias", bias, inBrackets(fixed(bias, digits))));
    line.append(" ≈ ", number("result", result, fixed(result, resultDigits), `outcome ${role}`));
    return [list, line];
  }

  // What a cell was made from, in the picture -------------------------------------------------------------

  mark(told) {
    const { block, row, column } = told;
    const all = { row: null, column: null };
    const owner = this.owner(told);
    const looks = this.owner({ block: this.blocks.get("query") });
    const made = MADE_OF[block.name];
    const from = made
      ? [[owner.name, { row: owner.row }], [made.matrix, { column }], [made.bias, { column }]]
      : {
          dot_products: [["query", all], ["keys", { row }]],
          scores: [["dot_products", { row }]],
          weights: [["scores", all]],
          output: [["weights", all], ["values", { column }]],
        }[block.name] ?? [];
    if (this.step === 1) from.push([looks.name, { row: looks.row }]);
    const rings = [[block.name, { row, column }, "cell"], ...from.map(([name, part]) => [name, part, "source"])];
    this.marks.replaceChildren(...rings.flatMap(([name, part, kind]) => this.ring(this.blocks.get(name), part, kind)));
    const lit = this.count === block.rows && !block.row ? row : block.name === "query" ? this.data.query : null;
    [...this.labels.children].forEach((label, at) => {
      label.classList.toggle("lit", at === lit);
      label.toggleAttribute("data-followed", at === lit || at === this.data.query);
    });
  }

  ring(block, { row = null, column = null }, kind) {
    if (!block.box) return [];
    const { x, y, width, height } = block.box;
    const [wide, tall] = [width / block.columns, height / block.rows];
    const ring = element("div", { class: `ring ${kind} ${block.role}` });
    place(ring, {
      x: column === null ? x : x + column * wide,
      y: row === null ? y : y + row * tall,
      width: column === null ? width : wide,
      height: row === null ? height : tall,
    });
    return [ring];
  }

  showLegend() {
    const scale = element("span", { class: "scale", "aria-hidden": "true" });
    this.legend.replaceChildren(
      element("span", { class: "ends" }, "negative ", scale, " positive"),
      `Each matrix has its own scale, around 0. ${byFinger() ? "Tap a cell." : "Point at a cell, or tab to a matrix and use the arrow keys."}`,
    );
  }
}

const heading = (...parts) => element("h3", {}, ...parts);
const muted = (...parts) => element("p", { class: "muted" }, ...parts);

export default widget(Walk, workedStyle, styles);
