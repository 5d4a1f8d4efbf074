/* Choices that Python has not confirmed yet are kept. */

import assert from "node:assert/strict";
import { performance } from "node:perf_hooks";
import { test } from "node:test";
import { Choice, pendingChoices } from "../../attnviz/widgets/selection.js";

test("the confirmation of an earlier choice does not undo a later choice", () => {
  const choice = new Choice();
  choice.receive({ head: 1 });
  choice.choose({ head: 2 });
  choice.choose({ head: 3 });
  choice.receive({ head: 2 });
  assert.deepEqual([choice.value, choice.confirmed], [{ head: 3 }, false]);
  choice.receive({ head: 3 });
  assert.deepEqual([choice.value, choice.confirmed], [{ head: 3 }, true]);
});

test("a value that was not chosen here replaces the choice", () => {
  const choice = new Choice();
  choice.choose({ head: 2 });
  choice.receive({ head: 5 });
  assert.deepEqual([choice.value, choice.confirmed], [{ head: 5 }, true]);
});

test("a choice that is not confirmed is forgotten after five seconds", (context) => {
  let now = 0;
  context.mock.method(performance, "now", () => now);
  const choice = new Choice();
  choice.choose({ head: 2 });
  choice.choose({ head: 3 });
  now = 5001;
  choice.receive({ head: 2 });
  assert.deepEqual(choice.value, { head: 2 });
});

test("a message includes the unconfirmed choices of other widgets", () => {
  const [heads, tokens] = [new Choice("heads"), new Choice("tokens")];
  heads.receive({ heads: [1] });
  tokens.receive({ query: 0 });
  assert.deepEqual(pendingChoices("heads"), {});
  heads.choose({ heads: [2] });
  tokens.choose({ query: 7 });
  assert.deepEqual(pendingChoices("heads"), { also: { query: 7 } });
  tokens.receive({ query: 7 });
  assert.deepEqual(pendingChoices("heads"), {});
});
