/* Formats of numbers. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { formatBrief, fixed, percent, strongestIndex, formatNumber } from "../../attnviz/widgets/numbers.js";

test("numbers have a typographic minus sign and no negative zero", () => {
  assert.deepEqual([fixed(-1.234), fixed(-0.001), fixed(2.5, 1)], ["−1.23", "0.00", "2.5"]);
});

test("only exact 0 and 1 are shown as 0 % and 100 %", () => {
  const shares = [0, 0.0004, 0.0005, 0.664, 0.9994, 0.9996, 1];
  const expected = ["0.0\u00a0%", "< 0.1\u00a0%", "0.1\u00a0%", "66.4\u00a0%", "99.9\u00a0%", "> 99.9\u00a0%", "100.0\u00a0%"];
  assert.deepEqual(shares.map((share) => percent(share)), expected);
  assert.deepEqual(shares.map((share) => formatNumber(share, "percent")), expected);
  const rounded = ["0\u00a0%", "< 1\u00a0%", "< 1\u00a0%", "66\u00a0%", "> 99\u00a0%", "> 99\u00a0%", "100\u00a0%"];
  assert.deepEqual(shares.map((share) => formatBrief(share, "percent")), rounded);
});

test("shares, scores and changes have their own units", () => {
  /** @type {import("../../attnviz/widgets/numbers.js").Unit[]} */
  const units = ["percent", "score", "signed percent"];
  assert.deepEqual(units.map((unit) => formatNumber(0.664, unit)), ["66.4\u00a0%", "0.66", "+66.4 points"]);
  assert.deepEqual(units.map((unit) => formatNumber(-0.664, unit)), ["−66.4\u00a0%", "−0.66", "−66.4 points"]);
  assert.deepEqual(units.map((unit) => formatBrief(0.664, unit)), ["66\u00a0%", "0.66", "+66 points"]);
});

test("the strongest value has the largest absolute value", () => assert.equal(strongestIndex([1, -3, 2]), 1));
