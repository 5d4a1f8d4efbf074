/* Thumbnails of large pictures; a browser test compares them with Python's thumbnails. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { pooled } from "../../attnviz/widgets/thumbnails.js";

const blocks = [
  [[127, 128, 126], 128],
  [[127, 254, 0], 254],
  [[130, 123, 255], 123],
  [[255, 127, 255], 127],
];
for (const [cells, strongest] of blocks) {
  test(`a block shows its largest increase or decrease: ${cells}`, () => {
    // 33 × 96 cells, in blocks of 3 columns.
    const values = Uint8Array.from({ length: 33 * 96 }, (_, at) => cells[at % 3]);
    const small = pooled({ values, shape: [1, 33, 96] }, "diverging");
    assert.deepEqual(small.shape, [1, 32, 32]);
    assert.deepEqual(new Set(small.values), new Set([strongest]));
  });
}

test("a small picture is returned unchanged", () => {
  const picture = { values: new Uint8Array(6), shape: [1, 2, 3] };
  assert.equal(pooled(picture, "sequential"), picture);
});
