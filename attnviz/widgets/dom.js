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

/** Whether the visitor points with a finger, which cannot hover. */
export const byFinger = () => matchMedia("(hover: none)").matches;

/**
 * A line of a table.
 * @param {...(Node | string | number)} cells
 */
export const tr = (...cells) => element("tr", {}, ...cells);

/**
 * A table of lines: its headings, its body, and what stands below.
 * @param {{ caption?: string, head: Node[], body: Node[], foot?: Node[] }} parts the caption is for those who do not
 *   see the table
 * @param {{ [name: string]: any }} [attributes]
 */
export const table = ({ caption, head, body, foot }, attributes) =>
  element(
    "table",
    attributes,
    ...(caption ? [element("caption", { class: "hidden", text: caption })] : []),
    element("thead", {}, ...head),
    element("tbody", {}, ...body),
    ...(foot ? [element("tfoot", {}, ...foot)] : []),
  );

/**
 * A bar in its track.
 * @param {number} share of the track that it fills, 0 to 1
 */
export const bar = (share) =>
  element("span", { class: "bar" }, element("span", { style: `width:${100 * share}%` }));

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
 * Where the pointer is in a node, in the node's own pixels: a projector's view is zoomed.
 * @param {{ clientX: number, clientY: number }} event
 * @param {HTMLElement} node
 */
function placeUnder({ clientX, clientY }, node) {
  const { left, top, width } = node.getBoundingClientRect();
  const zoom = width / node.offsetWidth || 1;
  return { x: (clientX - left) / zoom, y: (clientY - top) / zoom };
}

/**
 * Where a node, or a range of letters, stands in another one, in the latter's own pixels.
 * @param {Element | Range} node
 * @param {HTMLElement} stage
 */
export function boxIn(node, stage) {
  const { left, top, right, bottom } = node.getBoundingClientRect();
  const from = placeUnder({ clientX: left, clientY: top }, stage);
  const to = placeUnder({ clientX: right, clientY: bottom }, stage);
  return { ...from, width: to.x - from.x, height: to.y - from.y };
}

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

/**
 * The text, if it has right-to-left letters, between marks that keep them from reordering what is beside it: for
 * attributes and pictures, where no <bdi> can be; as in attnviz/text.py.
 * @param {string} text
 */
export const isolated = (text) =>
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Samaritan}\p{Script=Mandaic}]/u.test(text)
    ? `\u2068${text}\u2069`
    : text;

/** Whether the page is just being printed; app/components/printing.js says so. */
export const onPaper = () => "paper" in document.documentElement.dataset;
