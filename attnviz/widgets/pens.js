/* pens: draw a picture on a canvas for the screen, or as SVG for a file. */

import { element } from "./dom.js";
import { css, levelsImage } from "./palette.js";

const MARGIN = 24; // pixels around the picture in a file

let measuring;

export function textWidth(text, size, font, weight = 400) {
  measuring ??= element("canvas").getContext("2d");
  measuring.font = `${weight} ${size}px ${font}`;
  return measuring.measureText(text).width;
}

/** Truncates a text to a width, with "…" at its end. */
export function truncate(text, maxWidth, size, font) {
  if (textWidth(text, size, font) <= maxWidth) return text;
  const letters = [...text];
  let [low, high] = [0, letters.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (textWidth(`${letters.slice(0, middle).join("")}…`, size, font) <= maxWidth) low = middle;
    else high = middle - 1;
  }
  return `${letters.slice(0, low).join("")}…`;
}

/** Splits a text into lines that are at most `maxWidth` wide; a wider word has a line of its own. */
export function wrapLines(text, maxWidth, size, font) {
  const lines = [];
  for (const word of text.split(/\s+/)) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && textWidth(longer, size, font) <= maxWidth) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/** @typedef {CanvasPen | SvgPen} Pen places and sizes in pixels, colours as [r, g, b], `angle` in degrees */

/** Draws on a canvas. */
export class CanvasPen {
  constructor(context, theme) {
    this.context = context;
    this.font = theme.font;
    this.theme = theme;
  }

  /** Clears a canvas and sets its size in CSS pixels; returns a pen that draws in CSS pixels. */
  static on(canvas, width, height, theme) {
    const ratio = (window.devicePixelRatio || 1) * (canvas.currentCSSZoom ?? 1); // the teacher's view is enlarged
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== w || canvas.height !== h) {
      [canvas.width, canvas.height] = [w, h];
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const context = canvas.getContext("2d");
    context.reset();
    context.scale(w / width, h / height);
    return new CanvasPen(context, theme);
  }

  rect(x, y, width, height, { fill = null, stroke = null, alpha = 1, line = 1, radius = 0 }) {
    const { context } = this;
    context.globalAlpha = alpha;
    context.beginPath();
    context.roundRect(x, y, width, height, radius);
    if (fill) {
      context.fillStyle = css(fill);
      context.fill();
    }
    if (stroke) {
      context.strokeStyle = css(stroke);
      context.lineWidth = line;
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  curve(x0, y0, x1, y1, { stroke, width, alpha, dashed }) {
    const { context } = this;
    const bend = (x1 - x0) * 0.45;
    context.globalAlpha = alpha;
    context.strokeStyle = css(stroke);
    context.lineWidth = width;
    if (dashed) context.setLineDash([5, 4]);
    context.beginPath();
    context.moveTo(x0, y0);
    context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
    context.stroke();
    if (dashed) context.setLineDash([]);
    context.globalAlpha = 1;
  }

  text(x, y, text, { size, fill, weight = 400, anchor = "start", angle = 0 }) {
    const { context } = this;
    this.drawRotated(x, y, angle, () => {
      context.font = `${weight} ${size}px ${this.font}`;
      context.fillStyle = css(fill);
      context.textAlign = { start: "left", middle: "center", end: "right" }[anchor];
      context.textBaseline = "middle";
      context.fillText(text, 0, 0);
    });
  }

  /** Draws with (x, y) as the origin, rotated by this angle. */
  drawRotated(x, y, degrees, draw) {
    this.context.save();
    this.context.translate(x, y);
    this.context.rotate((degrees * Math.PI) / 180);
    draw();
    this.context.restore();
  }

  /** Draws a matrix of levels; masked cells are transparent and show the hatching. */
  levels(x, y, width, height, { values, rows, columns }, kind) {
    const { context } = this;
    if (values.includes(255)) {
      context.fillStyle = this.#hatching();
      context.fillRect(x, y, width, height);
    }
    context.imageSmoothingEnabled = columns > width || rows > height;
    context.drawImage(levelsImage(values, rows, columns, this.theme.pixels(kind)), x, y, width, height);
  }

  #hatching() {
    const tile = element("canvas", { width: 6, height: 6 });
    const context = tile.getContext("2d");
    context.strokeStyle = css(this.theme.hatch);
    context.beginPath();
    for (const at of [-6, 0, 6]) {
      context.moveTo(at - 1, 7);
      context.lineTo(at + 7, -1);
    }
    context.stroke();
    return this.context.createPattern(tile, "repeat");
  }
}

/** Replaces characters that XML does not allow: control characters and lone surrogates. */
export const replaceInvalid = (text) =>
  // eslint-disable-next-line no-control-regex
  text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udfff]/gu, "\ufffd");

const xml = (text) => replaceInvalid(String(text)).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

export const short = (number) => Number(number.toFixed(2));

/** Writes an SVG file. */
export class SvgPen {
  #parts = [];
  #hatching = false; // true once the file contains the pattern for masked cells

  constructor(theme) {
    this.theme = theme;
    this.font = theme.font;
  }

  rect(x, y, width, height, { fill = null, stroke = null, alpha = 1, line = 1, radius = 0 }) {
    const place = `x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"`;
    const paint = [`fill="${fill ? hex(fill) : "none"}"`];
    if (stroke) paint.push(`stroke="${hex(stroke)}" stroke-width="${line}"`);
    if (radius) paint.push(`rx="${radius}"`);
    if (alpha < 1) paint.push(`opacity="${short(alpha)}"`);
    this.#parts.push(`<rect ${place} ${paint.join(" ")}/>`);
  }

  curve(x0, y0, x1, y1, { stroke, width, alpha, dashed }) {
    const bend = (x1 - x0) * 0.45;
    const [a, b, c, d] = [x0, x0 + bend, x1 - bend, x1].map(short);
    const path = `M${a} ${short(y0)}C${b} ${short(y0)} ${c} ${short(y1)} ${d} ${short(y1)}`;
    const dash = dashed ? ' stroke-dasharray="5 4"' : "";
    const paint = `stroke="${hex(stroke)}" stroke-width="${short(width)}" opacity="${short(alpha)}"`;
    this.#parts.push(`<path d="${path}" fill="none" ${paint}${dash}/>`);
  }

  text(x, y, text, { size, fill, weight = 400, anchor = "start", angle = 0 }) {
    const place = `x="${short(x)}" y="${short(y)}" text-anchor="${anchor}" dominant-baseline="central"`;
    const style = `font-size="${size}" font-weight="${weight}" fill="${hex(fill)}"`;
    const transform = angle ? ` transform="rotate(${angle} ${short(x)} ${short(y)})"` : "";
    this.#parts.push(`<text ${place} ${style}${transform} xml:space="preserve">${xml(text)}</text>`);
  }

  levels(x, y, width, height, { values, rows, columns }, kind) {
    const place = `x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"`;
    if (values.includes(255)) {
      const stripes = `<path d="M-1 7L7 -1M-1 1L1 -1M5 7L7 5" stroke="${hex(this.theme.hatch)}"/>`;
      const tile = 'id="masked" width="6" height="6" patternUnits="userSpaceOnUse"';
      if (!this.#hatching) this.#parts.push(`<defs><pattern ${tile}>${stripes}</pattern></defs>`);
      this.#hatching = true;
      this.#parts.push(`<rect ${place} fill="url(#masked)"/>`);
    }
    // Drawing programs can edit one rectangle per cell, but too many rectangles would stall them.
    if (Math.max(rows, columns) > 128) {
      const image = levelsImage(values, rows, columns, this.theme.pixels(kind)).toDataURL("image/png");
      this.#parts.push(
        `<image ${place} preserveAspectRatio="none" image-rendering="pixelated" href="${image}"/>`,
      );
      return;
    }
    const colours = this.theme.levels(kind).map(hex);
    const [w, h] = [width / columns, height / rows];
    this.#parts.push('<g shape-rendering="crispEdges">');
    for (let at = 0; at < rows * columns; at++) {
      const colour = colours[values[at]];
      if (!colour) continue;
      const corner = `x="${short(x + (at % columns) * w)}" y="${short(y + Math.floor(at / columns) * h)}"`;
      this.#parts.push(`<rect ${corner} width="${short(w)}" height="${short(h)}" fill="${colour}"/>`);
    }
    this.#parts.push("</g>");
  }

  /**
   * Returns the SVG file: the drawing with this width, the paragraphs below it starting at `y`, and a margin.
   * @param {number} width
   * @param {number} y
   * @param {string[]} paragraphs
   * @param {string} title
   */
  file(width, y, paragraphs, title) {
    for (const text of paragraphs.filter(Boolean)) {
      for (const line of wrapLines(text, width, 12, this.font)) {
        this.text(0, y, line, { size: 12, fill: this.theme.muted });
        y += 17;
      }
      y += 4;
    }
    const [w, h] = [width + 2 * MARGIN, y - 8 + 2 * MARGIN].map(Math.ceil);
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${h}" viewBox="0 0 ${w} ${h}" ` +
      `font-family="${xml(this.font)}" role="img"><title>${xml(title)}</title>` +
      `<rect width="${w}" height="${h}" fill="${hex(this.theme.background)}"/>` +
      `<g transform="translate(${MARGIN} ${MARGIN})">${this.#parts.join("\n")}</g></svg>`
    );
  }
}

export const hex = (rgb) => `#${rgb.map((value) => value.toString(16).padStart(2, "0")).join("")}`;

/** Creates the buttons that save a picture; `save` is called with "png" or "svg". */
export function saveButtons(save) {
  const button = (ending, article) =>
    element("button", {
      type: "button",
      class: "tool",
      text: ending.toUpperCase(),
      title: `Save this picture as ${article} ${ending.toUpperCase()} file`,
      onclick: () => save(ending),
    });
  const group = { class: "files", role: "group", "aria-label": "Save this picture" };
  return element("div", group, button("png", "a"), button("svg", "an"));
}

/** Saves SVG text as an SVG or PNG file. */
export async function saveAs(ending, svg, name) {
  const blob = ending === "svg" ? new Blob([svg], { type: "image/svg+xml" }) : await rasterize(svg);
  download(blob, `${name}.${ending}`);
}

export function download(blob, name) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Converts SVG to PNG, at twice its size in pixels. */
async function rasterize(svg) {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  await image.decode();
  URL.revokeObjectURL(image.src);
  const canvas = element("canvas", { width: 2 * image.width, height: 2 * image.height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}
