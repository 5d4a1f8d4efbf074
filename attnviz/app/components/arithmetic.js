/* arithmetic: one weight, worked out step by step from its query and key vectors. Every number that is printed also
   stands, unrounded, in a data-value attribute beside it. */

import { bar, cellUnder, element, isolated, tr, vectorBars } from "../../widgets/dom.js";
import { moveFocus } from "../../widgets/keyboard.js";
import { enoughDigits, fixed, MAX_DIGITS, number, percent, rounded, scoreDigits, strongest, total } from "../../widgets/numbers.js";
import { View, widget } from "../../widgets/widget.js";
import { formula, isOfPaper, power, quotient, scaled, times, timesTexts, token } from "./worked.js";
import workedStyle from "./worked.css";
import styles from "./arithmetic.css";

const SHORT_ROW = 16; // rows up to here are shown whole
const LARGEST = 12; // of longer rows, this many
const ROLES = ["query", "key", "weights"]; // of two factors and their product
const SHARE_DIGITS = 4; // decimals of an exponential and of their sum, unless the quotient needs more

// ---------------------------------------------------------------- numbers

/** As percent(), but a weight that is 0, as a masked one is, without decimals. */
const shortPercent = (weight) => (weight === 0 ? "0 %" : percent(weight));

/** As shortPercent(), but with the decimals that a weight near 0 or 100 % needs to be a number. */
function precisePercent(weight) {
  const rest = Math.min(weight, 1 - weight) * 100;
  if (rest >= 0.05 || rest <= 0) return shortPercent(weight);
  return percent(weight, rest < 10 ** -MAX_DIGITS ? MAX_DIGITS : Math.ceil(-Math.log10(rest)) + 1);
}

/** A number that is not negative; never 0.0000 for something that is not 0. */
function positive(value, digits) {
  const least = 10 ** -digits;
  return value > 0 && value < least / 2 ? `< ${least.toFixed(digits)}` : fixed(value, digits);
}

// ---------------------------------------------------------------- the widget

/**
 * @typedef {{ value: number, as: "percent" | "number" }} LastNumber
 * @typedef {{ query_label: string, key_label: string, query_word?: string, key_word?: string, note?: string,
 *   query_vector: number[], key_vector: number[], products: number[], dot_product: number, d_head: number, scale:
 *   number, bias: number | null, cap: number | null, scaled: number, score: number, masked: boolean, position: number, row: { label: string, score:
 *   number, exponential: number, weight: number, masked: boolean, hidden?: boolean }[], sink: { score: number,
 *   exponential: number, weight: number } | null, row_maximum: number, row_sum: number, weight: number, last_steps:
 *   (string | LastNumber)[][], result: number }} Message what arithmetic.py sends, and describes
 */

/** @extends {View<Message>} */
class Arithmetic extends View {
  constructor() {
    super();
    this.root = element("div", { class: "root arithmetic", role: "group" });
  }

  update(data) {
    if (this.data === data) return; // a change of theme: the colours are the style sheet's business
    const samePair =
      this.data && ["query_label", "key_label", "position", "dot_product"].every((name) => this.data[name] === data[name]);
    this.data = data;
    if (!samePair) this.dimension = strongest(data.products);
    this.draw();
  }

  /** Draw everything anew, leaving keyboard focus where it was. */
  draw() {
    const { data } = this;
    const focused = this.focused?.dataset.focus;
    this.digits = rowDigits(data);
    const [query, key] = [data.query_word ?? data.query_label, data.key_word ?? data.key_label];
    const attends = data.masked ? " not attend to " : " attend to ";
    const title = element("h3", {}, "Why does ", token(query, "query"), attends, token(key, "key"), "?");
    const note = data.note ? [element("p", { class: "note" }, element("bdi", { text: data.note }))] : [];
    const steps = [this.multiply(), this.add(), this.scale(), this.softmax()];
    if (data.last_steps.length) steps.push(lastSteps(data.last_steps));
    steps.forEach((each, at) => each.setAttribute("data-piece", String(at + 1)));
    this.root.setAttribute("aria-label", `Why does ${isolated(query)}${attends}${isolated(key)}?`);
    this.root.replaceChildren(
      element("header", {}, title, number("result", data.result, shortPercent(data.result), "result")),
      ...note,
      element("ol", { class: "rail" }, ...steps),
    );
    this.pointAt(this.dimension);
    const again = /** @type {HTMLElement} */ (this.root.querySelector(`[data-focus="${focused}"]`));
    if (focused) again?.focus({ preventScroll: true });
  }

  // ------------------------------------------------------------ 1: products

  multiply() {
    const { query_vector: query, key_vector: key, products, query_label, key_label, d_head } = this.data;
    this.band = element("div", { class: "band" });
    this.slider = element("div", {
      class: "slider",
      role: "slider",
      tabindex: 0,
      "data-focus": "slider",
      "aria-label": "Dimension",
      "aria-valuemin": 1,
      "aria-valuemax": products.length,
      onkeydown: (event) => this.onSliderKey(event),
      onpointermove: (event) => this.pointAt(this.dimensionUnder(event)),
      onpointerdown: (event) => this.choose(this.dimensionUnder(event)),
      onpointerleave: () => this.pointAt(this.dimension),
    });
    this.readout = element("p", { class: "formula readout", "data-part": "readout" });
    const strips = element(
      "div",
      { class: "strips" },
      stripName("", "query of", query_label, "query"),
      strip(query, "query", `Query vector of ${isolated(query_label)}`),
      stripName("×", "key of", key_label, "key"),
      strip(key, "key", `Key vector of ${isolated(key_label)}`),
      stripName("=", "products", null, "products"),
      strip(products, "products", "Products"),
      element("div", { class: "over" }, this.band, this.slider),
    );
    return step(
      "Multiply the two vectors, dimension by dimension",
      `${d_head} numbers each; point at a column to read it. Same sign: the product is positive.`,
      strips,
      this.readout,
    );
  }

  dimensionUnder(event) {
    return cellUnder(event, this.slider, 1, this.data.products.length).column;
  }

  choose(dimension) {
    this.dimension = Math.max(0, Math.min(this.data.products.length - 1, dimension));
    this.pointAt(this.dimension);
  }

  onSliderKey(event) {
    const last = this.data.products.length - 1;
    const target = {
      ArrowLeft: this.dimension - 1,
      ArrowDown: this.dimension - 1,
      ArrowRight: this.dimension + 1,
      ArrowUp: this.dimension + 1,
      PageDown: this.dimension - 8,
      PageUp: this.dimension + 8,
      Home: 0,
      End: last,
    }[event.key];
    if (target === undefined) return;
    event.preventDefault();
    this.choose(target);
  }

  pointAt(dimension) {
    const { query_vector, key_vector, products } = this.data;
    const share = 100 / products.length;
    this.band.style.left = `${dimension * share}%`;
    this.band.style.width = `${share}%`;
    const [query, key] = [query_vector[dimension], key_vector[dimension]];
    const parts = ["dimension-query", "dimension-key", "dimension-product"];
    this.readout.replaceChildren(
      element("span", { class: "muted" }, `dimension ${dimension + 1}: `),
      times([query, key, products[dimension]], timesTexts(query, key, 2), ROLES, parts),
    );
    this.slider.setAttribute("aria-valuenow", String(dimension + 1));
    this.slider.setAttribute("aria-valuetext", this.readout.textContent);
  }

  // ------------------------------------------------------------ 2: sum

  add() {
    const { products, dot_product } = this.data;
    const above = products.filter((product) => product > 0);
    const below = products.filter((product) => product < 0);
    const [up, down] = [total(above), total(below)];
    const digits = enoughDigits([up, down], 2, (a, b) => fixed(a + b) === fixed(dot_product));
    return step(
      "Add up the products",
      `${above.length} are positive, ${below.length} negative.`,
      formula(
        dot(),
        " = ",
        number("positive-sum", up, fixed(up, digits), "weights"),
        " − ",
        number("negative-sum", down, fixed(-down, digits), "weights"),
        " = ",
        number("dot-product", dot_product, fixed(dot_product), "outcome"),
      ),
    );
  }

  // ------------------------------------------------------------ 3: score

  scale() {
    const { scale, d_head, bias, cap, masked } = this.data;
    const paper = isOfPaper(scale, d_head);
    const unscaled = scale === 1;
    const reasons = [
      paper
        ? `√${d_head} ≈ ${Math.sqrt(d_head).toFixed(3)}.`
        : unscaled
          ? "This model does not scale its scores."
          : "This model's own scale.",
    ];
    if (bias !== null) reasons.push("The number added is the model's position bias for this pair.");
    if (cap !== null) reasons.push(`This model then squeezes each score between −${cap} and ${cap} (soft-capping).`);
    if (masked) reasons.push("This cell is masked: the query may not attend to this key.");
    const score = scaled(this.data, 2, { product: "scaled-dot-product", score: "score" });
    const title = [];
    if (!unscaled) title.push(paper ? `Divide by √${d_head}` : "Scale");
    if (bias !== null) title.push(title.length ? "add the position bias" : "Add the position bias");
    if (cap !== null) title.push(title.length ? "cap softly" : "Cap softly");
    return step(title.length ? `${title.join(", ")}: the score` : "The score", reasons.join(" "), score);
  }

  // ------------------------------------------------------------ 4: softmax

  softmax() {
    const { row, sink, position } = this.data;
    const order = row.map((_, index) => index);
    const byWeight = [...order].sort((a, b) => row[b].weight - row[a].weight || Number(row[a].masked) - Number(row[b].masked) || a - b);
    const shown = new Set(row.length > SHORT_ROW ? [...byWeight.slice(0, LARGEST), position] : order);
    const rest = order.filter((index) => !shown.has(index));
    const body = element(
      "tbody",
      {
        onclick: (event) => this.pick(event.target.closest("tr")?.querySelector("button")),
        onkeydown: (event) => this.onRowKey(event),
      },
      ...order.filter((index) => shown.has(index)).map((index) => this.row(index)),
    );
    const foot = element("tfoot");
    if (rest.length) foot.append(this.restOfRow(rest));
    if (sink) foot.append(this.sink(sink));
    foot.append(this.total());
    const rows = element("table", { class: "row" }, element("thead", {}, tr(...rowHeads())), body, foot);
    return step(
      "Softmax over the row",
      `e to the power of score − max, divided by the sum of all. ${sink ? "This head’s sink, a learned score that belongs to no token, is in the sum too, and its share goes nowhere. " : ""}Pick another token to see its numbers.`,
      element("div", { "data-rows": true }, rows),
      this.conclusion(),
      element(
        "p",
        { class: "muted small" },
        `max is the largest score of the row${sink ? ", the sink’s included" : ""}, ${fixed(this.data.row_maximum, this.digits.score)}. Subtracting it changes no weight.`,
      ),
    );
  }

  row(index) {
    const cell = this.data.row[index];
    const picked = index === this.data.position;
    const weight = shortPercent(cell.weight);
    const name = cell.hidden
      ? element("span", { class: "name" }, element("bdi", { title: cell.label }, cell.label), element("small", {}, "hidden"))
      : element(
          "button",
          {
            type: "button",
            class: "name",
            tabindex: picked ? 0 : -1,
            "aria-pressed": String(picked),
            "aria-label": `${isolated(cell.label)}, ${cell.masked ? "masked" : weight}`,
            "data-index": index,
            "data-focus": `row-${index}`,
          },
          element("bdi", { title: cell.label }, cell.label),
        );
    const state = `${picked ? "picked " : ""}${cell.masked ? "masked " : ""}${cell.hidden ? "left-out" : ""}`;
    return element(
      "tr",
      { class: state, "data-part": "row", "data-index": index, "data-followed": picked },
      element(
        "th",
        { scope: "row" },
        element("div", {}, element("span", { class: "place", "aria-hidden": "true" }, String(index + 1)), name),
      ),
      element("td", {}, number("row-score", cell.score, cell.masked ? "−∞" : fixed(cell.score, this.digits.score))),
      element(
        "td",
        {},
        number("row-exponential", cell.exponential, this.exponential(index)),
      ),
      element("td", {}, element("div", { class: "weight" }, bar(cell.weight), number("row-weight", cell.weight, weight, "share"))),
    );
  }

  exponential(index) {
    const digits = this.digits.of[index];
    const { masked, exponential } = this.data.row[index];
    return this.inColumn(masked ? "0" : positive(exponential, digits), digits);
  }

  /** A text of the exponentials' column, its point under the points of the others. */
  inColumn(text, digits) {
    return text + "\u2007".repeat(Math.max(this.digits.sum, ...this.digits.of) - digits);
  }

  restOfRow(rest) {
    const sum = (name) => total(rest.map((index) => this.data.row[index][name]));
    const exponential = sum("exponential");
    return element(
      "tr",
      { class: "rest", "data-part": "rest", "data-count": rest.length },
      element("th", { scope: "row", colspan: 2 }, `… and ${rest.length} more, together`),
      element("td", {}, number("rest-exponential", exponential, this.inColumn(positive(exponential, SHARE_DIGITS), SHARE_DIGITS))),
      element("td", {}, number("rest-weight", sum("weight"), shortPercent(sum("weight")), "share")),
    );
  }

  sink({ score, exponential, weight }) {
    const digits = this.digits.of[this.data.row.length];
    return element(
      "tr",
      { class: "sink", "data-part": "sink" },
      element("th", { scope: "row" }, "the head’s sink"),
      element("td", {}, number("sink-score", score, fixed(score, this.digits.score))),
      element("td", {}, number("sink-exponential", exponential, this.inColumn(positive(exponential, digits), digits))),
      element("td", {}, number("sink-weight", weight, shortPercent(weight), "share")),
    );
  }

  total() {
    const { row_sum, row, sink } = this.data;
    return element(
      "tr",
      { class: "total" },
      element("th", { scope: "row", colspan: 2 }, `sum over ${count(row.length, "token")}${sink ? " and the sink" : ""}`),
      element("td", {}, number("row-sum", row_sum, this.inColumn(fixed(row_sum, this.digits.sum), this.digits.sum))),
      element("td", {}, element("span", { class: "number share" }, "100 %")),
    );
  }

  /** e^(score − max) ÷ sum = weight, for the picked cell, in digits that add up. */
  conclusion() {
    const { row, position, row_maximum, row_sum, weight, masked } = this.data;
    const here = row[position];
    const shown = precisePercent(weight);
    const agrees = (e, sum) => precisePercent(e / sum) === shown;
    const finest = MAX_DIGITS + 4; // a percentage has two decimals less, and two more keep it exact
    const sumDigits = enoughDigits([row_sum], this.digits.sum, (sum) => agrees(here.exponential, sum));
    const sum = rounded(row_sum, sumDigits);
    const digits = enoughDigits([here.exponential], this.digits.of[position], (e) => agrees(e, sum), finest);
    const score = scoreDigits([{ ...here, digits }], row_maximum, this.digits.score, finest);
    const worked = { ...here, largest: row_maximum, sum: row_sum, weight, masked };
    const exponential = masked ? "0" : positive(here.exponential, digits);
    const parts = { exponential: "exponential", divisor: "divisor", weight: "weight" };
    return quotient(worked, { score, exponential, sum: sumDigits }, shown, parts);
  }

  pick(button) {
    if (!button || Number(button.dataset.index) === this.data.position) return;
    button.focus({ preventScroll: true });
    this.trigger("pick", { key: Number(button.dataset.index) });
  }

  onRowKey(event) {
    const buttons = [...event.currentTarget.querySelectorAll("button")];
    moveFocus(event, buttons, 1);
  }
}

// ---------------------------------------------------------------- parts

function step(title, explanation, ...content) {
  const words = element("p", { class: "muted explained" }, explanation);
  return element("li", {}, element("h4", {}, title), words, ...content);
}

const count = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;

const dot = () =>
  element("span", {}, element("b", { class: "query" }, "q"), " · ", element("b", { class: "key" }, "k"));

function stripName(operator, kind, name, role) {
  return element(
    "div",
    { class: `strip-name of-${role}` },
    element("span", { class: "operator" }, operator),
    element("span", { class: role }, kind),
    ...(name === null ? [] : [token(name, role)]),
  );
}

/** One vector as bars: up is positive, down is negative. */
function strip(values, part, name) {
  const [smallest, largest] = [Math.min(...values), Math.max(...values)];
  const picture = vectorBars(`strip ${part}`, values, (Math.max(-smallest, largest) || 1) / 0.96);
  const label = `${name}: ${values.length} numbers from ${fixed(smallest)} to ${fixed(largest)}`;
  picture.removeAttribute("aria-hidden");
  for (const [key, value] of Object.entries({ role: "img", "aria-label": label, "data-part": part })) {
    picture.setAttribute(key, value);
  }
  return picture;
}

function rowHeads() {
  const head = (...text) => element("th", { scope: "col" }, ...text);
  return [head("token"), head("score"), head(power("score − max")), head("weight")];
}

/**
 * Decimals for the sum and for each exponential at which every printed weight is their printed quotient, and for the
 * scores at which every printed exponential is what they give.
 * (A weight that lies on the very edge between two roundings may need more decimals than a float has: then
 * the sum with the fewest such rows.)
 */
function rowDigits({ row, sink, row_sum, row_maximum }) {
  const cells = sink ? [...row, { ...sink, masked: false }] : row;
  let best = { sum: SHARE_DIGITS, of: cells.map(() => SHARE_DIGITS), open: Infinity };
  for (let sum = SHARE_DIGITS; sum <= MAX_DIGITS && best.open > 0; sum++) {
    const divisor = rounded(row_sum, sum);
    // An exponential that is printed as 0 is printed as "< 0.0001", and agrees with "< 0.1 %".
    const agrees = (cell) => (e) => shortPercent(e / divisor) === shortPercent(cell.weight) || (e === 0 && cell.weight < 0.0005);
    const of = cells.map((cell) => enoughDigits([cell.exponential], SHARE_DIGITS, agrees(cell)));
    const open = cells.filter((cell, i) => !agrees(cell)(rounded(cell.exponential, of[i]))).length;
    if (open < best.open) best = { sum, of, open };
  }
  const printed = cells.map((cell, i) => ({ ...cell, digits: best.of[i] })).filter(({ masked }) => !masked);
  return { ...best, score: scoreDigits(printed, row_maximum, 2) };
}

function lastSteps(steps) {
  const lines = steps.map((parts) => {
    const texts = lastNumbers(parts.filter((part) => typeof part !== "string"));
    return element(
      "p",
      { class: "last-step" },
      ...parts.map((part, at) =>
        typeof part === "string"
          ? part
          : number("last-step", part.value, texts.shift(), at === parts.length - 1 ? "outcome share" : ""),
      ),
    );
  });
  return element("li", {}, element("h4", {}, "What this page shows"), ...lines);
}

/** The numbers of one line, (a + b …) ÷ n = c or a ÷ (1 − b) = c, in decimals that give just c. */
function lastNumbers(numbers) {
  const values = numbers.map(({ value }) => value);
  const result = values.pop();
  const text = precisePercent(result);
  const rescales = numbers[1].as === "number";
  const averaged = Math.round(total(values) / result) || 1; // rows of pieces
  const found = rescales ? (a, b) => a / (1 - b) : (...parts) => total(parts) / averaged;
  // A percentage has two decimals less.
  const digits = enoughDigits(values, 3, (...printed) => precisePercent(found(...printed)) === text, MAX_DIGITS + 4);
  return [...values.map((value, at) => (numbers[at].as === "number" ? fixed(value, digits) : percent(value, digits - 2))), text];
}

export default widget(Arithmetic, workedStyle, styles);
