/* A choice that Python has not answered yet stands; an older answer does not undo it. */

import assert from "node:assert/strict";
import { performance } from "node:perf_hooks";
import { test } from "node:test";
import { Choice, unanswered } from "../../attnviz/widgets/selection.js";

test("the answer to an earlier choice does not undo a later one", () => {
  const choice = new Choice();
  choice.tell({ head: 1 });
  choice.choose({ head: 2 });
  choice.choose({ head: 3 });
  choice.tell({ head: 2 });
  assert.deepEqual([choice.value, choice.answered], [{ head: 3 }, false]);
  choice.tell({ head: 3 });
  assert.deepEqual([choice.value, choice.answered], [{ head: 3 }, true]);
});

test("what Python says by itself holds", () => {
  const choice = new Choice();
  choice.choose({ head: 2 });
  choice.tell({ head: 5 });
  assert.deepEqual([choice.value, choice.answered], [{ head: 5 }, true]);
});

test("a choice that is never answered is forgotten after five seconds", (context) => {
  let now = 0;
  context.mock.method(performance, "now", () => now);
  const choice = new Choice();
  choice.choose({ head: 2 });
  choice.choose({ head: 3 });
  now = 5001;
  choice.tell({ head: 2 });
  assert.deepEqual(choice.value, { head: 2 });
});

test("a message repeats what was chosen in another widget and is not answered yet", () => {
  const [heads, tokens] = [new Choice("heads"), new Choice("tokens")];
  heads.tell({ heads: [1] });
  tokens.tell({ query: 0 });
  assert.deepEqual(unanswered("heads"), {});
  heads.choose({ heads: [2] });
  tokens.choose({ query: 7 });
  assert.deepEqual(unanswered("heads"), { also: { query: 7 } });
  tokens.tell({ query: 7 });
  assert.deepEqual(unanswered("heads"), {});
});
