/* file: opens a report with what its own file holds. */

import { colour, Report } from "./report.js";

/** Decodes a base64 text of gzipped float32. */
async function unpacked(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) bytes[at] = letters.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Float32Array(await new Response(stream).arrayBuffer());
}

async function start() {
  if (!("DecompressionStream" in window)) {
    document.getElementById("report").textContent = "This page needs a browser of 2023 or later.";
    return;
  }
  const facts = JSON.parse(document.getElementById("facts").textContent);
  colour(facts.theme);
  const numbers = await unpacked(document.getElementById("numbers").textContent);
  colour(facts.theme); // it may have changed meanwhile, and only from here on is that heard
  new Report(facts, numbers);
  document.documentElement.dataset.drawn = String(performance.now());
}

start();
