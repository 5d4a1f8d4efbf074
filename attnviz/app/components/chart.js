/* chart: axes, a legend, lines and points, drawn as SVG for the screen or for a file. */

import { drawing, element } from "../../widgets/dom.js";
import { fitted, hex, saveButtons, short, textWidth } from "../../widgets/pens.js";
import { View } from "../../widgets/widget.js";
import { savePicture } from "./saved_picture.js";

const DASHES = { solid: null, dash: "7 5", dot: "0.1 5", dashdot: "8 5 0.1 5" };
export const LETTERS = 12; // the size of all text, in pixels
const ROW = 24; // a row of the legend
export const SAMPLE = 32; // the piece of line in the legend
const BUTTONS = 92; // room for the buttons beside the legend's first row

/** Where a name may stand beside its point: right, left, above, below, and in between. */
const DIRECTIONS = [
  [1, 0],
  [-1, 0],
  [0, -1],
  [0, 1],
  [0.75, -0.75],
  [-0.75, -0.75],
  [0.75, 0.75],
  [-0.75, 0.75],
];

/** An element of the picture; attributes that are null are left out. */
export const shape = (tag, attributes = {}, ...children) =>
  drawing(
    tag,
    Object.fromEntries(Object.entries(attributes).filter(([, value]) => (value ?? null) !== null)),
    ...children,
  );

/** 1, 2 or 5 times a power of ten: the smallest that is at least this. */
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].find((times) => times * power >= least * (1 - 1e-9)) * power;
}

/** A number with a real minus, and commas in ten thousands; -0.001 with two decimals is 0.00. */
export function plainNumber(value, digits) {
  const size = Math.abs(value).toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
    useGrouping: "min2",
  });
  return value < 0 && /[1-9]/.test(size) ? `−${size}` : size;
}

/** As few digits as it takes: 0.5, 3, 100. */
export const shortest = (value) => plainNumber(value, Math.min(6, (String(value).split(".")[1] ?? "").length));

/** From numbers to pixels, with the numbers to mark. */
class Scale {
  /**
   * @param values all that must have a place
   * @param from, to the pixels of the lowest and the highest
   * @param most how many marks there is room for
   * @param whole whether only whole numbers are marked
   * @param rounded whether the scale ends at marks
   */
  constructor(values, { log, zero }, { from, to, most, whole = false, rounded = false }) {
    this.power = log ? (value) => Math.log(value) / Math.log(log) : (value) => value;
    const shown = (log ? values.filter((value) => value > 0) : values).map(this.power);
    let low = shown.reduce((least, value) => Math.min(least, value), zero && !log ? 0 : Infinity);
    let high = shown.reduce((largest, value) => Math.max(largest, value), zero && !log ? 0 : -Infinity);
    if (high - low < 1e-9) [low, high] = [low - 1, high + 1];
    this.log = log;
    this.most = most;
    this.whole = whole || Boolean(log);
    this.from = from;
    this.to = to;
    this.reach(low, high);
    if (!rounded || log) return;
    const { step } = this;
    this.low = Math.floor(low / step + 1e-9) * step;
    this.high = Math.ceil(high / step - 1e-9) * step;
  }

  /** Lets the scale run from here to there, with marks for which there is room. */
  reach(low, high) {
    const step = niceStep((high - low) / Math.max(1, this.most));
    this.low = low;
    this.high = high;
    this.step = this.whole ? Math.ceil(step) : step;
  }

  /** The numbers to mark, each a whole number of steps, and how they are written. */
  get ticks() {
    const { low, high, log, step } = this;
    const [first, last] = [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    return Array.from({ length: last - first + 1 }, (_, at) => {
      const value = log ? log ** ((first + at) * step) : (first + at) * step;
      const text = log ? shortest(Number(value.toPrecision(6))) : plainNumber(value, digits);
      return { steps: first + at, value, text };
    });
  }

  at(value) {
    const along = (this.power(value) - this.low) / (this.high - this.low);
    // What a logarithmic scale has no place for lies at its lower end.
    return this.from + (this.to - this.from) * (Number.isFinite(along) ? Math.max(0, along) : 0);
  }
}

/** A marker's outline around (x, y). */
function outline(kind, x, y, size) {
  const [a, b] = [short(x), short(y)];
  const r = short(size);
  if (kind === "square") return `M${short(x - r * 0.9)} ${short(y - r * 0.9)}h${1.8 * r}v${1.8 * r}h${-1.8 * r}Z`;
  const wide = short(1.3 * r);
  if (kind === "diamond") return `M${a} ${short(y - wide)}l${wide} ${wide}l${-wide} ${wide}l${-wide} ${-wide}Z`;
  if (kind === "cross") return `M${short(x - r)} ${short(y - r)}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`;
  return `M${short(x - r)} ${b}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
}

/** One drawing, of one width and in one theme: on the screen or in a file. */
export class Drawing {
  constructor(data, width, theme, tallest = Infinity) {
    this.data = data;
    this.width = width;
    this.theme = theme;
    this.tallest = tallest;
    this.svg = shape("svg", { "font-family": theme.font, "font-size": LETTERS });
    this.legend();
    this.scales();
    this.axes();
    const { lines } = data;
    const order = [...lines.filter(({ faint }) => faint), ...lines.filter(({ faint }) => !faint)];
    for (const line of order) this.line(line);
    for (const line of lines) if (line.printed) this.printed(line);
  }

  add(tag, attributes, ...children) {
    return this.svg.appendChild(shape(tag, attributes, ...children));
  }

  text(x, y, text, { anchor = "start", weight = null, fill = this.theme.muted, halo = false } = {}) {
    const ground = { stroke: hex(this.theme.background), "stroke-width": 4, "stroke-linejoin": "round" };
    const around = halo ? { ...ground, "paint-order": "stroke" } : {};
    const place = { x: short(x), y: short(y), "text-anchor": anchor, "dominant-baseline": "central" };
    return this.add("text", { ...place, ...around, "font-weight": weight, fill: hex(fill) }, text);
  }

  textWidth(text, weight = 400) {
    return textWidth(text, LETTERS, this.theme.font, weight);
  }

  /** @param {{ colour: string, faint?: boolean }} line */
  colour({ colour, faint }) {
    if (colour === "picked") return hex(this.theme.primary);
    if (colour === "text") return hex(this.theme.text);
    if (colour === "muted" || faint) return hex(this.theme.muted);
    return hex(this.theme.role(colour));
  }

  // The legend: a piece of each line, as it is drawn, and its name -----------------------------------------

  legend() {
    const named = this.data.lines.filter(({ label, faint }) => label && !faint);
    const all = this.data.lines.find(({ faint }) => faint);
    const entries = all ? [...named, { ...all, label: this.data.faint }] : named;
    this.top = 0;
    let x = 0;
    if (entries.length > 1) {
      for (const line of entries) {
        const room = this.width - (this.top ? 0 : BUTTONS);
        const label = fitted(line.label, Math.min(240, this.width - SAMPLE - 8), LETTERS, this.theme.font);
        const wide = SAMPLE + 7 + this.textWidth(label);
        if (x && x + wide > room) [x, this.top] = [0, this.top + ROW];
        this.sample(line, x, this.top + ROW / 2);
        this.text(x + SAMPLE + 7, this.top + ROW / 2, label, { fill: this.theme.text });
        x += wide + 18;
      }
      this.top += ROW + 6;
    }
    const room = this.width - (this.top ? 0 : BUTTONS);
    this.text(0, this.top + ROW / 2, fitted(this.data.up.label, room, LETTERS, this.theme.font));
    this.top += ROW + 2;
  }

  sample(line, x, y) {
    const [from, to, middle] = [x + 1, x + SAMPLE - 1, x + SAMPLE / 2];
    const box = { x, y: y - 6, width: SAMPLE, height: 12 };
    if (line.band) this.add("rect", { ...box, fill: this.colour(line), opacity: 0.16 });
    if (line.low && !line.band) this.bar(line, middle, y - 8, y + 8);
    this.path(line, `M${from} ${y}H${to}`);
    if (line.marker) this.marker(line, middle, y);
  }

  // The axes -----------------------------------------------------------------------------------------------

  scales() {
    const { lines, across, up, height, plane } = this.data;
    const all = (...names) => lines.flatMap((line) => names.flatMap((name) => line[name] ?? []));
    const [xs, ys] = [all("x"), all("y", "low", "high")];
    const printed = lines.some((line) => line.printed);
    this.tall = plane ? Math.min(this.width - 60, 1.4 * height) : Math.min(height, this.tallest);
    this.bottom = this.top + this.tall;
    const upwards = { from: this.bottom - (printed ? 16 : 6), to: this.top + (printed ? 20 : 6) };
    this.y = new Scale(ys, up, { ...upwards, most: this.tall / 44, rounded: !plane });
    // Widened later, the scale of a plane may reach below 0.
    const longest = this.y.ticks.map(({ text }) => this.textWidth(plane ? `−${text.replace("−", "")}` : text));
    this.left = Math.ceil(Math.max(...longest)) + 8;
    const inset = printed ? 18 : 10;
    const along = { from: this.left + inset, to: this.width - inset - 2 };
    const whole = xs.every(Number.isInteger);
    this.x = new Scale(xs, across, { ...along, most: (along.to - along.from) / 52, whole });
    if (plane) this.oneScale();
  }

  /** Widens the axis on which a step is longer, so that circles are round. */
  oneScale() {
    const unit = (scale) => Math.abs(scale.to - scale.from) / (scale.high - scale.low);
    const [other, wide] = unit(this.x) > unit(this.y) ? [this.y, this.x] : [this.x, this.y];
    const half = Math.abs(wide.to - wide.from) / unit(other) / 2;
    const middle = (wide.low + wide.high) / 2;
    wide.reach(middle - half, middle + half);
  }

  axes() {
    const { marked, across } = this.data;
    const faint = { stroke: hex(this.theme.grid), "stroke-width": 1 };
    const right = this.width;
    for (const { value, text } of this.y.ticks) {
      const y = Math.round(this.y.at(value)) + 0.5;
      this.add("path", { d: `M${this.left} ${y}H${right}`, ...faint });
      this.text(this.left - 8, y, text, { anchor: "end" });
    }
    const floor = Math.round(this.bottom) + 0.5;
    this.add("path", { d: `M${this.left} ${floor}H${right}`, stroke: hex(this.theme.muted), opacity: 0.6 });
    if (marked !== null) {
      const x = Math.round(this.x.at(marked)) + 0.5;
      const dotted = { "stroke-dasharray": "2 4", opacity: 0.8 };
      this.add("path", { d: `M${x} ${this.top}V${floor}`, stroke: hex(this.theme.muted), ...dotted });
    }
    this.places(floor);
    this.text((this.left + right) / 2, floor + 38, across.label, { anchor: "middle" });
    this.height = Math.ceil(floor + 50);
  }

  /** The numbers below: as many as there is room for, equally far apart; the marked one hides those near it. */
  places(floor) {
    const { marked } = this.data;
    const placed = (value, text, weight) => {
      const [x, half] = [this.x.at(value), this.textWidth(text, weight) / 2 + 5];
      return { x, text, weight, from: x - half, to: x + half };
    };
    const meet = (one, other) => one.to > other.from && one.from < other.to;
    const written = this.x.ticks.map((tick) => ({ ...tick, ...placed(tick.value, tick.text, 400) }));
    let every = 1;
    const chosen = () => written.filter(({ steps }) => steps % every === 0);
    while (chosen().some((one, at, all) => at && meet(one, all[at - 1]))) every += 1;
    const first = marked === null ? [] : [placed(marked, shortest(marked), 700)];
    for (const { x, text, weight } of [...first, ...chosen().filter((one) => !first.some((other) => meet(one, other)))]) {
      this.add("path", { d: `M${Math.round(x) + 0.5} ${floor}v4`, stroke: hex(this.theme.muted) });
      const fill = weight > 400 ? this.theme.text : this.theme.muted;
      this.text(x, floor + 16, text, { anchor: "middle", weight, fill });
    }
  }

  // The lines ----------------------------------------------------------------------------------------------

  line(line) {
    const x = line.x.map((value) => this.x.at(value));
    const y = line.y.map((value) => this.y.at(value));
    const join = (across, up) => across.map((value, at) => `${short(value)} ${short(up[at])}`).join("L");
    if (line.low) {
      const [low, high] = [line.low, line.high].map((values) => values.map((value) => this.y.at(value)));
      if (line.band) {
        const d = `M${join(x, high)}L${join(x.toReversed(), low.toReversed())}Z`;
        this.add("path", { d, fill: this.colour(line), opacity: 0.16 });
      } else x.forEach((place, at) => this.bar(line, place, high[at], low[at]));
    }
    this.path(line, `M${join(x, y)}`);
    if (line.marker) this.markers(line, x, y);
  }

  /** On a line, markers that stand close are small, and left out where they would touch; others are thinned. */
  markers(line, x, y) {
    const { marked, plane, lines } = this.data;
    const shown = line.points ?? [...line.x.keys()];
    const apart = Math.abs(this.x.to - this.x.from) / Math.max(1, shown.length - 1);
    const every = plane || apart >= 7 ? 1 : Math.ceil(16 / apart);
    if (line.dash && every > 1) return;
    const first = lines.indexOf(line);
    for (const at of shown) {
      const larger = line.x[at] === marked;
      const share = larger ? 1.6 : line.dash ? Math.min(1, Math.max(0.55, apart / 16)) : 1;
      if (larger || (at + first) % every === 0) this.marker(line, x[at], y[at], plane ? 1 : share);
    }
  }

  path(line, d) {
    if (!line.dash) return;
    const dashes = line.faint ? null : DASHES[line.dash];
    const width = line.faint ? 1.25 : line.label ? 2.25 : 1.25;
    const opacity = line.faint ? 0.4 : null;
    const drawn = { d, fill: "none", stroke: this.colour(line), "stroke-width": width, opacity };
    // Dots are round ends of pieces that have no length.
    const ends = { "stroke-linejoin": "round", "stroke-linecap": line.dash === "dash" && dashes ? "butt" : "round" };
    this.add("path", { ...drawn, "stroke-dasharray": dashes, ...ends });
  }

  bar(line, x, top, bottom) {
    const [from, to] = [short(top), short(bottom)];
    const d = `M${short(x)} ${from}V${to}M${short(x - 4)} ${from}h8M${short(x - 4)} ${to}h8`;
    this.add("path", { class: "error", d, fill: "none", stroke: this.colour(line), "stroke-width": 1.5 });
  }

  marker(line, x, y, share = 1) {
    const colour = this.colour(line);
    const open = line.marker === "cross" || line.marker === "ring";
    const ground = hex(this.theme.background);
    const paint = open
      ? { fill: "none", stroke: colour, "stroke-width": share < 0.8 ? 1.5 : 2 }
      : { fill: colour, stroke: ground, "stroke-width": share < 0.8 ? 0 : 1.5 };
    const size = (open ? 3.75 : 4.5) * share;
    this.add("path", { class: "marker", d: outline(line.marker, x, y, size), ...paint });
  }

  /**
   * Where the name of a point may stand, the best place first; a line leads to what is not right beside it.
   * @param {{ x: number, y: number, half: number }} spot a point, and half the width of its name
   * @param {number[]} distances pixels from the point to its name, the nearest first
   */
  placesAround({ x, y, half }, distances) {
    return distances.flatMap((far, ring) =>
      DIRECTIONS.map(([right, down]) => ({ x: x + right * (far + half), y: y + down * (far + 5), half, far: ring > 0 })),
    );
  }

  /** Whether the name of one of the spots can stand there without hiding another spot, or a name that stands. */
  isFree({ x, y, half }, own, spots, taken) {
    const tall = LETTERS / 2;
    if (x - half < this.left || x + half > this.width || y - tall < this.top || y + tall > this.bottom) return false;
    const here = (other) => Math.hypot(other.x - own.x, other.y - own.y) < 1;
    const hides = (other) => Math.abs(other.x - x) < half + 5 && Math.abs(other.y - y) < tall + 4;
    const crosses = (other) => Math.abs(other.x - x) < half + other.half + 3 && Math.abs(other.y - y) < LETTERS + 1;
    return !spots.some((other) => !here(other) && hides(other)) && !taken.some(crosses);
  }

  /** A line from a point to its name, if that is not beside it. */
  leader(spot, place) {
    const d = `M${short(spot.x)} ${short(spot.y)}L${short(place.x)} ${short(place.y)}`;
    return shape("path", { d, stroke: hex(this.theme.muted), opacity: 0.7, class: "leader" });
  }

  /** What is printed beside the points: above, or below where the line has its valley; around a circle outside. */
  printed(line) {
    const taken = [];
    const y = line.y.map((value) => this.y.at(value));
    line.printed.forEach((text, at) => {
      const x = this.x.at(line.x[at]);
      const valley = y[at] >= (y[at - 1] ?? -1) && y[at] > (y[at + 1] ?? -1);
      let beside = [0, valley ? 14 : -13];
      if (this.data.plane) {
        const outwards = [x - this.x.at(0), y[at] - this.y.at(0)];
        beside = outwards.map((part) => (14 * part) / (Math.hypot(...outwards) || 1));
      }
      const place = { x: x + beside[0], y: y[at] + beside[1], half: this.textWidth(text, 600) / 2 };
      const hides = (other) =>
        Math.abs(other.x - place.x) < other.half + place.half + 3 && Math.abs(other.y - place.y) < LETTERS + 1;
      if (!text || taken.some(hides)) return;
      taken.push(place);
      const look = { anchor: "middle", weight: 600, fill: this.theme.text, halo: !this.data.plane };
      this.text(place.x, place.y, text, look);
    });
  }
}

/**
 * A drawing on the page, drawn anew for each width, with what is pointed at over it, and buttons that save it.
 * @template {{ alt: string, file: import("./saved_picture.js").FileFacts }} Data
 * @template {Drawing} [Kind=Drawing]
 * @extends {View<Data>}
 */
export class ChartView extends View {
  /** @type {Kind} what is on the page */
  drawing;

  constructor() {
    super();
    this.picture = element("div", { class: "picture" });
    this.pointed = shape("svg", { class: "pointed", "aria-hidden": "true" });
    this.files = saveButtons((ending) => savePicture(this, ending));
  }

  /**
   * Puts a drawing on the page.
   * @param {Kind} chart
   */
  put(chart) {
    const { svg, width, height } = chart;
    this.drawing = chart;
    for (const picture of [svg, this.pointed]) {
      const size = { width, height, viewBox: `0 0 ${width} ${height}` };
      for (const [name, value] of Object.entries(size)) picture.setAttribute(name, String(value));
    }
    svg.setAttribute("role", "img");
    this.picture.replaceChildren(svg);
  }
}
