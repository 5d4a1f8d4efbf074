/* worked: the arithmetic of an attention weight as it is written out, in Explore's widget and in the six steps of
   Learn: products, a scaled score, a share of a row. Every printed number also stands, unrounded, in data-value. */

import { element } from "../../widgets/dom.js";
import { aligned, enoughDigits, fixed, inBrackets, MAX_DIGITS, multiplication, number, rounded } from "../../widgets/numbers.js";

const ROOT_DIGITS = 5; // decimals of √d_head

/** The name of a token. */
export const token = (text, role = "") => element("bdi", { class: `token ${role}`, title: text }, text);

export const formula = (...parts) => element("p", { class: "formula" }, ...parts);

export const power = (...exponent) => element("span", {}, element("i", {}, "e"), element("sup", {}, ...exponent));

const fraction = (above, below) =>
  element("span", { class: "fraction" }, element("span", {}, ...above), element("span", {}, ...below));

/**
 * a × b = product, each with its text, its role and what it is for tests.
 * @param {number[]} values
 * @param {string[]} texts
 * @param {string[]} roles
 * @param {string[]} parts
 */
export function times(values, texts, roles, parts) {
  const [left, right, result] = values.map((value, at) => number(parts[at], value, texts[at], roles[at]));
  return element("span", { class: "times" }, left, " × ", right, " = ", result);
}

/**
 * [a, b, a × b] as texts that multiply out as printed.
 * @param {number} a
 * @param {number} b
 * @param {number} digits decimals of the product
 * @param {number[]} [factorDigits] decimals of a and b: the fewest and the most
 */
export function timesTexts(a, b, digits, [least, most] = [2, MAX_DIGITS]) {
  const [left, right, result] = multiplication(a, b, digits, least, most);
  return [left, inBrackets(right), result];
}

/**
 * A list of products, point under point.
 * @param {number[][]} factors a, b and a × b of each
 * @param {(at: number) => (Node | string)[]} nameOf what stands before each
 * @param {{ digits: number, factorDigits?: number[], roles: string[], parts?: string[], name?: string }} look
 */
export function productList(factors, nameOf, { digits, factorDigits, roles, parts = ["left", "right", "product"], name = "" }) {
  const texts = factors.map(([a, b]) => timesTexts(a, b, digits, factorDigits));
  const columns = [0, 1, 2].map((part) => aligned(texts.map((text) => text[part])));
  const items = factors.map((values, at) =>
    element(
      "li",
      {},
      element("span", { class: "of" }, ...nameOf(at)),
      times(values, columns.map((column) => column[at]), roles, parts),
    ),
  );
  return element("ol", { class: `product-list ${name}` }, ...items);
}

/**
 * What the scale, the position bias, the cap and the mask make of a dot product: its score.
 * @param {{ dot_product: number, scale: number, d_head: number, bias?: number | null, cap?: number | null,
 *   scaled?: number, score: number, masked: boolean }} worked
 * @param {number} digits decimals of the score
 * @param {{ product: string, score: string, root?: string }} parts what the numbers are for tests; with `root`, √d_head is
 *   also written as a number
 */
export function scaled({ dot_product: product, scale, d_head, bias = null, cap = null, score, scaled: before = score, masked }, digits, parts) {
  const paper = isOfPaper(scale, d_head);
  const scaleDigits = paper ? MAX_DIGITS : 4;
  const factor = paper || scale === 1 ? scale : rounded(scale, scaleDigits);
  const squeezed = (value) => (cap === null ? value : cap * Math.tanh(value / cap));
  const exact = enoughDigits([before], digits, (value) => fixed(squeezed(value), digits) === fixed(score, digits), MAX_DIGITS);
  const agrees = (dot, added) => fixed(dot * factor + added, exact) === fixed(before, exact);
  const enough = enoughDigits([product, bias ?? 0], digits, agrees, MAX_DIGITS + 2);
  const root = element("span", {}, "√", element("span", { class: "under-root" }, String(d_head)));
  const by = paper ? root : scale === 1 ? "1" : fixed(scale, scaleDigits);
  const line = formula(
    number(parts.product, product, fixed(product, enough)),
    paper ? " ÷ " : " × ",
    element("span", { "data-part": "scale", "data-value": scale }, by),
  );
  if (parts.root) line.append(" = ", fixed(product, enough), " ÷ ", number(parts.root, 1 / scale, fixed(1 / scale, ROOT_DIGITS)));
  if (bias !== null) line.append(bias < 0 ? " − " : " + ", number("bias", bias, fixed(Math.abs(bias), enough)));
  if (cap !== null) {
    const printed = fixed(before, exact);
    line.append(" = ", number("scaled", before, printed), `; ${cap} · tanh(${printed} ÷ ${cap})`);
  }
  line.append(" = ", number(parts.score, score, fixed(score, digits), "outcome"));
  if (masked) line.append(" → ", element("span", { class: "masked-score" }, "masked: −∞"));
  return line;
}

/** Whether a scale is 1/√d_head, as in the paper. */
export const isOfPaper = (scale, d_head) => Math.abs(scale * Math.sqrt(d_head) - 1) < 1e-5;

/**
 * e^(score − largest) ÷ sum = exponential ÷ sum = weight.
 * @param {{ score: number, largest: number, exponential: number, sum: number, weight: number, masked: boolean }} worked
 * @param {{ score: number, largest?: number, exponential: string, sum: number }} digits decimals, and the exponential as
 *   printed
 * @param {string} shown the weight as printed
 * @param {{ exponential: string, divisor: string, weight: string }} parts what the numbers are for tests
 */
export function quotient({ score, largest, exponential, sum, weight, masked }, digits, shown, parts) {
  const exponent = masked ? "−∞" : fixed(score, digits.score);
  const most = inBrackets(fixed(largest, digits.score));
  const [above, below] = [digits.exponential, fixed(sum, digits.sum)];
  const label = `e to the power of ${exponent} − ${most}, divided by ${below}, is ${above} divided by ${below}, is ${shown}`;
  return element(
    "div",
    { class: "formula quotient", role: "math", "aria-label": label },
    fraction(
      [power(number("power-score", score, exponent), " − ", number("row-maximum", largest, most))],
      [number("power-sum", sum, below)],
    ),
    element("span", {}, "="),
    fraction([number(parts.exponential, exponential, above)], [number(parts.divisor, sum, below)]),
    element("span", {}, "="),
    number(parts.weight, weight, shown, "outcome weights"),
  );
}
