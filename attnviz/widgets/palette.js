/* palette: the colours of the theme, of weights, of changes and of heads. */

import { element } from "./dom.js";

/** @typedef {number[]} Colour red, green and blue, 0 to 255 */
/** @typedef {"sequential" | "diverging"} Scale levels 0 to 254 = low to high, or 127 = zero; 255 = masked */

/**
 * Converts OKLCH (lightness 0–1, chroma, hue in degrees) to OKLab (Ottosson 2020).
 * @param {number[]} lch
 */
function oklab([lightness, chroma, hue]) {
  const angle = (hue * Math.PI) / 180;
  return [lightness, chroma * Math.cos(angle), chroma * Math.sin(angle)];
}

/**
 * Converts OKLab to sRGB, 0–255, clipped to the gamut.
 * @param {number[]} lab
 * @returns {Colour}
 */
function rgbFromOklab([lightness, a, b]) {
  const long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const short = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
    -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
    -0.0041960863 * long - 0.7034186147 * medium + 1.707614701 * short,
  ].map((light) => {
    const clipped = Math.min(1, Math.max(0, light));
    const gamma = clipped <= 0.0031308 ? 12.92 * clipped : 1.055 * clipped ** (1 / 2.4) - 0.055;
    return Math.round(255 * gamma);
  });
}

/**
 * Converts one channel of sRGB, 0–255, to linear light, 0–1.
 * @param {number} value
 */
function linear(value) {
  const gamma = value / 255;
  return gamma <= 0.04045 ? gamma / 12.92 : ((gamma + 0.055) / 1.055) ** 2.4;
}

/**
 * Converts sRGB, 0–255, to OKLab.
 * @param {Colour} rgb
 */
function oklabFromRgb(rgb) {
  const [r, g, b] = rgb.map(linear);
  const long = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const medium = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const short = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * long + 0.793617785 * medium - 0.0040720468 * short,
    1.9779984951 * long - 2.428592205 * medium + 0.4505937099 * short,
    0.0259040371 * long + 0.7827717662 * medium - 0.808675766 * short,
  ];
}

export const SCALE = "square-root scale"; // label of every colour bar

/**
 * Returns the level of a weight or a signed number, as in analysis/picture.py: levels grow with the square root.
 * @param {number} value NaN: masked
 * @param {Scale} kind
 * @param {number} [high] the value of level 254
 */
export function levelOf(value, kind, high = 1) {
  if (Number.isNaN(value)) return 255;
  const size = Math.sqrt(Math.min(1, Math.abs(value) / high));
  return Math.round(kind === "sequential" ? 254 * size : 127 + 127 * Math.sign(value) * size);
}

/**
 * Returns the value at a position on the colour scale, from 0 (lower end) to 1 (upper end).
 * @param {number} place
 * @param {Scale} kind
 * @param {number} high
 */
export function valueAt(place, kind, high) {
  const size = kind === "sequential" ? place : 2 * place - 1;
  return high * size * Math.abs(size);
}

/** @param {Colour} rgb */
export const css = (rgb) => `rgb(${rgb.join(" ")})`;

/**
 * Sets a node's background, and its text colour: black if the luminance (WCAG) is above 0.179, else white.
 * @param {HTMLElement} node
 * @param {Colour} rgb
 */
export function paint(node, rgb) {
  const [r, g, b] = rgb.map(linear);
  node.style.background = css(rgb);
  node.style.color = 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
}

/**
 * Returns a colour scale as a CSS background from left to right.
 * @param {Colour[]} levels
 */
export function gradient(levels, steps = 32) {
  const stops = Array.from({ length: steps + 1 }, (_, step) => levels[Math.round(((levels.length - 1) * step) / steps)]);
  return `linear-gradient(to right, ${stops.map(css).join(", ")})`;
}

/** Lightness is monotonic in each scale, so the scales are readable with any colour vision. */
const SCALES = {
  light: {
    sequential: [
      [0.9, 0.045, 300],
      [0.72, 0.125, 297],
      [0.53, 0.215, 293],
      [0.36, 0.17, 291],
      [0.2, 0.08, 289],
    ],
    below: [
      [0.82, 0.075, 250],
      [0.58, 0.14, 254],
      [0.34, 0.11, 260],
    ],
    above: [
      [0.84, 0.09, 68],
      [0.65, 0.155, 52],
      [0.4, 0.11, 42],
    ],
  },
  dark: {
    sequential: [
      [0.31, 0.08, 291],
      [0.45, 0.15, 292],
      [0.61, 0.17, 294],
      [0.79, 0.11, 297],
      [0.96, 0.03, 303],
    ],
    below: [
      [0.4, 0.09, 258],
      [0.63, 0.14, 252],
      [0.9, 0.06, 240],
    ],
    above: [
      [0.42, 0.09, 48],
      [0.68, 0.155, 56],
      [0.93, 0.07, 82],
    ],
  },
};

/**
 * The colours of the roles, on light and dark backgrounds; the same as in shared.css.
 * @type {{ [role: string]: Colour[] }}
 */
export const ROLES = {
  query: [[29, 78, 216], [147, 197, 253]],
  key: [[185, 28, 28], [252, 165, 165]],
  value: [[21, 128, 61], [134, 239, 172]],
  weights: [[109, 40, 217], [196, 181, 253]],
  "feed-forward": [[14, 116, 144], [103, 232, 249]],
};

/** Hues of heads; adjacent heads also differ in lightness, and labels show their numbers. */
const HEAD_HUES = [268, 45, 160, 20, 315, 220, 350, 125, 250, 75, 190, 295];

/** The colours of a page or a file. */
export class Theme {
  /** @param {{ background: Colour, text: Colour, primary: Colour, font: string }} colours the font as CSS */
  constructor({ background, text, primary, font }) {
    this.background = background;
    this.text = text;
    this.primary = primary;
    this.font = font;
    this.dark = oklabFromRgb(this.background)[0] < 0.5;
    this.scales = SCALES[this.dark ? "dark" : "light"];
    this.muted = this.#mix(this.text, this.background, 0.32);
    this.grid = this.#mix(this.text, this.background, 0.86);
    this.hatch = this.#mix(this.text, this.background, 0.72);
    this.tables = {};
  }

  /**
   * Returns the theme of the widget's host element, set by Streamlit.
   * @param {Element} host
   */
  static of(host) {
    const style = getComputedStyle(host);
    const context = element("canvas", { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
    const rgb = (name, fallback) => {
      context.fillStyle = fallback;
      context.fillStyle = style.getPropertyValue(name).trim() || fallback;
      context.fillRect(0, 0, 1, 1);
      return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    return new Theme({
      background: rgb("--st-background-color", "#fff"),
      text: rgb("--st-text-color", "#1a1a1a"),
      primary: rgb("--st-primary-color", "#4338ca"),
      font: style.getPropertyValue("--st-font").trim() || "sans-serif",
    });
  }

  /** Returns the theme of saved pictures, which are always light. */
  static forFiles() {
    return new Theme({
      background: [255, 255, 255],
      text: [26, 28, 36],
      primary: [67, 56, 202],
      font: "Helvetica, Arial, sans-serif",
    });
  }

  #mix(one, other, share) {
    return one.map((value, at) => Math.round(value + (other[at] - value) * share));
  }

  /** The colour at a position, 0–1, of a scale that starts at the background colour. */
  #at(scale, position) {
    const stops = [oklabFromRgb(this.background), ...this.scales[scale].map(oklab)];
    const along = position * (stops.length - 1);
    const from = Math.min(Math.floor(along), stops.length - 2);
    return rgbFromOklab(
      stops[from].map((value, at) => value + (stops[from + 1][at] - value) * (along - from)),
    );
  }

  /**
   * The colour of each level 0–254; 255 (masked) has no colour.
   * @param {Scale} kind
   * @returns {Colour[]}
   */
  levels(kind) {
    this.tables[kind] ??= Array.from({ length: 255 }, (_, level) => {
      if (kind === "sequential") return this.#at("sequential", level / 254);
      return this.#at(level < 127 ? "below" : "above", Math.abs(level - 127) / 127);
    });
    return this.tables[kind];
  }

  /**
   * The colour of each level as a 32-bit pixel for ImageData; masked cells are transparent.
   * @param {Scale} kind
   * @returns {Uint32Array}
   */
  pixels(kind) {
    const name = `${kind} pixels`;
    this.tables[name] ??= (() => {
      const bytes = new Uint8ClampedArray(256 * 4);
      this.levels(kind).forEach((rgb, level) => bytes.set([...rgb, 255], 4 * level));
      return new Uint32Array(bytes.buffer);
    })();
    return this.tables[name];
  }

  /**
   * The colour of a head (from 1) among several, in lines, bars and chips; readable as text on the background.
   * @param {number} number
   */
  head(number) {
    const hue = HEAD_HUES[(number - 1) % HEAD_HUES.length];
    const even = number % 2 === 0;
    return rgbFromOklab(
      oklab(this.dark ? [even ? 0.82 : 0.74, 0.12, hue] : [even ? 0.46 : 0.52, 0.165, hue]),
    );
  }

  /**
   * The colour of a role.
   * @param {string} name a key of `ROLES`
   */
  role(name) {
    return ROLES[name][this.dark ? 1 : 0];
  }

  /**
   * The colour of an increase or a decrease.
   * @param {boolean} isIncrease
   */
  change(isIncrease) {
    return this.#at(isIncrease ? "above" : "below", 0.72);
  }
}

/**
 * Returns the theme around a widget; marks its root as light or dark for the style sheet.
 * @param {HTMLElement} root
 */
export function themeOf(root) {
  const theme = Theme.of(/** @type {ShadowRoot} */ (root.parentNode).host);
  root.dataset.theme = theme.dark ? "dark" : "light";
  return theme;
}

/**
 * Returns a canvas with [query, key] levels, one pixel per cell.
 * @param {ArrayLike<number>} values
 * @param {number} rows
 * @param {number} columns
 * @param {Uint32Array} palette
 */
export function levelsImage(values, rows, columns, palette) {
  const canvas = element("canvas", { width: columns, height: rows });
  const image = new ImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  for (let at = 0; at < pixels.length; at++) pixels[at] = palette[values[at]];
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}
