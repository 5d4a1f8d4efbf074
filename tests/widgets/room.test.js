/* What is typed and compared in a room. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { codeOf, sortedQuery } from "../../attnviz/app/classroom/room.js";

test("a code is typed in any case and with spaces", () => {
  assert.equal(codeOf(" abc-2 De"), "ABC2DE");
});

test("two links are the same in whatever order they name their choices", () => {
  assert.equal(sortedQuery("b=2+x&a=1&b=1"), sortedQuery("a=1&b=2%20x&b=1"));
  assert.notEqual(sortedQuery("a=1"), sortedQuery("a=1&b="));
});
