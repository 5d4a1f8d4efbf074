/* bert: a forward pass of BERT that records the vectors and weights of each head. Dot products are in float64. The Python version
   is in attnviz/transformer/. */

/**
 * @typedef {{ rows: number, columns: number, values: Int16Array | Float32Array, scales: Float32Array }} Matrix
 *   weight[row, column] = value × the row's scale
 * @typedef {{ [name: string]: Matrix | Float32Array }} Tensors by the names in attnviz/site/weights.py
 * @typedef {{ weights: Float32Array, query: Float32Array, key: Float32Array, value: Float32Array }} Pass
 *   weights: [layer, head, query, key]; query, key and value: [layer, head, token, dimension]
 */

/**
 * Runs BERT on the embeddings of a text.
 * @param {Tensors} tensors
 * @param {{ layers: number, heads: number, epsilon: number }} sizes
 * @param {Float32Array[]} words the embedding of each token
 * @param {ArrayLike<number> | null} [allowed] the mask of all heads, [query, key]: 0 where a query must not attend
 * @returns {Pass}
 */
export function forward(tensors, { layers, heads, epsilon }, words, allowed = null) {
  const count = words.length;
  const width = words[0].length;
  const size = width / heads;
  /** @type {any} */
  const parameters = tensors;
  const norm = (x, name) => layerNorm(x, parameters[`${name}.weight`], parameters[`${name}.bias`], epsilon);
  const apply = (x, name) => linear(x, count, parameters[`${name}.weight`], parameters[`${name}.bias`]);
  const states = new Float32Array(count * width);
  words.forEach((word, at) => {
    const { values, scales } = parameters.positions;
    for (let k = 0; k < width; k++) states[at * width + k] = word[k] + values[at * width + k] * scales[at];
  });
  let x = norm(states, "norm");
  /** @type {any} */
  const pass = { weights: new Float32Array(layers * heads * count * count) };
  for (const name of ["query", "key", "value"]) pass[name] = new Float32Array(layers * count * width);
  for (let layer = 0; layer < layers; layer++) {
    for (const name of ["query", "key", "value"]) {
      const projected = apply(x, `${layer}.${name}`);
      for (let at = 0; at < projected.length; at++) {
        const head = Math.floor((at % width) / size);
        const token = Math.floor(at / width);
        pass[name][((layer * heads + head) * count + token) * size + (at % size)] = projected[at];
      }
    }
    const outputs = attend(pass, layer, heads, count, size, allowed);
    if (layer + 1 === layers) break; // the output of the last layer is not used
    x = norm(sum(x, apply(outputs, `${layer}.output`)), `${layer}.attention_norm`);
    const inner = apply(x, `${layer}.expand`).map(gelu);
    x = norm(sum(x, apply(inner, `${layer}.contract`)), `${layer}.norm`);
  }
  return pass;
}

/** Writes the weights of a layer into `weights`; returns the head outputs, [token, head × dimension]. */
function attend({ weights, query, key, value }, layer, heads, count, size, allowed) {
  const outputs = new Float32Array(count * heads * size);
  const row = new Float64Array(count);
  for (let head = 0; head < heads; head++) {
    const first = (layer * heads + head) * count;
    for (let i = 0; i < count; i++) {
      let largest = -Infinity;
      for (let j = 0; j < count; j++) {
        let score = 0;
        for (let k = 0; k < size; k++) score += query[(first + i) * size + k] * key[(first + j) * size + k];
        row[j] = !allowed || allowed[i * count + j] ? score / Math.sqrt(size) : -Infinity;
        largest = Math.max(largest, row[j]);
      }
      let total = 0;
      for (let j = 0; j < count; j++) total += row[j] = Math.exp(row[j] - largest);
      for (let j = 0; j < count; j++) {
        const weight = row[j] / total;
        weights[(first + i) * count + j] = weight;
        for (let k = 0; k < size; k++) outputs[(i * heads + head) * size + k] += weight * value[(first + j) * size + k];
      }
    }
  }
  return outputs;
}

/** Returns x · Wᵀ + b, [token, row]. Computes two rows for four tokens at a time, so that eight sums stay in registers. */
function linear(x, count, { rows, columns, values, scales }, bias) {
  const y = new Float32Array(count * rows);
  for (let row = 0; row < rows; row += 2) {
    const [upper, lower] = [row * columns, (row + 1) * columns];
    for (let token = 0; token < count; token += 4) {
      const [one, two, three, four] = [0, 1, 2, 3].map((next) => Math.min(token + next, count - 1) * columns);
      let a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
      for (let k = 0; k < columns; k++) {
        const above = values[upper + k];
        const below = values[lower + k];
        const p = x[one + k];
        const q = x[two + k];
        const r = x[three + k];
        const s = x[four + k];
        a += above * p;
        b += above * q;
        c += above * r;
        d += above * s;
        e += below * p;
        f += below * q;
        g += below * r;
        h += below * s;
      }
      const sums = [a, b, c, d, e, f, g, h];
      for (let next = 0; next < 4 && token + next < count; next++) {
        const at = (token + next) * rows + row;
        y[at] = sums[next] * scales[row] + bias[row];
        y[at + 1] = sums[4 + next] * scales[row + 1] + bias[row + 1];
      }
    }
  }
  return y;
}

/** Normalizes each token's vector to mean 0 and variance 1, then scales and shifts it. */
function layerNorm(x, weight, bias, epsilon) {
  const width = weight.length;
  const y = new Float32Array(x.length);
  for (let from = 0; from < x.length; from += width) {
    let [mean, variance] = [0, 0];
    for (let k = 0; k < width; k++) mean += x[from + k] / width;
    for (let k = 0; k < width; k++) variance += (x[from + k] - mean) ** 2 / width;
    const scale = 1 / Math.sqrt(variance + epsilon);
    for (let k = 0; k < width; k++) y[from + k] = (x[from + k] - mean) * scale * weight[k] + bias[k];
  }
  return y;
}

const sum = (x, y) => x.map((value, at) => value + y[at]);

/** Returns x Φ(x); Φ by formula 7.1.26 of Abramowitz & Stegun (1964), with an error of at most 1e-7. */
function gelu(x) {
  const z = Math.abs(x) / Math.SQRT2;
  const t = 1 / (1 + 0.3275911 * z);
  const tail = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  const beyond = (tail * Math.exp(-z * z)) / 2;
  return x * (x < 0 ? beyond : 1 - beyond);
}
