/* file: opens a report with the data in its HTML file. */

import { applyTheme, Report } from "./report.js";

/** Decodes gzipped float32 numbers in base64. */
async function unpack(text) {
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length);
  for (let at = 0; at < characters.length; at++) bytes[at] = characters.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Float32Array(await new Response(stream).arrayBuffer());
}

async function start() {
  if (!("DecompressionStream" in window)) {
    document.getElementById("report").textContent = "This page needs a browser from 2023 or later.";
    return;
  }
  const facts = JSON.parse(document.getElementById("facts").textContent);
  applyTheme(facts.theme);
  const numbers = await unpack(document.getElementById("numbers").textContent);
  applyTheme(facts.theme); // again: the theme may have changed before the report listens for changes
  new Report(facts, numbers);
  document.documentElement.dataset.drawn = String(performance.now());
}

start();
