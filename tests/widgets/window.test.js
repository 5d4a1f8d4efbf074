/* Parts of a long text: zooming keeps the given point in place, and every part is inside the text. */

import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.window = /** @type {any} */ ({ addEventListener() {} });
const { blockOf, clampPlace, zoomed } = await import("../../attnviz/widgets/window.js");

test("a part lies inside its text", () => {
  assert.deepEqual(clampPlace({ row: 990, column: -5, span: 64 }, [1000, 1000]), { row: 936, column: 0, span: 64 });
  assert.deepEqual(clampPlace({ row: 0, column: 0, span: Infinity }, [30, 1000]), { row: 0, column: 0, span: 1000 });
  assert.deepEqual(clampPlace({ row: 5, column: 5, span: 1 }, [1000, 1000]), { row: 5, column: 5, span: 16 });
});

test("zooming keeps the given point in place", () => {
  const point = { down: 0.25, across: 0.75 };
  const near = zoomed({ row: 100, column: 200, span: 400 }, 0.5, point);
  assert.deepEqual(near, { row: 150, column: 350, span: 200 });
  assert.deepEqual(zoomed(near, 2, point), { row: 100, column: 200, span: 400 });
});

test("a picture has at most 128 cells per side", () => {
  for (const span of [1, 128, 129, 256, 257, 8192]) assert.ok(Math.ceil(span / blockOf(span)) <= 128);
  assert.equal(blockOf(128), 1);
});
