/* A copied link omits some parameters. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { removeParameters } from "../../attnviz/app/components/browsing.js";

test("parameters are removed from a URL", () => {
  const url = "http://10.0.0.1:8501/scale?text=a+b&teacher=true&query=10+it";
  assert.equal(removeParameters(url, ["teacher", "room"]), "http://10.0.0.1:8501/scale?text=a+b&query=10+it");
  assert.equal(removeParameters("about:blank", ["teacher"]), "about:blank");
});
