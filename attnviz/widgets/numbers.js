/* numbers: number formats, and small calculations. */

import { element } from "./dom.js";

/** @typedef {"percent" | "score" | "signed percent"} Unit the format of a picture's numbers */

/**
 * Formats a number with `digits` decimals and a true minus sign, but no minus before 0.
 * @param {number} value
 */
export function fixed(value, digits = 2) {
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? `−${text}` : text;
}

/**
 * Puts a negative number in parentheses, for use after an operator.
 * @param {string} text
 */
export const inBrackets = (text) => (text.startsWith("−") ? `(${text})` : text);

/**
 * Formats a fraction in percent, as in attnviz/text.py: "0 %" only for 0, and "100 %" only for 1.
 * @param {number} share
 */
export function percent(share, digits = 1) {
  const text = (100 * share).toFixed(digits);
  const unit = 10 ** -digits;
  if (share > 0 && Number(text) === 0) return `< ${unit.toFixed(digits)}\u00a0%`;
  if (share < 1 && Number(text) === 100) return `> ${(100 - unit).toFixed(digits)}\u00a0%`;
  return `${text}\u00a0%`;
}

/** @param {Iterable<number>} values */
export const total = (values) => [...values].reduce((sum, value) => sum + value, 0);

/**
 * Returns the index of the number with the largest absolute value.
 * @param {ArrayLike<number>} values
 */
export const strongestIndex = (values) =>
  Array.from(values).reduce((best, value, at) => (Math.abs(value) > Math.abs(values[best]) ? at : best), 0);

/**
 * Creates an element with a formatted number; its data-value attribute has the unrounded number.
 * @param {string} part name of the number, for tests
 * @param {number} value
 * @param {string} [text] the formatted number
 * @param {string} [role] class of the element: query, key, value, …
 */
export const number = (part, value, text = fixed(value), role = "") =>
  element("span", { class: `number ${role}`, "data-part": part, "data-value": value }, text);

/**
 * Formats 0.664 as "66.4 %", "0.66" or, for a change, "+66.4 points" (percentage points).
 * @param {number} value
 * @param {Unit} unit
 * @param {number} [digits]
 */
export function formatNumber(value, unit, digits = 1) {
  const minus = value < 0 ? "−" : "";
  const size = Math.abs(value);
  if (unit === "score") return minus + size.toFixed(digits + 1);
  if (unit === "percent") return minus + percent(size, digits);
  const points = (100 * size).toFixed(digits);
  return `${value > 0 ? "+" : minus}${points} point${points === "1" ? "" : "s"}`;
}

/**
 * Formats a number with fewer digits, for small spaces.
 * @param {number} value
 * @param {Unit} unit
 */
export const formatBrief = (value, unit) => formatNumber(value, unit, unit === "score" ? 1 : 0);
