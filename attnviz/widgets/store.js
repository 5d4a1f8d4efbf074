/* store: keeps arrays from Python in window.attnviz, and notifies the widgets of new arrays. */

/**
 * @typedef {object} ArraySet arrays of one message
 * @property {{ [name: string]: any }} facts metadata of the arrays, as JSON values
 * @property {{ [name: string]: { shape: number[], values: Uint8Array | Float32Array | Float64Array } }} arrays
 * @property {string} [id]
 * @property {string} [key] name that a set shares with the set that replaces it
 * @property {ShadowRoot} [owner] the store that keeps them
 */

/**
 * Returns the sets of arrays of all stores, by id.
 * @returns {Map<string, ArraySet>}
 */
export function allData() {
  window.attnviz ??= new Map();
  return window.attnviz;
}

const MAX_SETS = 2; // per key: the set on screen and the set that replaces it

function unpack(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const start = 4 + view.getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, start)));
  const arrays = {};
  for (const { name, dtype, shape, offset, length } of header.arrays) {
    // Copied, because float32 needs an aligned offset, and so that the message can be freed.
    const { buffer } = bytes.slice(start + offset, start + offset + length);
    arrays[name] = { shape, values: dtype === "float32" ? new Float32Array(buffer) : new Uint8Array(buffer) };
  }
  return { id: header.id, key: header.key, facts: header.facts, arrays };
}

/** @param {{ parentElement: ShadowRoot, data: Uint8Array }} message */
export default function ({ parentElement, data }) {
  /** @type {HTMLElement} */ (parentElement.host).style.display = "none";
  // Taken out of the layout, which would otherwise have a gap above this invisible element.
  const container = /** @type {HTMLElement} */ (
    parentElement.host.closest('[data-testid="stElementContainer"]')
  );
  if (container) container.style.position = "absolute";
  const set = unpack(data);
  const sets = allData();
  const known = sets.get(set.id);
  sets.delete(set.id); // moves it to the end
  sets.set(set.id, { ...(known ?? set), owner: parentElement });
  const older = [...sets].filter(([, { key }]) => key === set.key).slice(0, -MAX_SETS);
  for (const [id] of older) sets.delete(id);
  if (!known) window.dispatchEvent(new CustomEvent("attnviz:data", { detail: { id: set.id } }));
  return () => {
    for (const [id, { owner }] of sets) if (owner === parentElement) sets.delete(id);
  };
}
