/* Colours of roles and levels. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath, URL } from "node:url";
import { levelOf, ROLES, Theme, valueAt } from "../../attnviz/widgets/palette.js";

const hex = (rgb) => `#${rgb.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
const theme = (background) => new Theme({ background, text: [0, 0, 0], primary: [0, 0, 0], font: "" });

test("style sheets and pictures have the same colours for query, key, value and weights", () => {
  const sheet = readFileSync(fileURLToPath(new URL("../../attnviz/widgets/shared.css", import.meta.url)), "utf8");
  for (const role of ["query", "key", "value", "weights"]) {
    const [light, dark] = ROLES[role].map(hex);
    assert.ok(sheet.includes(`--${role}: light-dark(${light}, ${dark});`), role);
  }
  assert.deepEqual([theme([255, 255, 255]).role("key"), theme([14, 17, 23]).role("key")], ROLES.key);
});

test("a heatmap has the same colours as other pictures, in ten equal steps", () => {
  const sheet = readFileSync(fileURLToPath(new URL("../../.streamlit/config.toml", import.meta.url)), "utf8");
  const listed = [...sheet.matchAll(/chartSequentialColors = \[\s*(.*),\s*\]/g)].map((match) => match[1]);
  const steps = [[255, 255, 255], [15, 16, 22]].map((background) => {
    const levels = theme(background).levels("sequential");
    return Array.from({ length: 10 }, (_, at) => `"${hex(levels[Math.round((254 * at) / 9)])}"`).join(", ");
  });
  assert.deepEqual(listed, steps);
});

test("a larger weight is always further from the background", () => {
  for (const background of [[255, 255, 255], [14, 17, 23]]) {
    const { dark, ...colours } = theme(background);
    const levels = theme(background).levels("sequential").map((rgb) => 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]);
    assert.deepEqual([levels.length, colours.background], [255, background]);
    for (let at = 8; at < 255; at += 8) assert.equal(levels[at] > levels[at - 8], dark, `level ${at}`);
  }
});

test("levels grow with the square root of the absolute value, for weights and for changes", () => {
  assert.deepEqual([0, 0.0625, 0.25, 1, 1.0001, NaN].map((value) => levelOf(value, "sequential")), [0, 64, 127, 254, 254, 255]);
  assert.deepEqual([-8, -2, 0, 2, 8].map((value) => levelOf(value, "diverging", 8)), [0, 64, 127, 191, 254]);
  assert.deepEqual([0, 0.5, 1].map((place) => valueAt(place, "sequential", 0.8)), [0, 0.2, 0.8]);
  assert.deepEqual([0, 0.25, 0.5, 1].map((place) => valueAt(place, "diverging", 8)), [-8, -2, 0, 8]);
});
