/* thumbnails: downsampling of large matrices. */

const MAX_SIDE = 32; // pixels along a side of a thumbnail

/** Returns the rank of each level by strength; all ranks differ, and masked cells (255) have the lowest rank. */
function strengths(kind) {
  return Uint16Array.from({ length: 256 }, (_, level) => {
    if (level === 255) return 0;
    if (kind === "sequential") return level + 1;
    return 2 * Math.abs(level - 127) + (level < 127 ? 1 : 2);
  });
}

/** Returns the boundaries of `count` nearly equal blocks of `length` cells. */
const edges = (length, count) =>
  Array.from({ length: count + 1 }, (_, at) => Math.floor((at * length) / count));

/** @typedef {{ values: Uint8Array, shape: number[] }} Pictures levels [head, query, key] */

/**
 * Returns thumbnails [head, query, key] of at most 32 × 32 pixels. Each pixel is the strongest level of its block, as
 * in `thumbnails` of analysis/picture.py.
 * @param {Pictures} pictures
 * @param {"sequential" | "diverging"} kind
 */
export function pooled(pictures, kind) {
  const { values, shape } = pictures;
  const [heads, rows, columns] = shape;
  const [height, width] = [Math.min(rows, MAX_SIDE), Math.min(columns, MAX_SIDE)];
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
