/* Keys that move between the buttons of a grid. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { destination } from "../../attnviz/widgets/keyboard.js";

// Seven buttons, three in a row:
//   0 1 2
//   3 4 5
//   6
const to = (key, from, ctrlKey = false) => destination({ key, ctrlKey }, from, 7, 3);

test("arrow keys stay in the row or the column", () => {
  assert.deepEqual(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"].map((key) => to(key, 4)), [3, 5, 1, 4]);
  assert.deepEqual(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"].map((key) => to(key, 3)), [3, 4, 0, 6]);
  assert.deepEqual(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"].map((key) => to(key, 6)), [6, 6, 3, 6]);
});

test("Home and End move to the ends of the row, and with Ctrl to the ends of the grid", () => {
  assert.deepEqual([to("Home", 4), to("End", 4), to("End", 6)], [3, 5, 6]);
  assert.deepEqual([to("Home", 4, true), to("End", 4, true)], [0, 6]);
  assert.deepEqual([destination({ key: "End" }, 1, 7, 1), destination({ key: "Home" }, 5, 7, 1)], [6, 0]);
});

test("other keys have no destination", () => assert.equal(to("a", 4), null));
