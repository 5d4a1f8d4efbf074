/* Room codes, and comparison of links. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { codeOf, sortedQuery } from "../../attnviz/app/classroom/room.js";

test("codes can be typed in lower case and with spaces", () => {
  assert.equal(codeOf(" abc-2 De"), "ABC2DE");
});

test("links with the same parameters in a different order are equal", () => {
  assert.equal(sortedQuery("b=2+x&a=1&b=1"), sortedQuery("a=1&b=2%20x&b=1"));
  assert.notEqual(sortedQuery("a=1"), sortedQuery("a=1&b="));
});
