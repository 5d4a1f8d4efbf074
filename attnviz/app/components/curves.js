/* curves: lines and points over an axis, read at any place by pointing or with the arrow keys, and saved. */

import { element, placeUnder } from "../../widgets/dom.js";
import { hex, short } from "../../widgets/pens.js";
import { widget } from "../../widgets/widget.js";
import { ChartView, Drawing, plainNumber, SAMPLE, shape, shortest } from "./chart.js";
import chartStyle from "./chart.css";
import styles from "./curves.css";

const ON_A_PROJECTOR = 110; // pixels: how high a chart is

/**
 * @typedef {{ lines: { label: string, x: number[], y: number[], low: number[] | null, high: number[] | null, band:
 *   boolean, dash: "solid" | "dash" | "dot" | "dashdot" | null, marker: "circle" | "ring" | "square" | "diamond" |
 *   "cross" | null, colour: "query" | "key" | "value" | "weights" | "feed-forward" | "text" | "muted", faint:
 *   boolean, points: number[] | null, names: string[] | null, printed: string[] | null }[], title: string, across: {
 *   label: string, log: number | null, zero: boolean, at: string }, up: { label: string, log: number | null, zero:
 *   boolean, digits: number }, marked: number | null, faint: string, plane: boolean, height: number,
 *   alt: string, file: import("./saved_picture.js").FileFacts }} Message what curves.py sends, and describes
 */

/** @extends {ChartView<Message>} */
class Curves extends ChartView {
  constructor() {
    super();
    this.slider = element("div", { class: "slider", role: "slider", tabindex: 0 });
    this.tip = element("div", { class: "tip", "aria-hidden": "true", hidden: true });
    const parts = [this.picture, this.pointed, this.slider, this.tip, this.files];
    this.root = element("div", { class: "root chart" }, ...parts);
    this.slider.onpointermove = (event) => this.pointAt(event);
    this.slider.onpointerdown = (event) => this.pointAt(event);
    this.slider.onpointerleave = () => this.rest();
    this.slider.onkeydown = (event) => this.move(event);
    this.slider.onfocus = () => this.slider.matches(":focus-visible") && this.show();
    this.slider.onblur = () => this.hide();
    this.onResize(() => {
      if (this.data && this.picture.clientWidth !== this.drawing?.width) this.draw();
    });
  }

  update(data) {
    const told = JSON.stringify(data);
    const same = told === this.told;
    this.told = told;
    this.data = data;
    if (!same) this.readable();
    this.draw();
  }

  draw() {
    const width = this.picture.clientWidth;
    if (!width) return;
    const tallest = this.root.hasAttribute("data-teacher") ? ON_A_PROJECTOR : Infinity;
    this.put(new Drawing(this.data, width, this.theme, tallest));
    const { svg, left, top, bottom } = this.drawing;
    svg.setAttribute("aria-label", this.data.alt);
    const place = { left, top, width: width - left, height: bottom - top };
    for (const [name, value] of Object.entries(place)) this.slider.style[name] = `${value}px`;
    this.slider.setAttribute("aria-label", `Read off: ${this.data.title}`);
    this.say();
    if (this.tip.hidden) this.pointed.replaceChildren();
    else this.show();
  }

  // Reading ------------------------------------------------------------------------------------------------

  /** What can be read: the places in order, each with the points that lie there. */
  readable() {
    const places = new Map();
    this.data.lines.forEach((line, number) => {
      if (!line.label) return;
      for (const at of line.points ?? line.x.keys()) {
        const key = this.data.plane ? `${number} ${at}` : line.x[at];
        if (!places.has(key)) places.set(key, { x: line.x[at], points: [] });
        places.get(key).points.push({ line, at });
      }
    });
    this.places = [...places.values()];
    if (!this.data.plane) this.places.sort((a, b) => a.x - b.x);
    const marked = this.places.findIndex(({ x }) => x === this.data.marked);
    this.at = Math.max(0, marked);
    this.other = null;
  }

  get place() {
    return this.places[this.at];
  }

  /** The points of a place that are read: all but the faint ones, of which one is picked out. */
  get read() {
    return this.place.points.filter(({ line }) => !line.faint || line === this.other);
  }

  get heading() {
    const [{ line, at }] = this.place.points;
    return line.names?.[at] ?? this.data.across.at.replace("{x}", shortest(this.place.x));
  }

  written({ line, at }) {
    const number = (value) => plainNumber(value, this.data.up.digits);
    if (this.data.plane) return `(${number(line.x[at])}, ${number(line.y[at])})`;
    return number(line.y[at]) + (line.low ? ` (${number(line.low[at])} to ${number(line.high[at])})` : "");
  }

  say() {
    const said = this.read.map((point) => `${point.line.label} ${this.written(point)}`).join("; ");
    const now = { min: 1, max: this.places.length, now: this.at + 1, text: `${this.heading}: ${said}` };
    for (const [name, value] of Object.entries(now)) this.slider.setAttribute(`aria-value${name}`, value);
  }

  pointAt(event) {
    const { x, y } = placeUnder(event, this.picture);
    const { drawing } = this;
    const { plane } = this.data;
    const nearest = (several, distance) =>
      several.map((one, at) => ({ at, far: distance(one) })).reduce(
        (best, one) => (one.far < best.far ? one : best),
        { at: 0, far: Infinity },
      );
    this.at = nearest(this.places, ({ x: value, points: [{ line, at }] }) =>
      plane ? Math.hypot(drawing.x.at(value) - x, drawing.y.at(line.y[at]) - y) : Math.abs(drawing.x.at(value) - x),
    ).at;
    const faint = this.place.points.filter(({ line }) => line.faint);
    const found = nearest(faint, ({ line, at }) => Math.abs(drawing.y.at(line.y[at]) - y));
    this.other = found.far < 12 ? faint[found.at].line : null;
    this.show();
  }

  move(event) {
    const { key } = event;
    const last = this.places.length - 1;
    const far = Math.max(1, Math.round(this.places.length / 10));
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageDown: -far, PageUp: far, Home: -last, End: last };
    const upwards = { ArrowUp: 1, ArrowDown: -1 }[key];
    if (key === "Escape") this.hide();
    else if (upwards && this.place.points.some(({ line }) => line.faint)) this.moveToOther(upwards);
    else if (key in steps || upwards) this.at = Math.min(last, Math.max(0, this.at + (steps[key] ?? upwards)));
    else return;
    event.preventDefault();
    if (key !== "Escape") this.show();
  }

  /** To the faint line above or below, at this place. */
  moveToOther(upwards) {
    const faint = this.place.points.filter(({ line }) => line.faint);
    faint.sort((a, b) => a.line.y[a.at] - b.line.y[b.at]);
    const from = faint.findIndex(({ line }) => line === this.other);
    const to = from < 0 ? (upwards > 0 ? 0 : faint.length - 1) : from + upwards;
    this.other = faint[Math.min(faint.length - 1, Math.max(0, to))].line;
  }

  /** When the pointer leaves, a reader with the keyboard keeps the place. */
  rest() {
    if (this.slider.matches(":focus-visible")) this.show();
    else this.hide();
  }

  hide() {
    this.tip.hidden = true;
    this.pointed.replaceChildren();
  }

  show() {
    this.say();
    const { drawing, theme } = this;
    const x = short(drawing.x.at(this.place.x));
    const marks = this.read.map(({ line, at }) => {
      const paint = { fill: "none", stroke: hex(theme.text), "stroke-width": 2 };
      return shape("circle", { cx: x, cy: short(drawing.y.at(line.y[at])), r: 7.5, ...paint });
    });
    const d = `M${x} ${drawing.top}V${drawing.bottom}`;
    const cross = shape("path", { d, stroke: hex(theme.muted), "stroke-width": 1 });
    const also = this.other ? [this.highlighted()] : [];
    this.pointed.replaceChildren(...(this.data.plane ? [] : [cross]), ...also, ...marks);
    this.tip.replaceChildren(
      element("p", { class: "heading" }, element("bdi", { text: this.heading })),
      ...this.read.map((point) => this.row(point)),
    );
    this.tip.hidden = false;
    this.tip.style.left = "0";
    const { width } = drawing;
    const wide = this.tip.offsetWidth;
    const beside = x + 14 + wide <= width ? x + 14 : x - 14 - wide;
    this.tip.style.left = `${Math.max(0, Math.min(width - wide, beside))}px`;
    this.tip.style.top = `${drawing.top + 6}px`;
  }

  highlighted() {
    const { x, y } = this.drawing;
    const points = this.other.x.map((value, at) => `${short(x.at(value))} ${short(y.at(this.other.y[at]))}`);
    const paint = { fill: "none", stroke: hex(this.theme.primary), "stroke-width": 1.75 };
    return shape("path", { d: `M${points.join("L")}`, ...paint });
  }

  row(point) {
    const sample = shape("svg", { width: SAMPLE, height: 16 });
    const pen = Object.create(Drawing.prototype, { theme: { value: this.theme }, svg: { value: sample } });
    const colour = point.line.faint ? "picked" : point.line.colour;
    pen.sample({ ...point.line, faint: false, colour, low: null, band: false }, 0, 8);
    const label = element("bdi", { class: "label", text: point.line.label });
    return element("p", { class: "reading" }, sample, label, element("b", { text: this.written(point) }));
  }
}

export default widget(Curves, chartStyle, styles);
