/* What is typed, compared and saved in a room. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { csvOf } from "../../attnviz/app/classroom/poll.js";
import { codeOf, inOrder } from "../../attnviz/app/classroom/room.js";

test("a code is typed in any case and with spaces", () => {
  assert.equal(codeOf(" abc-2 De"), "ABC2DE");
});

test("two links are the same in whatever order they name their choices", () => {
  assert.equal(inOrder("b=2+x&a=1&b=1"), inOrder("a=1&b=2%20x&b=1"));
  assert.notEqual(inOrder("a=1"), inOrder("a=1&b="));
});

test("results as a table, whatever a question holds", () => {
  const once = { question: 'Is "it"\nthe dog?', options: ["Yes, it is", "No"], counts: [3, 1], before: null, right: 0 };
  const twice = { question: "Who?", options: ["=a;+1", "b"], counts: [0, 4], before: [2, 2], right: null };
  assert.equal(
    csvOf([once, twice]),
    '"question","option","votes","second vote","right"\r\n' +
      '"Is ""it""\nthe dog?","Yes, it is","3","","yes"\r\n"Is ""it""\nthe dog?","No","1","",""\r\n' +
      `"Who?","'=a;'+1","2","0",""\r\n"Who?","b","2","4",""\r\n`,
  );
});
