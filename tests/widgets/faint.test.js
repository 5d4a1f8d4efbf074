/* Rows of which hardly anything is left. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { marked } from "../../attnviz/widgets/faint.js";

const limit = { hidden: "[CLS] and [SEP]", min_kept: 0.1 };
const queries = ["the", "dog", "saw"].map((label) => ({ label, name: label, title: `token: ${label}`, special: false }));

test("rows that went to hidden tokens are marked, and say so", () => {
  const [the, dog, saw] = marked(queries, [{ number: 3, left: [0.00001, 0.1, 0.03125] }], limit);
  assert.deepEqual([the.label, dog.label, saw.label], ["the *", "dog", "saw *"]);
  assert.equal(the.aside, "> 99.9 % of this row went to [CLS] and [SEP]");
  assert.equal(saw.title, `token: saw; ${saw.aside}`);
  assert.equal(dog, queries[1]);
});

test("of several heads, each says it for itself", () => {
  const heads = [{ number: 3, left: [0.5, 0.05, 1] }, { number: 7, left: [1, 0.075, 1] }];
  const [the, dog] = marked(queries, heads, limit);
  assert.deepEqual([the, dog.label], [queries[0], "dog *"]);
  const told = "in head 3 95.0 % of this row went to [CLS] and [SEP]; in head 7 92.5 % of this row went to [CLS] and [SEP]";
  assert.equal(dog.aside, told);
});
