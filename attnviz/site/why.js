/* why: shows the calculation of one weight, like app/components/arithmetic.py. */

import { element, table, tr } from "../widgets/dom.js";
import { fixed, inBrackets, percent, total as sum } from "../widgets/numbers.js";

const NUM_PRODUCTS = 5; // listed products
const NUM_KEYS = 8; // listed keys of the softmax, besides the chosen key
const DIGITS = 3;
const SHARE_DIGITS = 4; // decimals of exponentials and their sum

const head = (...cells) => tr(...cells.map((cell) => element("th", { scope: "col" }, cell)));
const row = (name, ...cells) => tr(element("th", { scope: "row" }, name), ...cells.map((cell) => element("td", {}, cell)));
const others = (count) => (count === 1 ? "1 other" : `${count} others`);
const role = (name, text) => element("span", { class: `of-${name}`, text });

/** Returns the indices of the `count` largest values, largest first. */
const largestOf = (values, count) =>
  [...values.keys()].sort((one, other) => values[other] - values[one]).slice(0, count);

/**
 * Returns the elements that show the calculation of one weight.
 * @param {ReturnType<typeof import("./reading.js").weightSteps>} result
 * @param {{ query: number, key: number }} chosen indices of the two tokens, from 0
 * @param {string} note names the head, and the sentence if two sentences are shown
 */
export function weightElements(result, { query, key }, note) {
  const { names, products, dot_product: dot, score, largest, exponentials, total, weight } = result;
  const format = (value) => (Number.isFinite(value) ? fixed(value, DIGITS) : "−∞");
  const token = (at) => element("bdi", { text: names[at] });
  const listed = largestOf(products.map(Math.abs), NUM_PRODUCTS);
  const rest = dot - sum(listed.map((at) => products[at]));
  const keys = [...new Set([...largestOf(exponentials, NUM_KEYS), key])].sort((one, other) => one - other);
  const unlisted = sum(exponentials.filter((_, at) => !keys.includes(at)));
  const share = (value) => value.toFixed(SHARE_DIGITS);
  const size = products.length;
  const productTable = table({
    head: [head("dimension", role("query", "query"), role("key", "key"), "product")],
    body: [
      ...listed.map((at) => row(String(at + 1), ...[result.query_vector, result.key_vector, products].map((each) => fixed(each[at], DIGITS)))),
      ...(size > listed.length ? [row(others(size - listed.length), "", "", fixed(rest, DIGITS))] : []),
      row("sum: q · k", "", "", fixed(dot, DIGITS)),
    ],
  });
  const softmaxTable = table({
    head: [head("key", "score", "exp(score − max)", role("weights", "weight"))],
    body: [
      ...keys.map((at) => {
        const line = row(token(at), format(result.scores[at]), share(exponentials[at]), percent(exponentials[at] / total));
        line.classList.toggle("chosen", at === key);
        return line;
      }),
      ...(keys.length < names.length ? [row(others(names.length - keys.length), "", share(unlisted), percent(unlisted / total))] : []),
      row("sum", "", share(total), "100 %"),
    ],
  });
  const exponent = element("sup", { text: `${format(score)} − ${inBrackets(fixed(largest, DIGITS))}` });
  const steps = [
    element("h4", {}, "1 · Multiply ", role("query", "query"), " and ", role("key", "key"), ", and add the products."),
    productTable,
    element("h4", { text: `2 · Divide by √${size}: the score.` }),
    element("p", {}, `${fixed(dot, DIGITS)} ÷ √${size} = `, element("strong", { text: fixed(dot / Math.sqrt(size), DIGITS) }), ...(Number.isFinite(score) ? [] : [" → masked: −∞"])),
    element("h4", { text: "3 · Softmax over the row." }),
    softmaxTable,
    element(
      "p",
      {},
      ...["e", exponent, ` ÷ ${share(total)} = ${share(exponentials[key])} ÷ ${share(total)} = `],
      ...[role("weights", percent(weight)), ". Subtracting max, the largest score, does not change the weights."],
    ),
  ];
  if (result.shown_share < 1) {
    steps.push(
      element("h4", { text: "4 · What this page shows." }),
      element("p", { text: `Rescaled without the hidden tokens: ${percent(weight)} ÷ ${share(result.shown_share)} = ${percent(result.shown_weight)}.` }),
    );
  }
  const title = ["Why does ", token(query), Number.isFinite(score) ? " attend to " : " not attend to ", token(key), "? ", role("weights", percent(result.shown_weight))];
  return [element("h3", {}, ...title), element("p", { class: "hint", text: note }), ...steps];
}
