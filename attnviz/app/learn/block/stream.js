/* stream: one token's vector on its way through a layer. Every number that is printed also stands, unrounded, in a
   data-value attribute beside it. */

import { cellUnder, element } from "../../../widgets/dom.js";
import { destination, tabStop } from "../../../widgets/keyboard.js";
import { enoughDigits, fixed, inBrackets, multiplication, number, strongest } from "../../../widgets/numbers.js";
import { levelsImage } from "../../../widgets/palette.js";
import { Choice } from "../../../widgets/selection.js";
import { allData } from "../../../widgets/store.js";
import { View, widget } from "../../../widgets/widget.js";
import styles from "./stream.css";

const CELLS_ACROSS = { narrow: 48, wide: 96 };
const NARROW = 480; // pixels of the widget
const CELL_HEIGHT = 1.3; // of its width

const ATTENTION = "a = MultiHead(x)";
const FEED_FORWARD = "f = GELU(y W₁ + b₁) W₂ + b₂";

/**
 * The places of a layer in order: the step that opens each, where it lies (in the stream or beside it), its
 * vectors, and what is said about it.
 */
const STATIONS = [
  {
    lane: "stream",
    title: "The token comes in",
    formula: "x",
    about: ({ data }) => (data.layer === 1 ? "its embedding" : `what layer ${data.layer - 1} handed on`),
    vectors: [["came_in", "x"]],
    splits: "attention",
  },
  {
    lane: "attention",
    title: "Attention",
    formula: ATTENTION,
    about: ({ data }) => `what it reads from ${data.tokens === 1 ? "1 token" : `all ${data.tokens} tokens`}`,
    vectors: [["attention", "a"]],
  },
  {
    lane: "stream",
    title: "Add",
    formula: "x + a",
    about: () => "nothing is replaced: x stays in the sum",
    vectors: [["first_sum", "x + a"]],
    merges: "attention",
  },
  {
    lane: "stream",
    title: "Norm",
    formula: "y = LayerNorm(x + a)",
    about: () => "mean 0, variance 1, then × γ + β",
    vectors: [["attended", "y"]],
    splits: "feed-forward",
  },
  {
    lane: "feed-forward",
    title: "Feed-forward",
    formula: FEED_FORWARD,
    about: () => "from this token alone",
    vectors: [
      ["expanded", "y W₁ + b₁"],
      ["activated", "GELU"],
      ["feed_forward", "f"],
    ],
  },
  {
    lane: "stream",
    title: "Add",
    formula: "y + f",
    about: () => "y stays in the sum",
    vectors: [["second_sum", "y + f"]],
    merges: "feed-forward",
  },
  {
    lane: "stream",
    title: "Norm",
    formula: "z = LayerNorm(y + f)",
    about: ({ data }) =>
      data.layer < data.layers ? `goes into layer ${data.layer + 1}` : "what the model hands out",
    vectors: [["came_out", "z"]],
  },
];

// ---------------------------------------------------------------- numbers

/** The fewest decimals at which whoever works with the printed operands gets the printed result. */
const digitsFor = (operands, result, work) =>
  enoughDigits(operands, 2, (...printed) => fixed(work(...printed)) === fixed(result));

const result = (part, value) => element("b", {}, number(part, value));

/** [a, " + ", b, " = ", a + b], each number in enough decimals. */
function sum(part, a, b, total) {
  const digits = digitsFor([a, b], total, (one, other) => one + other);
  return [
    number(`${part}-old`, a, fixed(a, digits)),
    " + ",
    number(`${part}-update`, b, inBrackets(fixed(b, digits))),
    " = ",
    result(`${part}-result`, total),
  ];
}

/** ((s − μ) ÷ √(σ² + ε)) × γ + β = …, each number in enough decimals. */
function normed(part, value, { mean, variance, epsilon }, gain, offset, outcome) {
  const total = variance + epsilon;
  const digits = digitsFor(
    [value, mean, total, gain, offset],
    outcome,
    (s, m, v, g, b) => ((s - m) / Math.sqrt(v)) * g + b,
  );
  const text = (given) => inBrackets(fixed(given, digits));
  return [
    "(",
    number(`${part}-sum`, value, fixed(value, digits)),
    " − ",
    number(`${part}-sum-mean`, mean, text(mean)),
    ") ÷ √",
    number(`${part}-sum-variance`, total, fixed(total, digits)),
    " × ",
    number(`${part}-gain`, gain, text(gain)),
    " + ",
    number(`${part}-offset`, offset, text(offset)),
    " = ",
    result(`${part}-result`, outcome),
  ];
}

/** a × b = c */
function product(part, a, b) {
  const [left, right, text] = multiplication(a, b, 2);
  return [
    number(`${part}-entry`, a, left),
    " × ",
    number(`${part}-weight`, b, inBrackets(right)),
    " = ",
    number(`${part}-product`, a * b, text),
  ];
}

/** GELU(h) = h × Φ(h) = … */
function activated(before, after) {
  const share = before === 0 ? 0.5 : after / before;
  const digits = digitsFor([before, share], after, (h, part) => h * part);
  return [
    "GELU(h) = h × Φ(h) = ",
    number("activated-before", before, fixed(before, digits)),
    " × ",
    number("activated-share", share, fixed(share, digits)),
    " = ",
    result("activated-result", after),
  ];
}

/** How the number that is pointed at came about in each vector. */
const WORKED = {
  came_in: (_, now) => ["x = ", result("came_in-result", now)],
  attention: (_, now) => ["a = ", result("attention-result", now)],
  first_sum: (walk, now) => sum("first_sum", walk.at("came_in"), walk.at("attention"), now),
  attended: (walk, now) => walk.normed("attended", now, "first_sum", 0),
  expanded: (walk, now) => walk.largestProduct("expanded", now, "attended", "neuron", "dimension"),
  activated: (walk, now) => activated(walk.at("expanded"), now),
  feed_forward: (walk, now) => walk.largestProduct("feed_forward", now, "activated", "dimension", "neuron"),
  second_sum: (walk, now) => sum("second_sum", walk.at("attended"), walk.at("feed_forward"), now),
  came_out: (walk, now) => walk.normed("came_out", now, "second_sum", 1),
};

// ---------------------------------------------------------------- one vector

/** A vector as rows of coloured cells; the cell that is pointed at has a frame. */
class Strip {
  /**
   * @param name of the array
   * @param letter what formulas call it
   * @param onPoint called with the cell's place
   */
  constructor(name, letter, onPoint) {
    this.name = name;
    this.letter = letter;
    this.canvas = element("canvas", { role: "img", "data-part": name });
    this.frame = element("div", { class: "mark" });
    this.box = element("div", { class: "cells" }, this.canvas, this.frame);
    this.box.onpointermove = (event) => event.pointerType === "mouse" && onPoint(this.#cellAt(event));
    this.box.onclick = (event) => onPoint(this.#cellAt(event));
  }

  #cellAt(event) {
    const { row, column } = cellUnder(event, this.box, this.rows, this.across);
    return Math.min(this.values.length - 1, row * this.across + column);
  }

  draw(values, across, reach, theme) {
    this.values = values;
    this.across = across;
    this.rows = Math.ceil(values.length / across);
    const levels = Uint8Array.from({ length: this.rows * across }, (_, at) => {
      if (at >= values.length) return 255;
      return Math.round(127 + 127 * Math.min(1, Math.max(-1, values[at] / reach)));
    });
    const image = levelsImage(levels, this.rows, across, theme.pixels("diverging"));
    Object.assign(this.canvas, { width: across, height: this.rows });
    this.canvas.getContext("2d").drawImage(image, 0, 0);
    this.box.style.aspectRatio = String(across / this.rows / CELL_HEIGHT);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const label = `${this.letter}: ${values.length} numbers from ${fixed(low)} to ${fixed(high)}`;
    this.canvas.setAttribute("aria-label", label);
  }

  mark(at) {
    const { style } = this.frame;
    style.width = `${100 / this.across}%`;
    style.height = `${100 / this.rows}%`;
    style.left = `${(100 * (at % this.across)) / this.across}%`;
    style.top = `${(100 * Math.floor(at / this.across)) / this.rows}%`;
  }
}

// ---------------------------------------------------------------- the widget

/**
 * @typedef {{ arrays: string, step: number, tokens: number, layer: number, layers: number, facts: { [name: string]: {
 *   length: number, mean: number, cosine: number | null } }, norms: { mean: number, variance: number, epsilon: number
 *   }[], firing: number, strongest: [number, number][], reach: number }} Message what stream.py sends, and describes
 */

/** @extends {View<Message>} */
class Stream extends View {
  constructor() {
    super();
    this.chosen = new Choice();
    this.back = element("button", { type: "button", class: "move", "data-move": -1, text: "← Back" });
    this.next = element("button", { type: "button", class: "move on" });
    this.back.onclick = () => this.walk(this.step - 1);
    this.next.onclick = () => this.forward();
    this.place = element("span", { class: "place", "aria-live": "polite" });
    const bar = element("div", { class: "bar" }, this.back, this.next, this.place);
    this.stations = STATIONS.map((station, at) => this.station(station, at + 1));
    this.list = element("ol", { "data-rows": true }, ...this.stations.map(({ item }) => item));
    this.legend = element("div", { class: "legend" });
    this.root = element("div", { class: "root stream", "data-waiting": "true" }, this.list, this.legend, bar);
    this.root.onkeydown = (event) => this.onKey(event);
    this.onResize(() => this.across !== this.fitting() && this.draw());
    this.onArrays(["arrays"], () => this.draw());
  }

  update(data) {
    if (data.arrays !== this.data?.arrays) this.neuron = data.strongest[0][0];
    this.data = data;
    this.chosen.tell(data.step);
    this.draw();
  }

  get step() {
    return this.chosen.value;
  }

  get arrays() {
    return allData().get(this.data?.arrays)?.arrays;
  }

  fitting() {
    return this.root.clientWidth < NARROW ? CELLS_ACROSS.narrow : CELLS_ACROSS.wide;
  }

  // Building --------------------------------------------------------------------------------------------

  station(station, step) {
    const title = element(
      "button",
      { type: "button", class: "title", tabindex: -1 },
      element("span", { class: "step" }, String(step)),
      element("span", { class: "name" }, station.title),
      element("span", { class: "formula" }, station.formula),
    );
    title.onclick = () => this.walk(step);
    const about = element("span", { class: "about" });
    const vectors = station.vectors.map(([name, letter]) => this.vector(name, letter, station.vectors.length > 1));
    const rail = element("div", { class: "rail", "aria-hidden": "true" });
    const turn = (kind, lane) => rail.append(element("span", { class: kind, "data-lane": lane }));
    if (step < STATIONS.length || station.lane !== "stream") turn("line", "stream");
    if (station.lane !== "stream") turn("line", station.lane);
    if (station.merges) turn("merge", station.merges);
    if (station.splits) turn("split", station.splits);
    rail.append(element("span", { class: "node", "data-lane": station.lane, text: station.merges ? "+" : "" }));
    const head = element("div", { class: "head" }, title, about);
    const body = element("div", { class: "vectors" }, ...vectors.map(({ row }) => row));
    const item = element(
      "li",
      { "data-step": step, "data-lane": station.lane },
      rail,
      element("div", { class: "body" }, head, body),
    );
    return { ...station, item, title, aboutElement: about, body, vectors };
  }

  vector(name, letter, named) {
    const ofNeurons = name === "expanded" || name === "activated";
    const strip = new Strip(name, letter, (at) => this.point(ofNeurons ? "neuron" : "dimension", at));
    const facts = element("div", { class: "facts" });
    const readout = element("p", { class: "readout", "data-part": `${name}-readout` });
    const left = element("div", { class: "left" }, strip.box, readout);
    if (named) left.prepend(element("p", { class: "letter" }, letter));
    if (name === "activated") left.append((this.strongest = element("div", { class: "strongest" })));
    if (name === "came_in") this.dimensionSlider = this.slider(strip, "dimension");
    if (name === "expanded") this.neuronSlider = this.slider(strip, "neuron");
    return { strip, facts, readout, ofNeurons, row: element("div", { class: "vector" }, left, facts) };
  }

  /** Makes a strip a tab stop whose arrow keys go through its cells; the other strips follow. */
  slider(strip, kind) {
    const name = kind === "neuron" ? "Neuron" : "Dimension";
    const slider = element("div", { class: "slider", role: "slider", tabindex: 0, "aria-label": name });
    slider.onkeydown = (event) => {
      const to = destination(event, this[kind], strip.values.length, strip.across);
      if (to === null) return;
      event.preventDefault();
      event.stopPropagation();
      this.point(kind, to);
    };
    strip.box.append(slider);
    return slider;
  }

  // Walking ---------------------------------------------------------------------------------------------

  walk(step) {
    const to = Math.min(STATIONS.length, Math.max(1, step));
    if (to === this.step) return;
    this.chosen.choose(to);
    this.open();
    this.point("dimension", this.dimension);
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.stations[to - 1].item.scrollIntoView({ block: "nearest", behavior: still ? "auto" : "smooth" });
    this.trigger("step", { step: to });
  }

  forward() {
    if (this.step < STATIONS.length) this.walk(this.step + 1);
    else this.trigger("layer", { layer: this.data.layer + 1 });
  }

  onKey(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || !event.target.closest("button.title, .bar")) return;
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    this.walk(this.step + by);
    if (event.target.closest("button.title")) this.stations[this.step - 1].title.focus();
  }

  // Drawing ---------------------------------------------------------------------------------------------

  draw() {
    this.across = this.fitting();
    const { arrays, data } = this;
    if (!arrays) return; // until they have come, what was drawn last stays
    delete this.root.dataset.waiting;
    this.dimension = Math.min(this.dimension ?? strongest(arrays.attention.values), arrays.came_in.values.length - 1);
    for (const { aboutElement, about, vectors } of this.stations) {
      aboutElement.textContent = about(this);
      for (const { strip, facts } of vectors) {
        strip.draw(arrays[strip.name].values, this.across, data.reach, this.theme);
        facts.replaceChildren(...this.facts(strip));
      }
    }
    this.strongest.replaceChildren(
      element("span", {}, "fire most: "),
      ...data.strongest.map(([neuron, activation]) => this.chip(neuron, activation)),
    );
    this.legend.replaceChildren(...this.explained());
    this.open();
    this.point("dimension", this.dimension);
    this.point("neuron", this.neuron);
  }

  /** Shows the stations up to the step, and the buttons that lead on. */
  open() {
    const { step, data } = this;
    const focused = this.focused;
    this.root.dataset.step = step;
    for (const [at, { item, title, body, aboutElement }] of this.stations.entries()) {
      const seen = at < step;
      item.toggleAttribute("data-ahead", !seen);
      item.toggleAttribute("data-here", at === step - 1);
      item.toggleAttribute("data-followed", at === step - 1);
      body.hidden = aboutElement.hidden = !seen;
      if (at === step - 1) title.setAttribute("aria-current", "step");
      else title.removeAttribute("aria-current");
    }
    tabStop(this.stations.map(({ title }) => title), step - 1);
    const last = step === STATIONS.length;
    this.back.hidden = step === 1;
    this.next.hidden = last && data.layer === data.layers;
    this.next.dataset.move = last ? "" : "1"; // a clicker leads on to the next page, and keeps the layer
    this.next.textContent = last ? `On to layer ${data.layer + 1} →` : `Next: ${STATIONS[step].title} →`;
    if (focused?.hidden) (this.next.hidden ? this.back : this.next).focus({ preventScroll: true });
    this.place.textContent = `step ${step} of ${STATIONS.length}`;
  }

  facts({ name }) {
    const { data } = this;
    const { length, mean, cosine } = data.facts[name];
    const fact = (label, part, value) =>
      element("span", { class: "fact" }, `${label} `, number(`${name}-${part}`, value));
    if (cosine === null) {
      if (name === "expanded") return [element("span", { class: "fact" }, `${this.arrays[name].values.length} neurons`)];
      const firing = element("b", { "data-part": "firing", "data-value": data.firing }, String(data.firing));
      return [element("span", { class: "fact" }, firing, " above 0"), fact("largest", "largest", data.strongest[0][1])];
    }
    const ofVectors = Object.values(data.facts).filter((each) => each.cosine !== null);
    const longest = Math.max(...ofVectors.map((each) => each.length));
    const bar = element("span", { class: "length" }, element("span"));
    /** @type {HTMLElement} */ (bar.firstChild).style.width = `${(100 * length) / longest}%`;
    const shown = [bar, element("span", { class: "fact" }, "length ", result(`${name}-length`, length)), fact("mean", "mean", mean)];
    return name === "came_in" ? shown : [...shown, fact("cosine to x", "cosine", cosine)];
  }

  chip(neuron, activation) {
    const button = element(
      "button",
      { type: "button", class: "chip", "data-neuron": neuron },
      `${neuron + 1}: `,
      number("strongest", activation),
    );
    button.onclick = () => this.point("neuron", neuron);
    return button;
  }

  explained() {
    const scale = element("canvas", { class: "scale", "aria-hidden": "true" });
    Object.assign(scale, { width: 255, height: 1 });
    const levels = Uint8Array.from({ length: 255 }, (_, level) => level);
    scale.getContext("2d").drawImage(levelsImage(levels, 1, 255, this.theme.pixels("diverging")), 0, 0);
    const { reach } = this.data;
    const ends = element("span", { class: "ends" }, `≤ −${fixed(reach, 1)}`, scale, `≥ ${fixed(reach, 1)}`);
    const cells = "each cell is one number, read row by row; one colour scale for all";
    return [ends, element("span", {}, `${cells}; bars: the vector's length`)];
  }

  /** Frames this dimension (or neuron) in every vector, and works its numbers out. */
  point(kind, at) {
    if (!this.arrays) return;
    this[kind] = at;
    const ofNeurons = kind === "neuron";
    for (const { vectors } of this.stations) {
      for (const { strip, readout, ofNeurons: has } of vectors) {
        if (has === ofNeurons) strip.mark(at);
        readout.replaceChildren(...this.say(strip.name, has));
      }
    }
    const slider = ofNeurons ? this.neuronSlider : this.dimensionSlider;
    const values = this.arrays[ofNeurons ? "expanded" : "came_in"].values;
    slider.setAttribute("aria-valuemin", "1");
    slider.setAttribute("aria-valuemax", String(values.length));
    slider.setAttribute("aria-valuenow", String(at + 1));
    const open = this.stations.slice(0, this.step).flatMap(({ vectors }) => vectors);
    const said = open.filter((vector) => vector.ofNeurons === ofNeurons).map(({ readout }) => readout.textContent);
    slider.setAttribute("aria-valuetext", `${kind} ${at + 1}; ${said.join("; ")}`);
    for (const chip of this.strongest.querySelectorAll("button")) {
      chip.setAttribute("aria-pressed", String(Number(chip.dataset.neuron) === this.neuron));
    }
  }

  at(name) {
    const neurons = name === "expanded" || name === "activated" || name.startsWith("neuron");
    return this.arrays[name].values[neurons ? this.neuron : this.dimension];
  }

  /** How the number of a vector came about that is pointed at. */
  say(name, ofNeurons) {
    const now = this.at(name);
    const which = ofNeurons ? `neuron ${this.neuron + 1}: ` : `dimension ${this.dimension + 1}: `;
    return [element("span", { class: "which" }, which), ...WORKED[name](this, now)];
  }

  normed(name, now, of, norm) {
    const which = ["first", "second"][norm];
    return normed(name, this.at(of), this.data.norms[norm], this.at(`${which}_gain`), this.at(`${which}_offset`), now);
  }

  largestProduct(name, now, of, to, from) {
    const { values } = this.arrays[of];
    const place = this.at(`${to}_place`);
    return [
      `${values.length} products + bias = `,
      result(`${name}-result`, now),
      "; largest product: ",
      ...product(name, values[place], this.at(`${to}_weight`)),
      ` (${from} ${place + 1})`,
    ];
  }
}

export default widget(Stream, styles);
