/* numbers: how numbers are printed. */

import { element } from "./dom.js";

/** @typedef {"percent" | "score" | "signed percent"} Unit how a number of a picture is written */

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
