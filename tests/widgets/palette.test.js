/* Colours: of the roles, and of levels. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath, URL } from "node:url";
import { ROLES, Theme } from "../../attnviz/widgets/palette.js";

const theme = (background) => new Theme({ background, text: [0, 0, 0], primary: [0, 0, 0], font: "" });

test("style sheets and pictures have the same colours for query, key, value and weights", () => {
  const sheet = readFileSync(fileURLToPath(new URL("../../attnviz/widgets/shared.css", import.meta.url)), "utf8");
  const hex = (rgb) => `#${rgb.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
  for (const role of ["query", "key", "value", "weights"]) {
    const [light, dark] = ROLES[role].map(hex);
    assert.ok(sheet.includes(`--${role}: light-dark(${light}, ${dark});`), role);
  }
  assert.deepEqual([theme([255, 255, 255]).role("key"), theme([14, 17, 23]).role("key")], ROLES.key);
});

test("a larger weight is always further from the background", () => {
  for (const background of [[255, 255, 255], [14, 17, 23]]) {
    const { dark, ...colours } = theme(background);
    const levels = theme(background).levels("sequential").map((rgb) => 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]);
    assert.deepEqual([levels.length, colours.background], [255, background]);
    for (let at = 8; at < 255; at += 8) assert.equal(levels[at] > levels[at - 8], dark, `level ${at}`);
  }
});
