/* dom: makes elements; text only ever becomes text. */

/**
 * A new element. Text only ever becomes textContent: tokens are what a visitor typed.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {{ [name: string]: any }} [attributes] `text` becomes the content, on… a handler; null, undefined and false
 *   are left out
 * @param {...(Node | string | number)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") node.textContent = value;
    else if (name.startsWith("on")) node[name] = value;
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(.../** @type {(Node | string)[]} */ (children));
  return node;
}

/**
 * A new element of a picture in SVG.
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {{ [name: string]: any }} attributes
 * @param {...(Node | string)} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function drawing(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/**
 * An SVG that is stretched over its place.
 * @param {string} name its class
 * @param {number[]} box its own coordinates: left, top, width and height
 * @param {...Node} children
 */
export const stretched = (name, box, ...children) =>
  drawing(
    "svg",
    { class: name, viewBox: box.join(" "), preserveAspectRatio: "none", "aria-hidden": "true" },
    ...children,
  );

/**
 * Which cell of a grid that fills a node is under the pointer; the nearest, where the pointer is outside of it.
 * @param {{ clientX: number, clientY: number }} event
 * @param {Element} node
 * @param {number} rows
 * @param {number} columns
 */
export function cellUnder({ clientX, clientY }, node, rows, columns) {
  const { left, top, width, height } = node.getBoundingClientRect();
  const index = (part, count) => Math.max(0, Math.min(count - 1, Math.floor(part * count)));
  return { row: index((clientY - top) / height, rows), column: index((clientX - left) / width, columns) };
}
