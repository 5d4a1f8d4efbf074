/* worker: loads and runs the model in the background. */

import { forward } from "./bert.js";
import { WordPiece } from "./wordpiece.js";

const MAX_CHARACTERS = 10_000;

/**
 * @typedef {{
 *   folder: string, tensors: { [name: string]: { at: number, rows: number, columns?: number } }, bytes: number,
 *   layers: number, heads: number, epsilon: number, width: number, max_tokens: number, vocabulary: number,
 *   shard_rows: number
 * }} Manifest the data from attnviz/site/weights.py
 */

/** @type {Promise<Model> | undefined} */
let opened;

/** @type {import("./reading.js").Run[]} the latest results, kept because visitors often change only one sentence */
let latest = [];

/** Returns a file of the model, cached so that it is fetched only once, even before the service worker is active. */
async function fetchFile(folder, name, report = (_bytes) => {}) {
  const url = new URL(`${folder}/${name}`, self.location.href).href;
  const store = self.caches && (await caches.open(folder)); // undefined without HTTPS, except on localhost
  const cached = await store?.match(url);
  if (cached) return cached.arrayBuffer();
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${name}: ${response.status}`);
  const parts = [];
  for (const reader = response.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    report(value.length);
  }
  const content = new Blob(parts);
  await store?.put(url, new Response(content)).catch(() => {}); // the disk may be full
  return content.arrayBuffer();
}

export class Model {
  /**
   * @param {Manifest} manifest
   * @param {ArrayBuffer} weights
   * @param {string[]} vocabulary
   * @param {(name: string) => Promise<ArrayBuffer>} fetchShard fetches a file of embeddings
   */
  constructor(manifest, weights, vocabulary, fetchShard) {
    this.manifest = manifest;
    this.tokenizer = new WordPiece(vocabulary);
    this.fetchShard = fetchShard;
    /** @type {Map<number, Promise<ReturnType<typeof matrix>>>} */
    this.shards = new Map();
    this.tensors = Object.fromEntries(
      Object.entries(manifest.tensors).map(([name, { at, rows, columns }]) => [
        name,
        columns ? matrix(weights, at, rows, columns) : new Float32Array(weights, at, rows),
      ]),
    );
  }

  /** Returns one file of embeddings, for consecutive tokens of the vocabulary. */
  shard(number) {
    const { shard_rows: size, vocabulary, width } = this.manifest;
    if (!this.shards.has(number)) {
      const rows = Math.min(size, vocabulary - number * size);
      const loading = this.fetchShard(`words-${number}.bin`).then((bytes) => matrix(bytes, 0, rows, width));
      loading.catch(() => this.shards.delete(number));
      this.shards.set(number, loading);
    }
    return this.shards.get(number);
  }

  /**
   * Runs the model on a text.
   * @param {string} text
   * @param {string} [mask] "" for none, "causal", or "1" and "0" for each cell, row by row
   * @returns {Promise<import("./reading.js").Run>}
   */
  async run(text, mask = "") {
    const { max_tokens: maxTokens, shard_rows: size, width } = this.manifest;
    if (text.length > MAX_CHARACTERS) throw new RangeError(`This text has more than ${MAX_CHARACTERS} characters. Shorten it and try again.`);
    const tokens = this.tokenizer.tokens(text);
    if (tokens.length === 2) throw new RangeError("The text is empty. Type a sentence, for example: The dog is tired.");
    if (tokens.length > maxTokens) throw new RangeError(`This text has ${tokens.length} tokens; this page reads at most ${maxTokens}. Shorten it and try again.`);
    const words = await Promise.all(
      tokens.map(async ({ id }) => {
        const { values, scales } = await this.shard(Math.floor(id / size));
        const row = id % size;
        return Float32Array.from(values.subarray(row * width, (row + 1) * width), (value) => value * scales[row]);
      }),
    );
    const count = tokens.length;
    const cell = (_, at) => (mask === "causal" ? Number(at % count <= Math.floor(at / count)) : Number(mask[at] ?? 1));
    const allowed = mask ? Array.from({ length: count ** 2 }, cell) : null;
    return { text, mask, allowed, tokens, ...forward(this.tensors, this.manifest, words, allowed) };
  }
}

function matrix(bytes, at, rows, columns) {
  const values = new Int16Array(bytes, at, rows * columns);
  return { rows, columns, values, scales: new Float32Array(bytes, at + values.byteLength, rows) };
}

async function openModel(folder) {
  const manifest = JSON.parse(new TextDecoder().decode(await fetchFile(folder, "manifest.json")));
  let loaded = 0;
  const report = (bytes) => {
    loaded += bytes;
    self.postMessage({ loaded, bytes: manifest.bytes });
  };
  const [vocabulary, weights] = await Promise.all([fetchFile(folder, "vocab.txt", report), fetchFile(folder, "weights.bin", report)]);
  const lines = new TextDecoder().decode(vocabulary).trimEnd().split("\n");
  return new Model(manifest, weights, lines, (name) => fetchFile(folder, name));
}

/** Fetches the remaining files, so that the model can run offline on any sentence. */
async function fetchAll(model) {
  const { vocabulary, shard_rows: size } = model.manifest;
  for (let number = 0; number * size < vocabulary; number++) await model.shard(number);
  self.postMessage({ offline: Boolean(self.caches) });
}

if (typeof self !== "undefined") {
  self.onmessage = async ({ data: { folder, texts, masks = [] } }) => {
    try {
      opened ??= openModel(folder);
      const model = await opened;
      const runs = [];
      for (const [at, text] of texts.entries()) {
        const known = latest.find((run) => run.text === text && run.mask === (masks[at] ?? ""));
        runs.push(known ?? (await model.run(text, masks[at])));
      }
      if (runs.length) latest = runs;
      self.postMessage({ runs, texts, masks });
      if (!texts.length) await fetchAll(model);
    } catch (failure) {
      const error = /** @type {Error} */ (failure);
      if (!(error instanceof RangeError)) opened = undefined;
      const reason = error instanceof RangeError ? error.message : `The model could not be loaded (${error.message}). Check the network and try again.`;
      self.postMessage({ error: reason, texts, masks });
    }
  };
}
