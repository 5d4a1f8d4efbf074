/* worked: the arithmetic of an attention weight: products, a scaled score, a softmax quotient.
   data-value holds every printed number unrounded. */

import { element } from "../../widgets/dom.js";
import { aligned, enoughDigits, fewestDigits, fixed, inBrackets, MAX_DIGITS, number, rounded } from "../../widgets/numbers.js";

const ROOT_DIGITS = 5; // decimals of √d_head

/** Returns the name of a token as an element. */
export const token = (text, role = "") => element("bdi", { class: `token ${role}`, title: text }, text);

export const formula = (...parts) => element("p", { class: "formula" }, ...parts);

const fraction = (above, below) =>
  element("span", { class: "fraction" }, element("span", {}, ...above), element("span", {}, ...below));

/**
 * a × b = product, each with its text, its role and its name for tests.
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
 * Returns a list of products, aligned at the decimal point: all factors have as many decimals as it takes to multiply out.
 * @param {number[][]} factors a, b and a × b of each
 * @param {(at: number) => (Node | string)[]} nameOf label of each
 * @param {{ digits: number, factorDigits?: number[], roles: string[], parts?: string[], name?: string }} look
 */
export function productList(factors, nameOf, { digits, factorDigits = [2, MAX_DIGITS], roles, parts = ["left", "right", "product"], name = "" }) {
  const [least, most] = factorDigits;
  const agrees = (of) => factors.every(([a, b]) => fixed(rounded(a, of) * rounded(b, of), digits) === fixed(a * b, digits));
  const enough = fewestDigits(least, most, agrees);
  const texts = factors.map(([a, b]) => [fixed(a, enough), inBrackets(fixed(b, enough)), fixed(a * b, digits)]);
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
 * q · k ÷ √d_head = score.
 * @param {{ dot_product: number, d_head: number, score: number }} worked
 * @param {number} digits decimals of the score
 */
export function scaled({ dot_product: product, d_head, score }, digits) {
  const scale = 1 / Math.sqrt(d_head);
  const enough = enoughDigits([product], digits, (dot) => fixed(dot * scale, digits) === fixed(score, digits), MAX_DIGITS + 2);
  const root = element("span", {}, "√", element("span", { class: "under-root" }, String(d_head)));
  return formula(
    ...[number("dot-product", product, fixed(product, enough)), " ÷ "],
    ...[element("span", { "data-part": "scale", "data-value": scale }, root)],
    ...[" = ", fixed(product, enough), " ÷ ", number("root", 1 / scale, fixed(1 / scale, ROOT_DIGITS))],
    ...[" = ", number("result", score, fixed(score, digits), "outcome")],
  );
}

/**
 * e^(score − largest) ÷ sum = exponential ÷ sum = weight.
 * @param {{ score: number, largest: number, exponential: number, sum: number, weight: number }} worked
 * @param {{ score: number, largest?: number, exponential: string, sum: number }} digits decimals, and the exponential as
 *   printed
 * @param {string} shown the weight as printed
 */
export function quotient({ score, largest, exponential, sum, weight }, digits, shown) {
  const exponent = fixed(score, digits.score);
  const most = inBrackets(fixed(largest, digits.score));
  const [above, below] = [digits.exponential, fixed(sum, digits.sum)];
  const label = `e to the power of ${exponent} − ${most}, divided by ${below}, is ${above} divided by ${below}, is ${shown}`;
  const exponentOfE = element("sup", {}, number("power-score", score, exponent), " − ", number("row-maximum", largest, most));
  return element(
    "div",
    { class: "formula quotient", role: "math", "aria-label": label },
    fraction([element("span", {}, element("i", {}, "e"), exponentOfE)], [number("power-sum", sum, below)]),
    element("span", {}, "="),
    fraction([number("own-exponential", exponential, above)], [number("sum", sum, below)]),
    element("span", {}, "="),
    number("result", weight, shown, "outcome weights"),
  );
}
