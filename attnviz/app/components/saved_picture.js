/* saved_picture: exports a widget in light colours as SVG or PNG, keeping the positions of shapes and texts. */

import { boxIn, drawing, element } from "../../widgets/dom.js";
import { hex, saveAs, saveButtons, short, wrapLines, replaceInvalid } from "../../widgets/pens.js";

const MARGIN = 20; // margin around the picture, in pixels
const LINE = 20; // line height of title and caption, in pixels
const FONT = "Helvetica, Arial, sans-serif";
const INK = "#1c1c28"; // as in shared.css for print
const GREY = "#5b5d6b";
/** @typedef {{ x: number, y: number, width: number, height: number }} Box in the widget's own pixels */
/** @typedef {{ name: string, title: string, about: string }} FileFacts written by app/saving.py */

/**
 * Adds save buttons to a widget if its message has a file name and it has no save buttons of its own.
 * @param {any} show returned by `widget`
 */
export const withFile = (show) =>
  Object.assign((message) => {
    const close = show(message);
    const { parentElement, data } = message;
    if (data?.file && !parentElement.querySelector(".files")) {
      const buttons = saveButtons((ending) => savePicture(show.viewIn(parentElement), ending));
      parentElement.append(element("div", { class: "saved" }, buttons));
    }
    return close;
  }, show);

/**
 * Downloads the widget's picture, in light colours in any theme.
 * @param {import("../../widgets/widget.js").View<any>} view
 * @param {"png" | "svg"} ending
 */
export function savePicture(view, ending) {
  const { data } = view;
  const title = data.file.title || document.querySelector("h1")?.textContent || "";
  view.receive(data, true);
  const svg = pictureFile(view.root, { ...data.file, title });
  view.receive(data);
  saveAs(ending, svg, data.file.name);
}

/**
 * Returns a picture with its title and caption, as the text of an SVG file.
 * @param {HTMLElement} root
 * @param {FileFacts} facts
 */
export function pictureFile(root, { title, about }) {
  const shapes = shapesOf(root, root);
  const width = Math.max(root.scrollWidth, root.offsetWidth);
  const height = Math.max(root.scrollHeight, root.offsetHeight);
  const lines = (text, size, style) =>
    text ? wrapLines(text, width, 1.1 * size, FONT).map((line) => ({ line, "font-size": size, ...style })) : [];
  const [above, below] = [lines(title, 16, { "font-weight": 700, fill: INK }), lines(about, 12, { fill: GREY })];
  const top = MARGIN + above.length * LINE + 8;
  const textLines = (entries, from) =>
    entries.map(({ line, ...style }, at) => drawing("text", { x: MARGIN, y: from + (at + 0.5) * LINE, ...style }, line));
  const size = { width: Math.ceil(width + 2 * MARGIN), height: Math.ceil(top + height + 8 + below.length * LINE + MARGIN) };
  const svg = drawing(
    "svg",
    { ...size, viewBox: `0 0 ${size.width} ${size.height}`, "font-family": FONT, role: "img" },
    drawing("title", {}, `${title}. ${about}`),
    drawing("rect", { width: size.width, height: size.height, fill: "#ffffff" }),
    ...textLines(above, MARGIN),
    drawing("g", { transform: `translate(${MARGIN} ${top})` }, ...shapes),
    ...textLines(below, top + height + 8),
  );
  return replaceInvalid(new XMLSerializer().serializeToString(svg));
}

// Elements ------------------------------------------------------------------------------------------------

/**
 * Converts an element and its descendants to shapes.
 * @param {Element} node
 * @param {HTMLElement} root
 * @returns {SVGElement[]}
 */
function shapesOf(node, root) {
  const style = getComputedStyle(node);
  const [shown, opacity] = [style.visibility !== "hidden" && style.clipPath === "none", Number(style.opacity)];
  if (style.display === "none" || !opacity || !shown) return [];
  const box = boxIn(node, root);
  const shapes = [...boxShapes(style, box)];
  if (node instanceof HTMLCanvasElement || node instanceof HTMLImageElement) {
    const href = node instanceof HTMLImageElement ? node.src : node.toDataURL();
    const look = { preserveAspectRatio: "none", "image-rendering": style.imageRendering };
    if (node.width) shapes.push(drawing("image", { ...rounded(box), ...look, href }));
  }
  const inner = frame(node, box);
  for (const child of node.childNodes) {
    if (child instanceof Element) inner.push(...shapesOf(child, root));
    else if (child instanceof Text && child.data.trim()) inner.push(...drawText(child, style, root));
  }
  if (style.overflowX === "hidden" && node instanceof HTMLElement && isClipped(node)) {
    shapes.push(drawing("svg", { ...rounded(box), viewBox: Object.values(rounded(box)).join(" ") }, ...inner));
  } else shapes.push(...inner);
  return opacity < 1 ? [drawing("g", { opacity }, ...shapes)] : shapes;
}

const isClipped = ({ scrollWidth, clientWidth, scrollHeight, clientHeight }) =>
  clientWidth > 0 && (scrollWidth > clientWidth + 1 || scrollHeight > clientHeight + 1);

/** @param {Box} box */
const rounded = ({ x, y, width, height }) => ({ x: short(x), y: short(y), width: short(width), height: short(height) });

/** Draws the frame of a head in the atlas, the only pseudo-element of a widget. */
function frame(node, { x, y }) {
  const style = getComputedStyle(node, "::before");
  if (style.content === "none" || style.position !== "absolute") return [];
  const [left, top, width, height] = ["left", "top", "width", "height"].map((name) => parseFloat(style[name]) || 0);
  return boxShapes(style, { x: x + left, y: y + top, width, height });
}

// Boxes ---------------------------------------------------------------------------------------------------

let reader;
/** Converts a CSS colour to paint attributes; null if transparent. */
function colour(text, name = "fill") {
  reader ??= element("canvas", { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  reader.reset();
  reader.fillStyle = text;
  reader.fillRect(0, 0, 1, 1);
  const [r, g, b, alpha] = reader.getImageData(0, 0, 1, 1).data;
  return alpha ? { [name]: hex([r, g, b]), ...(alpha < 255 && { [`${name}-opacity`]: short(alpha / 255) }) } : null;
}

const COLOURS = /(?:rgba?|color|oklch|oklab|hsla?)\([^()]*\)|transparent/g;
let gradients = 0;

/** Draws the background, shadows, outline and borders of a box. */
function boxShapes(style, box) {
  const place = rounded(box);
  const rx = Math.min(parseFloat(style.borderTopLeftRadius) || 0, box.width / 2, box.height / 2);
  const found = [];
  const ground = colour(style.backgroundColor);
  if (ground && box.width && box.height) found.push(drawing("rect", { ...place, rx, ...ground }));
  if (style.backgroundImage.includes("gradient(")) found.push(...gradient(style.backgroundImage, { ...place, rx }));
  const ring = (width, paint, out) =>
    drawing("rect", { x: short(box.x - out), y: short(box.y - out), width: short(box.width + 2 * out), height: short(box.height + 2 * out), rx, fill: "none", "stroke-width": width, ...paint });
  const shadows = style.boxShadow.matchAll(/((?:rgba?|color|oklch|oklab)\([^()]*\)) 0px 0px 0px ([\d.]+)px( inset)?/g);
  for (const [, paint, width, inset] of [...shadows].reverse()) {
    const drawn = colour(paint, "stroke");
    if (drawn) found.push(ring(Number(width), drawn, inset ? -width / 2 : width / 2));
  }
  if (style.outlineStyle !== "none" && parseFloat(style.outlineWidth)) {
    const drawn = colour(style.outlineColor, "stroke");
    const out = parseFloat(style.outlineOffset) + parseFloat(style.outlineWidth) / 2;
    if (drawn) found.push(ring(parseFloat(style.outlineWidth), drawn, out));
  }
  return [...found, ...edges(style, box, ring)];
}

/** Draws equal borders as one rectangle, or else each side as a polygon. */
function edges(style, { x, y, width, height }, ring) {
  const sides = ["Top", "Right", "Bottom", "Left"].map((side) => ({
    wide: style[`border${side}Style`] === "none" ? 0 : parseFloat(style[`border${side}Width`]),
    paint: colour(style[`border${side}Color`], "fill"),
    as: style[`border${side}Color`] + style[`border${side}Style`],
  }));
  const [top, right, bottom, left] = sides.map(({ wide }) => wide);
  if (sides.every(({ wide, as, paint }) => wide && paint && wide === top && as === sides[0].as)) {
    return [ring(top, colour(style.borderTopColor, "stroke"), -top / 2)];
  }
  const [x1, y1] = [x + width, y + height];
  const corners = [
    [x, y, x1, y, x1 - right, y + top, x + left, y + top],
    [x1, y, x1, y1, x1 - right, y1 - bottom, x1 - right, y + top],
    [x, y1, x1, y1, x1 - right, y1 - bottom, x + left, y1 - bottom],
    [x, y, x, y1, x + left, y1 - bottom, x + left, y + top],
  ];
  return sides.flatMap(({ wide, paint }, at) =>
    wide && paint ? [drawing("polygon", { points: corners[at].map(short).join(" "), ...paint })] : [],
  );
}

/** Draws a colour gradient, or the stripes of masked cells. */
function gradient(image, place) {
  const colours = image.match(COLOURS) ?? [];
  const id = `ground${++gradients}`;
  if (image.startsWith("repeating")) {
    const stripe = drawing("path", { d: "M-1 7L7 -1M-1 1L1 -1M5 7L7 5", fill: "none", "stroke-width": 1.2, ...colour(colours[0], "stroke") });
    const pattern = drawing("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse" }, stripe);
    return [pattern, drawing("rect", { ...place, fill: `url(#${id})` })];
  }
  const stops = colours.map((each, at) => {
    const { fill, "fill-opacity": opacity = 1 } = colour(each) ?? { ...colour(colours.at(-1)), "fill-opacity": 0 };
    return drawing("stop", { offset: short(at / Math.max(1, colours.length - 1)), "stop-color": fill, "stop-opacity": opacity });
  });
  return [drawing("linearGradient", { id }, ...stops), drawing("rect", { ...place, fill: `url(#${id})` })];
}

// Text ----------------------------------------------------------------------------------------------------

const letters = (style) => ({
  "font-size": short(parseFloat(style.fontSize)),
  "font-weight": style.fontWeight,
  ...(style.fontFamily.includes("mono") && { "font-family": "monospace" }),
  "dominant-baseline": "central",
  ...(colour(style.color) ?? { fill: "none" }),
});

/** Draws the lines of a text with their widths on the page, so that they fit in any font. */
function drawText(text, style, root) {
  const range = document.createRange();
  const upright = style.writingMode.startsWith("vertical");
  const lines = [];
  for (const { 0: word, index } of text.data.matchAll(/\S+\s*/g)) {
    const end = index + word.trimEnd().length;
    range.setStart(text, index);
    range.setEnd(text, end);
    const { top, left } = range.getBoundingClientRect();
    const line = lines.at(-1);
    if (line && Math.abs((upright ? left - line.left : top - line.top)) < 2) line.end = end;
    else lines.push({ start: index, end, top, left });
  }
  return lines.map(({ start, end }) => {
    range.setStart(text, start);
    range.setEnd(text, end);
    const { x, y, width, height } = boxIn(range, root);
    const words = text.data.slice(start, end).replace(/\s+/g, " ");
    if (!upright) return drawing("text", { x: short(x), y: short(y + height / 2), textLength: short(width), lengthAdjust: "spacingAndGlyphs", ...letters(style) }, words);
    const [cx, cy] = [short(x + width / 2), short(y + height / 2)];
    const turn = style.transform === "none" ? 90 : -90;
    return drawing("text", { x: cx, y: cy, "text-anchor": "middle", textLength: short(height), lengthAdjust: "spacingAndGlyphs", transform: `rotate(${turn} ${cx} ${cy})`, ...letters(style) }, words);
  });
}
