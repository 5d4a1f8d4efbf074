/* numbers: how numbers are printed, with so many decimals that who works with what is printed gets what is printed. */

import { element } from "./dom.js";

/** @typedef {"percent" | "score" | "signed percent"} Unit how a number of a picture is written */

export const MOST_DIGITS = 6; // decimals of what is printed only to be worked with

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
 * A share in percent, with so many decimals.
 * @param {number} weight
 * @param {number} digits
 */
export const percentTo = (weight, digits) => `${(100 * weight).toFixed(digits)}\u202f%`;

/**
 * A weight with one decimal; never 0 % for something that is not 0, nor 100 % for less than all.
 * @param {number} weight
 */
export function percent(weight) {
  if (weight > 0 && weight < 0.0005) return "<\u202f0.1\u202f%";
  if (weight < 1 && weight >= 0.9995) return ">\u202f99.9\u202f%";
  return percentTo(weight, 1);
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
export const enoughDigits = (operands, least, agrees, most = MOST_DIGITS) =>
  fewestDigits(least, most, (digits) => agrees(...operands.map((value) => rounded(value, digits))));

/**
 * [a, b, a × b] as texts: the product with so many decimals, a and b with as many as it takes to multiply out.
 * @param {number} a
 * @param {number} b
 * @param {number} digits
 * @param {number} [least] decimals of a and b
 * @param {number} [most]
 */
export function multiplication(a, b, digits, least = 2, most = MOST_DIGITS) {
  const product = fixed(a * b, digits);
  const agrees = (of) => fixed(rounded(a, of) * rounded(b, of), digits) === product;
  const enough = fewestDigits(least, most, agrees);
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
 * 0.664 as "66.4 %", "0.66" or, of a change, "+66.4 pp": percentage points.
 * @param {number} value
 * @param {Unit} unit
 * @param {number} [digits]
 */
export function written(value, unit, digits = 1) {
  const minus = value < 0 ? "−" : "";
  const size = Math.abs(value);
  if (unit === "score") return minus + size.toFixed(digits + 1);
  const sign = unit === "signed percent" && value > 0 ? "+" : minus;
  return `${sign}${(100 * size).toFixed(digits)} ${unit === "signed percent" ? "pp" : "%"}`;
}

/**
 * The same for places with little room: whole percents.
 * @param {number} value
 * @param {Unit} unit
 */
export const brief = (value, unit) => written(value, unit, unit === "score" ? 1 : 0);
