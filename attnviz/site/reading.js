/* reading: prepares a run of the model for report.js, as export/report/contents.py does in Python. */

import { isolated } from "../widgets/dom.js";
import { percent } from "../widgets/numbers.js";

/**
 * @typedef {import("./wordpiece.js").Token} Token
 * @typedef {{ text: string, mask?: string, allowed?: number[] | null, tokens: Token[], weights: Float32Array, query:
 *   Float32Array, key: Float32Array }} Run a text and the model's results, with arrays as in bert.js
 * @typedef {{ model: string, layers: number, heads: number }} Sizes
 * @typedef {import("../export/report/report.js").ShownTrace} ShownTrace
 * @typedef {import("../export/report/report.js").TokenView} TokenView
 */

const NOTABLE = 0.3; // minimum mean weight that is described
const WIDE = 0.8; // minimum fraction of the maximum entropy that counts as spread widely
const MAX_QUOTED = 12; // maximum number of characters of an unknown word in its label

/**
 * Returns the data for report.js: of one or two texts and, if they have equally many tokens, of their difference.
 * @param {Run[]} runs
 * @param {Sizes} sizes
 * @returns {{ traces: ShownTrace[], numbers: Float32Array }}
 */
export function tracesOf(runs, sizes) {
  /** @type {Float32Array[]} */
  const arrays = [];
  let length = 0;
  const add = (array) => {
    arrays.push(array);
    length += array.length;
    return length - array.length;
  };
  /** @type {any} */
  const traces = runs.map((run) => traceOf(run, sizes, add));
  const [first, second] = runs;
  if (second?.tokens.length === first.tokens.length) traces.push(change(runs, traces, sizes, add));
  const numbers = new Float32Array(length);
  let at = 0;
  for (const array of arrays) {
    numbers.set(array, at);
    at += array.length;
  }
  return { traces, numbers };
}

/** Returns whether a cell is not masked in a run; `at` is its index in [layer, head, query, key].
 * @param {{ allowed?: number[] | null }} run @param {number} at */
const isOpen = ({ allowed }, at) => !allowed || allowed[at % allowed.length] > 0;

/** Returns the data of a text or, with `high`, of a difference. */
function traceObject(text, count, { model, layers, heads }, weights, token_views, high = null) {
  const kind = {
    kind: /** @type {"encoder"} */ ("encoder"),
    layers: Array.from({ length: layers }, (_, layer) => layer + 1),
    heads,
    size: /** @type {[number, number]} */ ([count, count]),
    weights,
    spread: null,
    heading: "",
    signed: high !== null,
    high: high || 1,
    token_views,
  };
  const texts = [{ name: "", typed: text, written: "" }];
  return { model, weights_only: false, show_kind: false, texts, edits: [], difference: "", pictures: [], kinds: [kind] };
}

function traceOf(run, sizes, add) {
  const count = run.tokens.length;
  const labels = run.tokens.map((token, at) => {
    const { label, title } = labelOf(token, run.text);
    return { label, title: `token ${at + 1}: ${title}`, special: token.special, number: at + 1 };
  });
  const weights = add(run.weights.map((weight, at) => (isOpen(run, at) ? weight : NaN)));
  const all = labels.map((_, at) => at);
  const shownPlaces = { plain: all, hidden: all.filter((at) => !run.tokens[at].special) };
  const tokenView = (name) => {
    const rows = shownPlaces[name];
    const tokens = withNames(rows.map((at) => labels[at]));
    const isHidden = name === "hidden";
    const parts = rescaled(run.weights, sizes, count, rows);
    return {
      queries: tokens,
      keys: tokens,
      rows,
      columns: rows,
      left: isHidden ? add(parts.left) : null,
      facts: facts(parts.weights, isHidden ? parts.left : null, sizes, tokens).map((fact) => `on average ${fact}`),
      explanation: isHidden
        ? "without [CLS] and [SEP]; each row rescaled to sum to 100 %; faint, with *: more than 90 % of the row’s weight is on [CLS] and [SEP]"
        : "nothing hidden, merged or rescaled",
      hidden: isHidden ? "[CLS] and [SEP]" : "",
    };
  };
  return traceObject(run.text, count, sizes, weights, { plain: tokenView("plain"), hidden: tokenView("hidden") });
}

/** Returns the data of a difference: the weights for the second text minus the weights for the first. */
function change(runs, [first, second], sizes, add) {
  const count = runs[0].tokens.length;
  const tokens = runs[0].tokens.map((_, at) => {
    const [one, other] = [first, second].map(({ kinds: [{ token_views }] }) => token_views.plain.queries[at]);
    const label = one.label === other.label ? one.label : `${one.label} → ${other.label}`;
    return { ...one, label, title: one.title === other.title ? one.title : `${one.title} → ${other.title}` };
  });
  let high = 0; // one colour scale, with and without special tokens
  const tokenView = (name) => {
    const { rows, explanation, hidden } = first.kinds[0].token_views[name];
    const [before, after] = runs.map((run) => rescaled(run.weights, sizes, count, rows));
    const differences = after.weights.map((weight, at) => weight - before.weights[at]);
    high = differences.reduce((largest, value) => Math.max(largest, Math.abs(value)), high);
    const values = new Float32Array(sizes.layers * sizes.heads * count * count);
    const size = rows.length;
    differences.forEach((value, at) => {
      const row = Math.floor(at / size) % size;
      const cell = (Math.floor(at / size ** 2) * count + rows[row]) * count + rows[at % size];
      values[cell] = runs.every((run) => isOpen(run, cell)) ? value : NaN;
    });
    const queries = withNames(rows.map((at) => tokens[at]));
    return {
      queries,
      keys: queries,
      rows,
      columns: rows,
      weights: add(values),
      left: name === "hidden" ? add(before.left.map((left, at) => Math.min(left, after.left[at]))) : null,
      facts: largestMoves(differences, size, queries),
      explanation: `${explanation}; points are percentage points`,
      hidden,
    };
  };
  const text = `${runs[0].text} → ${runs[1].text}`;
  const token_views = { plain: tokenView("plain"), hidden: tokenView("hidden") };
  return traceObject(text, count, sizes, 0, token_views, high);
}

/** Returns the weights between the tokens `rows`, each row divided by its shown fraction, and these fractions. */
function rescaled(weights, { layers, heads }, count, rows) {
  const left = new Float32Array(layers * heads * rows.length);
  const shown = new Float32Array(left.length * rows.length);
  for (let line = 0; line < left.length; line++) {
    const from = (Math.floor(line / rows.length) * count + rows[line % rows.length]) * count;
    left[line] = rows.length === count ? 1 : rows.reduce((sum, column) => sum + weights[from + column], 0);
    rows.forEach((column, at) => (shown[line * rows.length + at] = weights[from + column] / (left[line] || 1)));
  }
  return { weights: shown, left };
}

// Tokens --------------------------------------------------------------------------------------------------

/** Returns the label and the tooltip of a token. */
function labelOf({ text, start, end, special }, sentence) {
  if (special) return { label: text, title: `${text}, added by the tokenizer` };
  const typed = [...sentence].slice(start, end).join("").replace(/\p{Cc}/gu, "␣");
  const bare = text.replace(/^##/, "");
  const label = text === "[UNK]" ? `${text} ${[...typed].length > MAX_QUOTED ? `${[...typed].slice(0, MAX_QUOTED).join("")}…` : typed}` : text;
  const where = end === start + 1 ? `character ${end}` : `characters ${start + 1}–${end}`;
  const differs = typed.toLowerCase() !== bare.toLowerCase() && typed !== label;
  return { label, title: `"${isolated(typed)}", ${where}${differs ? `, read as ${isolated(bare)}` : ""}` };
}

/** Adds names to the tokens: their labels, with the token's position if the label occurs more than once. */
function withNames(tokens) {
  const occurrences = (label) => tokens.filter((token) => token.label === label).length;
  return tokens.map((token) => ({
    ...token,
    name: isolated(token.label) + (occurrences(token.label) > 1 ? ` (token ${token.number})` : ""),
  }));
}

// Descriptions of heads -----------------------------------------------------------------------------------

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Describes the attention of each head, like `facts` in analysis/behaviour.py. */
function facts(weights, left, { layers, heads }, tokens) {
  const size = tokens.length;
  return Array.from({ length: layers * heads }, (_, head) => {
    const rows = Array.from({ length: size }, (__, row) => {
      const from = (head * size + row) * size;
      return { values: weights.subarray(from, from + size), left: left ? left[head * size + row] : 1 };
    });
    const places = placesOf(rows, tokens);
    const best = places.reduce((one, other) => (other.share > one.share ? other : one));
    if (best.share >= NOTABLE) {
      const share = percent(best.share, 0);
      return `${best.name} (${left ? `${percent(best.ofAll, 0)}; ${share} without hidden tokens` : share})`;
    }
    const bits = rows.map(({ values }) => -mean(values.map((value) => value * Math.log2(Math.max(value, 1e-30)))) * size);
    const maximum = mean(rows.map(({ values }) => Math.log2(Math.max(values.filter(Boolean).length, 1))));
    const [equal, possible] = [2 ** mean(bits), (2 ** maximum).toFixed(0)];
    const pattern = mean(bits) / (maximum || 1) >= WIDE ? "attends broadly" : "attends to no fixed position";
    const unmasked = Number(possible) === size ? "" : "unmasked ";
    return `${pattern} (like uniform attention to ${equal.toFixed(0)} of ${possible} ${unmasked}tokens)`;
  });
}

function placesOf(rows, tokens) {
  const place = (name, cells) => ({
    name: `attends to ${name}`,
    share: cells.reduce((sum, { value }) => sum + value, 0) / Math.max(cells.length, 1),
    ofAll: cells.reduce((sum, { value, left }) => sum + value * left, 0) / Math.max(cells.length, 1),
  });
  const atOffset = (offset) =>
    rows.flatMap(({ values, left }, row) => (row + offset in values ? [{ value: values[row + offset], left }] : []));
  return [
    place("the previous token", atOffset(-1)),
    place("the next token", atOffset(1)),
    place("itself", atOffset(0)),
    ...tokens.map(({ label, special, number }, at) =>
      place(special ? label : `“${isolated(label)}”, token ${number}`, rows.map(({ values, left }) => ({ value: values[at], left }))),
    ),
  ];
}

/** Describes the largest change of each head. */
function largestMoves(differences, size, tokens) {
  return Array.from({ length: differences.length / size ** 2 }, (_, head) => {
    const values = differences.subarray(head * size ** 2, (head + 1) * size ** 2);
    const at = values.reduce((best, value, place) => (Math.abs(value) > Math.abs(values[best]) ? place : best), 0);
    const points = Math.round(Math.abs(100 * values[at]));
    const signed = `${points ? (values[at] > 0 ? "+" : "−") : ""}${points} point${points === 1 ? "" : "s"}`;
    return `largest change: from “${tokens[Math.floor(at / size)].label}” to “${tokens[at % size].label}”, ${signed}`;
  });
}

// Arithmetic ----------------------------------------------------------------------------------------------

/**
 * Computes one weight step by step, as in analysis/arithmetic.py.
 * @param {Run} run
 * @param {Sizes & { layer: number, head: number, query: number, key: number, hide: boolean }} chosen layer and head
 *   from 1, tokens from 0; `hide`: whether rows are rescaled without special tokens
 */
export function weightSteps(run, { heads, layer, head, query, key, hide }) {
  const count = run.tokens.length;
  const first = ((layer - 1) * heads + head - 1) * count;
  const size = run.query.length / (run.weights.length / count);
  const vector = (array, token) => [...array.subarray((first + token) * size, (first + token + 1) * size)];
  const sum = (values) => values.reduce((subtotal, value) => subtotal + value, 0);
  const [queryVector, keyVector] = [vector(run.query, query), vector(run.key, key)];
  const products = (token) => vector(run.key, token).map((value, at) => value * queryVector[at]);
  const open = (at) => isOpen(run, query * count + at);
  const scores = run.tokens.map((_, at) => (open(at) ? sum(products(at)) / Math.sqrt(size) : -Infinity));
  const largest = Math.max(...scores);
  const exponentials = scores.map((score) => Math.exp(score - largest));
  const total = sum(exponentials);
  const weight = exponentials[key] / total;
  const left = hide ? sum(exponentials.filter((_, at) => !run.tokens[at].special)) / total : 1;
  return {
    ...{ query_vector: queryVector, key_vector: keyVector, products: products(key), dot_product: sum(products(key)) },
    ...{ score: scores[key], scores, largest, exponentials, total, weight, shown_share: left, shown_weight: weight / left },
    names: run.tokens.map((token) => labelOf(token, run.text).label + (hide && token.special ? " (hidden)" : "")),
  };
}
