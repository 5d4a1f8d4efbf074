/* Parameters that a copied link omits. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { removeParameters } from "../../attnviz/app/components/browsing.js";

test("parameters are removed from an address", () => {
  const address = "http://10.0.0.1:8501/scale?text=a+b&teacher=true&query=10+it";
  assert.equal(removeParameters(address, ["teacher", "room"]), "http://10.0.0.1:8501/scale?text=a+b&query=10+it");
  assert.equal(removeParameters("about:blank", ["teacher"]), "about:blank");
});
