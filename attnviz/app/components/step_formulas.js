/* step formulas: how a number of a step was computed from earlier arrays. */

import { element } from "../../widgets/dom.js";
import {
  enoughDigits,
  fewestDigits,
  fixed,
  inBrackets,
  MAX_DIGITS,
  multiplication,
  number,
  percent,
  rounded,
  scoreDigits,
  sumDigits,
  total,
} from "../../widgets/numbers.js";
import { formula, productList, quotient, scaled, token } from "./worked.js";

const LARGEST = 8; // products of a long sum that are printed
const DIGITS = 3; // decimals of a result
const SMALL = 0.1; // sums below it have one more decimal
const FACTOR_DIGITS = [DIGITS, 8]; // minimum and maximum decimals of a factor
const EXPONENTIAL_DIGITS = 4; // minimum

/**
 * @typedef {import("./steps.js").Steps} Steps
 * @typedef {{ name: string, row: number, column: number }} Cell
 * @typedef {{ title?: any[], notes?: any[][], list?: Node[], line: any[], from?: [string, { row?: number, column?: number }][] }} Explained
 *   heading, sentences, list of products, formula, and the parts of arrays that it uses
 */

/**
 * Returns the symbol of an array with its subscript.
 * @param {{ symbol: string[], role: string }} about
 */
export function symbolOf({ symbol: [letter, sub], role }) {
  const node = element("b", { class: role }, letter);
  if (sub) node.append(element("sub", {}, sub));
  return node;
}

const given = (about, value) => formula(symbolOf(about), " = ", number("result", value, fixed(value, MAX_DIGITS), "outcome"));

const result = (part, value) => element("b", {}, number(part, value));

/** Returns the token of a row, or the query token. */
const named = ({ data: { tokens, query } }, row = null, role = "") => token(tokens[row ?? query].name, role);

/** Returns the token of an array's row. */
const owner = (steps, { name, row }) => named(steps, steps.array(name).shape.length > 1 ? row : null);

/**
 * Formats a sum of products whose printed numbers multiply and add up: a list, and the line below it.
 * @param {{ factors: number[][], roles: string[], names: (at: number) => any[], bias?: number | null, others?: number |
 *   null, othersName?: string, outcome: number, role: string, name?: string }} sum
 */
function addition({ factors, roles, names, bias = null, others = null, othersName = "", outcome, role, name = "" }) {
  const products = factors.map(([a, b]) => a * b);
  let order = products.map((_, at) => at);
  if (bias !== null) {
    const largest = order.toSorted((a, b) => Math.abs(products[b]) - Math.abs(products[a])).slice(0, LARGEST);
    others = total(products.filter((_, at) => !largest.includes(at)));
    othersName = `the other ${products.length - largest.length} products`;
    order = largest.sort((a, b) => a - b);
  }
  const written = order.map((at) => products[at]);
  const [digits, outcomeDigits] = sumDigits([...written, others ?? 0, bias ?? 0], outcome, Math.abs(outcome) < SMALL ? DIGITS + 1 : DIGITS);
  const list = productList(
    order.map((at) => [...factors[at], products[at]]),
    (nth) => names(order[nth]),
    { digits, factorDigits: FACTOR_DIGITS, roles: [...roles, ""], name },
  );
  const sum = total(written.map((term) => rounded(term, digits)));
  const line = formula(`sum of the ${order.length}: `, number("written-sum", total(written), fixed(sum, digits)));
  if (others !== null) line.append(` + ${othersName}: `, number("others", others, inBrackets(fixed(others, digits))));
  if (bias !== null) line.append(" + bias: ", number("bias", bias, inBrackets(fixed(bias, digits))));
  line.append(" ≈ ", number("result", outcome, fixed(outcome, outcomeDigits), `outcome ${role}`));
  return { list: [list], line: [line] };
}

/** @type {{ [op: string]: (steps: Steps, cell: Cell, value: number, of: string[]) => Explained }} */
const FORMULAS = {
  learned: (steps, cell, value) => {
    const about = steps.data.arrays[cell.name];
    const row = steps.array(cell.name).shape.length > 1 ? `row ${cell.row + 1}, ` : "";
    return {
      title: [symbolOf(about), `: ${row}column ${cell.column + 1}`],
      line: [given(about, value)],
      notes: [["Learned in training."]],
    };
  },

  token: (steps, cell, value) => {
    const about = steps.data.arrays[cell.name];
    return {
      title: [`Number ${cell.column + 1} of `, symbolOf(about), ", the vector of ", owner(steps, cell)],
      line: [given(about, value)],
      notes: [[steps.data.origin]],
    };
  },

  weight: (steps, { name, row }, value) => ({
    title: ["The weight of ", named(steps, row, "key")],
    line: [formula(symbolOf(steps.data.arrays[name]), " = ", number("result", value, percent(value), "outcome weights"))],
  }),

  // x · (a column of W) + b
  project: (steps, cell, value, [vectors, matrix, bias]) => {
    const { arrays, query } = steps.data;
    const alone = steps.array(cell.name).shape.length === 1;
    const row = alone ? query : cell.row;
    const [x, weights] = [steps.array(vectors), steps.array(matrix)];
    const [size, columns] = weights.shape;
    const { role, symbol } = arrays[matrix];
    const factors = Array.from({ length: size }, (_, at) => [x.values[row * size + at], weights.values[at * columns + cell.column]]);
    return {
      title: [`Number ${cell.column + 1} of the `, element("b", { class: role }, role), " of ", owner(steps, cell)],
      notes: [[`${size} products of the token’s vector and column ${cell.column + 1} of `, symbolOf({ symbol, role }), ", and the bias."]],
      ...addition({
        factors,
        roles: ["plain", role],
        names: (at) => [element("b", {}, "x"), element("sub", {}, String(at + 1))],
        bias: steps.array(bias).values[cell.column],
        outcome: value,
        role,
      }),
      from: [[vectors, { row }], [matrix, { column: cell.column }], [bias, { column: cell.column }]],
    };
  },

  dot: (steps, { row }, value, [query, keys]) => {
    const [q, k] = [steps.array(query).values, steps.array(keys).values];
    const factors = Array.from(q, (each, at) => [each, k[row * q.length + at]]);
    return {
      title: ["The query of ", named(steps, null, "query"), " times the key of ", named(steps, row, "key")],
      ...addition({ factors, roles: ["query", "key"], names: (at) => [String(at + 1)], outcome: value, role: "" }),
      from: [[query, {}], [keys, { row }]],
    };
  },

  scale: (steps, { row }, value, [dots, query]) => {
    const [size] = steps.array(query).shape;
    const worked = { dot_product: steps.array(dots).values[row], d_head: size, score: value };
    return {
      title: ["The score of ", named(steps, row, "key")],
      line: [scaled(worked, DIGITS)],
      from: [[dots, { row }]],
    };
  },

  softmax: (steps, { row }, weight, [scores]) => {
    const { tokens, rest, total: count } = steps.data;
    const { largest, sum } = steps.set.facts;
    const values = [...steps.array(scores).values];
    const exponentials = values.map((score) => Math.exp(score - largest));
    const terms = rest ? [...exponentials, sum - total(exponentials)] : exponentials;
    const exponential = exponentials[row];
    // The sum has one decimal less than its terms, whose rounding errors add up.
    const digits = fewestDigits(EXPONENTIAL_DIGITS, FACTOR_DIGITS[1], (of) => {
      const below = fixed(total(terms.map((term) => rounded(term, of))), of - 1);
      return below === fixed(sum, of - 1) && percent(rounded(exponential, of) / Number(below)) === percent(weight);
    });
    const power = scoreDigits([{ score: values[row], exponential, digits }], largest, DIGITS, FACTOR_DIGITS[1]);
    const names = [...tokens.map(({ name }) => name), `${rest?.count} others`];
    const items = terms.map((term, at) =>
      element("li", { class: at === row ? "here" : "" }, element("bdi", { class: "of" }, names[at]), number("exponential", term, fixed(term, digits))),
    );
    return {
      title: ["The weight of ", named(steps, row, "key")],
      line: [
        quotient(
          { score: values[row], largest, exponential, sum, weight },
          { score: power, exponential: fixed(exponential, digits), sum: digits - 1 },
          percent(weight),
        ),
      ],
      notes: [[`${fixed(largest, power)} is the largest score; to subtract it changes no weight. The sum of all ${count}:`], [element("ol", { class: "product-list" }, ...items)]],
      from: [[scores, {}]],
    };
  },

  mix: (steps, { column }, value, [weights, values]) => {
    const { arrays, tokens, rest } = steps.data;
    const v = steps.array(values);
    const factors = Array.from(steps.array(weights).values, (weight, row) => [weight, v.values[row * v.shape[1] + column]]);
    return {
      title: [`Number ${column + 1} of the output for `, named(steps, null, "query")],
      notes: [[`Each weight times column ${column + 1} of `, symbolOf(arrays[values]), ", added up."]],
      ...addition({
        factors,
        roles: ["weights", "value"],
        names: (at) => [token(tokens[at].name)],
        others: rest ? steps.array("rest").values[column] : null,
        othersName: rest ? `the other ${rest.count} tokens` : "",
        outcome: value,
        role: "value",
        name: "of-tokens",
      }),
      from: [[weights, {}], [values, { column }]],
    };
  },

  // Operations of the residual stream show single numbers, in the fewest decimals that give the result.

  value: (steps, { name }, value) => ({ line: [symbolOf(steps.data.arrays[name]), " = ", result(`${name}-result`, value)] }),

  add: (steps, { name, column }, value, of) => {
    const [a, b] = of.map((each) => steps.array(each).values[column]);
    const digits = enoughDigits([a, b], 2, (one, other) => fixed(one + other) === fixed(value));
    return {
      line: [
        number(`${name}-old`, a, fixed(a, digits)),
        " + ",
        number(`${name}-update`, b, inBrackets(fixed(b, digits))),
        " = ",
        result(`${name}-result`, value),
      ],
    };
  },

  // ((s − μ) ÷ √(σ² + ε)) × γ + β
  norm: (steps, { name, column }, value, [sum, gains, offsets, which]) => {
    const { mean, variance, epsilon } = steps.data.norms[Number(which)];
    const [s, gain, offset] = [sum, gains, offsets].map((each) => steps.array(each).values[column]);
    const spread = variance + epsilon;
    const digits = enoughDigits([s, mean, spread, gain, offset], 2, (...printed) => {
      const [one, m, v, g, b] = printed;
      return fixed(((one - m) / Math.sqrt(v)) * g + b) === fixed(value);
    });
    const shown = (part, each) => number(`${name}-${part}`, each, inBrackets(fixed(each, digits)));
    return {
      line: [
        ...["(", number(`${name}-sum`, s, fixed(s, digits)), " − ", shown("sum-mean", mean)],
        ...[") ÷ √", number(`${name}-sum-variance`, spread, fixed(spread, digits)), " × ", shown("gain", gain)],
        ...[" + ", shown("offset", offset), " = ", result(`${name}-result`, value)],
      ],
    };
  },

  // A sum of many products, of which only the largest is printed.
  layer: (steps, { name, column }, value, [input, place, weight]) => {
    const { values } = steps.array(input);
    const at = steps.array(place).values[column];
    const by = steps.array(weight).values[column];
    const [left, right, product] = multiplication(values[at], by, 2);
    return {
      line: [
        `${values.length} products + bias = `,
        result(`${name}-result`, value),
        `; largest product (number ${at + 1}): `,
        ...[number(`${name}-entry`, values[at], left), " × ", number(`${name}-weight`, by, inBrackets(right))],
        ...[" = ", number(`${name}-product`, values[at] * by, product)],
      ],
    };
  },

  gelu: (steps, { name, column }, value, [input]) => {
    const before = steps.array(input).values[column];
    const share = before === 0 ? 0.5 : value / before;
    const digits = enoughDigits([before, share], 2, (h, part) => fixed(h * part) === fixed(value));
    return {
      line: [
        "h × Φ(h) = ",
        number(`${name}-before`, before, fixed(before, digits)),
        " × ",
        number(`${name}-share`, share, fixed(share, digits)),
        " = ",
        result(`${name}-result`, value),
      ],
    };
  },
};

/**
 * Explains how a number was computed.
 * @param {Steps} steps
 * @param {Cell} cell
 */
export function explain(steps, cell) {
  const { op, of } = steps.data.arrays[cell.name];
  const { values, shape } = steps.array(cell.name);
  const across = shape.length > 1 ? shape[1] : 1;
  const vector = shape.length === 1 && steps.data.arrays[cell.name].drawn_as !== "numbers";
  const explained = FORMULAS[op](steps, cell, values[vector ? cell.column : cell.row * across + (shape.length > 1 ? cell.column : 0)], of);
  if (steps.data.keep_open) explained.line.unshift(element("span", { class: "muted" }, `number ${cell.column + 1}: `));
  return explained;
}
