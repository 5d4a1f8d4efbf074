/* model: runs the site's model in Node.js on the input that test_model.py writes, and prints JSON. */

import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import console from "node:console";
import { tracesOf, weightSteps } from "../../attnviz/site/reading.js";
import { Model } from "../../attnviz/site/worker.js";
import { WordPiece } from "../../attnviz/site/wordpiece.js";

const { folder, texts, floats, only_tokens: onlyTokens, weights, chosen, mask } = JSON.parse(readFileSync(process.argv[2], "utf8"));

const bytes = (name) => new Uint8Array(readFileSync(name)).buffer;
const vocabulary = readFileSync(`${folder}/vocab.txt`, "utf8").trimEnd().split("\n");

/** Replaces the model's quantized weights with the exact weights from a file. */
function loadExactWeights(model) {
  const numbers = new Float32Array(bytes(floats));
  let at = 0;
  const take = (count) => numbers.subarray(at, (at += count));
  const matrix = (rows, columns) => ({ rows, columns, values: take(rows * columns), scales: new Float32Array(rows).fill(1) });
  for (const [name, { rows, columns }] of Object.entries(model.manifest.tensors)) {
    model.tensors[name] = columns ? matrix(rows, columns) : take(rows);
  }
  const { vocabulary: count, width, shard_rows: size } = model.manifest;
  for (let first = 0; first < count; first += size) {
    model.shards.set(first / size, Promise.resolve(matrix(Math.min(size, count - first), width)));
  }
}

if (onlyTokens) {
  const tokenizer = new WordPiece(vocabulary);
  console.log(JSON.stringify(texts.map((text) => tokenizer.tokens(text).map(({ id, start, end, special }) => [id, start, end, special]))));
} else {
  const manifest = JSON.parse(readFileSync(`${folder}/manifest.json`, "utf8"));
  const model = new Model(manifest, bytes(`${folder}/weights.bin`), vocabulary, async (name) => bytes(`${folder}/${name}`));
  if (floats) loadExactWeights(model);
  const runs = [];
  for (const text of texts) runs.push(await model.run(text, mask));
  writeFileSync(weights, new Uint8Array(new Float32Array(runs.flatMap((run) => [...run.weights])).buffer));
  const sizes = { model: "", layers: manifest.layers, heads: manifest.heads };
  const traces = runs.map((run) => tracesOf([run], sizes));
  console.log(JSON.stringify({
    traces: traces.map(({ traces: [each], numbers }) => ({ ...each.kinds[0], left: [...numbers.subarray(each.kinds[0].token_views.hidden.left)] })),
    steps: chosen && weightSteps(runs[0], { ...sizes, ...chosen }),
  }));
}
