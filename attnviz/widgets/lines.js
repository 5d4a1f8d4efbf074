/* lines: which tokens attend to which, as curves from query tokens to key tokens. */

import { isTouchScreen, element, onPaper } from "./dom.js";
import { buttonOf, destination, tabStop } from "./keyboard.js";
import { formatBrief } from "./numbers.js";
import { css } from "./palette.js";
import { CanvasPen, truncate, textWidth } from "./pens.js";

// Maximum numbers of curves; the strongest are drawn. More would be slow to draw and indistinguishable.
const MAX_CURVES = { text: 600, perRow: 24, perRowOfAll: 12 };
const MANY_TOKENS = 64; // with more tokens, only the rows in view have curves
const ROW = { roomy: 26, dense: 24, projected: 20, many: 40 }; // heights in pixels; more than `many` rows are dense
const MAX_HEIGHT = 640;

/** The strength of the line of each level, 0–1. An exponent of 2 would undo the levels' square root and hide weak links. */
const strengths = {
  sequential: Float32Array.from({ length: 256 }, (_, level) => (level === 255 ? 0 : (level / 254) ** 1.4)),
  diverging: Float32Array.from({ length: 256 }, (_, level) =>
    level === 255 ? 0 : (Math.abs(level - 127) / 127) ** 1.4,
  ),
};

/** @typedef {import("./pens.js").Pen} Pen */
/** @typedef {import("./palette.js").Scale} Scale */
/** @typedef {import("./head_view.js").ShownHead} ShownHead */

/**
 * Draws the curves, and tints the key tokens in proportion to their weights.
 *
 * @param {Pen} pen
 * @param {{ left: number, right: number, width: number, row: number, top: number, height: number }} place in pixels:
 *   curves run from `left` to `right`, tints from `right` to `width`; `row` is the height of a row, `top` the scroll
 *   position, `height` the visible height
 * @param {ShownHead[]} shown heads of equal shape
 * @param {{ queries: number[], key: number | null }} from the queries or the key whose lines are drawn;
 *   if neither is set, all queries in view
 * @param {Scale} kind
 * @returns {{ drawn: number, total: number, inView: boolean }} the numbers of drawn curves and of all
 *   curves, and whether only the rows in view were considered
 */
function drawLines(pen, { left, right, width, row, top, height }, shown, { queries, key }, kind) {
  const strength = strengths[kind];
  const { theme } = pen;
  const colour = (head, level) => {
    if (shown.length > 1) return theme.head(head.number);
    return kind === "diverging" ? theme.change(level > 127) : theme.role("weights");
  };
  const [{ rows, columns }] = shown;
  const many = Math.max(rows, columns) > MANY_TOKENS;
  const first = many ? Math.max(0, Math.floor(top / row)) : 0;
  const last = many ? Math.min(rows, Math.ceil((top + height) / row)) : rows;
  const all = !queries.length && key === null;
  const cells = [];
  let total = 0; // excluding masked cells
  for (const head of shown) {
    const add = (i, j) => {
      const level = head.values[i * columns + j];
      if (level === 255) return;
      total += 1;
      const strong = strength[level];
      if (strong > 0.004) cells.push({ head, i, j, level, strong });
    };
    if (queries.length) for (const i of queries) for (let j = 0; j < columns; j++) add(i, j);
    else if (key !== null) for (let i = 0; i < rows; i++) add(i, key);
    else for (let i = first; i < last; i++) for (let j = 0; j < columns; j++) add(i, j);
  }
  // With several heads, each key token's row has one stripe per head, in which the head's line ends.
  const thickness = (row - 2) / shown.length;
  const stripe = (head) => (!queries.length ? 0 : (shown.indexOf(head) - (shown.length - 1) / 2) * thickness);
  if (queries.length) {
    for (const { head, j, level, strong } of cells) {
      const y = j * row - top + 1 + shown.indexOf(head) * thickness;
      if (y > height || y + row < 0) continue;
      const fill = colour(head, level);
      pen.rect(right, y, width - right, thickness, { fill, alpha: 0.02 + 0.36 * strong, radius: 4 });
      pen.rect(right, y, 3, thickness, { fill, alpha: 0.2 + 0.8 * strong, radius: 1.5 });
    }
  }
  const maximum =
    all && !many ? MAX_CURVES.text : shown.length * (all ? MAX_CURVES.perRowOfAll * (last - first) : MAX_CURVES.perRow * Math.max(1, queries.length));
  cells.sort((a, b) => a.strong - b.strong); // the strongest on top
  const strongest = all || many ? cells.slice(-maximum) : cells;
  const middle = (at) => (at + 0.5) * row - top;
  const inView = (y) => y >= 0 && y <= height;
  for (const { head, i, j, level, strong } of strongest) {
    const [y0, y1] = [middle(i), middle(j) + stripe(head)];
    if (Math.max(y0, y1) < 0 || Math.min(y0, y1) > height) continue;
    // Lines to tokens out of view are faint.
    const alpha = (all ? 0.04 + 0.8 * strong : 0.1 + 0.9 * strong) * (inView(y0) && inView(y1) ? 1 : 0.4);
    const dashed = kind === "diverging" && level < 127;
    pen.curve(left, y0, right, y1, { stroke: colour(head, level), width: 0.9 + 3.4 * strong, alpha, dashed });
  }
  return { drawn: strongest.length, total, inView: last - first < rows };
}

/** Formats a value for a key token; "" for masked cells, omitted weights, and values that round to 0 %. */
function shortNumber(value, unit, several) {
  if (Number.isNaN(value) || (unit !== "score" && Math.abs(value) < 0.005)) return "";
  if (unit === "percent" && value < 0) return ""; // minus the upper bound of an omitted weight
  const text = formatBrief(value, unit);
  return several ? text.replace("\u00a0%", "") : text;
}

export class Lines {
  /** @param view the HeadView that shows these lines */
  constructor(view) {
    this.view = view;
    this.canvas = element("canvas", { class: "curves", "aria-hidden": "true" });
    this.left = element("div", { class: "column queries", role: "group", "aria-label": "from (query)" });
    this.right = element("div", { class: "column keys", role: "group", "aria-label": "to (key)" });
    this.columns = element("div", { class: "columns" }, this.left, this.right);
    this.scroller = element("div", { class: "scroller", "data-rows": true }, this.canvas, this.columns);
    const titles = element("div", { class: "titles" });
    titles.append(
      element("span", { text: "from (query)" }),
      element("span", { text: "to (key)" }),
    );
    this.root = element("div", { class: "lines" }, titles, this.scroller);
    this.hover = null;
    this.scroller.onscroll = () => this.draw();
    for (const [side, column] of Object.entries({ query: this.left, key: this.right })) {
      const at = (event) => this.buttons[side].indexOf(buttonOf(event));
      column.onpointerover = (event) =>
        event.pointerType !== "touch" && at(event) >= 0 && this.point(side, at(event));
      column.onpointerleave = () => this.release();
      column.addEventListener("focusin", (event) => {
        if (/** @type {Element} */ (event.target).matches(":focus-visible")) this.point(side, at(event));
      });
      column.addEventListener("focusout", () => this.release());
      column.onclick = (event) => at(event) >= 0 && this.pick(side, at(event));
      column.onkeydown = (event) => this.move(side, at(event), event);
    }
  }

  /** The tokens of both sides; in a part of a long text, labels include the position. */
  get sides() {
    const { queries, data: { key_tokens: keys, part } } = this.view;
    const numbered = (token) => (part ? { ...token, label: `${token.number} ${token.label}` } : token);
    return { queries: queries.map(numbered), keys: keys.map(numbered) };
  }

  update() {
    const { queries, keys } = this.sides;
    const labels = JSON.stringify([queries, keys]);
    if (this.labels !== labels) {
      this.labels = labels;
      this.hover = null;
      this.buttons = { query: this.build(this.left, queries), key: this.build(this.right, keys) };
      this.keyTexts = keys.map(() => "");
    }
    this.layout();
  }

  build(column, tokens) {
    const buttons = tokens.map(({ label, title, special }) => {
      const name = element("span", { class: "label", dir: "auto", text: label });
      const button = element(
        "button",
        { type: "button", title, tabindex: -1, class: special ? "special" : null },
        name,
      );
      if (column === this.right) button.append(element("span", { class: "numbers" }));
      return button;
    });
    column.replaceChildren(...buttons);
    return buttons;
  }

  /** Computes the column widths from the labels once, because measuring on each hover is slow. */
  layout() {
    const { data, theme } = this.view;
    const { queries, keys } = this.sides;
    const width = this.view.root.clientWidth;
    if (!width) return;
    this.numbers = width >= 560 ? 4 : 2;
    const widest = (tokens) => Math.max(...tokens.map(({ label }) => textWidth(label, 14, theme.font, 600)));
    const digits =
      8 + 48 * Math.min(this.view.heads.length, this.numbers) + (data.unit === "percent" ? 0 : 14);
    const minimum = textWidth("from (query)", 12, theme.font) + 18;
    const left = Math.round(Math.min(0.34 * width, Math.max(minimum, widest(queries) + 20)));
    const right = Math.round(Math.min(0.48 * width, Math.max(96, widest(keys) + 20) + digits));
    const rows = Math.max(queries.length, keys.length);
    const projected = this.view.root.hasAttribute("data-teacher");
    const row = projected ? ROW.projected : rows > ROW.many ? ROW.dense : ROW.roomy;
    const height = Math.min(rows * row, onPaper() ? Infinity : MAX_HEIGHT);
    const scrolls = rows * row > height;
    const bar = scrolls ? this.scroller.offsetWidth - this.scroller.clientWidth : 0;
    this.place = { left: left + 4, right: width - right - bar, width: width - bar, row, height };
    this.root.style.setProperty("--left", `${left}px`);
    this.root.style.setProperty("--right", `${right}px`);
    this.root.style.setProperty("--row", `${row}px`);
    this.root.style.setProperty("--height", `${height}px`);
    // A scrollable element must be reachable by keyboard.
    if (scrolls) {
      this.scroller.tabIndex = 0;
      this.scroller.setAttribute("role", "region");
      this.scroller.setAttribute("aria-label", "All tokens");
    } else {
      for (const name of ["tabindex", "role", "aria-label"]) this.scroller.removeAttribute(name);
    }
    this.draw();
  }

  /** The queries or the key whose lines are drawn: the hovered token, else the pinned query; neither if all are drawn. */
  get from() {
    const { query } = this.view.pinned;
    if (this.hover?.side === "query") return { queries: [this.hover.at], key: null };
    const queries = this.view.summedQueries(query);
    if (this.hover?.side === "key" && !queries.length) return { queries, key: this.hover.at };
    return { queries, key: null };
  }

  point(side, at) {
    if (this.hover?.side === side && this.hover.at === at) return;
    this.hover = { side, at };
    this.draw();
  }

  release() {
    if (!this.hover) return;
    this.hover = null;
    this.draw();
  }

  pick(side, at) {
    const { query, key } = this.view.pinned;
    if (side === "query") this.view.pick(at, key);
    else this.view.pick(query ?? this.strongestQuery(at), at);
  }

  /** Returns the query with the largest weight on a key; if no query is pinned, a click on the key pins this query. */
  strongestQuery(key) {
    const [head] = this.view.shownHeads();
    if (!head) return 0;
    const strength = strengths[this.view.data.kind];
    let best = 0;
    for (let i = 1; i < head.rows; i++) {
      const [candidate, largest] = [i, best].map((row) => strength[head.values[row * head.columns + key]]);
      if (candidate > largest) best = i;
    }
    return best;
  }

  move(side, at, event) {
    if (event.key === "Escape") {
      this.release();
      return;
    }
    if (at < 0) return;
    const other = side === "query" ? "key" : "query";
    const across = event.key === (side === "query" ? "ArrowRight" : "ArrowLeft");
    const buttons = this.buttons[across ? other : side];
    const to = across ? Math.min(at, buttons.length - 1) : destination(event, at, buttons.length, 1);
    if (to === null) return;
    event.preventDefault();
    tabStop(buttons, to);
    buttons[to].focus();
  }

  draw() {
    const { view, place } = this;
    if (!place || !this.root.isConnected) return;
    const shown = view.shownHeads();
    const { from } = this;
    const pen = CanvasPen.on(this.canvas, place.width, place.height, view.theme);
    const top = this.scroller.scrollTop;
    const none = { drawn: 0, total: 0, inView: false };
    const count = shown.length ? drawLines(pen, { ...place, top }, shown, from, view.data.kind) : none;
    this.mark(from);
    this.number(from);
    view.drawn(count.drawn);
    view.showDescription(this.sentence(from, count));
  }

  /** Highlights the active tokens, updating only changed elements. */
  mark({ queries, key }) {
    const { pinned } = this.view;
    this.root.classList.toggle("following", queries.length > 0 || key !== null);
    const now = {
      query: { active: queries.length === 1 ? queries[0] : null, pinned: pinned.query },
      key: { active: key ?? (this.hover?.side === "key" ? this.hover.at : null), pinned: pinned.key },
    };
    for (const side of ["query", "key"]) {
      const buttons = this.buttons[side];
      const before =
        this.marked?.buttons === this.buttons ? this.marked.now[side] : { active: null, pinned: null };
      for (const state of ["active", "pinned"]) {
        buttons[before[state]]?.classList.remove(state);
        buttons[now[side][state]]?.classList.add(state);
      }
      if (before.pinned !== now[side].pinned || !this.marked || this.marked.buttons !== this.buttons) {
        buttons.forEach((button, at) => {
          button.setAttribute("aria-pressed", String(at === now[side].pinned));
          button.toggleAttribute("data-followed", at === now[side].pinned);
        });
        if (!buttons.includes(this.view.focused)) tabStop(buttons, now[side].pinned ?? 0);
      }
    }
    const several = new Set(queries.length > 1 ? queries : []);
    this.buttons.query.forEach((button, at) => button.classList.toggle("together", several.has(at)));
    this.marked = { buttons: this.buttons, now };
  }

  /** Writes the exact values of the active query, or the sum over several queries, next to the keys. */
  number({ queries }) {
    const { view } = this;
    const { unit } = view.data;
    const rows = queries.length ? view.exactSum(queries).slice(0, this.numbers) : [];
    const several = rows.length > 1;
    this.buttons.key.forEach((button, j) => {
      const empty = several ? "·" : "";
      const texts = rows.map(({ values }) =>
        values ? shortNumber(values[j], unit, several) || empty : "",
      );
      const text = texts.some((one) => one && one !== empty)
        ? rows.map(({ number }, at) => `${number}:${texts[at]}`).join(" ")
        : "";
      if (text === this.keyTexts[j]) return;
      this.keyTexts[j] = text;
      const place = button.lastChild;
      if (!several) place.textContent = texts[0] ?? "";
      else if (!text) place.replaceChildren();
      else {
        const numbers = texts.map((one, at) => {
          const number = element("span", { class: "number", text: one });
          number.style.setProperty("--head", css(view.theme.head(rows[at].number)));
          return number;
        });
        place.replaceChildren(...numbers);
      }
    });
  }

  sentence({ queries, key }, { drawn, total, inView }) {
    const { view } = this;
    if (queries.length) {
      const at = this.hover?.side === "key" && queries.length === 1 ? this.hover.at : null;
      return at === null ? view.rowSentence(queries[0], queries) : view.cellSentence(queries[0], at);
    }
    if (key !== null) return view.columnSentence(key);
    const lines = `${total.toLocaleString("en")} lines${inView ? " of the tokens in view" : ""}`;
    const many = total > drawn ? `The ${drawn} strongest of ${lines}. ` : "";
    return [`${many}${isTouchScreen() ? "Tap a token to follow it." : "Point at a token to follow it; click to pin it."}`];
  }

  /** Draws the complete picture for a file; returns the y coordinate of its bottom. */
  picture(pen, top, width) {
    const { view } = this;
    const { kind, unit } = view.data;
    const { queries, keys } = this.sides;
    const { theme } = pen;
    const row = ROW.dense;
    const shown = view.shownHeads();
    const followed = view.summedQueries(view.pinned.query);
    const [left, right] = [0.24 * width, 0.7 * width];
    const height = Math.max(queries.length, keys.length) * row;
    const titles = { size: 11, fill: theme.muted };
    pen.text(left - 8, top + 8, "from (query)", { ...titles, anchor: "end" });
    pen.text(right + 8, top + 8, "to (key)", titles);
    const start = top + 22;
    const place = { left, right, width, row, top: -start, height: start + height };
    if (shown.length) drawLines(pen, place, shown, { queries: followed, key: null }, kind);
    queries.forEach(({ label }, i) => {
      const chosen = followed.includes(i);
      const fill = chosen || !followed.length ? theme.text : theme.muted;
      const text = truncate(label, left - 16, 13, pen.font);
      pen.text(left - 8, start + (i + 0.5) * row, text, {
        size: 13,
        fill,
        weight: chosen ? 700 : 400,
        anchor: "end",
      });
    });
    const rows = followed.length ? view.exactSum(followed).slice(0, 6) : [];
    const column = rows.length > 1 ? 40 : 56;
    keys.forEach(({ label }, j) => {
      const y = start + (j + 0.5) * row;
      const labelWidth = width - right - 16 - rows.length * column;
      pen.text(right + 8, y, truncate(label, labelWidth, 13, pen.font), { size: 13, fill: theme.text });
      rows.forEach(({ number, values }, at) => {
        const text = values ? shortNumber(values[j], unit, rows.length > 1) : "";
        const x = width - 6 - (rows.length - 1 - at) * column;
        if (rows.length > 1) pen.rect(x - column + 8, y - 7, 3, 14, { fill: theme.head(number) });
        pen.text(x, y, text, { size: 13, fill: theme.text, anchor: "end" });
      });
    });
    return start + height;
  }
}
