/* report: a page with the app's widgets but no server. It stores the numbers and handles the widgets' events.
   file.js starts it in a report, site/explore.js in the static site. */

import { element, onPaper } from "../../widgets/dom.js";
import { formatNumber } from "../../widgets/numbers.js";
import { levelOf } from "../../widgets/palette.js";
import atlas from "../../widgets/atlas.js";
import headView from "../../widgets/head_view.js";
import patches from "../../widgets/patches.js";
import { allData } from "../../widgets/store.js";
import { MAX_CELLS, THRESHOLDS } from "../../widgets/window.js";
import { PartOfText } from "./part.js";

const MAX_TABLE_COLUMNS = 20; // with more columns, each row is a sentence instead
const LONG_TEXT = 160; // characters; only the beginning of a longer text is in the title
const FRAMED = window.parent !== window; // true in a notebook: no footer, and no state in the URL
const STRONG = 0.2; // minimum weight that is emphasized in a table

/**
 * The data from page.py and contents.py. `weights` and `left` are offsets in the page's numbers.
 * @typedef {{
 *   queries: ShownToken[], keys: ShownToken[], rows: number[], columns: number[], left: number | null,
 *   facts: string[], explanation: string, hidden: string, weights?: number
 * }} TokenView the shown tokens: all, or all except special tokens; `weights` overrides the kind's offset
 * @typedef {"encoder" | "decoder" | "cross" | "vision"} KindName
 * @typedef {{
 *   kind: KindName, layers: number[], heads: number, size: [number, number], weights: number,
 *   top: { count: number, keys: number, weights: number, blocks: number, hidden: number, causal: boolean } | null,
 *   spread: [number, number] | null, heading: string, signed: boolean, high: number,
 *   token_views: { plain: TokenView, hidden?: TokenView }
 * }} Kind
 * @typedef {{ name: string, typed: string, written: string }} Text
 * @typedef {{
 *   model: string, weights_only: boolean, show_kind: boolean, texts: Text[], edits: string[], difference: string,
 *   pictures: { kind: KindName, src: string, box: number[], rows: number, columns: number, places: number[], names: string[],
 *   weights: number }[],
 *   kinds: Kind[]
 * }} ShownTrace
 * @typedef {{
 *   text: number, kind: KindName | null, layer: number, heads: number[], query: number | null, key: number | null,
 *   together: number[], view: "lines" | "matrix", hide: boolean, picture?: number
 * }} State the selection; `picture` counts from 0, all other numbers from 1
 * @typedef {{
 *   traces: ShownTrace[], min_kept: number, show: ("atlas" | "head")[], theme: "light" | "dark" | "auto",
 *   views: [string, string][], open: State
 * }} Facts
 */

/** The weights of one kind of attention between the shown tokens. */
class Weights {
  /**
   * @param {Float32Array} numbers all weights and, for rescaled rows, the shown fraction of each row
   * @param {Kind} kind
   * @param {TokenView} tokenView
   * @param {{ min_kept: number }} facts rows with a smaller shown fraction are drawn faint
   */
  constructor(numbers, kind, tokenView, { min_kept }) {
    this.numbers = numbers;
    this.kind = kind;
    this.tokenView = tokenView;
    this.minKept = min_kept;
    const { rows, columns, left } = tokenView;
    this.cells = rows.length * columns.length;
    if (left !== null) this.left = numbers.subarray(left, left + kind.layers.length * kind.heads * rows.length);
  }

  /** Calls `callback` with each weight of `count` heads from index `first` on, by layer and head; NaN if masked. */
  forEachWeight(first, count, callback) {
    const { kind, left, numbers } = this;
    const { rows, columns } = this.tokenView;
    const [queries, keys] = kind.size;
    let to = 0;
    for (let picture = first; picture < first + count; picture++) {
      rows.forEach((row, i) => {
        const begin = (this.tokenView.weights ?? kind.weights) + (picture * queries + row) * keys;
        const divisor = (!kind.signed && left?.[picture * rows.length + i]) || 1; // a row without weight stays 0
        for (const column of columns) callback(to++, Math.fround(numbers[begin + column] / divisor));
      });
    }
  }

  get shape() {
    return [this.kind.heads, this.tokenView.rows.length, this.tokenView.columns.length];
  }

  /** Returns the levels of every head, as in analysis/picture.py. */
  pixels() {
    const { layers, heads } = this.kind;
    const values = new Uint8Array(layers.length * heads * this.cells);
    const columns = this.tokenView.columns.length;
    this.forEachWeight(0, layers.length * heads, (at, weight) => {
      const left = this.left?.[Math.floor(at / columns)] ?? 1;
      const strength = left < this.minKept ? weight * left : weight;
      values[at] = levelOf(strength, this.kind.signed ? "diverging" : "sequential", this.kind.high);
    });
    const every = layers.flatMap((layer) => Array.from({ length: heads }, (_, head) => [layer, head + 1]));
    return {
      facts: { heads: every, high: every.map(() => this.kind.high) },
      arrays: { pixels: { shape: [layers.length * heads, ...this.shape.slice(1)], values } },
    };
  }

  /** Returns the exact numbers of one layer's heads. */
  exact(layer) {
    const { layers, heads } = this.kind;
    const values = new Float64Array(heads * this.cells);
    this.forEachWeight(layers.indexOf(layer) * heads, heads, (at, weight) => {
      values[at] = weight;
    });
    const rows = this.tokenView.rows.length;
    const first = layers.indexOf(layer) * heads * rows;
    const left = this.left?.subarray(first, first + heads * rows);
    return {
      facts: {
        heads: Array.from({ length: heads }, (_, head) => [layer, head + 1]),
        hidden: this.tokenView.hidden,
        min_kept: this.minKept,
      },
      arrays: {
        values: { shape: this.shape, values },
        ...(left && { left: { shape: [heads, rows], values: left } }),
        ...(this.kind.spread && this.spread()),
      },
    };
  }

  /**
   * Returns one query's row in a head, as in `Source` of part.js; layer and head count from 1.
   * @param {number} layer
   * @param {number} head
   * @param {number} query index of a shown token, from 0
   */
  row(layer, head, query) {
    const { layers, heads, size, top, signed } = this.kind;
    const { rows, columns, weights = this.kind.weights } = this.tokenView;
    const picture = layers.indexOf(layer) * heads + head - 1;
    const at = picture * size[0] + rows[query];
    if (top) {
      const values = this.numbers.subarray(top.weights + at * top.count, top.weights + (at + 1) * top.count);
      const keys = this.numbers.subarray(top.keys + at * top.count, top.keys + (at + 1) * top.count);
      const row = new Float64Array(size[1]).fill(-values[top.count - 1]);
      if (top.causal) row.fill(NaN, rows[query] + 1);
      values.forEach((value, nth) => {
        if (!Number.isNaN(row[keys[nth]])) row[keys[nth]] = value;
      });
      return row;
    }
    const divisor = (!signed && this.left?.[picture * rows.length + query]) || 1;
    const begin = weights + at * size[1];
    return Float64Array.from(columns, (column) => Math.fround(this.numbers[begin + column] / divisor));
  }

  /**
   * Returns the numbers of a layer for `PartOfText`.
   * @param {number} layer
   * @returns {import("./part.js").Source}
   */
  source(layer) {
    const { layers, heads, signed, high, top } = this.kind;
    const { rows, columns } = this.tokenView;
    const picture = (head) => layers.indexOf(layer) * heads + head - 1;
    const blocks = [rows, columns].map(({ length }) => Math.ceil(length / Math.ceil(Math.max(rows.length, columns.length) / MAX_CELLS)));
    const area = blocks[0] * blocks[1];
    return {
      size: [rows.length, columns.length],
      row: (head, query) => this.row(layer, head, query),
      left: (head, query) => this.left?.[picture(head) * rows.length + query] ?? 1,
      overview: (head) => top && this.numbers.subarray(top.blocks + picture(head) * area, top.blocks + (picture(head) + 1) * area),
      hidden: (head, below) => (top ? this.numbers[top.hidden + picture(head) * THRESHOLDS.length + THRESHOLDS.indexOf(below)] : this.hiddenShare(layer, head, below)),
      signed,
      high,
      facts: { hidden: this.tokenView.hidden, min_kept: this.minKept },
    };
  }

  /** Returns the fraction of a head's total weight that is in weights below this value. */
  hiddenShare(layer, head, below) {
    let [small, all] = [0, 0];
    for (let query = 0; below && query < this.tokenView.rows.length; query++) {
      for (const weight of this.row(layer, head, query)) {
        if (weight < below) small += weight;
        if (weight > 0) all += weight;
      }
    }
    return all ? small / all : 0;
  }

  /** Returns the smallest and largest of the values pooled into each number. */
  spread() {
    const [low, high] = this.kind.spread.map((first) => this.numbers.subarray(first, first + this.cells));
    return { lowest: { shape: this.shape, values: low }, highest: { shape: this.shape, values: high } };
  }
}

/** A row of buttons, one of which is selected. */
class Segments {
  constructor(name, choose) {
    this.choose = choose;
    this.name = name;
    this.root = element("fieldset", { class: "segments" });
    this.root.onchange = () => choose(this.values[this.inputs.findIndex(({ checked }) => checked)]);
  }

  /**
   * @param {(string | number)[][]} choices value and text of each button
   * @param {string | number} chosen
   */
  show(choices, chosen) {
    const text = JSON.stringify(choices);
    if (this.text !== text) {
      this.text = text;
      this.values = choices.map(([value]) => value);
      this.inputs = choices.map(() => element("input", { type: "radio", name: this.name }));
      const labels = choices.map(([, words], at) =>
        element("label", {}, this.inputs[at], element("span", { text: words })),
      );
      this.root.replaceChildren(element("legend", { class: "hidden", text: this.name }), ...labels);
    }
    this.root.hidden = choices.length < 2;
    this.inputs.forEach((input, at) => {
      input.checked = this.values[at] === chosen;
    });
  }
}

const KINDS = {
  encoder: ["Encoder", "The first text attends to itself."],
  decoder: ["Decoder", "The second text attends to itself."],
  cross: ["Cross-attention", "The second text attends to the first."],
  vision: ["Vision encoder", "The image’s patches attend to each other."],
};
const IMAGE_MEANINGS = { decoder: "The text attends to itself.", cross: "The text attends to the image’s patches." };

const shorten = (text, maximum) => (text.length > maximum ? `${text.slice(0, maximum).trimEnd()}…` : text);
const plural = (count, thing) => `${count} ${thing}${count === 1 ? "" : "s"}`;
const fullText = (text) => text.typed + text.written;

/** @type {"light" | "dark" | null} */
let notebookScheme = null;

/** Makes the page light or dark. */
export function applyTheme(theme) {
  const systemScheme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  document.documentElement.dataset.theme = theme === "auto" ? (notebookScheme ?? systemScheme) : theme;
}

export class Report {
  /** @type {State} */
  state;

  /**
   * @param {Facts} facts
   * @param {Float32Array} numbers
   */
  constructor(facts, numbers) {
    this.facts = facts;
    this.values = numbers;
    this.state = facts.open;
    this.part = new PartOfText();
    this.build();
    this.readLink();
    this.render();
    window.addEventListener("hashchange", () => {
      this.readLink();
      this.render();
    });
    const updateTheme = () => {
      applyTheme(this.facts.theme);
      this.render();
    };
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", updateTheme);
    window.addEventListener("message", ({ source, data }) => {
      if (source !== window.parent || !["light", "dark"].includes(data?.attnviz)) return;
      notebookScheme = data.attnviz;
      updateTheme();
    });
    if (FRAMED) window.parent.postMessage("attnviz", "*"); // answered by _OUTSIDE_FRAME of notebook.py
    window.addEventListener("beforeprint", () => this.print(true));
    window.addEventListener("afterprint", () => this.print(false));
    // Developer tools emulate printing without these events.
    matchMedia("print").addEventListener("change", ({ matches }) => this.print(matches));
  }

  // The page ---------------------------------------------------------------------------------------------

  build() {
    const { show } = this.facts;
    const main = document.getElementById("report");
    main.classList.toggle("figure", FRAMED);
    this.title = element("h1");
    this.texts = element("div", { class: "texts" });
    this.about = element("p", { class: "about" });
    this.options = {};
    for (const [name, words] of [
      ["text", "Text"],
      ["kind", "Attention"],
      ["view", "Picture"],
      ["picture", "Image"],
    ]) {
      this.options[name] = new Segments(words, (value) => this.change({ [name]: value }));
    }
    this.meaning = element("p", { class: "meaning" });
    this.hide = element("input", { type: "checkbox" });
    this.hide.onchange = () => this.change({ hide: this.hide.checked });
    this.hideLabel = element("label", { class: "switch" }, this.hide, "Hide special tokens");
    const tools = element("div", { class: "tools" }, this.options.view.root, this.hideLabel);
    this.widgets = {};
    const parts = [];
    if (show.includes("atlas")) {
      const hint =
        "Each small picture is one head: a row for each query, a column for each key. " +
        "The stronger the colour, the larger the number. Choose a head to open it.";
      this.allHeads = element("h2");
      parts.push(
        element(
          "section",
          { class: "all" },
          show.includes("head") ? this.allHeads : element("div", { class: "top" }, this.allHeads, tools),
          this.mount("atlas"),
          element("p", { class: "hint", text: hint }),
        ),
      );
    }
    if (show.includes("head")) {
      this.oneHead = element("h2");
      this.summary = element("summary");
      this.table = element("div", { class: "tables" });
      this.numbers = element("details", { class: "numbers" }, this.summary, this.table);
      this.numbers.ontoggle = () => this.tabulate();
      const top = element("div", { class: "top" }, this.oneHead, tools);
      this.imageContainer = element("div");
      if (this.facts.traces.some(({ pictures }) => pictures.length)) {
        this.imageContainer.append(this.options.picture.root, this.mount("patches"));
        this.widgets.patches.trigger = (_, { query }) => {
          this.change({ query: this.picture.places[query] + 1, key: null, together: [] });
        };
      }
      parts.push(element("section", { class: "one" }, top, this.imageContainer, this.mount("head_view"), this.numbers));
    }
    this.bar = element("div", { class: "bar" }, this.options.text.root, this.options.kind.root, this.meaning);
    main.replaceChildren(
      element("header", {}, this.title, this.texts, this.about),
      this.bar,
      element("div", { class: "parts" }, ...parts),
      element("footer", {}, ...this.footerTexts()),
    );
  }

  footerTexts() {
    const signed = this.facts.traces.some(({ kinds }) => kinds.some((kind) => kind.signed));
    const texts = [
      signed
        ? "Each line or cell is a difference of two weights: increases are solid and amber, decreases dashed and blue."
        : "Each line or cell is an attention weight.",
      this.facts.traces.every((each) => each.weights_only)
        ? "These weights were passed to attnviz, and are stored in float32."
        : "The model computed these weights; they are stored in float32.",
      "Made with attnviz.",
    ];
    return texts.map((text) => element("p", { text }));
  }

  /** Mounts a widget in its own shadow root; returns the host element. */
  mount(name) {
    const host = element("div");
    const widget = { atlas, head_view: headView, patches }[name];
    this.widgets[name] = widget.mount(host.attachShadow({ mode: "open" }));
    this.widgets[name].trigger = (trigger, value) => this.handleTrigger(trigger, value);
    return host;
  }

  // Selection --------------------------------------------------------------------------------------------

  /** Applies the parameters in the page's URL. */
  readLink() {
    if (FRAMED) return;
    const link = new URLSearchParams(location.hash.slice(1));
    /** @type {{ [name: string]: any }} */
    const state = this.state;
    for (const [name, text] of link) {
      if (["text", "layer", "query", "key"].includes(name)) state[name] = Number(text) || null;
      else if (["kind", "view"].includes(name)) state[name] = text;
      else if (name === "head") state.heads = text.split(",").map(Number);
      else if (name === "hide") state.hide = text === "1";
    }
  }

  /** Replaces invalid selections with defaults. */
  validateState() {
    const { traces } = this.facts;
    const { state } = this;
    this.trace = traces[state.text - 1] ?? traces[0];
    this.kind = this.trace.kinds.find(({ kind }) => kind === state.kind) ?? this.trace.kinds[0];
    const { kind, token_views, layers, heads, size } = this.kind;
    this.tokenViewName = state.hide && token_views.hidden ? "hidden" : "plain";
    this.tokenView = token_views[this.tokenViewName];
    const chosen = [...new Set(state.heads)].filter((head) => Number.isInteger(head) && head >= 1 && head <= heads);
    const within = (token, count) => (Number.isInteger(token) && token >= 1 && token <= count ? token : null);
    const numPatches = kind === "cross" && this.trace.pictures.length ? size[1] : 0; // patches come after the words
    const query = within(state.query, size[0] + numPatches);
    this.state = {
      text: traces.indexOf(this.trace) + 1,
      kind,
      layer: layers.includes(state.layer) ? state.layer : layers[0],
      heads: chosen.length ? chosen : [1],
      query,
      key: query === null ? null : within(state.key, size[1]),
      together: query === null ? state.together.filter((token) => within(token, size[0])) : [],
      view: state.view === "matrix" ? "matrix" : "lines",
      picture: state.picture,
      hide: state.hide,
    };
  }

  change(choice) {
    this.state = { ...this.state, ...choice };
    this.render();
    if (FRAMED) return;
    const { heads, hide, ...rest } = this.state;
    const link = { ...rest, query: rest.query ?? "all", key: rest.key ?? "none", head: heads, hide: Number(hide) };
    const named = Object.entries(link).filter(([name]) => !["together", "picture"].includes(name));
    const parameters = named.map(([name, value]) => `${name}=${value}`);
    history.replaceState(null, "", `#${parameters.join("&")}`);
  }

  /** Handles an event of a widget. */
  handleTrigger(trigger, value) {
    const { long } = this;
    const rows = long ? this.part.rows.map((at) => this.tokenView.rows[at]) : this.tokenView.rows;
    const columns = long ? this.part.columns.map((at) => this.tokenView.columns[at]) : this.tokenView.columns;
    const token = (places, at) => (at === null ? null : places[at] + 1);
    if (trigger === "window") {
      this.part.place = value;
      this.render();
    } else if (trigger === "hide") {
      this.part.below = value.below;
      this.render();
    } else if (trigger === "find") {
      const shown = this.tokenView.rows.indexOf((this.state.query ?? 0) - 1);
      const at = this.part.next(this.tokenView.queries, value.text, value.step, shown < 0 ? null : shown);
      if (at === null) this.render();
      else this.change({ query: this.tokenView.rows[at] + 1, key: null, together: [] });
    } else if ("head" in value) this.change({ layer: value.layer, heads: [value.head] });
    else if (trigger === "heads") this.change({ layer: value.layer, heads: value.heads });
    else this.change({ query: token(rows, value.query), key: token(columns, value.key), together: [] });
  }

  // Contents ---------------------------------------------------------------------------------------------

  render() {
    this.validateState();
    this.describe();
    const { state, kind, tokenView } = this;
    const texts = this.titles.map((title, at) => [at + 1, title]);
    this.options.text.show(texts, state.text);
    const kinds = this.trace.kinds.map((one) => [one.kind, KINDS[one.kind][0]]);
    this.options.kind.show(kinds, state.kind);
    this.options.view.show(this.facts.views, state.view);
    this.bar.hidden = Math.max(texts.length, kinds.length) < 2;
    const meaning = (this.trace.pictures.length && IMAGE_MEANINGS[state.kind]) || KINDS[state.kind][1];
    this.meaning.textContent = kinds.length > 1 ? meaning : "";
    this.hide.checked = state.hide;
    this.hideLabel.hidden = !kind.token_views.hidden;
    const pixels = kind.top ? "" : this.publish("pixels", (weights) => weights.pixels());
    if (this.widgets.atlas) {
      this.allHeads.textContent = this.allName;
      this.widgets.atlas.receive({
        pixels,
        layers: kind.layers.length,
        heads: kind.heads,
        numbers: kind.layers,
        selected: { layer: state.layer, heads: state.heads },
        facts: tokenView.facts,
        dim: [],
        kind: kind.signed ? "diverging" : "sequential",
      });
    }
    if (!this.widgets.head_view) return;
    this.renderPicture();
    const shown = (places, token) => (places.includes(token - 1) ? places.indexOf(token - 1) : null);
    const query = shown(tokenView.rows, state.query);
    this.oneHead.textContent = this.headName;
    const exact = this.long ? "" : this.publish(`layer ${state.layer}`, (weights) => weights.exact(state.layer));
    const key = query === null ? null : shown(tokenView.columns, state.key);
    this.widgets.head_view.receive({
      pixels,
      exact,
      view: state.view,
      layer: state.layer,
      heads: state.heads,
      heads_total: kind.heading ? 0 : kind.heads,
      query_tokens: tokenView.queries,
      key_tokens: tokenView.keys,
      query,
      key,
      together: state.together.map((token) => shown(tokenView.rows, token)).filter((at) => at !== null),
      heading: this.headName,
      kind: kind.signed ? "diverging" : "sequential",
      unit: this.unit,
      note: kind.heading ? tokenView.explanation : `one colour scale for all heads; ${tokenView.explanation}`,
      caption: this.caption,
      filename: this.filename,
      ...(this.long && this.partMessage(query, key)),
    });
    this.summary.textContent = `All numbers of ${this.headName}`;
    this.tabulate();
  }

  /** Draws an image with the weights of the chosen word on its patches, or of the words on the chosen patch. */
  renderPicture() {
    const { state, kind, trace } = this;
    const { pictures } = trace;
    this.imageContainer.hidden = pictures[0]?.kind !== state.kind;
    if (this.imageContainer.hidden) return;
    this.options.picture.show(pictures.map((_, at) => [at, `${at + 1}`]), state.picture ?? 0);
    this.picture = pictures[state.picture ?? 0] ?? pictures[0];
    const { src, box, rows, columns, places, names, weights } = this.picture;
    const found = places.indexOf((state.query ?? 0) - 1);
    const query = found < 0 ? names.length - 1 : found;
    const pixels = `picture ${state.text} ${pictures.indexOf(this.picture)} ${query}`;
    if (!allData().has(pixels)) {
      const count = kind.layers.length * kind.heads;
      const values = new Float32Array(count * places.length).fill(Number.NaN); // patches' rows are not stored
      for (let head = 0; head < count; head++) {
        names.forEach((_, word) => {
          const row = weights + (head * names.length + word) * places.length;
          if (word === query) values.set(this.values.subarray(row, row + places.length), head * places.length);
          else if (query >= names.length) values[head * places.length + word] = this.values[row + query];
        });
      }
      allData().set(pixels, { facts: { query }, arrays: { rows: { shape: [count, places.length], values } } });
    }
    const layer = kind.layers.indexOf(state.layer) + 1;
    const message = { picture: src, whole: src, box, rows, columns, names, pixels, layer, query };
    this.widgets.patches.receive({ ...message, head: state.heads[0], heads: kind.heads, words: names.length });
  }

  /** Returns whether the text is too long for a picture with one cell per token. */
  get long() {
    return Math.max(this.tokenView.rows.length, this.tokenView.columns.length) > MAX_CELLS;
  }

  partMessage(query, key) {
    const { text, kind, layer, heads, view } = this.state;
    const source = new Weights(this.values, this.kind, this.tokenView, this.facts).source(layer);
    const { queries, keys } = this.tokenView;
    const of = `${text} ${kind} ${this.tokenViewName}`;
    const message = this.part.message(of, source, { layer, heads, view, query, key }, queries, keys);
    const places = this.state.together.map((token) => this.part.rows.indexOf(this.tokenView.rows.indexOf(token - 1)));
    return { ...message, together: places.filter((at) => at >= 0) };
  }

  /** Returns the labels of the text switch: the texts or, if all are equal, the models; equal labels are numbered. */
  get titles() {
    const { traces } = this.facts;
    const texts = traces.map(({ texts: [first] }) => shorten(fullText(first), LONG_TEXT));
    const names = new Set(texts).size > 1 ? texts : traces.map(({ model }) => model);
    return names.map((name, at) => (names.indexOf(name) === names.lastIndexOf(name) ? name : `${name} (${at + 1})`));
  }

  /** Creates arrays for the widgets on first use; returns their id. */
  publish(name, make) {
    const place = `${this.state.text} ${this.state.kind} ${this.tokenViewName}`;
    const id = `${place} ${name}`;
    if (!allData().has(id)) allData().set(id, make(new Weights(this.values, this.kind, this.tokenView, this.facts)));
    return id;
  }

  /** Draws the title, the texts and the facts about the model. */
  describe() {
    const { texts, model, edits, difference } = this.trace;
    const { layers, heads, size } = this.kind;
    const quoted = (text) => [
      "“",
      element("bdi", {}, text.typed, text.written && element("span", { class: "written", text: text.written })),
      "”",
    ];
    const long = texts.some((text) => fullText(text).length > LONG_TEXT);
    this.title.replaceChildren(...(long ? [`“${shorten(fullText(texts[0]), LONG_TEXT)}”`] : quoted(texts[0])));
    const role = ({ name }) => name && element("span", { class: "role", text: `${name} ` });
    const named = (text) => element("p", {}, role(text), ...quoted(text));
    const paragraphs = texts.slice(long ? 0 : 1).filter(fullText).map(named);
    this.texts.replaceChildren(
      ...(long ? [element("details", {}, element("summary", { text: "The whole text" }), ...paragraphs)] : paragraphs),
    );
    const generated = texts.some((text) => text.written) ? ["the model generated the underlined words"] : [];
    const [queries, keys] = size;
    const count = this.state.kind === "cross" ? `${queries} × ${keys} tokens` : plural(queries, "token");
    const edited = edits.length ? [`edited during the run: ${edits.join("; ")}`] : [];
    const all = this.widgets.atlas ? [`${plural(layers.length, "layer")} × ${plural(heads, "head")}`] : [];
    const facts = [difference || model, ...all, count, ...generated, ...edited];
    this.about.textContent = facts.join(" · ");
    document.title = `${this.headName} of ${shorten(model, 60)}: ${shorten(fullText(texts[0]), 60)}`;
  }

  /** @returns {import("../../widgets/numbers.js").Unit} */
  get unit() {
    return this.kind.signed ? "signed percent" : "percent";
  }

  get headName() {
    const { layer, heads } = this.state;
    if (this.kind.heading) return this.kindTitle + this.kind.heading;
    return `${this.kindTitle}Layer ${layer} · ${heads.length > 1 ? "Heads" : "Head"} ${heads.join(", ")}`;
  }

  get allName() {
    return `${this.kindTitle}All ${this.kind.layers.length * this.kind.heads} heads at a glance`;
  }

  /** Returns the kind, such as "Encoder · ", if the model has several kinds of attention. */
  get kindTitle() {
    return this.trace.show_kind ? `${KINDS[this.state.kind][0]} · ` : "";
  }

  /** Returns the kind, such as "encoder ", if the model has several kinds of attention. */
  get kindName() {
    return this.trace.show_kind ? `${this.state.kind} ` : "";
  }

  get caption() {
    const { layer, heads } = this.state;
    const texts = this.trace.texts.map((text) => `“${shorten(fullText(text), 300)}”`).join(" / ");
    const names = `${this.kindName}head ${heads.map((head) => `${layer}-${head}`).join(", ")}`;
    return `${texts} · ${this.trace.difference || this.trace.model} · ${this.kind.heading || names} · weights`;
  }

  get filename() {
    const { layer, heads, view } = this.state;
    const model = this.trace.model.replace(/[^\p{L}\p{N}._-]+/gu, "-");
    const kind = this.kindName.trim();
    const which = [`layer${layer}`, ...heads.map((head) => `head${head}`)];
    const parts = [model, kind, ...(this.kind.heading ? [this.kind.heading.replace(/ /g, "-")] : which)];
    if (this.tokenViewName === "hidden") parts.push("hidden");
    return ["attnviz", ...parts.filter(Boolean), view].join("-");
  }

  // Tables and printing -----------------------------------------------------------------------------------

  tabulate() {
    this.table.replaceChildren(...(this.numbers.open ? this.tables() : []));
  }

  /** Returns the numbers of the open heads as tables or, with many tokens, the largest weights of each token. */
  tables() {
    const view = this.widgets.head_view;
    const { keys } = this.tokenView;
    const { queries } = view;
    if (keys.length > MAX_TABLE_COLUMNS) {
      const rows = queries.map((_, at) => element("li", {}, ...view.rowSentence(at)));
      return [element("p", { text: "Largest weights of each token:" }), element("ul", {}, ...rows)];
    }
    return this.state.heads.map((head, which) => {
      const numbers = queries.map((_, at) => [...view.exactRows(at)[which].values]);
      const masked = numbers.flat().some(Number.isNaN) ? "; – means masked" : "";
      const title = `${this.kindTitle}Layer ${this.state.layer} · Head ${head}`;
      const faint = queries.some(({ rowNote }) => rowNote) ? "; rows with * have nearly all of their weight on hidden tokens" : "";
      const unit = this.kind.signed ? "percentage points" : "percent";
      const caption = `${this.kind.heading || title}, in ${unit}: rows are queries, columns are keys${masked}${faint}`;
      const name = (scope, token) =>
        element("th", { scope, title: token.title }, element("bdi", { text: token.label }));
      const rows = queries.map((query, at) =>
        element("tr", {}, name("row", query), ...numbers[at].map((value) => this.cell(value))),
      );
      const top = element("tr", {}, element("td"), ...keys.map((key) => name("col", key)));
      const table = element("table", {}, element("caption", { text: caption }), element("thead", {}, top));
      table.append(element("tbody", {}, ...rows));
      return element("div", { class: "wide", tabindex: 0, role: "region", "aria-label": caption }, table);
    });
  }

  cell(value) {
    if (Number.isNaN(value)) {
      const sign = element("span", { "aria-hidden": "true", text: "–" });
      return element("td", {}, sign, element("span", { class: "hidden", text: "masked" }));
    }
    const text = formatNumber(value, this.unit).replace(/\s(%|points?)$/, "");
    return element("td", { text, class: value >= STRONG ? "strong" : null });
  }

  /**
   * Redraws the page for paper, with all numbers, or for the screen. Widgets cannot redraw themselves while the browser
   * prints.
   * @param {boolean} on
   */
  print(on) {
    if (on === onPaper()) return;
    document.documentElement.toggleAttribute("data-paper", on);
    for (const details of document.querySelectorAll("details")) details.open ||= on;
    if (this.numbers) this.tabulate();
    window.dispatchEvent(new Event("attnviz:redraw"));
  }
}
