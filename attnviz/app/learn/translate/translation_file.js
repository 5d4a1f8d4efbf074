/* translation_file: the picture of a translation as a file, on white, as it stands on the screen. */

import { boxIn, drawing } from "../../../widgets/dom.js";
import { ROLES } from "../../../widgets/palette.js";
import { hex, wrapped } from "../../../widgets/pens.js";

const MARGIN = 20; // pixels around everything
const LINE_OF_TEXT = 22; // pixels
const FILE_FONT = "Helvetica, Arial, sans-serif";
const INK = "#1a1c24"; // the pens' black and grey on white
const GREY = "#5b5d6b";
const onWhite = (role) => hex(ROLES[role][0]);

/** How a word looks, by its classes; later classes win. */
const LOOKS = [
  ["special", { colour: GREY }],
  ["later", { colour: GREY, dash: "3 2" }],
  ["stands", { edge: onWhite("key") }],
  ["is-read", { fill: "#efe7fb", weight: 700 }],
  ["asks", { fill: "#efe7fb", weight: 700 }],
  ["chosen", { fill: "#dfe8fb", edge: onWhite("query"), weight: 700 }],
];

/**
 * The text of an SVG file.
 *
 * @param stage the element that holds the words, and `picture`, the drawn lines.
 * @param words the elements of all words.
 * @param headings, captions what stands above the picture.
 */
export function translationFile(stage, picture, words, headings, captions) {
  const broken = (text, size, weight, fill) =>
    wrapped(text, stage.offsetWidth, 1.1 * size, FILE_FONT).map((line) => ({ line, size, weight, fill }));
  const lines = [
    ...headings.flatMap((text) => broken(text, 16, 700, INK)),
    ...captions.flatMap((text) => broken(text, 13, 400, GREY)),
  ];
  const top = MARGIN + lines.length * LINE_OF_TEXT;
  const [width, height] = [stage.offsetWidth + 2 * MARGIN, stage.offsetHeight + top + MARGIN];
  const heading = lines.map(({ line, size, weight, fill }, at) =>
    letters({ x: MARGIN, y: MARGIN + (at + 0.5) * LINE_OF_TEXT, fill, "font-weight": weight }, line, size),
  );
  const boxes = words.map((word) => wordBox(word, boxIn(word, stage)));
  const drawn = picture.cloneNode(true);
  for (const node of drawn.querySelectorAll("path")) node.setAttribute("stroke", onWhite("weights"));
  for (const node of drawn.querySelectorAll("path")) node.setAttribute("fill", "none");
  for (const node of drawn.querySelectorAll("polygon, text")) node.setAttribute("fill", onWhite("weights"));
  for (const node of drawn.querySelectorAll("text")) node.setAttribute("font-size", 12);
  const body = drawing("g", { transform: `translate(${MARGIN} ${top})` }, ...drawn.childNodes, ...boxes);
  const ground = drawing("rect", { width, height, fill: "#ffffff" });
  const size = { width, height, viewBox: `0 0 ${width} ${height}`, "font-family": FILE_FONT };
  const title = drawing("title", {});
  title.textContent = headings.join(" ");
  return new XMLSerializer().serializeToString(drawing("svg", size, title, ground, ...heading, body));
}

function wordBox(word, { x, y, width, height }) {
  const look = { colour: INK, edge: "#d6d7de", fill: "#ffffff", weight: 400, dash: "none" };
  for (const [name, change] of LOOKS) if (word.classList.contains(name)) Object.assign(look, change);
  const shape = { x, y, width, height, rx: 7, fill: look.fill, stroke: look.edge, "stroke-dasharray": look.dash };
  const place = { x: x + width / 2, y: y + height / 2, "text-anchor": "middle", fill: look.colour, "font-weight": look.weight };
  return drawing("g", {}, drawing("rect", shape), letters(place, word.textContent, parseFloat(getComputedStyle(word).fontSize)));
}

function letters(attributes, text, size) {
  const node = drawing("text", { ...attributes, "font-size": size, "dominant-baseline": "central" });
  node.textContent = text;
  return node;
}
