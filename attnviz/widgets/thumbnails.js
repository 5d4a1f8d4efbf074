/* thumbnails: large pictures of heads made small. */

const SIDE = 32; // the most pixels of a head's picture along a side

/** The strength of each level of a kind of picture; all differ, and masked (255) is the weakest. */
function strengths(kind) {
  return Uint16Array.from({ length: 256 }, (_, level) => {
    if (level === 255) return 0;
    if (kind === "sequential") return level + 1;
    return 2 * Math.abs(level - 127) + (level < 127 ? 1 : 2);
  });
}

/** Returns the start of each of `count` nearly equal blocks of `length` cells, and the end of the last one. */
const edges = (length, count) =>
  Array.from({ length: count + 1 }, (_, at) => Math.floor((at * length) / count));

/** @typedef {{ values: Uint8Array, shape: number[] }} Pictures levels [head, query, key] */

/**
 * Returns pictures [head, query, key] of at most 32 × 32 pixels: every pixel is the strongest level of its
 * block, as in `thumbnails` of analysis/picture.py.
 * @param {Pictures} pictures
 * @param {"sequential" | "diverging"} kind
 */
export function pooled(pictures, kind) {
  const { values, shape } = pictures;
  const [heads, rows, columns] = shape;
  const [height, width] = [Math.min(rows, SIDE), Math.min(columns, SIDE)];
  if (height === rows && width === columns) return pictures;
  const strength = strengths(kind);
  const [tops, lefts] = [edges(rows, height), edges(columns, width)];
  const small = new Uint8Array(heads * height * width);
  for (let to = 0; to < small.length; to++) {
    const first = Math.floor(to / (height * width)) * rows;
    const i = Math.floor(to / width) % height;
    const j = to % width;
    let strongest = 255;
    for (let row = first + tops[i]; row < first + tops[i + 1]; row++) {
      for (let at = row * columns + lefts[j]; at < row * columns + lefts[j + 1]; at++) {
        if (strength[values[at]] > strength[strongest]) strongest = values[at];
      }
    }
    small[to] = strongest;
  }
  return { values: small, shape: [heads, height, width] };
}
