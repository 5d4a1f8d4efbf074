/* How numbers are written. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { brief, enoughDigits, fixed, percent, rounded, scoreDigits, strongest, sumDigits, written } from "../../attnviz/widgets/numbers.js";

test("a minus is a minus sign, and nothing is −0.00", () => {
  assert.deepEqual([fixed(-1.234), fixed(-0.001), fixed(2.5, 1)], ["−1.23", "0.00", "2.5"]);
});

test("a share is never 0 % if it is something, nor 100 % if it is not all", () => {
  const shares = [0, 0.0004, 0.0005, 0.664, 0.9994, 0.9996, 1];
  const expected = ["0.0 %", "< 0.1 %", "0.1 %", "66.4 %", "99.9 %", "> 99.9 %", "100.0 %"];
  assert.deepEqual(shares.map((share) => percent(share)), expected);
  assert.deepEqual(shares.map((share) => written(share, "percent")), expected);
  const whole = ["0 %", "< 1 %", "< 1 %", "66 %", "> 99 %", "> 99 %", "100 %"];
  assert.deepEqual(shares.map((share) => brief(share, "percent")), whole);
});

test("shares, scores and changes have their own units", () => {
  /** @type {import("../../attnviz/widgets/numbers.js").Unit[]} */
  const units = ["percent", "score", "signed percent"];
  assert.deepEqual(units.map((unit) => written(0.664, unit)), ["66.4 %", "0.66", "+66.4 points"]);
  assert.deepEqual(units.map((unit) => written(-0.664, unit)), ["−66.4 %", "−0.66", "−66.4 points"]);
  assert.deepEqual(units.map((unit) => brief(0.664, unit)), ["66 %", "0.66", "+66 points"]);
});

test("so many decimals that the printed operands give the printed result", () => {
  // 0.344 + 0.344 = 0.688: with two decimals one would get 0.68, and 0.69 is printed.
  assert.equal(enoughDigits([0.344, 0.344], 2, (a, b) => fixed(a + b) === fixed(0.688)), 3);
});

test("e to the power of the printed scores is the printed exponential", () => {
  const scores = [3.4853, 3.8561, -2.7734, 0.9999];
  const largest = Math.max(...scores);
  const row = scores.map((score) => ({ score, exponential: Math.exp(score - largest), digits: 4 }));
  const at = (of) => row.map(({ score }) => fixed(Math.exp(rounded(score, of) - rounded(largest, of)), 4));
  const printed = row.map(({ exponential }) => fixed(exponential, 4));
  const of = scoreDigits(row, largest, 2);
  assert.notDeepEqual(at(2), printed); // e^(3.49 − 3.86) is .6907, and .6902 is printed
  assert.deepEqual(at(of), printed);
  assert.notDeepEqual(at(of - 1), printed);
});

test("printed terms add up to the printed sum", () => {
  assert.deepEqual(sumDigits([0.25, 0.5], 0.75, 3), [4, 3]);
  // 0.0000144 four times is 0.0000576: with five decimals one would get 0.0000, and 0.0001 is printed.
  assert.deepEqual(sumDigits(Array(4).fill(0.0000144), 0.0000576, 4), [6, 4]);
});

test("the strongest is the furthest from 0", () => assert.equal(strongest([1, -3, 2]), 1));
