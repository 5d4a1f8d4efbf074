/* Rows with nearly all of their weight on hidden tokens. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { markFaintRows } from "../../attnviz/widgets/faint.js";

const limit = { hidden: "[CLS] and [SEP]", min_kept: 0.1 };
const queries = ["the", "dog", "saw"].map((label) => ({ label, name: label, title: `token: ${label}`, special: false }));

test("rows with little weight on shown tokens are marked, with a note", () => {
  const [the, dog, saw] = markFaintRows(queries, [{ number: 3, left: [0.00001, 0.1, 0.03125] }], limit);
  assert.deepEqual([the.label, dog.label, saw.label], ["the *", "dog", "saw *"]);
  assert.equal(the.rowNote, "> 99.9\u00a0% of this row’s weight is on [CLS] and [SEP]");
  assert.equal(saw.title, `token: saw; ${saw.rowNote}`);
  assert.equal(dog, queries[1]);
});

test("with several heads, the note names each head", () => {
  const heads = [{ number: 3, left: [0.5, 0.05, 1] }, { number: 7, left: [1, 0.075, 1] }];
  const [the, dog] = markFaintRows(queries, heads, limit);
  assert.deepEqual([the, dog.label], [queries[0], "dog *"]);
  const notes = "in head 3 95.0\u00a0% of this row’s weight is on [CLS] and [SEP]; in head 7 92.5\u00a0% of this row’s weight is on [CLS] and [SEP]";
  assert.equal(dog.rowNote, notes);
});
