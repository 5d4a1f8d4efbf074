/* site: a page without a server. The widgets are the app's; the model runs in a worker of this page. */

import { Report } from "../export/report/report.js";
import copyLink from "../app/components/copy_link.js";
import { savePicture } from "../app/components/saved_picture.js";
import { element } from "../widgets/dom.js";
import { saveButtons } from "../widgets/pens.js";
import { allData } from "../widgets/store.js";
import { shown, why } from "./reading.js";
import { explained } from "./why.js";

const PRONOUNS = ["it", "he", "she", "they", "him", "her", "them"];
const CHANGE = "change";

/**
 * @typedef {import("./reading.js").Run} Run
 * @typedef {{ name: string, text: string, other: string, remark: string, query: string }} Example
 * @typedef {{
 *   sizes: import("./reading.js").Sizes, min_kept: number, head: [number, number], examples: Example[],
 *   labels: { before: string, masked: string }, runs: { text: string, tokens: import("./wordpiece.js").Token[] }[], model: string
 * }} Opening the data that build.py writes
 */

export const find = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));

export class Site extends Report {
  /**
   * @param {Opening} opening
   * @param {Run[]} runs
   */
  constructor(opening, runs) {
    const { readings, numbers } = shown(runs, opening.sizes);
    const [layer, head] = opening.head;
    const open = { text: 1, kind: null, layer, heads: [head], query: null, key: null, together: [], view: /** @type {"lines"} */ ("lines"), hide: false };
    super(
      { readings, min_kept: opening.min_kept, show: ["atlas", "head"], theme: "auto", views: [["lines", "Lines"], ["matrix", "Matrix"]], open },
      numbers,
    );
    this.opening = opening;
    this.runs = runs;
    this.round = 0;
    if (!/[#&]query=/.test(location.hash)) this.state.query = this.asked();
    this.render();
  }

  build() {
    super.build();
    this.title.parentElement.remove();
    const copy = element("div", { class: "copy-link" });
    copyLink.mount(copy.attachShadow({ mode: "open" })).receive({ query: "", always: [], never: [], others: "" });
    this.meaning.replaceWith(this.about, copy);
    const atlas = this.widgets.atlas;
    const files = saveButtons((ending) => savePicture(atlas, ending));
    /** @type {ShadowRoot} */ (atlas.root.parentNode).append(element("div", { class: "saved" }, files));
    this.worked = [element("div"), element("div")];
    find("why").append(element("div", { class: "both" }, ...this.worked));
    const footer = document.querySelector("#report footer");
    footer.classList.add("site");
    find("why").after(footer);
  }

  explained() {
    const texts = [
      "Each line or cell is a weight. In each head, the weights of a token sum to 100 %. Increases are solid and amber, " +
        "decreases dashed and blue.",
      "The model runs in this browser; your sentences do not leave it. The model is stored in 16-bit integers, so a weight " +
        "differs by up to 0.05 percentage points from the model’s own in float32 (largest difference in 200 sentences).",
    ];
    return texts.map((text) => element("p", { text }));
  }

  /** Describes a change. */
  get difference() {
    return "second sentence minus first";
  }

  /** Returns ', in “…”' with the text of a run. */
  whose(at) {
    return `, in “${this.runs[at].text}”`;
  }

  describe() {
    const [{ typed }] = this.reading.texts;
    const tokens = this.kind.size[0];
    this.about.textContent = `${this.reading.model} · ${tokens} tokens · ${this.kind.signed ? this.difference : `“${typed}”`}`;
    document.title = `${this.headName}: ${typed.slice(0, 60)} · attnviz`;
  }

  /** Returns the sentences' names: the single differing word, as in app/explore/reading.py. */
  get titles() {
    const texts = this.facts.readings.filter(({ kinds: [{ signed }] }) => !signed).map(({ texts: [{ typed }] }) => typed);
    const words = texts.map((text) => text.split(/\s+/).map((word) => word.replace(/^[.,;:!?]+|[.,;:!?]+$/g, "")));
    const pairs = words[0].flatMap((word, at) => (word === words[1]?.[at] ? [] : [[word, words[1]?.[at]]]));
    const plain = words[0].length === words[1]?.length && pairs.length === 1 && pairs[0].every((word) => /^[\p{L}\p{N}]+$/u.test(word));
    const names = plain ? pairs[0] : ["first", "second"];
    return this.facts.readings.map((_, at) => names[at] ?? CHANGE);
  }

  get filename() {
    return this.kind.signed ? `${super.filename}-change` : super.filename;
  }

  published(name, make) {
    return super.published(`${this.round} ${name}`, make);
  }

  render() {
    super.render();
    if (!this.runs) return; // the constructor above has not ended
    this.bar.hidden = false; // it has the link, also where there is one sentence
    const { atlas } = this.widgets;
    atlas.data.file = { name: `${this.filename}-all-heads`, title: this.allName, about: this.caption };
    this.explain();
  }

  /** Explains the weight between the chosen tokens; for a difference, in both sentences. */
  explain() {
    const { query, layer, heads, text } = this.state;
    const ready = query !== null && this.way.rows.includes(query - 1);
    find("why-hint").hidden = ready;
    const runs = !ready ? [] : this.kind.signed ? this.runs : [this.runs[text - 1]];
    this.worked.forEach((host, at) => {
      host.hidden = at >= runs.length;
      if (host.hidden) return;
      const chosen = { layer, head: heads[0], query: query - 1, key: this.key(), hide: this.wayName === "hidden" };
      const note = `Head ${layer}-${heads[0]}${runs.length > 1 ? this.whose(at) : ""}`;
      host.replaceChildren(...explained(why(runs[at], { ...this.opening.sizes, ...chosen }), chosen, note));
    });
  }

  /** Returns the chosen key, from 0, or the key with the open head's largest number. */
  key() {
    const { key, query, layer, heads } = this.state;
    const { columns, weights = this.kind.weights } = this.way;
    if (key !== null && columns.includes(key - 1)) return key - 1;
    const [count] = this.kind.size;
    const from = weights + (((layer - 1) * this.kind.heads + heads[0] - 1) * count + query - 1) * count;
    const row = columns.map((column) => this.values[from + column]);
    const larger = (value, best) => Number.isNaN(best) || Math.abs(value) > Math.abs(best); // NaN: masked
    const largest = row.reduce((best, value, at) => (larger(value, row[best]) ? at : best), 0);
    return columns[largest];
  }

  /** Returns the initial token, from 1: the example's, a pronoun, or the last word. */
  asked() {
    const [{ text, tokens }] = this.runs;
    const example = this.opening.examples.find((each) => each.text === text);
    const labels = tokens.map((token) => token.text);
    const wanted = ["[MASK]", example?.query, ...PRONOUNS].map((word) => labels.indexOf(word)).find((at) => at > 0);
    return (wanted ?? labels.findLastIndex((label, at) => !tokens[at].special && /^[\p{L}\p{N}]+$/u.test(label))) + 1 || null;
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
    // The other page opens with the same sentence.
    for (const link of document.querySelectorAll("nav a[data-takes]")) link.setAttribute("href", `${link.getAttribute("data-takes")}#${texts[0]}`);
  }

  /** @param {Run[]} runs at most two: of two sentences, or without and with a mask */
  show(runs) {
    const same = runs[0].text === this.runs[0].text;
    this.runs = runs;
    this.round += 1;
    allData().clear();
    const { readings, numbers } = shown(runs, this.opening.sizes);
    Object.assign(this.facts, { readings });
    this.values = numbers;
    this.change({ ...(!same && { query: this.asked(), key: null }), text: Math.min(this.state.text, readings.length) });
    document.documentElement.dataset.drawn = String(performance.now());
  }
}

/** The model in a worker, and its status on the page. */
export class Model {
  #asked = ""; // of several quick requests the last one counts

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
        const [done, all] = [loaded, bytes].map((count) => (count / 1e6).toFixed(0));
        progress.textContent = loaded < bytes ? `Loading the model: ${done} of ${all} MB` : "";
      } else if (offline !== undefined) {
        progress.textContent = offline ? "The model is on this device: this page works without a network." : "";
      } else if (error) {
        if (JSON.stringify([texts, masks]) === this.#asked) this.say(error, true);
      } else if (runs.length && JSON.stringify([texts, masks]) === this.#asked) {
        this.say("");
        show(runs);
      }
    };
    this.worker.postMessage({ folder, texts: [], masks: [] }); // for the next sentence, and for a day without a network
  }

  /** Shows the model's status, or its error. */
  say(text, failed = false) {
    this.status.textContent = text;
    this.status.classList.toggle("failed", failed);
  }

  /** @param {string[]} texts @param {string[]} [masks] as worker.js takes them */
  read(texts, masks = []) {
    this.say("Reading …");
    this.#asked = JSON.stringify([texts, masks]);
    this.worker.postMessage({ folder: this.folder, texts, masks });
  }
}
