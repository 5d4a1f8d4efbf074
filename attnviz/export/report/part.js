/* part: the shown part of a long text in a report; app/explore/long_head.py is its counterpart in the app. */

import { isolated } from "../../widgets/dom.js";
import { percent } from "../../widgets/numbers.js";
import { levelOf } from "../../widgets/palette.js";
import { allData } from "../../widgets/store.js";
import { blockOf, clampPlace } from "../../widgets/window.js";

const NUM_NEIGHBOURS = 12; // tokens on each side of the chosen token, in the view "lines"
const NUM_TOP = 16; // maximum number of keys with the largest weights of the chosen token, for each head

/**
 * The source of the numbers. If only the largest weights of a long text are stored, a negative number
 * means that the weight is at most its absolute value.
 * @typedef {object} Source
 * @property {[number, number]} size numbers of queries and keys
 * @property {(head: number, query: number) => Float64Array} row one row of a head; heads count from 1; NaN where masked
 * @property {(head: number, query: number) => number} left the fraction of a row's weight on shown tokens
 * @property {(head: number) => Float32Array | null} overview the blocks of the complete text, if stored
 * @property {(head: number, below: number) => number} hidden the fraction of a head's weight that consists of weights below this value
 * @property {boolean} signed
 * @property {number} high the value at the end of the colour scale
 * @property {{ hidden: string, min_kept: number }} facts
 */

const range = (first, count, step = 1) => Array.from({ length: Math.ceil(count / step) }, (_, at) => first + at * step);

/** Returns the number with the largest absolute value of the rows in each block of `step` columns; NaN if all are masked. */
function strongest(rows, columns, step) {
  return Float64Array.from(columns, (column) => {
    let found = NaN;
    for (const row of rows) {
      for (let at = column; at < Math.min(column + step, row.length); at++) {
        if (Number.isNaN(found) || Math.abs(row[at]) > Math.abs(found)) found = row[at];
      }
    }
    return found;
  });
}

/** The shown part of a long text, with the search and the threshold. */
export class PartOfText {
  matrices = "";
  /** @type {number | null} */
  previousQuery = null;
  /** @type {import("../../widgets/window.js").Place} */
  place;
  searchText = "";
  below = 0;
  version = 0;

  /**
   * Returns the fields of the head view's message that depend on the part.
   * @param {string} matrices name of the shown matrices; a change resets the part to the complete text
   * @param {Source} source
   * @param {{ layer: number, heads: number[], view: string, query: number | null, key: number | null }} state the
   *   selection; query and key are indices of shown tokens, from 0
   * @param {ShownToken[]} queries
   * @param {ShownToken[]} keys
   */
  message(matrices, source, { layer, heads, view, query, key }, queries, keys) {
    const [numQueries, numKeys] = source.size;
    if (this.matrices !== matrices) this.place = clampPlace({ row: 0, column: 0, span: Infinity }, source.size);
    const { row, span } = this.place;
    const isOutside = query !== null && (query < row || query >= row + span);
    if (this.matrices === matrices && query !== this.previousQuery && isOutside) {
      this.place = clampPlace({ row: query - span / 2, column: query - span / 2, span }, source.size);
    }
    [this.matrices, this.previousQuery] = [matrices, query];
    const lines = view === "lines";
    const step = lines ? 1 : blockOf(this.place.span);
    if (lines) {
      const middle = query ?? Math.min(numQueries - 1, Math.floor(this.place.row + this.place.span / 2));
      const near = range(middle - NUM_NEIGHBOURS, 2 * NUM_NEIGHBOURS + 1);
      const top = heads.flatMap((head) => {
        const values = source.row(head, middle);
        const order = [...values.keys()].filter((at) => Math.abs(values[at]) > 0 && (source.signed || values[at] > 0));
        return order.sort((a, b) => Math.abs(values[b]) - Math.abs(values[a])).slice(0, NUM_TOP);
      });
      this.rows = near.filter((at) => at >= 0 && at < numQueries);
      this.columns = [...new Set([...near, ...top])].filter((at) => at >= 0 && at < numKeys).sort((a, b) => a - b);
    } else {
      this.rows = range(this.place.row, Math.min(this.place.span, numQueries - this.place.row), step);
      this.columns = range(this.place.column, Math.min(this.place.span, numKeys - this.place.column), step);
    }
    const [pixels, exact] = this.publish(source, layer, heads, step);
    const named = (tokens, places) =>
      places.map((at) => {
        const [first, last] = [tokens[at], tokens[Math.min(at + step, tokens.length) - 1]];
        if (step === 1) return first;
        const title = `tokens ${at + 1}–${Math.min(at + step, tokens.length)}, from ${first.label} to ${last.label}`;
        return { ...first, label: `${at + 1} ${first.label} …`, name: `${at + 1} ${first.label} …`, title, special: false };
      });
    const placeOf = (places, at) => {
      const found = at === null ? -1 : places.findLastIndex((first) => first <= at && at < first + step);
      return found < 0 ? null : found;
    };
    const at = placeOf(this.rows, query);
    const places = this.matches(queries);
    const which = places.indexOf(query ?? -1);
    const token = queries[query ?? 0];
    const count =
      which < 0 ? `${places.length} found` : `${which + 1} of ${places.length}: ${token.number} ${isolated(token.label)}`;
    const hiddenWeights = heads.map((head) => percent(source.hidden(head, this.below)));
    return {
      pixels,
      exact,
      query_tokens: named(queries, this.rows),
      key_tokens: named(keys, this.columns),
      query: at,
      key: at === null ? null : placeOf(this.columns, key),
      part: {
        ...this.place,
        size: source.size,
        matches: this.searchText ? (places.length ? count : "not found") : "",
        below: this.below,
        hidden_weight: this.below ? `not drawn: ${hiddenWeights.join(", ")} of the head’s weight` : "",
      },
    };
  }

  /** Stores the numbers for the widget; returns their ids. */
  publish(source, layer, heads, step) {
    const shape = [heads.length, this.rows.length, this.columns.length];
    const values = new Float64Array(shape[0] * shape[1] * shape[2]);
    const pixels = new Uint8Array(values.length);
    const left = new Float64Array(shape[0] * shape[1]);
    const isComplete = this.place.span >= Math.max(...source.size) && step > 1;
    const kind = source.signed ? "diverging" : "sequential";
    heads.forEach((head, nth) => {
      const blocks = isComplete ? source.overview(head) : null;
      this.rows.forEach((row, i) => {
        const rows = range(row, Math.min(step, source.size[0] - row));
        const from = nth * shape[1] + i;
        left[from] = step === 1 ? source.left(head, row) : 1;
        const found = blocks
          ? blocks.subarray(i * shape[2], (i + 1) * shape[2])
          : strongest(rows.map((at) => source.row(head, at)), this.columns, step);
        found.forEach((value, j) => {
          values[from * shape[2] + j] = value;
          const faint = left[from] < source.facts.min_kept ? value * left[from] : value;
          const size = Number.isNaN(value) || Math.abs(value) >= this.below ? faint : 0;
          pixels[from * shape[2] + j] = levelOf(source.signed || !(size < 0) ? size : 0, kind, source.high);
        });
      });
    });
    const every = heads.map((head) => [layer, head]);
    const sets = allData();
    for (const name of ["pixels", "exact"]) sets.delete(`part ${name} ${this.version}`);
    this.version += 1;
    const names = ["pixels", "exact"].map((name) => `part ${name} ${this.version}`);
    sets.set(names[0], { facts: { heads: every, high: every.map(() => source.high) }, arrays: { pixels: { shape, values: pixels } } });
    const exact = { values: { shape, values }, ...(step === 1 && { left: { shape: shape.slice(0, 2), values: left } }) };
    sets.set(names[1], { facts: { ...source.facts, heads: every }, arrays: exact });
    return names;
  }

  /** Returns the indices of the tokens that contain the searched text. */
  matches(queries) {
    const wanted = this.searchText.trim().toLowerCase();
    return wanted ? [...queries.keys()].filter((at) => queries[at].label.toLowerCase().includes(wanted)) : [];
  }

  /** Returns the index of the next match after a token, or the previous one (step −1), wrapping around; null if there is no match. */
  next(queries, text, step, query) {
    this.searchText = text;
    const places = this.matches(queries);
    const ordered = step > 0 ? places : places.reverse();
    return ordered.find((at) => (at - (query ?? -1)) * step > 0) ?? ordered[0] ?? null;
  }
}
