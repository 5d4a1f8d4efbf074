/* faint: marks rows with nearly all of their weight on hidden tokens, before rescaling. */

import { isolated } from "./dom.js";
import { percent } from "./numbers.js";

/** @typedef {{ hidden: string, min_kept: number }} Limit the hidden tokens, and the minimum shown fraction of a row */

/**
 * Returns the note on a mostly hidden row, "97.3 % of this row’s weight is on [CLS]", or ""; same as `hidden_note` in Python.
 * @param {number} left the shown fraction of the row
 * @param {Limit} limit
 */
export const rowNote = (left, { hidden, min_kept }) =>
  left < min_kept ? `${percent(1 - left)} of this row’s weight is on ${hidden}` : "";

/**
 * Returns the row tokens, marked with * and a note if little of the row is shown.
 * @param {ShownToken[]} queries
 * @param {{ number: number, left: ArrayLike<number> }[]} heads the open heads, and the shown fraction of each row
 * @param {Limit} limit
 * @returns {ShownToken[]}
 */
export function markFaintRows(queries, heads, limit) {
  return queries.map((query, row) => {
    const notes = heads.flatMap(({ number, left }) => {
      const text = rowNote(left[row], limit);
      return text ? [heads.length > 1 ? `in head ${number} ${text}` : text] : [];
    });
    if (!notes.length) return query;
    const text = notes.join("; ");
    return { ...query, label: `${isolated(query.label)} *`, title: `${query.title}; ${text}`, rowNote: text };
  });
}
