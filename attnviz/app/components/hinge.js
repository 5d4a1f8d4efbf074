/* hinge: a slider between two ends, and the row of weights that was computed for each step. */

import { bar, boxIn, drawing, element } from "../../widgets/dom.js";
import { percent } from "../../widgets/numbers.js";
import { Choice } from "../../widgets/selection.js";
import { View, widget } from "../../widgets/widget.js";
import styles from "./hinge.css";

const LINE_LEAST = 0.01; // a smaller weight has no line
const MAX_LABELLED = 3; // words that the sentence names

/**
 * @typedef {{ title: string, words: string[], query: number, place: number | null, ends: [string, string], rows: number[][],
 *   marks: { step: number, text: string }[], outcome: { word: string, probabilities: number[] }[],
 *   texts: string[], step: number }}
 *   Message what hinge.py sends, and describes
 */

/** @extends {View<Message>} */
class Hinge extends View {
  constructor() {
    super();
    this.choice = new Choice();
    this.arcs = drawing("svg", { "aria-hidden": "true" });
    this.sentence = element("div", { class: "sentence" });
    this.slider = element("input", {
      type: "range",
      min: 0,
      oninput: () => this.draw(),
      onchange: () => {
        this.choice.choose(Number(this.slider.value));
        this.trigger("change", { step: this.choice.value });
      },
    });
    this.marks = element("div", { class: "marks" });
    this.ends = [element("bdi"), element("bdi")];
    this.scale = element("div", { class: "scale" }, this.ends[0], element("div", { class: "way" }, this.slider, this.marks), this.ends[1]);
    this.said = element("p", { class: "said" });
    this.text = element("p", { class: "text" });
    this.outcome = element("ul", { class: "outcome tracks" });
    this.root = element(
      "div",
      { class: "root hinge" },
      element("div", { class: "stage" }, this.arcs, this.sentence),
      this.scale,
      this.said,
      this.text,
      this.outcome,
    );
    this.onResize(() => this.data && this.layout());
  }

  update(data) {
    this.data = data;
    const { title, words, query, place, ends, rows, marks, outcome, step } = data;
    this.choice.tell(step);
    const picture = JSON.stringify({ ...data, step: 0 });
    if (picture === this.picture) {
      if (this.choice.answered) this.slider.value = String(step);
      this.draw();
      return;
    }
    this.picture = picture;
    this.slider.setAttribute("aria-label", title);
    [this.slider.max, this.slider.value] = [String(rows.length - 1), String(this.choice.value)];
    this.ends.forEach((node, at) => (node.textContent = ends[at]));
    this.nodes = words.map((text, key) => {
      const word = key === place ? ends.map((end) => element("bdi", { text: end })) : [element("bdi", { text })];
      const name = key === query ? "word query" : key === place ? "word turning" : "word";
      return element("span", { class: name }, element("span", { class: "of" }, ...word), element("small"));
    });
    this.sentence.replaceChildren(...this.nodes);
    this.lines = words.map(() => drawing("path", {}));
    this.arcs.replaceChildren(...this.lines);
    this.marks.replaceChildren(
      ...marks.map(({ step: at, text }) => {
        const share = (100 * at) / (rows.length - 1);
        return element("span", { style: `left: ${share}%`, class: share > 50 ? "late" : null }, element("bdi", { text }));
      }),
    );
    this.outcome.replaceChildren(
      ...outcome.map(({ word }) => element("li", {}, element("bdi", { text: word }), bar(0), element("span", { class: "number" }))),
    );
    this.layout();
  }

  /** Finds where each line goes. */
  layout() {
    const stage = /** @type {HTMLElement} */ (this.arcs.parentNode);
    const places = this.nodes.map((node) => boxIn(node, stage)).map(({ x, y, width }) => [x + width / 2, y]);
    const [x, y] = places[this.data.query];
    this.lines.forEach((line, key) => {
      const [to, top] = places[key];
      const high = Math.min(y, top) - Math.min(90, 24 + Math.abs(to - x) / 4);
      line.setAttribute("d", `M${x} ${y} C${x} ${high} ${to} ${high} ${to} ${top}`);
    });
    this.draw();
  }

  /** Shows the step at which the slider stands: each is a forward pass of its own. */
  draw() {
    const { words, query, place, ends, rows, outcome, texts } = this.data;
    const step = Number(this.slider.value);
    const [row, share] = [rows[step], step / (rows.length - 1)];
    row.forEach((weight, key) => {
      this.lines[key].style.strokeWidth = String(1 + 9 * weight);
      this.lines[key].toggleAttribute("hidden", key === query || weight < LINE_LEAST);
      this.nodes[key].style.setProperty("--weight", String(weight));
      this.nodes[key].dataset.weight = String(weight);
      this.nodes[key].lastChild.textContent = weight < 0.005 ? "" : percent(weight, 0);
    });
    this.root.style.setProperty("--share", String(share));
    outcome.forEach(({ probabilities }, at) => {
      const [, track, number] = this.outcome.children[at].children;
      /** @type {HTMLElement} */ (track.firstChild).style.width = `${100 * probabilities[step]}%`;
      number.textContent = percent(probabilities[step], 1);
    });
    this.text.replaceChildren(element("bdi", { text: texts[step] ?? "" }));
    const strongest = [...row.keys()].sort((a, b) => row[b] - row[a]).slice(0, MAX_LABELLED);
    const told = strongest.map((key) => `${key === place && share ? "the word between" : words[key]} ${percent(row[key], 0)}`);
    const mix = { 0: ends[0], 1: ends[1] }[share] ?? `${percent(1 - share, 0)} ${ends[0]}, ${percent(share, 0)} ${ends[1]}`;
    this.said.textContent = `${mix}: ${words[query]} reads ${told.join(", ")}.`;
    this.slider.setAttribute("aria-valuetext", this.said.textContent);
  }
}

export default widget(Hinge, styles);
