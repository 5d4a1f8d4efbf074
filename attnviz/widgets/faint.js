/* faint: rows of which hardly anything is left, as special tokens are hidden and the rest is rescaled. */

import { isolated } from "./dom.js";
import { percent } from "./numbers.js";

/** @typedef {{ hidden: string, min_kept: number }} Limit what is not shown, and how much of a row must be */

/**
 * What is said of a row, as `aside` of analysis/display_tokens.py: "97.3 % of this row went to [CLS]"; else "".
 * @param {number} left how much of it is shown
 * @param {Limit} limit
 */
export const aside = (left, { hidden, min_kept }) =>
  left < min_kept ? `${percent(1 - left)} of this row went to ${hidden}` : "";

/**
 * The rows' tokens, with * and what must be said of their numbers where hardly anything of the row is left.
 * @param {ShownToken[]} queries
 * @param {{ number: number, left: ArrayLike<number> }[]} heads the open ones, and how much of each of their rows is left
 * @param {Limit} limit
 * @returns {ShownToken[]}
 */
export function marked(queries, heads, limit) {
  return queries.map((query, row) => {
    const told = heads.flatMap(({ number, left }) => {
      const text = aside(left[row], limit);
      return text ? [heads.length > 1 ? `in head ${number} ${text}` : text] : [];
    });
    if (!told.length) return query;
    const text = told.join("; ");
    return { ...query, label: `${isolated(query.label)} *`, title: `${query.title}; ${text}`, aside: text };
  });
}
