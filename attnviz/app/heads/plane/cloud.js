/* cloud: thousands of queries and keys as points, to zoom into and to choose from. */

import { drawing, element, placeUnder } from "../../../widgets/dom.js";
import { css, gradient } from "../../../widgets/palette.js";
import { Choice } from "../../../widgets/selection.js";
import { allData } from "../../../widgets/store.js";
import { View, widget } from "../../../widgets/widget.js";
import styles from "./cloud.css";

const HEIGHT = { least: 320, most: 520 }; // pixels of the picture
const MARGIN = 14; // pixels between its edge and the outermost points
const FAR = 200; // how much it enlarges at most
const NEAR = 12; // pixels from the pointer to a point that it means
const CORNERS = 32; // of the area around the chosen points: a link holds them
const LEAST = 60; // the level of the lowest number, so that it is seen on the ground
const SIDES = ["query", "key"];
const LOOKS = ["query (looks)", "key (is looked at)"];
const STEP = 24; // pixels that an arrow key moves the frame, or makes it larger

/**
 * @typedef {[number, number]} Corner a place in the plane
 * @typedef {{ points: string, by: "kind" | "place" | "norm" | "word", origin: boolean, axes: [string, string], alt:
 *   string, area: Corner[] }} Message what cloud.py sends, and describes
 */

/**
 * The pixels of a marker around its middle in a picture, and how much of each it covers, 0 to 256.
 * @param {number} side 0: a circle, 1: a diamond
 * @param {number} radius
 * @param {number} width of the picture
 * @param {number} strength 0 to 1
 */
function stamp(side, radius, width, strength) {
  const [places, covers] = [[], []];
  const reach = Math.ceil(1.3 * radius) + 1;
  for (let y = -reach; y <= reach; y++) {
    for (let x = -reach; x <= reach; x++) {
      const far = side ? (Math.abs(x) + Math.abs(y)) / 1.25 : Math.hypot(x, y);
      const cover = Math.round(256 * strength * Math.min(1, Math.max(0, radius + 0.5 - far)));
      if (cover > 0) places.push(4 * (y * width + x));
      if (cover > 0) covers.push(cover);
    }
  }
  return { reach, places: Int32Array.from(places), covers: Int32Array.from(covers) };
}

/** Whether a place lies in a polygon; `inside` in attnviz/analysis/plane.py counts in the same way. */
function within(x, y, polygon) {
  let inside = false;
  polygon.forEach(([right, up], at) => {
    const [left, down] = polygon.at(at - 1);
    if (up > y !== down > y && x < ((left - right) * (y - up)) / (down - up) + right) inside = !inside;
  });
  return inside;
}

/** Of places one after the other, x and y each, the one that is closest; -1 if none is closer than `least`. */
function closest(places, x, y, least = Infinity) {
  let best = -1;
  for (let at = 0; at < places.length; at += 2) {
    const far = (places[at] - x) ** 2 + (places[at + 1] - y) ** 2;
    if (far < least) [best, least] = [at / 2, far];
  }
  return best;
}

/** @extends {View<Message>} */
class Cloud extends View {
  constructor() {
    super();
    this.canvas = element("canvas", { role: "img" });
    this.over = drawing("svg", { class: "over", "aria-hidden": "true" });
    this.pad = element("div", {
      class: "pad",
      role: "application",
      tabindex: 0,
      "aria-label":
        "Choose points: the arrow keys move a frame, with Shift they change its size; Enter lists what is in it. Plus and minus zoom, 0 shows all.",
    });
    this.fact = element("p", { class: "fact", "aria-live": "polite" });
    this.legend = element("p", { class: "legend scale" });
    this.axes = element("p", { class: "legend" });
    const tool = (text, press, look = {}) =>
      element("button", { type: "button", class: "tool", text, onclick: press, ...look });
    this.modes = ["Select", "Move"].map((name) => tool(name, () => this.mode(name)));
    const tools = element(
      "div",
      { class: "tools", role: "group", "aria-label": "The picture" },
      ...this.modes,
      tool("+", () => this.zoom(1.5), { "aria-label": "Enlarge" }),
      tool("−", () => this.zoom(1 / 1.5), { "aria-label": "Make smaller" }),
      tool("Show all", () => this.showAll()),
    );
    this.board = element("div", { class: "board" }, this.canvas, this.over, this.pad);
    this.root = element("div", { class: "root cloud" }, tools, this.board, this.legend, this.axes, this.fact);
    this.frame = { x: 0, y: 0, width: 96, height: 96 }; // by keyboard: its middle, in pixels from that of the picture
    /** @type {Choice<Corner[]>} the polygon around the chosen points; of a single corner, the point there */
    this.area = new Choice();
    this.chosen = null;
    this.mode(matchMedia("(pointer: coarse)").matches ? "Move" : "Select");
    this.reset();
    this.pad.onpointerdown = (event) => this.press(event);
    this.pad.onpointermove = (event) => this.move(event);
    this.pad.onpointerup = () => this.release();
    this.pad.onpointercancel = () => this.release();
    this.pad.onpointerleave = () => this.path || this.tell(-1);
    this.pad.onkeydown = (event) => this.key(event);
    this.pad.onfocus = this.pad.onblur = () => this.overlay();
    this.pad.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.onResize(() => this.data && this.draw());
    this.onArrays(["points"], () => this.update(this.data));
  }

  update(data) {
    this.data = data;
    this.area.tell(data.area);
    this.mark();
    this.canvas.setAttribute("aria-label", data.alt);
    this.axes.textContent = `Across: ${data.axes[0]}. Up: ${data.axes[1]}.`;
    this.explain();
    this.draw();
  }

  /** { places, sides, words, lines, place, norm, word } of all points; null before they come. */
  get arrays() {
    return allData().get(this.data?.points)?.arrays ?? null;
  }

  get facts() {
    return allData().get(this.data.points).facts;
  }

  mode(name) {
    this.selects = name === "Select";
    this.modes.forEach((button) => button.setAttribute("aria-pressed", String(button.textContent === name)));
    this.pad.toggleAttribute("data-selects", this.selects);
  }

  /** Finds the points of the area. */
  mark() {
    this.chosen = this.arrays && this.area.value.length ? new Set(this.inside(this.area.value)) : null;
  }

  // Drawing ------------------------------------------------------------------------------------------------

  /** The colour of each level. */
  colours() {
    const { theme } = this;
    const { by } = this.data;
    if (by === "kind") return SIDES.map((side) => theme.role(side));
    if (by !== "word") return theme.levels("sequential");
    return [theme.hatch, ...this.facts.frequent.map((_, at) => theme.head(at + 1))];
  }

  explain() {
    if (!this.arrays) return;
    const colours = this.colours();
    const { by } = this.data;
    const dot = (colour, text, shape = "") =>
      element("span", { class: "entry" }, element("span", { class: `dot ${shape}`, style: `background:${css(colour)}` }), element("bdi", { text }));
    if (by === "kind") this.legend.replaceChildren(dot(colours[0], LOOKS[0]), dot(colours[1], LOOKS[1], "key"));
    else if (by === "word") {
      const words = this.facts.frequent.map((word, at) => dot(colours[at + 1], word));
      this.legend.replaceChildren(...words, dot(colours[0], "all others"), "Circles are queries, diamonds keys.");
    } else {
      const [low, high] = this.facts.ends[by].map((text) => element("span", { text }));
      const bar = element("span", { class: "bar", style: `background:${gradient(colours.slice(LEAST))}` });
      this.legend.replaceChildren(low, bar, high, "Circles are queries, diamonds keys.");
    }
  }

  /** Where each point lies in the picture, in its pixels. */
  lay(width, height) {
    const { values } = this.arrays.places;
    const name = [this.data.points, width, height, JSON.stringify(this.view)].join("|");
    if (this.laid?.name === name) return this.laid;
    const bounds = this.bounds(values);
    const scale = this.view.zoom * Math.min((width - 2 * MARGIN) / bounds.width, (height - 2 * MARGIN) / bounds.height);
    const at = new Float32Array(values.length);
    const across = width / 2 + this.view.x - scale * bounds.x;
    const down = height / 2 + this.view.y + scale * bounds.y;
    for (let point = 0; point < values.length; point += 2) {
      at[point] = across + scale * values[point];
      at[point + 1] = down - scale * values[point + 1];
    }
    this.laid = { name, at, scale, origin: [across, down] };
    return this.laid;
  }

  bounds(values) {
    if (this.known?.values === values) return this.known;
    const [low, high] = [[Infinity, Infinity], [-Infinity, -Infinity]];
    values.forEach((value, at) => {
      low[at % 2] = Math.min(low[at % 2], value);
      high[at % 2] = Math.max(high[at % 2], value);
    });
    const [x, y] = [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2];
    this.known = { values, x, y, width: high[0] - low[0] || 1, height: high[1] - low[1] || 1 };
    return this.known;
  }

  /** Draws at the next frame, however often it is asked to. */
  soon() {
    this.waiting ??= requestAnimationFrame(() => {
      this.waiting = null;
      this.draw();
    });
  }

  draw() {
    const width = this.board.clientWidth;
    this.root.toggleAttribute("data-waiting", !this.arrays);
    if (!width || !this.arrays) return;
    const height = Math.round(Math.min(HEIGHT.most, Math.max(HEIGHT.least, 0.6 * width)));
    const ratio = window.devicePixelRatio || 1;
    const [wide, tall] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.canvas.width !== wide || this.canvas.height !== tall) [this.canvas.width, this.canvas.height] = [wide, tall];
    this.board.style.height = `${height}px`;
    this.size = { width, height };
    const context = this.canvas.getContext("2d");
    const image = context.createImageData(wide, tall);
    this.paint(image, ratio);
    context.putImageData(image, 0, 0);
    this.overlay();
    this.countDrawing();
  }

  /** Pixel by pixel: without a graphics card, thousands of shapes would take ten times as long. */
  paint(image, ratio) {
    const { data: pixels, width, height } = image;
    const { background } = this.theme;
    new Uint32Array(pixels.buffer).fill(((255 << 24) | (background[2] << 16) | (background[1] << 8) | background[0]) >>> 0);
    const { at: spots } = this.lay(this.size.width, this.size.height);
    const sides = this.arrays.sides.values;
    const levels = this.data.by === "kind" ? sides : this.arrays[this.data.by].values;
    const colours = this.colours();
    const radius = ratio * Math.min(4.5, (sides.length > 4000 ? 1.9 : 2.8) * this.view.zoom ** 0.25);
    for (const late of this.chosen ? [false, true] : [false]) {
      const strength = this.chosen ? (late ? 1 : 0.18) : 0.65;
      const stamps = [0, 1].map((side) => stamp(side, radius, width, strength));
      for (let nth = 0; nth < sides.length; nth++) {
        const point = (nth >> 1) + (nth % 2) * (sides.length >> 1); // in turns, that neither side hides the other
        if (this.chosen && this.chosen.has(point) !== late) continue;
        const { reach, places, covers } = stamps[sides[point]];
        const x = Math.round(spots[2 * point] * ratio);
        const y = Math.round(spots[2 * point + 1] * ratio);
        if (x < reach || y < reach || x >= width - reach || y >= height - reach) continue;
        const colour = colours[levels[point]];
        const middle = 4 * (y * width + x);
        for (let at = 0; at < places.length; at++) {
          const to = middle + places[at];
          const cover = covers[at];
          pixels[to] += ((colour[0] - pixels[to]) * cover) >> 8;
          pixels[to + 1] += ((colour[1] - pixels[to + 1]) * cover) >> 8;
          pixels[to + 2] += ((colour[2] - pixels[to + 2]) * cover) >> 8;
        }
      }
    }
  }

  /** The origin, where it has a meaning; the line that is being drawn, or the frame; the point that is told of. */
  overlay() {
    if (!this.arrays || !this.size) return;
    const { width, height } = this.size;
    const shapes = [];
    const { at, scale, origin } = this.lay(width, height);
    const polygon = (places) => shapes.push(drawing("path", { class: "lasso", d: `M${places.join("L")}Z` }));
    if (this.data.origin) shapes.push(drawing("path", { class: "axis", d: `M0 ${origin[1]}H${width}M${origin[0]} 0V${height}` }));
    if (this.path && this.selects) {
      polygon(this.path.map(({ x, y }) => `${x} ${y}`));
    } else if (this.chosen) polygon(this.area.value.map(([x, y]) => `${origin[0] + scale * x} ${origin[1] - scale * y}`));
    if (!this.path && this.pad.matches(":focus-visible")) {
      const { x, y, ...size } = this.box();
      shapes.push(drawing("rect", { class: "lasso", x, y, ...size }));
    }
    if (this.told >= 0) {
      shapes.push(drawing("circle", { class: "ring", cx: at[2 * this.told], cy: at[2 * this.told + 1], r: 7 }));
    }
    this.over.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.over.replaceChildren(...shapes);
  }

  // Where one looks ----------------------------------------------------------------------------------------

  reset() {
    this.view = { zoom: 1, x: 0, y: 0 };
    if (this.data) this.soon();
  }

  /** The whole picture, and no point chosen. */
  showAll() {
    this.reset();
    if (this.chosen) this.pick([]);
  }

  /** What is looked at: the middle of the chosen points; of the frame, if there are none. */
  middle() {
    const { x, y, width, height } = this.box();
    if (!this.chosen) return { x: x + width / 2, y: y + height / 2 };
    const { at } = this.lay(this.size.width, this.size.height);
    const mean = (axis) => [...this.chosen].reduce((sum, point) => sum + at[2 * point + axis], 0) / this.chosen.size;
    return { x: mean(0), y: mean(1) };
  }

  /** Enlarges around a place. */
  zoom(times, at = this.middle()) {
    const { width, height } = this.size;
    const [x, y] = [at.x - width / 2, at.y - height / 2];
    const zoom = Math.min(FAR, Math.max(1, this.view.zoom * times));
    const by = zoom / this.view.zoom;
    this.view = zoom === 1 ? { zoom, x: 0, y: 0 } : { zoom, x: x + (this.view.x - x) * by, y: y + (this.view.y - y) * by };
    this.soon();
  }

  /** The wheel scrolls the page; with Ctrl, and by two fingers, it zooms. */
  wheel(event) {
    if (!event.ctrlKey || !this.arrays) return;
    event.preventDefault();
    this.zoom(Math.exp(-event.deltaY / 200), placeUnder(event, this.board));
  }

  // Choosing -----------------------------------------------------------------------------------------------

  press(event) {
    if (!this.arrays || event.button) return;
    this.pad.setPointerCapture(event.pointerId);
    this.path = [placeUnder(event, this.board)];
  }

  move(event) {
    if (!this.arrays) return;
    const to = placeUnder(event, this.board);
    if (!this.path) {
      this.tell(this.nearest(to));
      return;
    }
    if (this.selects) {
      this.path.push(to);
      this.overlay();
      return;
    }
    const from = this.path[0];
    this.view = { ...this.view, x: this.view.x + to.x - from.x, y: this.view.y + to.y - from.y };
    this.path = [to];
    this.soon();
  }

  release() {
    const { path } = this;
    this.path = null;
    if (!path || !this.selects) return;
    if (path.length > 3) this.choose(this.around(path));
    else {
      const point = this.nearest(path[0]);
      const { values } = this.arrays.places;
      this.pick(point < 0 ? [] : [[values[2 * point], values[2 * point + 1]]]);
    }
  }

  /** The point at a place; -1 for none. */
  nearest({ x, y }) {
    return closest(this.lay(this.size.width, this.size.height).at, x, y, NEAR ** 2);
  }

  /** Where a place in the picture lies in the plane, to half a pixel: with so few digits that a link holds many. */
  inPlane({ x, y }) {
    const { scale, origin } = this.lay(this.size.width, this.size.height);
    const digits = Math.max(0, Math.ceil(Math.log10(2 * scale)));
    return [(x - origin[0]) / scale, (origin[1] - y) / scale].map((number) => Number(number.toFixed(digits)));
  }

  /** The corners of a line that was drawn around points. */
  around(path) {
    const far = (from, to) => Math.hypot(to.x - from.x, to.y - from.y);
    const length = path.reduce((sum, to, at) => sum + far(path.at(at - 1), to), 0);
    const corners = [path[0]];
    for (const to of path) if (far(corners.at(-1), to) >= length / CORNERS) corners.push(to);
    return corners.map((place) => this.inPlane(place));
  }

  /** The points in an area. */
  inside(area) {
    const { values } = this.arrays.places;
    if (area.length === 1) return [closest(values, ...area[0])];
    const found = [];
    for (let at = 0; at < values.length; at += 2) if (within(values[at], values[at + 1], area)) found.push(at / 2);
    return found;
  }

  choose(area) {
    this.pick(this.inside(area).length ? area : []);
  }

  pick(area) {
    this.area.choose(area);
    this.mark();
    this.draw();
    this.trigger("pick", { area });
  }

  box() {
    const { x, y, width, height } = this.frame;
    return { x: this.size.width / 2 + x - width / 2, y: this.size.height / 2 + y - height / 2, width, height };
  }

  key(event) {
    const [right, down] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] ?? [0, 0];
    const zooms = { "+": 1.5, "=": 1.5, "-": 1 / 1.5 }[event.key];
    const { frame } = this;
    if (!this.arrays) return;
    if (zooms) this.zoom(zooms);
    else if (event.key === "0") this.reset();
    else if (event.key === "Escape") this.pick([]);
    else if (event.key === "Enter") this.choose(this.framed());
    else if (right || down) {
      if (event.shiftKey) {
        frame.width = Math.max(STEP, frame.width + STEP * right);
        frame.height = Math.max(STEP, frame.height - STEP * down);
      } else {
        frame.x = Math.max(-this.size.width / 2, Math.min(this.size.width / 2, frame.x + STEP * right));
        frame.y = Math.max(-this.size.height / 2, Math.min(this.size.height / 2, frame.y + STEP * down));
      }
      this.count();
    } else return;
    event.preventDefault();
    this.overlay();
  }

  /** The area in the frame. */
  framed() {
    const { x, y, width, height } = this.box();
    const [right, down] = [x + width, y + height];
    return [{ x, y }, { x: right, y }, { x: right, y: down }, { x, y: down }].map((place) => this.inPlane(place));
  }

  // Telling ------------------------------------------------------------------------------------------------

  word(point) {
    return this.facts.words[this.arrays.words.values[point]];
  }

  tell(point) {
    if (point === this.told) return;
    this.told = point;
    this.overlay();
    if (point < 0) this.fact.textContent = "";
    else {
      const line = this.facts.lines[this.arrays.lines.values[point]];
      const side = this.arrays.sides.values[point];
      this.fact.replaceChildren(`${LOOKS[side]}: `, element("bdi", { class: SIDES[side], text: this.word(point) }), " in ", element("q", { dir: "auto", text: line }));
    }
  }

  /** How many points lie in the frame, and of which words. */
  count() {
    const points = this.inside(this.framed());
    const counts = new Map();
    for (const point of points) counts.set(this.word(point), (counts.get(this.word(point)) ?? 0) + 1);
    const often = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 4);
    const named = often.map(([word, times]) => `“${word}” ${times}`).join(", ");
    this.fact.textContent = points.length ? `In the frame: ${points.length} points; most often ${named}` : "No point lies in the frame.";
  }
}

export default widget(Cloud, styles);
