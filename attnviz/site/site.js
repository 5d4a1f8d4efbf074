/* site: a page with the app's widgets but no server; the model runs in a web worker. */

import { Report } from "../export/report/report.js";
import copyLink from "../app/components/copy_link.js";
import { savePicture } from "../app/components/saved_picture.js";
import { element } from "../widgets/dom.js";
import { saveButtons } from "../widgets/pens.js";
import { allData } from "../widgets/store.js";
import { tracesOf, weightSteps } from "./reading.js";
import { weightElements } from "./why.js";

const PRONOUNS = ["it", "he", "she", "they", "him", "her", "them"];
const CHANGE = "difference";

/**
 * @typedef {import("./reading.js").Run} Run
 * @typedef {{ name: string, text: string, other: string, remark: string, query: string }} Example
 * @typedef {{
 *   sizes: import("./reading.js").Sizes, min_kept: number, head: [number, number], examples: Example[],
 *   labels: { before: string, masked: string }, runs: { text: string, tokens: import("./wordpiece.js").Token[] }[], model: string
 * }} Opening the data from build.py
 */

export const find = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));

export class Site extends Report {
  /**
   * @param {Opening} opening
   * @param {Run[]} runs
   */
  constructor(opening, runs) {
    const { traces, numbers } = tracesOf(runs, opening.sizes);
    const [layer, head] = opening.head;
    const open = { text: 1, kind: null, layer, heads: [head], query: null, key: null, together: [], view: /** @type {"lines"} */ ("lines"), hide: false };
    super(
      { traces, min_kept: opening.min_kept, show: ["atlas", "head"], theme: "auto", views: [["lines", "Lines"], ["matrix", "Matrix"]], open },
      numbers,
    );
    this.opening = opening;
    this.runs = runs;
    this.version = 0;
    if (!/[#&]query=/.test(location.hash)) this.state.query = this.initialQuery();
    this.render();
  }

  build() {
    super.build();
    this.title.parentElement.remove();
    const copy = element("div", { class: "copy-link" });
    copyLink.mount(copy.attachShadow({ mode: "open" })).receive({ query: "", always: [], never: [], shared_url: "" });
    this.meaning.replaceWith(this.about, copy);
    const atlas = this.widgets.atlas;
    const files = saveButtons((ending) => savePicture(atlas, ending));
    /** @type {ShadowRoot} */ (atlas.root.parentNode).append(element("div", { class: "saved" }, files));
    this.calculations = [element("div"), element("div")];
    find("why").append(element("div", { class: "calculations" }, ...this.calculations));
    const footer = document.querySelector("#report footer");
    footer.classList.add("site");
    find("why").after(footer);
  }

  footerTexts() {
    const texts = [
      "Each line or cell is a weight. In each head, the weights of a token sum to 100 %. In a difference, increases " +
        "are solid and amber, decreases dashed and blue.",
      "The model runs in this browser; your sentences do not leave it. Its parameters are stored as 16-bit integers, so a " +
        "weight differs by up to 0.05 percentage points from the float32 model (largest difference in 200 sentences).",
    ];
    return texts.map((text) => element("p", { text }));
  }

  /** Returns the description of a difference. */
  get changeLabel() {
    return "second sentence minus first";
  }

  /** Returns the end of a note, which identifies the run. */
  runLabel(at) {
    return `, in “${this.runs[at].text}”`;
  }

  describe() {
    const [{ typed }] = this.trace.texts;
    const tokens = this.kind.size[0];
    this.about.textContent = `${this.trace.model} · ${tokens} tokens · ${this.kind.signed ? this.changeLabel : `“${typed}”`}`;
    document.title = `${this.headName}: ${typed.slice(0, 60)} · attnviz`;
  }

  /** Returns a name for each sentence: the word in which the two differ, or "first" and "second". */
  get titles() {
    const texts = this.facts.traces.filter(({ kinds: [{ signed }] }) => !signed).map(({ texts: [{ typed }] }) => typed);
    const words = texts.map((text) => text.split(/\s+/).map((word) => word.replace(/^[.,;:!?]+|[.,;:!?]+$/g, "")));
    const pairs = words[0].flatMap((word, at) => (word === words[1]?.[at] ? [] : [[word, words[1]?.[at]]]));
    const isOneWord = words[0].length === words[1]?.length && pairs.length === 1 && pairs[0].every((word) => /^[\p{L}\p{N}]+$/u.test(word));
    const names = isOneWord ? pairs[0] : ["first", "second"];
    return this.facts.traces.map((_, at) => names[at] ?? CHANGE);
  }

  get filename() {
    return this.kind.signed ? `${super.filename}-change` : super.filename;
  }

  publish(name, make) {
    return super.publish(`${this.version} ${name}`, make);
  }

  render() {
    super.render();
    if (!this.runs) return; // called by the constructor of Report
    this.bar.hidden = false; // it contains the link
    const { atlas } = this.widgets;
    atlas.data.file = { name: `${this.filename}-all-heads`, title: this.allName, about: this.caption };
    this.explain();
  }

  /** Shows the calculation of the weight between the chosen tokens; for a difference, of both weights. */
  explain() {
    const { query, layer, heads, text } = this.state;
    const isQueryShown = query !== null && this.tokenView.rows.includes(query - 1);
    find("why-hint").hidden = isQueryShown;
    const runs = !isQueryShown ? [] : this.kind.signed ? this.runs : [this.runs[text - 1]];
    this.calculations.forEach((host, at) => {
      host.hidden = at >= runs.length;
      if (host.hidden) return;
      const chosen = { layer, head: heads[0], query: query - 1, key: this.key(), hide: this.tokenViewName === "hidden" };
      const note = `Head ${layer}-${heads[0]}${runs.length > 1 ? this.runLabel(at) : ""}`;
      host.replaceChildren(...weightElements(weightSteps(runs[at], { ...this.opening.sizes, ...chosen }), chosen, note));
    });
  }

  /** Returns the chosen key, from 0; by default the query's key with the largest weight or absolute change. */
  key() {
    const { key, query, layer, heads } = this.state;
    const { columns, weights = this.kind.weights } = this.tokenView;
    if (key !== null && columns.includes(key - 1)) return key - 1;
    const [count] = this.kind.size;
    const start = weights + (((layer - 1) * this.kind.heads + heads[0] - 1) * count + query - 1) * count;
    const row = columns.map((column) => this.values[start + column]);
    const larger = (value, best) => Number.isNaN(best) || Math.abs(value) > Math.abs(best); // NaN: masked
    const largest = row.reduce((best, value, at) => (larger(value, row[best]) ? at : best), 0);
    return columns[largest];
  }

  /** Returns the initial query, from 1: [MASK], the example's token, a pronoun, or the last word. */
  initialQuery() {
    const [{ text, tokens }] = this.runs;
    const example = this.opening.examples.find((each) => each.text === text);
    const labels = tokens.map((token) => token.text);
    const preferred = ["[MASK]", example?.query, ...PRONOUNS].map((word) => labels.indexOf(word)).find((at) => at > 0);
    return (preferred ?? labels.findLastIndex((label, at) => !tokens[at].special && /^[\p{L}\p{N}]+$/u.test(label))) + 1 || null;
  }

  change(choice) {
    super.change(choice);
    this.linkTexts();
  }

  /** Adds the sentences to the link's fragment, which is not sent to a server. */
  linkTexts() {
    const texts = this.runs.map(({ text }, at) => `${at ? "other" : "sentence"}=${encodeURIComponent(text)}`);
    const choices = location.hash.slice(1).split("&").filter((each) => each && !/^(sentence|other)=/.test(each));
    history.replaceState(null, "", `#${[...choices, ...texts].join("&")}`);
    // Links to the other page keep the sentence.
    for (const link of document.querySelectorAll("nav a[data-path]")) link.setAttribute("href", `${link.getAttribute("data-path")}#${texts[0]}`);
  }

  /** Shows new results. @param {Run[]} runs at most two: of two sentences, or without and with a mask */
  show(runs) {
    const isSameText = runs[0].text === this.runs[0].text;
    this.runs = runs;
    this.version += 1;
    allData().clear();
    const { traces, numbers } = tracesOf(runs, this.opening.sizes);
    Object.assign(this.facts, { traces });
    this.values = numbers;
    this.change({ ...(!isSameText && { query: this.initialQuery(), key: null }), text: Math.min(this.state.text, traces.length) });
    document.documentElement.dataset.drawn = String(performance.now());
  }
}

/** Runs the model in a web worker, and shows its status on the page. */
export class Model {
  #lastRequest = ""; // results of earlier requests are ignored

  /**
   * @param {string} folder
   * @param {(runs: Run[]) => void} show
   */
  constructor(folder, show) {
    this.folder = folder;
    this.status = find("status");
    const progress = find("progress");
    this.worker = new Worker("worker.js");
    this.worker.onmessage = ({ data: { runs, error, texts, masks, loaded, bytes, offline } }) => {
      if (bytes) {
        const [loadedMegabytes, totalMegabytes] = [loaded, bytes].map((count) => (count / 1e6).toFixed(0));
        progress.textContent = loaded < bytes ? `Loading the model: ${loadedMegabytes} of ${totalMegabytes} MB` : "";
      } else if (offline !== undefined) {
        progress.textContent = offline ? "The model is stored on this device. This page works offline." : "";
      } else if (error) {
        if (JSON.stringify([texts, masks]) === this.#lastRequest) this.showStatus(error, true);
      } else if (runs.length && JSON.stringify([texts, masks]) === this.#lastRequest) {
        this.showStatus("");
        show(runs);
      }
    };
    this.worker.postMessage({ folder, texts: [], masks: [] }); // loads the model for later sentences, and for offline use
  }

  /** Shows the model's status, or its error. */
  showStatus(text, failed = false) {
    this.status.textContent = text;
    this.status.classList.toggle("failed", failed);
  }

  /** Requests results. @param {string[]} texts @param {string[]} [masks] as in `Model.run` of worker.js */
  read(texts, masks = []) {
    this.showStatus("Reading …");
    this.#lastRequest = JSON.stringify([texts, masks]);
    this.worker.postMessage({ folder: this.folder, texts, masks });
  }
}
