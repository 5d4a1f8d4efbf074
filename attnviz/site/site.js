/* site: Explore without a server. The widgets are the app's; the model runs in a worker of this page. */

import { colour, Report } from "../export/report/report.js";
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
 *   runs: { text: string, tokens: import("./wordpiece.js").Token[] }[], model: string
 * }} Opening what build.py writes
 */

const find = (/** @type {string} */ id) => /** @type {any} */ (document.getElementById(id));

class Site extends Report {
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
      "The weights of each token sum to 100 % in each head: a line, or a cell, is a weight. A change is solid and amber " +
        "where the weight grows, dashed and blue where it falls.",
      "The model runs in this browser; your sentences are sent nowhere. It is stored in 16-bit integers, so a weight " +
        "differs by up to 0.05 percentage points from the model’s own in float32 (largest difference in 200 sentences).",
    ];
    return texts.map((text) => element("p", { text }));
  }

  describe() {
    const [{ typed }] = this.reading.texts;
    const tokens = this.kind.size[0];
    this.about.textContent = `${this.reading.model} · ${tokens} tokens · ${this.kind.signed ? "second sentence minus first" : `“${typed}”`}`;
    document.title = `${this.headName}: ${typed.slice(0, 60)} · attnviz`;
  }

  /** The names of the sentences: the one word in which they differ, as app/explore/reading.py has them. */
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

  /** Works the weight between the chosen tokens out: of a difference, in both sentences. */
  explain() {
    const { query, layer, heads, text } = this.state;
    const ready = query !== null && this.way.rows.includes(query - 1);
    find("why-hint").hidden = ready;
    const runs = !ready ? [] : this.kind.signed ? this.runs : [this.runs[text - 1]];
    this.worked.forEach((host, at) => {
      host.hidden = at >= runs.length;
      if (host.hidden) return;
      const chosen = { layer, head: heads[0], query: query - 1, key: this.key(), hide: this.wayName === "hidden" };
      const note = `Head ${layer}-${heads[0]}${runs.length > 1 ? `, in “${runs[at].text}”` : ""}`;
      host.replaceChildren(...explained(why(runs[at], { ...this.opening.sizes, ...chosen }), chosen, note));
    });
  }

  /** The chosen key, from 0, or the one at which the open head has its largest number. */
  key() {
    const { key, query, layer } = this.state;
    const { rows, columns } = this.way;
    if (key !== null && columns.includes(key - 1)) return key - 1;
    const values = /** @type {Float64Array} */ (allData().get(this.published(`layer ${layer}`, () => null)).arrays.values.values);
    const from = ((this.state.heads[0] - 1) * rows.length + rows.indexOf(query - 1)) * columns.length;
    const row = values.subarray(from, from + columns.length);
    const largest = row.reduce((best, value, at) => (Math.abs(value) > Math.abs(row[best]) ? at : best), 0);
    return columns[largest];
  }

  /** The token to begin with, from 1: the example's, a pronoun, or the last word. */
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

  /** Adds the sentences to the link, behind # where no server reads them. */
  linkTexts() {
    const texts = this.runs.map(({ text }, at) => `${at ? "other" : "sentence"}=${encodeURIComponent(text)}`);
    const choices = location.hash.slice(1).split("&").filter((each) => each && !/^(sentence|other)=/.test(each));
    history.replaceState(null, "", `#${[...choices, ...texts].join("&")}`);
  }

  /** @param {Run[]} runs of one sentence or two */
  show(runs) {
    this.runs = runs;
    this.round += 1;
    allData().clear();
    const { readings, numbers } = shown(runs, this.opening.sizes);
    Object.assign(this.facts, { readings });
    this.values = numbers;
    this.change({ query: this.asked(), key: null, text: Math.min(this.state.text, readings.length) });
    document.documentElement.dataset.drawn = String(performance.now());
  }
}

/** The sentences in the link; none where it has none.
 * @returns {[] | [string, string?]} */
function linked() {
  const link = new URLSearchParams(location.hash.slice(1));
  return /** @type {[string, string?]} */ ([link.get("sentence"), link.get("other")].filter(Boolean));
}

/** @param {Opening} opening @param {Site} page */
function listen(opening, page) {
  const names = ["sentences", "sentence", "other", "status", "progress", "examples"];
  const [form, sentence, other, status, progress, choose] = names.map(find);
  const worker = new Worker("worker.js");
  let asked = ""; // what is being read; of several quick requests the last one counts
  const enter = (text, second = "") => {
    [sentence.value, other.value] = [text, second];
    const place = opening.examples.findIndex((each) => each.text === text && each.other === second);
    choose.value = place < 0 ? "" : place;
    const parts = (opening.examples[place]?.remark ?? "").split(/\*+/);
    find("remark").replaceChildren(...parts.map((part, at) => (at % 2 ? element("em", { text: part }) : part)));
  };
  const read = () => {
    const texts = [sentence.value, other.value].filter((text, at) => !at || text.trim());
    enter(...texts);
    status.textContent = "Reading …";
    asked = texts.join("\n");
    worker.postMessage({ folder: opening.model, texts });
  };
  worker.onmessage = ({ data: { runs, error, texts, loaded, bytes, offline } }) => {
    if (bytes) {
      const [done, all] = [loaded, bytes].map((count) => (count / 1e6).toFixed(0));
      progress.textContent = loaded < bytes ? `${done} of ${all} MB of the model are loaded.` : "";
    } else if (offline !== undefined) {
      progress.textContent = offline ? "The model is on this device: this page works without a network." : "";
    } else if (error) {
      if (texts.join("\n") === asked) status.textContent = error;
    } else if (runs.map(({ text }) => text).join("\n") === asked && asked) {
      const alike = !runs[1] || runs[0].tokens.length === runs[1].tokens.length;
      status.textContent = alike ? "" : "The two sentences have different numbers of tokens, so no change is shown.";
      page.show(runs);
    }
  };
  const follow = () => {
    const texts = linked();
    if (!texts.length || texts.join("\n") === page.runs.map(({ text }) => text).join("\n")) return;
    enter(...texts);
    read();
  };
  form.onsubmit = (event) => {
    event.preventDefault();
    read();
  };
  choose.append(...opening.examples.map(({ name }, at) => element("option", { value: at, text: name })));
  choose.onchange = () => {
    if (choose.value === "") return;
    enter(opening.examples[choose.value].text, opening.examples[choose.value].other);
    read();
  };
  enter(...page.runs.map(({ text }) => text));
  window.addEventListener("hashchange", follow);
  follow();
  worker.postMessage({ folder: opening.model, texts: [] }); // for the next sentence, and for a day without a network
}

async function start() {
  colour("auto");
  const [opening, bytes] = await Promise.all([
    fetch("example.json").then((response) => response.json()),
    fetch("example.bin").then((response) => response.arrayBuffer()),
  ]);
  const { layers, heads, d_head: size } = opening.sizes;
  let at = 0;
  const take = (length) => {
    at += length;
    return new Float32Array(bytes, 4 * (at - length), length);
  };
  const runs = opening.runs.map(({ text, tokens }) => {
    const [pairs, vectors] = [layers * heads * tokens.length ** 2, layers * heads * tokens.length * size];
    return { text, tokens, weights: take(pairs), query: take(vectors), key: take(vectors) };
  });
  const page = new Site(opening, runs);
  document.documentElement.dataset.drawn = String(performance.now());
  listen(opening, page);
  navigator.serviceWorker?.register("service_worker.js"); // only https and localhost have one
}

start();
