/* dom: creates elements and measures them. */

/**
 * Creates an element. Text is set as textContent, never parsed as HTML, because visitors type it.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {{ [name: string]: any }} [attributes] `text` sets the content, on… a handler; null, undefined and false are
 *   omitted
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

/** Returns whether the pointer cannot hover, as on a touch screen. */
export const isTouchScreen = () => matchMedia("(hover: none)").matches;

/**
 * Creates a table row.
 * @param {...(Node | string | number)} cells
 */
export const tr = (...cells) => element("tr", {}, ...cells);

/**
 * Creates a table with a head, a body and, if given, a foot.
 * @param {{ caption?: string, head: Node[], body: Node[], foot?: Node[] }} parts the caption is for screen
 *   readers
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
 * Creates a bar in its track.
 * @param {number} share the filled fraction of the track, 0 to 1
 */
export const bar = (share) =>
  element("span", { class: "bar" }, element("span", { style: `width:${100 * share}%` }));

/**
 * Creates an SVG element.
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
 * Returns the pointer's position in a node, in the node's own pixels, because the teacher's view is zoomed.
 * @param {{ clientX: number, clientY: number }} event
 * @param {HTMLElement} node
 */
function pointIn({ clientX, clientY }, node) {
  const { left, top, width } = node.getBoundingClientRect();
  const zoom = width / node.offsetWidth || 1;
  return { x: (clientX - left) / zoom, y: (clientY - top) / zoom };
}

/**
 * Returns the box of a node or of a range of letters within another node, in the latter's own pixels.
 * @param {Element | Range} node
 * @param {HTMLElement} stage
 */
export function boxIn(node, stage) {
  const { left, top, right, bottom } = node.getBoundingClientRect();
  const from = pointIn({ clientX: left, clientY: top }, stage);
  const to = pointIn({ clientX: right, clientY: bottom }, stage);
  return { ...from, width: to.x - from.x, height: to.y - from.y };
}

/**
 * Returns the cell under the pointer in a grid that fills a node; outside the node, the nearest cell.
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
 * Encloses a text with right-to-left letters in Unicode isolates, so that it does not reorder adjacent text. Used for
 * attributes and pictures, which cannot contain <bdi>; as in attnviz/text.py.
 * @param {string} text
 */
export const isolated = (text) =>
  /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Samaritan}\p{Script=Mandaic}]/u.test(text)
    ? `\u2068${text}\u2069`
    : text;

/** Returns whether the page is being printed, as recorded by app/components/printing.js. */
export const onPaper = () => "paper" in document.documentElement.dataset;
