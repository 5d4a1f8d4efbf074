/* step formulas: how a number of a step was computed from earlier arrays. Printed numbers are rounded to four decimals. */

import { element } from "../../widgets/dom.js";
import { fixed, inBrackets, number, percent, total } from "../../widgets/numbers.js";

const MAX_PRODUCTS = 16; // listed products of a sum
const DIGITS = 4;

/**
 * @typedef {import("./steps.js").Steps} Steps
 * @typedef {{ name: string, row: number, column: number }} Cell
 * @typedef {{ title?: any[], notes?: any[][], list?: Node[], line: any[], from?: [string, { row?: number, column?: number }][] }} Explained
 *   heading, sentences, list of products, formula, and the parts of arrays that the formula uses
 */

const shown = (part, value, role = "") => number(part, value, fixed(value, DIGITS), role);
const bracketed = (part, value, role = "") => number(part, value, inBrackets(fixed(value, DIGITS)), role);
const result = (name, value) => element("b", {}, shown(`${name}-result`, value));
const formula = (...parts) => element("p", { class: "formula" }, ...parts);

/**
 * Returns the symbol of an array with its subscript.
 * @param {{ symbol: string[], role: string }} about
 */
export function symbolOf({ symbol: [letter, sub], role }) {
  const node = element("b", { class: role }, letter);
  if (sub) node.append(element("sub", {}, sub));
  return node;
}

/** Returns an element with the token of a row; by default, the query token. */
function named({ data: { tokens, query } }, row = null, role = "") {
  const text = tokens[row ?? query].name;
  return element("bdi", { class: `token ${role}`, title: text }, text);
}

/** Returns an element with the token of a cell's row; for a vector, the query token. */
const owner = (steps, { name, row }) => named(steps, steps.array(name).shape.length > 1 ? row : null);

const constant = (about, value) => formula(symbolOf(about), " = ", shown("result", value, "outcome"));

/**
 * Returns the list of the largest products of a sum, and the formula of the sum.
 * @param {{ factors: number[][], roles: string[], names: (at: number) => any[], rest?: [string, number][], outcome: number,
 *   role?: string }} sum
 */
function addition({ factors, roles, names, rest = [], outcome, role = "" }) {
  const products = factors.map(([a, b]) => a * b);
  const bySize = [...products.keys()].sort((a, b) => Math.abs(products[b]) - Math.abs(products[a]));
  const listed = bySize.slice(0, MAX_PRODUCTS).sort((a, b) => a - b);
  const others = bySize.slice(MAX_PRODUCTS).map((at) => products[at]);
  const items = listed.map((at) => {
    const [left, right] = factors[at];
    const product = [shown("left", left, roles[0]), " × ", bracketed("right", right, roles[1]), " = ", shown("product", products[at])];
    return element("li", {}, element("span", { class: "of" }, ...names(at)), element("span", { class: "times" }, ...product));
  });
  /** @type {[string, number][]} */
  const terms = [[`sum of the ${listed.length} products${others.length ? " listed" : ""}`, total(listed.map((at) => products[at]))]];
  if (others.length) terms.push([others.length > 1 ? `sum of the other ${others.length} products` : "the other product", total(others)]);
  const all = [...terms, ...rest];
  const line = all.length === 1 ? [terms[0][0]] : all.flatMap(([name, value], at) => [at ? " + " : "", `${name}: `, bracketed("term", value)]);
  return {
    list: [element("ol", { class: "product-list" }, ...items)],
    line: [formula(...line, " = ", shown("result", outcome, `outcome ${role}`))],
  };
}

/** @type {{ [op: string]: (steps: Steps, cell: Cell, value: number, of: string[]) => Explained }} */
const FORMULAS = {
  learned: (steps, cell, value) => {
    const about = steps.data.arrays[cell.name];
    const row = steps.array(cell.name).shape.length > 1 ? `row ${cell.row + 1}, ` : "";
    return {
      title: [symbolOf(about), `: ${row}column ${cell.column + 1}`],
      line: [constant(about, value)],
      notes: [["Learned in training."]],
    };
  },

  token: (steps, cell, value) => {
    const about = steps.data.arrays[cell.name];
    return {
      title: [`Number ${cell.column + 1} of `, symbolOf(about), ", the vector of ", owner(steps, cell)],
      line: [constant(about, value)],
      notes: [[steps.data.origin]],
    };
  },

  weight: (steps, { name, row }, value) => ({
    title: ["The weight of ", named(steps, row, "key")],
    line: [formula(symbolOf(steps.data.arrays[name]), " = ", number("result", value, percent(value), "outcome weights"))],
  }),

  // x · (a column of W) + b
  project: (steps, cell, value, [vectors, matrix, bias]) => {
    const row = steps.array(cell.name).shape.length === 1 ? steps.data.query : cell.row;
    const [x, weights] = [steps.array(vectors), steps.array(matrix)];
    const [size, columns] = weights.shape;
    const { role, symbol } = steps.data.arrays[matrix];
    return {
      title: [`Number ${cell.column + 1} of the `, element("b", { class: role }, role), " of ", owner(steps, cell)],
      notes: [[`${size} products of the token’s vector and column ${cell.column + 1} of `, symbolOf({ symbol, role }), ", plus the bias."]],
      ...addition({
        factors: Array.from({ length: size }, (_, at) => [x.values[row * size + at], weights.values[at * columns + cell.column]]),
        roles: ["plain", role],
        names: (at) => [element("b", {}, "x"), element("sub", {}, String(at + 1))],
        rest: [["bias", steps.array(bias).values[cell.column]]],
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
      ...addition({ factors, roles: ["query", "key"], names: (at) => [String(at + 1)], outcome: value }),
      from: [[query, {}], [keys, { row }]],
    };
  },

  scale: (steps, { row }, value, [dots, query]) => {
    const [size] = steps.array(query).shape;
    const line = [shown("dot-product", steps.array(dots).values[row]), ` ÷ √${size} = `, shown("result", value, "outcome")];
    return { title: ["The score of ", named(steps, row, "key")], line: [formula(...line)], from: [[dots, { row }]] };
  },

  softmax: (steps, { row }, weight, [scores]) => {
    const { largest, sum } = steps.set.facts;
    const score = steps.array(scores).values[row];
    const exponential = Math.exp(score - largest);
    const exponent = element("sup", {}, shown("score", score), " − ", bracketed("largest", largest));
    const below = () => [" ÷ ", shown("sum", sum), " = "];
    return {
      title: ["The weight of ", named(steps, row, "key")],
      line: [
        formula(
          ...["e", exponent, ...below(), shown("exponential", exponential), ...below()],
          number("result", weight, percent(weight), "outcome weights"),
        ),
      ],
      notes: [[`The sum is over all ${steps.data.total} tokens. Subtracting the largest score, ${fixed(largest, DIGITS)}, does not change the weights.`]],
      from: [[scores, {}]],
    };
  },

  mix: (steps, { column }, value, [weights, values]) => {
    const { arrays, rest } = steps.data;
    const v = steps.array(values);
    return {
      title: [`Number ${column + 1} of the output for `, named(steps, null, "query")],
      notes: [["Each weight is multiplied by the number in its row of column ", String(column + 1), " of ", symbolOf(arrays[values]), "; the products are added."]],
      ...addition({
        factors: Array.from(steps.array(weights).values, (weight, row) => [weight, v.values[row * v.shape[1] + column]]),
        roles: ["weights", "value"],
        names: (at) => [named(steps, at)],
        rest: rest ? [[rest.count > 1 ? `the other ${rest.count} tokens` : "the other token", steps.array("rest").values[column]]] : [],
        outcome: value,
        role: "value",
      }),
      from: [[weights, {}], [values, { column }]],
    };
  },

  // Operations of the residual stream

  value: (steps, { name }, value) => ({ line: [symbolOf(steps.data.arrays[name]), " = ", result(name, value)] }),

  add: (steps, { name, column }, value, of) => {
    const [a, b] = of.map((each) => steps.array(each).values[column]);
    return { line: [shown(`${name}-old`, a), " + ", bracketed(`${name}-update`, b), " = ", result(name, value)] };
  },
};

/**
 * Explains how a number was computed.
 * @param {Steps} steps
 * @param {Cell} cell
 */
export function explain(steps, cell) {
  const { op, of, drawn_as: as } = steps.data.arrays[cell.name];
  const { values, shape } = steps.array(cell.name);
  const at = shape.length > 1 ? cell.row * shape[1] + cell.column : as === "numbers" ? cell.row : cell.column;
  const explained = FORMULAS[op](steps, cell, values[at], of);
  if (steps.data.keep_open) explained.line.unshift(element("span", { class: "muted" }, `entry ${cell.column + 1}: `));
  return explained;
}
