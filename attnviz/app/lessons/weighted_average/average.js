/* average: a weighted average as a sum of vectors; page.py describes the message. */

import { byFinger, cellUnder, drawing, element, stretched } from "../../../widgets/dom.js";
import { buttonOf, moveFocus, tabStop } from "../../../widgets/keyboard.js";
import { fixed, number, percent, strongest, sumDigits } from "../../../widgets/numbers.js";
import { Choice } from "../../../widgets/selection.js";
import { View, widget } from "../../../widgets/widget.js";
import { timesTexts } from "../../components/worked.js";
import styles from "./average.css";

const FACTOR_DIGITS = [4, 8]; // decimals of a weight and of a number, at least and at most
const SCALES = [0.1, 0.2, 0.3, 0.5, 1]; // weights at which the bars may end
const FAINTEST = 0.12; // of a vector of which next to nothing is taken

/** A vector as bars: up from the middle line is positive, down is negative; `most` reaches the edge. */
class Strip {
  constructor(length) {
    this.svg = stretched("strip", [0, 0, length, 2]);
    this.pointed = drawing("rect", { class: "pointed", y: 0, width: 1, height: 2 });
    this.bars = Array.from({ length }, (_, at) => drawing("rect", { x: at + 0.12, width: 0.76 }));
    this.gifts = Array.from({ length }, (_, at) => drawing("rect", { x: at + 0.3, width: 0.4, class: "gift" }));
    const middle = drawing("line", { x1: 0, x2: length, y1: 1, y2: 1 });
    this.svg.append(this.pointed, ...this.bars, ...this.gifts, middle);
  }

  static #draw(rects, vector, most) {
    rects.forEach((rect, at) => {
      const height = Math.abs(vector?.[at] ?? 0) / most;
      rect.setAttribute("y", vector?.[at] > 0 ? 1 - height : 1);
      rect.setAttribute("height", height);
    });
  }

  show(vector, most) {
    Strip.#draw(this.bars, vector, most);
  }

  /** What one part gives to this sum; null for none. */
  give(vector, most) {
    Strip.#draw(this.gifts, vector, most);
  }

  point(at) {
    this.pointed.setAttribute("x", at);
  }
}

/**
 * @typedef {{ words: { label: string, name: string }[], query: number, parts: { label: string, name: string, single:
 *   boolean, weight: number, vector: number[] }[], mixed: number[], d_model: number }} Message what page.py sends,
 *   and describes
 */

/** @extends {View<Message>} */
class Average extends View {
  constructor() {
    super();
    this.chosen = new Choice();
    this.row = -1; // the part pointed at
    this.focusedRow = -1;
    this.at = 0; // the number pointed at
    this.digits = [0, 0]; // decimals of the products and of their sum
    this.sentence = element("div", {
      class: "sentence",
      role: "group",
      "aria-label": "Which token looks",
      onclick: (event) => this.pick(buttonOf(event)),
      onkeydown: (event) => moveFocus(event, this.wordButtons, this.wordButtons.length),
    });
    this.body = element("tbody", { onkeydown: (event) => this.onRowKey(event) });
    this.foot = element("tfoot");
    this.productHead = element("th", { scope: "col", class: "product" });
    this.shownHead = element("th", { scope: "col" });
    this.weightHead = element("th", { scope: "col", class: "weights" });
    const heads = [
      element("th", { scope: "col", class: "key" }, "looks at"),
      this.weightHead,
      this.shownHead,
      this.productHead,
    ];
    this.table = element(
      "table",
      { onpointerleave: () => this.pointAtRow(this.focusedRow) },
      element("thead", {}, element("tr", {}, ...heads)),
      this.body,
      this.foot,
    );
    this.table.addEventListener("focusin", (event) => {
      this.focusedRow = this.buttons.indexOf(buttonOf(event));
      this.pointAtRow(this.focusedRow);
    });
    this.table.addEventListener("focusout", () => {
      this.focusedRow = -1;
      this.pointAtRow(-1);
    });
    this.readout = element("p", { class: "readout", "aria-live": "polite" });
    const rows = element("div", { class: "rows", "data-rows": true }, this.table);
    this.root = element("div", { class: "root average" }, this.sentence, rows, this.readout);
  }

  update(data) {
    this.chosen.tell(data.query);
    if (this.data === data) return; // only the theme changed
    const before = this.data;
    this.data = data;
    this.at = Math.min(this.at, data.mixed.length - 1);
    const words = JSON.stringify(data.words);
    if (this.words !== words) this.buildSentence();
    this.words = words;
    // The same lines stay, so that their bars move from the old weights to the new ones.
    const lines = JSON.stringify([data.parts.map((part) => part.name), data.mixed.length]);
    if (this.lines !== lines || !before) this.buildLines();
    this.lines = lines;
    this.mark();
    this.draw();
  }

  // ------------------------------------------------------------ the sentence

  buildSentence() {
    this.wordButtons = this.data.words.map(({ label, name }) =>
      element("button", { type: "button", class: "word", "aria-label": name }, element("bdi", { text: label })),
    );
    this.sentence.replaceChildren(...this.wordButtons);
  }

  mark() {
    const chosen = this.chosen.value;
    this.wordButtons.forEach((button, at) => button.setAttribute("aria-pressed", String(at === chosen)));
    this.keepTabStop(this.wordButtons, chosen);
  }

  pick(button) {
    const query = this.wordButtons.indexOf(button);
    if (query < 0 || query === this.chosen.value) return;
    this.chosen.choose(query);
    this.mark();
    this.trigger("pick", { query });
  }

  // ------------------------------------------------------------ the sum

  buildLines() {
    const { parts, mixed } = this.data;
    this.row = this.focusedRow = -1;
    this.strips = parts.map(() => new Strip(mixed.length));
    this.bars = parts.map(() => element("span", { class: "bar" }));
    this.evens = parts.map(() => element("span", { class: "even" }));
    this.shares = parts.map(() => element("span", { class: "share" }));
    this.products = parts.map(() => element("td", { class: "product" }));
    this.buttons = parts.map((_, at) =>
      element("button", { type: "button", class: "weight" }, element("span", { class: "track" }, this.bars[at], this.evens[at]), this.shares[at]),
    );
    this.rows = parts.map(({ label, name }, at) =>
      element(
        "tr",
        { onpointerenter: () => this.pointAtRow(at) },
        element("th", { scope: "row", class: "key", title: name }, element("bdi", { text: label })),
        element("td", {}, this.buttons[at]),
        element("td", { class: "vector" }, this.strips[at].svg),
        this.products[at],
      ),
    );
    this.body.replaceChildren(...this.rows);
    this.total = new Strip(mixed.length);
    this.zoom = element("td", { class: "zoom" });
    this.sum = element("td", { class: "product" });
    this.name = element("th", { scope: "row" });
    this.foot.replaceChildren(
      element(
        "tr",
        {},
        this.name,
        element("td", { class: "all" }, "sum: ", element("span", { class: "share" }, "100 %")),
        element("td", { class: "vector" }, this.total.svg),
        this.sum,
      ),
      element("tr", { class: "note" }, element("td", { colspan: 2 }), this.zoom, element("td", { class: "product" })),
    );
    for (const strip of [...this.strips, this.total]) {
      strip.svg.onpointermove = (event) => this.pointAtNumber(cellUnder(event, strip.svg, 1, mixed.length).column);
    }
    tabStop(this.buttons, 0);
  }

  draw() {
    const { parts, mixed, d_model, words, query } = this.data;
    this.most = Math.max(...parts.flatMap(({ vector }) => vector.map(Math.abs)), ...mixed.map(Math.abs)) || 1;
    // What is mixed cancels out: the sum is small beside its parts.
    const times = Math.max(1, Math.floor(this.most / Math.max(...mixed.map(Math.abs))));
    this.mostMixed = this.most / (Number.isFinite(times) ? times : 1);
    this.zoom.textContent = this.mostMixed < this.most ? `drawn ${times} × larger than the lines above` : "";
    // Several tokens together can have more than any single one has.
    const largest = Math.max(...parts.filter(({ single }) => single).map(({ weight }) => weight)) || 1;
    const full = SCALES.find((scale) => scale >= Math.max(...parts.map(({ weight }) => weight))) ?? 1;
    const even = 1 / words.length;
    this.weightHead.replaceChildren("weight w", element("span", { class: "full" }, ` (up to ${100 * full} %)`));
    parts.forEach(({ name, weight, vector, single }, at) => {
      this.bars[at].style.width = `${(100 * weight) / full}%`;
      this.evens[at].hidden = !single || even > full;
      this.evens[at].style.left = `${(100 * even) / full}%`;
      this.shares[at].replaceChildren(number("weight", weight, percent(weight)));
      this.buttons[at].setAttribute("aria-label", `${name}: ${percent(weight)}`);
      this.strips[at].show(vector, this.most);
      this.strips[at].svg.style.opacity = String(FAINTEST + (1 - FAINTEST) * Math.min(1, weight / largest));
    });
    this.total.show(mixed, this.mostMixed);
    this.name.replaceChildren("mixed ", element("bdi", { class: "query", text: words[query].label }));
    const all = d_model === mixed.length ? `${d_model}` : `first ${mixed.length} of ${d_model}`;
    this.shownHead.replaceChildren(element("span", { class: "value" }, "vector x"), ` (${all} numbers)`);
    this.pointAtNumber(this.at);
    this.pointAtRow(this.row);
  }

  pointAtNumber(at) {
    const { parts, mixed } = this.data;
    this.at = Math.max(0, Math.min(mixed.length - 1, at));
    for (const strip of [...this.strips, this.total]) strip.point(this.at);
    this.productHead.textContent = `number ${this.at + 1}: w × x`;
    const products = parts.map(({ weight, vector }) => weight * vector[this.at]);
    this.digits = sumDigits(products, mixed[this.at], 4);
    parts.forEach(({ weight, vector }, row) => {
      const x = vector[this.at];
      const [share, factor, product] = this.multiplied(weight, x);
      this.products[row].replaceChildren(
        number("share", weight, share, "weights"),
        " × ",
        number("value", x, factor, "value"),
        " = ",
        number("product", products[row], product),
      );
    });
    this.sum.replaceChildren("sum = ", number("mixed", mixed[this.at], fixed(mixed[this.at], this.digits[1]), "value"));
    this.tell();
  }

  /** weight × x = product, so that the printed numbers multiply out, and add up to the printed sum. */
  multiplied(weight, x) {
    return timesTexts(weight, x, this.digits[0], FACTOR_DIGITS);
  }

  pointAtRow(row) {
    this.row = row;
    const { parts } = this.data;
    const worked = row < 0 ? strongest(parts.map(({ weight }) => weight)) : row;
    this.rows.forEach((line, at) => {
      line.classList.toggle("shown", at === row);
      line.classList.toggle("worked", at === worked);
    });
    const part = parts[row];
    this.total.give(part && part.vector.map((x) => part.weight * x), this.mostMixed);
    this.tell();
  }

  tell() {
    const { parts, mixed, words, query } = this.data;
    const part = parts[this.row];
    const looker = element("bdi", { class: "query", text: words[query].label });
    if (!part) {
      this.readout.replaceChildren(
        "Each vector times its weight, added up, is the mixed vector of ",
        looker,
        `. The tick in each bar is the even share, ${percent(1 / words.length)}. ${byFinger() ? "Tap a line" : "Point at a line, or move through the lines with the arrow keys,"} to see what it gives.`,
      );
      return;
    }
    const [share, factor, product] = this.multiplied(part.weight, part.vector[this.at]);
    this.readout.replaceChildren(
      element("bdi", { class: "key", text: part.name }),
      " gives ",
      element("span", { class: "weights", text: percent(part.weight) }),
      ` of its vector (violet in the last line). Number ${this.at + 1}: `,
      element("span", { class: "weights", text: share }),
      " × ",
      element("span", { class: "value", text: factor }),
      ` = ${product}; all lines together: ${fixed(mixed[this.at], this.digits[1])}.`,
    );
  }

  onRowKey(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) {
      event.preventDefault();
      this.pointAtNumber(this.at + step);
      return;
    }
    moveFocus(event, this.buttons, 1);
  }
}

export default widget(Average, styles);
