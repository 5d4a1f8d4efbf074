/* How numbers are written. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { brief, enoughDigits, fixed, percent, strongest, written } from "../../attnviz/widgets/numbers.js";

test("a minus is a minus sign, and nothing is −0.00", () => {
  assert.deepEqual([fixed(-1.234), fixed(-0.001), fixed(2.5, 1)], ["−1.23", "0.00", "2.5"]);
});

test("a share is never 0 % if it is something, nor 100 % if it is not all", () => {
  const texts = [0, 0.0004, 0.0005, 0.664, 0.9994, 0.9996, 1].map(percent);
  const expected = ["0.0 %", "< 0.1 %", "0.1 %", "66.4 %", "99.9 %", "> 99.9 %", "100.0 %"];
  assert.deepEqual(texts.map((text) => text.replaceAll("\u202f", " ")), expected);
});

test("shares, scores and changes have their own units", () => {
  /** @type {import("../../attnviz/widgets/numbers.js").Unit[]} */
  const units = ["percent", "score", "signed percent"];
  assert.deepEqual(units.map((unit) => written(0.664, unit)), ["66.4 %", "0.66", "+66.4 pp"]);
  assert.deepEqual(units.map((unit) => written(-0.664, unit)), ["−66.4 %", "−0.66", "−66.4 pp"]);
  assert.deepEqual(units.map((unit) => brief(0.664, unit)), ["66 %", "0.66", "+66 pp"]);
});

test("so many decimals that the printed operands give the printed result", () => {
  // 0.344 + 0.344 = 0.688: with two decimals one would get 0.68, and 0.69 is printed.
  assert.equal(enoughDigits([0.344, 0.344], 2, (a, b) => fixed(a + b) === fixed(0.688)), 3);
});

test("the strongest is the furthest from 0", () => assert.equal(strongest([1, -3, 2]), 1));
