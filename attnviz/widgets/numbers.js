/* numbers: how numbers are printed, with so many decimals that who works with what is printed gets what is printed. */

import { element } from "./dom.js";

/** @typedef {"percent" | "score" | "signed percent"} Unit how a number of a picture is written */

export const MAX_DIGITS = 6; // decimals of what is printed only to be worked with

/**
 * The number that stands there when it is printed with so many decimals.
 * @param {number} value
 * @param {number} digits
 */
export const rounded = (value, digits) => Number(value.toFixed(digits));

/**
 * With so many decimals, a real minus, and no minus before 0.
 * @param {number} value
 */
export function fixed(value, digits = 2) {
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? `−${text}` : text;
}

/**
 * A negative number as it stands behind another sign.
 * @param {string} text
 */
export const inBrackets = (text) => (text.startsWith("−") ? `(${text})` : text);

/**
 * A share in percent, as in attnviz/text.py: never 0 % for something that is not 0, nor 100 % for less than all.
 * @param {number} share
 */
export function percent(share, digits = 1) {
  const text = (100 * share).toFixed(digits);
  const least = 10 ** -digits;
  if (share > 0 && Number(text) === 0) return `< ${least.toFixed(digits)} %`;
  if (share < 1 && Number(text) === 100) return `> ${(100 - least).toFixed(digits)} %`;
  return `${text} %`;
}

/**
 * The fewest decimals, from `least`, that `agrees` accepts; `most` if there are none below.
 * @param {number} least
 * @param {number} most
 * @param {(digits: number) => boolean} agrees
 */
export function fewestDigits(least, most, agrees) {
  for (let digits = least; digits < most; digits++) if (agrees(digits)) return digits;
  return most;
}

/**
 * The fewest decimals, from `least`, at which whoever works with the printed operands gets the printed result.
 * `agrees` receives the operands as printed.
 * @param {number[]} operands
 * @param {number} least
 * @param {(...printed: number[]) => boolean} agrees
 */
export const enoughDigits = (operands, least, agrees, most = MAX_DIGITS) =>
  fewestDigits(least, most, (digits) => agrees(...operands.map((value) => rounded(value, digits))));

/**
 * The fewest decimals, from `least`, of scores at which e^(score − largest), as printed, gives every exponential as
 * printed; where an exponential lies on the very edge between two roundings, those at which the most agree.
 * @param {{ score: number, exponential: number, digits: number }[]} row digits: decimals of the exponential
 * @param {number} largest the largest score
 * @param {number} least
 * @param {number} [most]
 */
export function scoreDigits(row, largest, least, most = MAX_DIGITS) {
  const open = (of) =>
    row.filter(({ score, exponential, digits }) => {
      const found = Math.exp(rounded(score, of) - rounded(largest, of));
      return fixed(found, digits) !== fixed(exponential, digits);
    }).length;
  let best = { of: least, open: open(least) };
  for (let of = least + 1; of <= most && best.open > 0; of++) if (open(of) < best.open) best = { of, open: open(of) };
  return best.of;
}

/**
 * Decimals of the terms and of their sum at which the printed terms add up to the printed sum.
 * @param {number[]} terms
 * @param {number} sum
 * @param {number} least decimals of the sum
 */
export function sumDigits(terms, sum, least) {
  // A sum on the very edge between two roundings is printed with one decimal more instead.
  for (let of = least; of < least + 3; of++) {
    for (let digits = of + 1; digits <= of + 2; digits++) {
      if (fixed(total(terms.map((term) => rounded(term, digits))), of) === fixed(sum, of)) return [digits, of];
    }
  }
  return [least + 3, least + 2];
}

/**
 * [a, b, a × b] as texts: the product with so many decimals, a and b with as many as it takes to multiply out.
 * @param {number} a
 * @param {number} b
 * @param {number} digits
 */
export function multiplication(a, b, digits) {
  const product = fixed(a * b, digits);
  const agrees = (of) => fixed(rounded(a, of) * rounded(b, of), digits) === product;
  const enough = fewestDigits(2, MAX_DIGITS, agrees);
  return [fixed(a, enough), fixed(b, enough), product];
}

/**
 * Texts of numbers with decimals, filled up with spaces as wide as digits, so that points stand under points.
 * @param {string[]} texts
 */
export function aligned(texts) {
  const [before, after] = [(text) => text.indexOf("."), (text) => text.length - text.indexOf(".")];
  const [left, right] = [before, after].map((length) => Math.max(...texts.map(length)));
  const space = (count) => "\u2007".repeat(count);
  return texts.map((text) => space(left - before(text)) + text + space(right - after(text)));
}

/** @param {Iterable<number>} values */
export const total = (values) => [...values].reduce((sum, value) => sum + value, 0);

/**
 * The place of the number that is furthest from 0.
 * @param {ArrayLike<number>} values
 */
export const strongest = (values) =>
  Array.from(values).reduce((best, value, at) => (Math.abs(value) > Math.abs(values[best]) ? at : best), 0);

/**
 * A printed number, which also stands unrounded in a data-value attribute.
 * @param {string} part what it is, for tests
 * @param {number} value
 * @param {string} [text] how it is printed
 * @param {string} [role] its class: query, key, value, …
 */
export const number = (part, value, text = fixed(value), role = "") =>
  element("span", { class: `number ${role}`, "data-part": part, "data-value": value }, text);

/**
 * 0.664 as "66.4 %", "0.66" or, of a change, "+66.4 points": percentage points.
 * @param {number} value
 * @param {Unit} unit
 * @param {number} [digits]
 */
export function written(value, unit, digits = 1) {
  const minus = value < 0 ? "−" : "";
  const size = Math.abs(value);
  if (unit === "score") return minus + size.toFixed(digits + 1);
  if (unit === "percent") return minus + percent(size, digits);
  const points = (100 * size).toFixed(digits);
  return `${value > 0 ? "+" : minus}${points} point${points === "1" ? "" : "s"}`;
}

/**
 * The same for places with little room: whole percents.
 * @param {number} value
 * @param {Unit} unit
 */
export const brief = (value, unit) => written(value, unit, unit === "score" ? 1 : 0);
