/* head view: buttons to choose heads, the picture, a description of its numbers, and buttons to save it. */

import { element } from "./dom.js";
import { markFaintRows } from "./faint.js";
import { buttonOf, moveFocus } from "./keyboard.js";
import { Lines } from "./lines.js";
import { Matrix } from "./matrix.js";
import { total as added, formatNumber } from "./numbers.js";
import { css, Theme } from "./palette.js";
import { saveAs, saveButtons, SvgPen, textWidth } from "./pens.js";
import { Choice, pendingChoices } from "./selection.js";
import { allData } from "./store.js";
import { View, widget } from "./widget.js";
import { blockOf, clampPlace, WindowBar } from "./window.js";
import matrixStyle from "./matrix.css";
import styles from "./head_view.css";

const FILE_WIDTH = 760;
const MIN_LABELLED = 0.0005; // smaller weights round to 0.0 %

/**
 * @typedef {object} ShownHead one head's levels
 * @property {ArrayLike<number>} values levels, row by row
 * @property {number} rows
 * @property {number} columns
 * @property {number} number of the head, from 1
 * @property {number} high the value at the highest level
 */

/**
 * @typedef {{ pixels: string, exact: string | null, view: "lines" | "matrix", layer: number, heads: number[],
 *   heads_total: number, query_tokens: ShownToken[], key_tokens: ShownToken[], query: number | null, key: number |
 *   null, together?: number[], part?: import("./window.js").Part | null, heading: string, row_axis?: string, kind: "sequential" | "diverging", unit: "percent" | "score" | "signed percent", hatched?: string,
 *   note: string, caption: string, filename: string }} Message as sent and described by app/components/head_view.py
 */

/** @extends {View<Message>} */
class HeadView extends View {
  constructor() {
    super();
    this.chosen = new Choice("heads"); // { layer, heads }
    this.pin = new Choice("tokens"); // { query, key }
    /** @type {Choice<import("./window.js").Place>} */
    this.windowChoice = new Choice(); // the shown part of a long text
    this.several = false;
    this.chips = element("div", { class: "chips", role: "group" });
    const button = (text, attributes) =>
      element("button", { type: "button", class: "tool", text, ...attributes });
    this.severalButton = button("Several", { title: "Show several heads of this layer together" });
    this.severalButton.onclick = () => this.toggleSeveral();
    this.allButton = button("All lines", { title: "Show the lines of every query token" });
    this.allButton.onclick = () => this.toggleAll();
    const tools = element("div", { class: "tools" }, this.severalButton, this.allButton);
    const files = saveButtons((ending) => this.save(ending));
    this.stage = element("div", { class: "stage" });
    this.words = element("p", { class: "words", "aria-live": "polite" });
    this.note = element("p", { class: "note" });
    const bar = element("div", { class: "bar" }, this.chips, tools);
    this.window = new WindowBar(this);
    this.root = element("div", { class: "root" }, bar, this.window.root, this.stage, this.words, this.note, files);
    this.views = { lines: new Lines(this), matrix: new Matrix(this) };
    this.chips.onclick = (event) => this.chip(this.buttons.indexOf(buttonOf(event)) + 1);
    this.chips.onkeydown = (event) => moveFocus(event, this.buttons, this.buttons.length);
    this.onResize(() => this.data && this.picture.layout());
    this.onArrays(["pixels", "exact"], () => this.draw());
    this.listen({ "attnviz:heads": ({ detail }) => this.show(detail) });
  }

  update(data) {
    this.data = data;
    this.root.dataset.view = data.view;
    this.chosen.receive({ layer: data.layer, heads: data.heads });
    this.pin.receive({ query: data.query, key: data.key });
    if (data.part) this.windowChoice.receive(clampPlace(data.part, data.part.size));
    if (this.heads.length > 1) this.several = true;
    this.note.textContent = data.note;
    this.allButton.hidden = data.view !== "lines" || Boolean(data.part);
    this.window.show(data.part, data.view !== "lines", data.unit === "percent");
    if (this.picture !== this.views[data.view]) {
      this.picture = this.views[data.view];
      this.stage.replaceChildren(this.picture.root);
    }
    this.markChips();
    this.draw();
    this.waiting?.();
  }

  // Contents --------------------------------------------------------------------------------------------

  get rowAxis() {
    return this.data.row_axis ?? "from (query)";
  }

  /** The meaning of NaN and of level 255. */
  get hatched() {
    return this.data.hatched ?? "masked";
  }

  get layer() {
    return this.chosen.value.layer;
  }

  get heads() {
    return this.chosen.value.heads;
  }

  /** The requested part of a long text; shown once its data has arrived. */
  get place() {
    return this.windowChoice.value;
  }

  /** The part with half as many tokens along each side, centred on the pinned tokens or else on the current centre. */
  get zoomedIn() {
    const { part } = this.data;
    const { query, key } = this.pinned;
    const { row, column, span } = this.place;
    const around = (at, from, first) => {
      const middle = at === null ? NaN : from + (at + 0.5) * blockOf(part.span);
      return (middle >= first && middle <= first + span ? middle : first + span / 2) - span / 4;
    };
    const square = part.size[0] === part.size[1];
    const across = key === null && square ? around(query, part.row, column) : around(key, part.column, column);
    return { row: around(query, part.row, row), column: across, span: span / 2 };
  }

  /** Shows another part of a long text. */
  goTo(place) {
    const { part } = this.data;
    if (!part) return;
    const clamped = clampPlace(place, part.size);
    if (JSON.stringify(clamped) === JSON.stringify(this.place)) return;
    this.windowChoice.choose(clamped);
    this.window.show(part, this.data.view !== "lines", this.data.unit === "percent");
    this.trigger("window", clamped);
  }

  /** The number of tokens that a cell spans along each side. */
  get block() {
    return this.data.part && this.data.view !== "lines" ? blockOf(this.data.part.span) : 1;
  }

  /** The pinned pair; null for a token that is not shown. */
  get pinned() {
    const { query, key } = this.pin.value;
    const { query_tokens: queries, key_tokens: keys } = this.data;
    return { query: query < queries.length ? query : null, key: key < keys.length ? key : null };
  }

  /**
   * The chosen heads whose pixels have arrived and match the tokens.
   * @returns {ShownHead[]}
   */
  shownHeads() {
    const set = allData().get(this.data.pixels);
    const { values, shape } = set?.arrays.pixels ?? {};
    const [rows, columns] = [this.data.query_tokens.length, this.data.key_tokens.length];
    if (!values || shape[1] !== rows || shape[2] !== columns) return [];
    return this.heads.flatMap((number) => {
      const at = this.#headIndex(set, number);
      if (at < 0) return [];
      const levels = values.subarray(at * rows * columns, (at + 1) * rows * columns);
      return [{ values: levels, rows, columns, number, high: set.facts.high[at] }];
    });
  }

  /** One query's exact values in each chosen head: { number, values }; `values` is null until they arrive. */
  exactRows(query) {
    const set = allData().get(this.data.exact);
    const { values, shape } = set?.arrays.values ?? {};
    const columns = this.data.key_tokens.length;
    const isCurrent = values && shape[1] === this.data.query_tokens.length && shape[2] === columns;
    return this.heads.map((number) => {
      const at = isCurrent ? this.#headIndex(set, number) : -1;
      const start = (at * (shape?.[1] ?? 0) + query) * columns;
      return { number, values: at < 0 ? null : values.subarray(start, start + columns) };
    });
  }

  /**
   * The sum of some queries' exact values in each chosen head, in the form of `exactRows`; NaN where all are masked.
   * @param {number[]} queries
   */
  exactSum(queries) {
    if (queries.length === 1) return this.exactRows(queries[0]);
    const rows = queries.map((query) => this.exactRows(query));
    return this.heads.map((number, at) => {
      const each = rows.map((row) => row[at].values);
      if (each.includes(null)) return { number, values: null };
      const sum = (j) => {
        const open = each.map((values) => values[j]).filter((value) => !Number.isNaN(value));
        return open.length ? added(open) : NaN;
      };
      return { number, values: Float64Array.from(each[0], (_, j) => sum(j)) };
    });
  }

  /** Returns the query as a list; if it is null, the queries whose rows are summed. */
  summedQueries(query) {
    return query === null ? (this.data.together ?? []) : [query];
  }

  /** Returns " (heads from 0.1 % to 64.2 %)" for a number pooled over heads; else "". */
  spread(query, key) {
    const { lowest, highest } = allData().get(this.data.exact)?.arrays ?? {};
    if (!lowest || Number.isNaN(this.exactRows(query)[0].values?.[key] ?? NaN)) return "";
    const [low, high] = [lowest, highest].map(({ values }) => values[query * this.data.key_tokens.length + key]);
    return ` (heads from ${this.number(low)} to ${this.number(high)})`;
  }

  /** The row tokens, marked with * if little of the row's weight is shown in an open head. */
  get queries() {
    const set = allData().get(this.data.exact);
    const { values, shape } = set?.arrays.left ?? {};
    const { query_tokens: queries } = this.data;
    if (shape?.[1] !== queries.length) return queries;
    const heads = this.heads.flatMap((number) => {
      const at = this.#headIndex(set, number);
      return at < 0 ? [] : [{ number, left: values.subarray(at * shape[1], (at + 1) * shape[1]) }];
    });
    return markFaintRows(queries, heads, /** @type {import("./faint.js").Limit} */ (set.facts));
  }

  #headIndex({ facts }, number) {
    return facts.heads.findIndex(([layer, head]) => layer === this.layer && head === number);
  }

  draw() {
    const waiting = this.shownHeads().length < this.heads.length;
    this.root.toggleAttribute("data-waiting", waiting);
    const all = this.pinned.query === null && !this.summedQueries(null).length;
    this.allButton.setAttribute("aria-pressed", String(all));
    this.picture.update();
  }

  /** Records the drawn heads and the number of lines, for tests and benchmarks. */
  drawn(lines = 0) {
    const { dataset } = this.root;
    dataset.head = this.shownHeads()
      .map((head) => `${this.layer}-${head.number}`)
      .join(",");
    dataset.lines = String(lines);
    this.countDrawing();
  }

  // Descriptions ----------------------------------------------------------------------------------------

  /** @param parts text and elements of the description */
  showDescription(parts) {
    const text = parts.map((part) => part.textContent ?? part).join("");
    if (this.words.textContent !== text) this.words.replaceChildren(...parts);
  }

  /** A token in a sentence, isolated so that right-to-left script does not reorder the numbers. */
  token(side, at) {
    return element("bdi", { text: this.data[`${side}_tokens`][at].name });
  }

  /** Formats a number. In reports of long texts, a negative number is minus the upper bound of an omitted weight. */
  number(value) {
    if (Number.isNaN(value)) return this.hatched;
    const limit = this.data.unit === "percent" && value < 0;
    return limit ? `at most ${formatNumber(-value, "percent")}` : formatNumber(value, this.data.unit);
  }

  /** "it → dog 66.4 %", or for several heads "it → dog: head 2 66.4 %, head 5 3.1 %". */
  cellSentence(query, key, heads = this.heads) {
    const rows = this.exactRows(query).filter(({ number }) => heads.includes(number));
    const numbers = rows.map(({ number, values }) => {
      const text = (this.block > 1 ? "largest " : "") + (values ? this.number(values[key]) : "…");
      return rows.length > 1 ? `head ${number} ${text}` : text;
    });
    const pair = [this.token("query", query), " → ", this.token("key", key)];
    return [...pair, rows.length > 1 ? ": " : " ", numbers.join(", "), this.spread(query, key), ...this.rowNote(query)];
  }

  /** "it attends to dog 66.4 %, road 11.9 %"; several queries: "it, was together … attend to …"; changes: "it → dog −35.6 points". */
  rowSentence(query, queries = [query]) {
    const several = this.heads.length > 1;
    const [verb, to] = {
      percent: ["attends", "to"],
      score: ["has the highest values", "with"], // a score or its change
      "signed percent": ["→", ""],
    }[this.data.unit];
    const one = queries.length === 1;
    const names = queries.flatMap((at, n) => [n ? ", " : "", this.token("query", at)]);
    const parts = [...names, one ? ` ${verb} ` : ` together (sum of ${queries.length} rows) ${verb.replace(/s$/, "")} `];
    this.exactSum(queries)
      .slice(0, 4)
      .forEach(({ number, values }, at) => {
        parts.push(at ? "; " : "", several ? (to ? `in head ${number} ` : `head ${number}: `) : "", to && `${to} `);
        if (this.data.part && at === 0) parts.push("(of the tokens shown) ");
        const spread = (key) => (one ? this.spread(query, key) : "");
        const largest = values ? this.#largest(values, several ? 2 : 3, "key", spread) : ["…"];
        parts.push(...(largest.length ? largest : [this.hatched]));
      });
    return [...parts, ...(one ? this.rowNote(query) : [])];
  }

  /** Returns the note on a row's numbers, if any: " (97.3 % of this row’s weight is on [CLS])". */
  rowNote(query) {
    const { rowNote } = this.queries[query];
    return rowNote ? [` (${rowNote})`] : [];
  }

  /** "dog is attended to most by it 66.4 %, …", in the first chosen head; for changes, "dog ← it −35.6 points, …". */
  columnSentence(key) {
    const values = this.data.query_tokens.map((_, i) => this.exactRows(i)[0].values?.[key] ?? NaN);
    const largest = this.#largest(values, 3, "query");
    const head = `${this.heads.length > 1 ? ` in head ${this.heads[0]}` : ""}${this.data.part ? " (of the tokens shown)" : ""}`;
    const verb = {
      percent: `is attended to${head} most by`,
      score: `has the highest values${head} with`,
      "signed percent": `${head} ←`.trim(),
    }[this.data.unit];
    return [this.token("key", key), ` ${verb} `, ...(largest.length ? largest : ["…"])];
  }

  #largest(values, count, side, spread = (_at) => "") {
    const order = [...values.keys()].filter((at) => !Number.isNaN(values[at]));
    const size = this.data.unit === "signed percent" ? Math.abs : (value) => value;
    order.sort((a, b) => size(values[b]) - size(values[a]));
    // Omit weights that round to 0.0 %; a score of 0 is shown.
    const isShown = (at) => this.data.unit === "score" || size(values[at]) >= MIN_LABELLED;
    const several = order.slice(0, count).filter((at, n) => n === 0 || isShown(at));
    if (this.data.unit === "signed percent" && several.length && !isShown(several[0])) return ["no change"];
    return several.flatMap((at, n) => [
      n ? ", " : "",
      this.token(side, at),
      side === "query" && this.queries[at].rowNote ? " *" : "",
      ` ${this.number(values[at])}${spread(at)}`,
    ]);
  }

  // Choosing --------------------------------------------------------------------------------------------

  show({ layer, heads }) {
    this.chosen.choose({ layer, heads });
    if (heads.length > 1) this.several = true;
    this.markChips();
    this.draw();
    this.scrollIntoView();
  }

  /** Scrolls to this picture: on a phone, it does not fit on the screen together with the atlas. */
  scrollIntoView() {
    const { top, bottom } = this.root.getBoundingClientRect();
    if (bottom > 0 && top < window.innerHeight) return;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.root.scrollIntoView({ behavior: calm ? "auto" : "smooth", block: "start" });
  }

  /** Updates all widgets on this page first, in the same frame; then notifies Python. */
  choose(heads) {
    const choice = { layer: this.layer, heads };
    window.dispatchEvent(new CustomEvent("attnviz:heads", { detail: choice }));
    this.trigger("heads", { ...choice, ...pendingChoices("heads") });
  }

  chip(head) {
    if (head < 1) return;
    if (!this.several) this.choose([head]);
    else if (!this.heads.includes(head)) this.choose([...this.heads, head].sort((a, b) => a - b));
    else if (this.heads.length > 1) this.choose(this.heads.filter((other) => other !== head));
  }

  toggleSeveral() {
    this.several = !this.several;
    this.markChips();
    if (!this.several && this.heads.length > 1) this.choose(this.heads.slice(0, 1));
  }

  markChips() {
    const { heads_total: total } = this.data;
    // A picture of a single matrix has no heads to choose.
    this.chips.hidden = this.severalButton.hidden = total === 0;
    if (this.buttons?.length !== total) {
      this.buttons = Array.from({ length: total }, (_, at) =>
        element("button", { type: "button", text: at + 1 }),
      );
      this.chips.replaceChildren(...this.buttons);
    }
    this.chips.setAttribute("aria-label", `Heads of layer ${this.layer}`);
    this.severalButton.setAttribute("aria-pressed", String(this.several));
    this.buttons.forEach((button, at) => {
      button.setAttribute("aria-pressed", this.heads.includes(at + 1));
      const colour = this.heads.length > 1 ? this.theme.head(at + 1) : this.theme.role("weights");
      button.style.setProperty("--head", css(colour));
    });
    this.keepTabStop(this.buttons, this.heads[0] - 1);
  }

  pick(query, key) {
    this.pin.choose({ query, key });
    this.trigger("pick", { query, key, ...pendingChoices("tokens") });
    this.draw();
  }

  /** Toggles between the lines of all queries and the lines of the previously pinned query. */
  toggleAll() {
    const { query, key } = this.pinned;
    if (query !== null) this.before = { query, key };
    const back = this.before ?? { query: 0, key: null };
    if (query === null && !this.summedQueries(null).length) this.pick(Math.min(back.query, this.data.query_tokens.length - 1), back.key);
    else this.pick(null, null);
  }

  // Saving ----------------------------------------------------------------------------------------------

  /** Returns the picture as SVG text, always on a light background. */
  svg() {
    const theme = Theme.forFiles();
    const pen = new SvgPen(theme);
    const heads = this.heads.join(", ");
    const title = this.data.heading || `Layer ${this.layer} · Head${this.heads.length > 1 ? "s" : ""} ${heads}`;
    pen.text(0, 10, title, { size: 16, weight: 700, fill: theme.text });
    if (this.heads.length > 1) {
      let x = textWidth(title, 16, theme.font, 700) + 20;
      for (const head of this.heads) {
        pen.rect(x, 4, 12, 12, { fill: theme.head(head), radius: 3 });
        pen.text(x + 17, 10, `${head}`, { size: 13, fill: theme.text });
        x += 46;
      }
    }
    const y = this.picture.picture(pen, 32, FILE_WIDTH) + 18;
    const { note, caption } = this.data;
    return pen.file(FILE_WIDTH, y, [note, caption], `${title}. ${caption}`);
  }

  save(ending) {
    if (!this.chosen.confirmed) {
      // The caption still describes the previous heads, so save after Python has responded.
      this.waiting = () => {
        this.waiting = null;
        this.save(ending);
      };
      return;
    }
    saveAs(ending, this.svg(), this.data.filename);
  }
}

export default widget(HeadView, matrixStyle, styles);
