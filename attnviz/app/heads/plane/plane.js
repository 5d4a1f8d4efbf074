/* plane: queries and keys as points, and who looks at whom from the one pointed at. */

import { element, isolated, placeUnder, table, tr } from "../../../widgets/dom.js";
import { buttonOf, moveFocus, tabStop } from "../../../widgets/keyboard.js";
import { fixed, percent } from "../../../widgets/numbers.js";
import { hex, short } from "../../../widgets/pens.js";
import { Choice } from "../../../widgets/selection.js";
import { allData } from "../../../widgets/store.js";
import { widget } from "../../../widgets/widget.js";
import { ChartView, Drawing, LETTERS, shape } from "../../components/chart.js";
import chartStyle from "../../components/chart.css";
import styles from "./plane.css";

const SIDES = { query: "query (looks)", key: "key (is looked at)" };
const MARKERS = { query: "circle", key: "diamond" };
const NEAR = 26; // pixels from the pointer to a point that it means
const LISTED = 6; // of what one looks at, by weight
const LEAST = 0.005; // a weight below this has no line

const FAR = [11, 21, 33]; // how far from it; a line leads to those that are not beside it
const ROOM = 10; // pixels of the picture's width a point; with fewer, only what is told of has its name there,
const MOST = 70; // and of more points than these
const MARGIN = 18; // pixels between the frame and the outermost points, so that none lies on the frame
const STRONG = 0.05; // a weight from which a key is told of by name
const TOLD = 4; // at most so many of them
const [TALL, ON_A_PROJECTOR] = [400, 200]; // pixels: a wide picture is higher by four tenths

/** What `Drawing` draws of the points: two series without lines. */
function chartOf({ points, keeps, axes }, height) {
  const series = (side) => ({
    label: SIDES[side],
    x: points[side][0],
    y: points[side][1],
    marker: MARKERS[side],
    colour: side,
    dash: null,
    low: null,
    printed: null,
    points: null,
    faint: false,
  });
  const zero = keeps === "dot products"; // whose origin has a meaning
  const [across, up] = axes.map((label) => ({ label, log: null, zero }));
  const lines = [series("query"), series("key")];
  return { lines, across, up, height, plane: true, marked: null, faint: "" };
}

/** Whether a line from one point to another meets a label. */
function meets(from, to, { x, y, half }) {
  const steps = Math.ceil(Math.hypot(to.x - from.x, to.y - from.y) / 3);
  return Array.from({ length: steps + 1 }, (_, at) => at / (steps || 1)).some((share) => {
    const [across, down] = [from.x + share * (to.x - from.x) - x, from.y + share * (to.y - from.y) - y];
    return Math.abs(across) < half + 2 && Math.abs(down) < LETTERS / 2 + 2;
  });
}

/** The points with their labels, where there is room for them. */
class PlaneDrawing extends Drawing {
  constructor(data, width, height, theme) {
    super(chartOf(data, height), width, theme);
    this.message = data;
    this.spots = ["query", "key"].flatMap((side) =>
      data.tokens[side].map((token, at) => {
        const [x, y] = [this.x.at(data.points[side][0][at]), this.y.at(data.points[side][1][at])];
        return { side, at, x, y, label: token.label, half: this.textWidth(token.label, 500) / 2 };
      }),
    );
    if (data.keeps === "dot products") this.origin();
    if (!this.crowded) this.label();
  }

  get crowded() {
    const points = this.data.lines.reduce((sum, { x }) => sum + x.length, 0);
    return points > Math.min(MOST, this.width / ROOM);
  }

  scales() {
    super.scales();
    this.x.from += MARGIN;
    this.x.to -= MARGIN;
    this.y.from -= MARGIN;
    this.y.to += MARGIN;
    this.oneScale();
  }

  /** Many points are small ones. */
  marker(line, x, y, share = 1) {
    super.marker(line, x, y, this.crowded ? 0.75 : share);
  }

  origin() {
    const [x, y] = [this.x.at(0), this.y.at(0)].map((at) => Math.round(at) + 0.5);
    const d = `M${this.left} ${y}H${this.width}M${x} ${this.top}V${this.bottom}`;
    this.add("path", { d, stroke: hex(this.theme.muted), opacity: 0.6, class: "origin" });
  }

  /** From the origin through a point to the edge: what lies far along has a large dot product with it. */
  ray(spot) {
    const [x, y] = [this.x.at(0), this.y.at(0)];
    const [right, down] = [spot.x - x, spot.y - y];
    const across = right > 0 ? (this.width - x) / right : right < 0 ? (this.left - x) / right : Infinity;
    const up = down > 0 ? (this.bottom - y) / down : down < 0 ? (this.top - y) / down : Infinity;
    const long = Number.isFinite(Math.min(across, up)) ? Math.min(across, up) : 0;
    const d = `M${short(x)} ${short(y)}l${short(long * right)} ${short(long * down)}`;
    return shape("path", { class: "ray", d, stroke: hex(this.theme.muted), "stroke-width": 1.5, "stroke-dasharray": "2 4" });
  }

  spot(side, at) {
    return this.spots[side === "query" ? at : this.message.tokens.query.length + at];
  }

  /** One label after the other takes the first place where it hides no point and no other label. */
  label() {
    const taken = [];
    // Along the text; what the tokenizer added comes last.
    const isSpecial = ({ side, at }) => Number(this.message.tokens[side][at].special);
    const order = [...this.spots].sort((a, b) => isSpecial(a) - isSpecial(b) || a.at - b.at);
    for (const spot of order) {
      spot.place = this.placesAround(spot, FAR).find((place) => this.isFree(place, spot, this.spots, taken)) ?? null;
      if (!spot.place) continue;
      taken.push(spot.place);
      spot.written = [this.write(spot)];
      if (!spot.place.far) continue;
      spot.written.push(this.leader(spot, spot.place));
      this.svg.prepend(spot.written[1]);
    }
  }

  write(spot) {
    const { x, y } = spot.place;
    const text = this.text(x, y, spot.label, { anchor: "middle", weight: 500, halo: true });
    text.setAttribute("fill", this.colour({ colour: spot.side }));
    text.setAttribute("class", "name");
    return text;
  }
}

/**
 * @typedef {{ keeps: "distances" | "dot products", points: { query: number[][], key: number[][] }, tokens: { query:
 *   ShownToken[], key: ShownToken[] }, numbers: string, query: number, axes: [string, string], title: string, alt:
 *   string, file: import("../../components/saved_picture.js").FileFacts }} Message what plane.py sends, and describes
 */

/** @extends {ChartView<Message, PlaneDrawing>} */
class Plane extends ChartView {
  constructor() {
    super();
    this.pad = element("div", { class: "pad" });
    this.reading = element("div", { class: "reading", "data-piece": true });
    this.crowd = element("p", {
      class: "hint crowd",
      text: "So many points have no room for all their names: only what is chosen or pointed at has its name here, and what it looks at most. A shorter text shows more.",
    });
    this.sides = Object.fromEntries(["query", "key"].map((side) => [side, this.side(side)]));
    const board = element("div", { class: "board", "data-piece": true }, this.picture, this.pointed, this.pad, this.files, this.crowd);
    const rows = element("div", { class: "sides", "data-piece": true }, this.sides.query.row, this.sides.key.row);
    this.root = element("div", { class: "root chart plane" }, board, this.reading, rows);
    this.chosen = new Choice();
    this.pad.onpointermove = (event) => this.pointAt(event);
    this.pad.onpointerdown = (event) => this.pointAt(event);
    this.pad.onpointerleave = ({ pointerType }) => pointerType !== "touch" && this.leave();
    this.pad.onclick = () => this.active?.side === "query" && this.pick(this.active.at);
    this.root.addEventListener("keydown", ({ key }) => key === "Escape" && this.activate(null));
    this.onResize(() => {
      if (this.data && this.picture.clientWidth !== this.drawing?.width) this.draw();
    });
    this.onArrays(["numbers"], () => this.tell());
  }

  /** The tokens of one side as buttons: all of them within reach of the keyboard. */
  side(side) {
    const list = element("div", { class: "list", role: "group", "aria-label": SIDES[side] });
    const row = element("div", { class: `side ${side}` }, element("p", { class: "hint", text: SIDES[side] }), list);
    const at = (event) => this.sides[side].buttons.indexOf(buttonOf(event));
    list.onclick = (event) => at(event) >= 0 && (side === "query" ? this.pick(at(event)) : this.activate({ side, at: at(event) }));
    list.onkeydown = (event) => moveFocus(event, this.sides[side].buttons, this.sides[side].buttons.length);
    list.onpointerover = (event) => at(event) >= 0 && this.activate({ side, at: at(event) });
    list.onpointerleave = ({ pointerType }) => pointerType !== "touch" && this.leave();
    list.addEventListener("focusin", (event) => this.activate({ side, at: at(event) }));
    list.addEventListener("focusout", () => this.activate(null));
    return { row, list, buttons: [] };
  }

  update(data) {
    // Another query alone leaves all points and labels where they are.
    const { points, tokens, axes, keeps, numbers } = data;
    const shown = JSON.stringify({ points, tokens, axes, keeps, numbers });
    const same = shown === this.shown;
    this.data = data;
    this.shown = shown;
    this.chosen.tell(data.query);
    if (!same) {
      for (const [side, { list }] of Object.entries(this.sides)) this.fill(side, list);
      this.active = null;
    }
    this.draw();
  }

  fill(side, list) {
    const tokens = this.data.tokens[side];
    const known = this.sides[side].labels;
    const labels = JSON.stringify(tokens);
    if (labels === known) return; // the focus stays where it is
    const buttons = tokens.map(({ label, title }) =>
      element("button", { type: "button", title, "aria-pressed": side === "query" ? "false" : null }, element("bdi", { text: label, dir: "ltr" })),
    );
    list.replaceChildren(...buttons);
    Object.assign(this.sides[side], { buttons, labels });
    tabStop(buttons, side === "query" ? this.chosen.value : 0);
  }

  draw() {
    const width = this.picture.clientWidth;
    if (!width) return;
    const height = this.root.hasAttribute("data-teacher") ? ON_A_PROJECTOR : TALL;
    const drawn = [this.shown, width, height, this.theme.background].join("|");
    if (drawn !== this.drawn) {
      this.drawn = drawn;
      this.put(new PlaneDrawing(this.data, width, height, this.theme));
    }
    this.root.classList.toggle("crowded", this.drawing.crowded);
    this.drawing.svg.setAttribute("aria-label", this.data.alt);
    this.tell();
  }

  // Choosing -----------------------------------------------------------------------------------------------

  pointAt(event) {
    const { x, y } = placeUnder(event, this.picture);
    const far = (spot) => Math.hypot(spot.x - x, spot.y - y);
    const nearest = this.drawing.spots.reduce((best, spot) => (far(spot) < far(best) ? spot : best));
    this.activate(far(nearest) <= NEAR ? { side: nearest.side, at: nearest.at } : null);
  }

  activate(active) {
    const now = JSON.stringify(active);
    if (now === JSON.stringify(this.active)) return;
    this.active = active;
    this.tell();
  }

  /** When the pointer leaves, a reader with the keyboard keeps the place. */
  leave() {
    const focused = this.focused;
    for (const [side, { buttons }] of Object.entries(this.sides)) {
      const at = buttons.indexOf(focused);
      if (at >= 0 && focused.matches(":focus-visible")) return this.activate({ side, at });
    }
    return this.activate(null);
  }

  pick(query) {
    this.chosen.choose(query);
    this.tell();
    this.trigger("pick", { query });
  }

  // Telling ------------------------------------------------------------------------------------------------

  /** { weights, products, distances } as [query × key]; null before they come. */
  get numbers() {
    return allData().get(this.data.numbers)?.arrays ?? null;
  }

  /** Everything about the links of one token, the largest weight first; what the mask forbids is left out. */
  links(side, at) {
    const { weights, products, distances } = this.numbers;
    const keys = this.data.tokens.key.length;
    const other = side === "query" ? "key" : "query";
    const { keeps, points } = this.data;
    const place = (of, nth) => [points[of][0][nth], points[of][1][nth]];
    const [x, y] = place(side, at);
    const links = this.data.tokens[other].map((token, nth) => {
      const [query, key] = side === "query" ? [at, nth] : [nth, at];
      const cell = query * keys + key;
      const [right, up] = place(other, nth);
      const here = keeps === "distances" ? Math.hypot(x - right, y - up) : x * right + y * up;
      const [weight, product, distance] = [weights, products, distances].map(({ values }) => values[cell]);
      return { side: other, at: nth, token, weight, product, distance, here };
    });
    return links.filter(({ weight }) => !Number.isNaN(weight)).sort((a, b) => b.weight - a.weight);
  }

  /** The link that the plane makes one expect: the nearest point, or the largest dot product. */
  expected(links) {
    const sign = this.data.keeps === "distances" ? -1 : 1;
    return links.reduce((best, link) => (sign * link.here > sign * best.here ? link : best));
  }

  /** Shows the links of what is pointed at, or else of the chosen query. */
  tell() {
    if (!this.drawing) return;
    const { side, at } = this.active ?? { side: "query", at: this.chosen.value };
    const queries = this.sides.query.buttons;
    queries.forEach((button, nth) => button.setAttribute("aria-pressed", String(nth === this.chosen.value)));
    this.root.toggleAttribute("data-waiting", !this.numbers);
    if (!this.numbers) return;
    this.name();
    const links = this.links(side, at);
    this.pointed.replaceChildren();
    this.mark(side, at, links);
    this.tint(side, at, links);
    this.read(side, at, links);
  }

  /** The three largest weights of a token; sorting all would take a long text half a second. */
  strongest(side, at) {
    const { values } = this.numbers.weights;
    const keys = this.data.tokens.key.length;
    const most = [];
    this.data.tokens[side === "query" ? "key" : "query"].forEach((token, nth) => {
      const weight = values[side === "query" ? at * keys + nth : nth * keys + at];
      if (Number.isNaN(weight) || (most.length === 3 && weight <= most[2].weight)) return;
      const place = most.findIndex((other) => weight > other.weight);
      most.splice(place < 0 ? most.length : place, 0, { token, weight });
      most.length = Math.min(most.length, 3);
    });
    return most;
  }

  /** What screen readers say of each button: what it looks at most, or who looks at it most. */
  name() {
    if (this.named === this.shown) return;
    this.named = this.shown;
    for (const [side, { buttons }] of Object.entries(this.sides)) {
      buttons.forEach((button, at) => {
        const most = this.strongest(side, at);
        const listed = most.map(({ token, weight }) => `${token.name} ${percent(weight)}`).join(", ");
        const how = side === "query" ? "looks at" : "is looked at by";
        button.setAttribute("aria-label", `${isolated(this.data.tokens[side][at].label)}: ${listed ? `${how} ${listed}` : "nobody may look"}`);
      });
    }
  }

  mark(side, at, links) {
    const { drawing, theme } = this;
    const from = drawing.spot(side, at);
    const add = (node) => this.pointed.appendChild(node);
    if (this.data.keeps === "dot products") add(drawing.ray(from));
    for (const { side: other, at: nth, weight } of links) {
      if (weight < LEAST) continue;
      const to = drawing.spot(other, nth);
      const look = { "stroke-width": short(0.75 + 5 * weight), opacity: short(0.25 + 0.75 * Math.sqrt(weight)) };
      const d = `M${short(from.x)} ${short(from.y)}L${short(to.x)} ${short(to.y)}`;
      add(shape("path", { class: "link", d, stroke: drawing.colour({ colour: "weights" }), "stroke-linecap": "round", ...look }));
    }
    const ring = (spot, look) => add(shape("circle", { cx: short(spot.x), cy: short(spot.y), fill: "none", ...look }));
    if (links.length) {
      const expected = this.expected(links);
      const dashed = { r: 9, "stroke-dasharray": "3 3", "stroke-width": 1.5 };
      ring(drawing.spot(expected.side, expected.at), { ...dashed, stroke: hex(theme.text) });
    }
    ring(from, { r: 7.5, stroke: hex(theme.text), "stroke-width": 2 });
    this.label(this.told(side, at, links).map((each) => drawing.spot(each.side, each.at)));
  }

  /** What has its name in the picture whatever else has: the token, its strongest ones, and the expected one. */
  told(side, at, links) {
    const strong = links.slice(0, TOLD).filter(({ weight }) => weight >= STRONG);
    const expected = links.length ? [this.expected(links)] : [];
    return [{ side, at }, ...new Set([...strong, ...expected])];
  }

  /** Labels over all lines, each where it is if no thick line runs there, or else at the next free place. */
  label(spots) {
    const { drawing } = this;
    const [from, ...others] = spots;
    const bold = spots.map((spot) => ({ ...spot, half: spot.half * 1.06 }));
    const taken = [];
    for (const spot of drawing.spots) {
      const again = spots.includes(spot);
      for (const part of spot.written ?? []) part.setAttribute("visibility", again ? "hidden" : "visible");
      if (spot.place && !again) taken.push(spot.place);
    }
    bold.forEach((spot, nth) => {
      const places = [...(spot.place ? [{ ...spot.place, half: spot.half }] : []), ...drawing.placesAround(spot, FAR)];
      const free = (points) => places.filter((place) => drawing.isFree(place, spots[nth], points, taken));
      const all = [...free(drawing.spots), ...free(spots)]; // over other points only where nothing else is free
      const clear = all.find((place) => !others.some((to) => meets(from, to, place)));
      spot.place = clear ?? all[0] ?? { x: spot.x, y: spot.y - 15, half: spot.half, far: false };
      taken.push(spot.place);
      this.write(spot);
    });
  }

  write(spot) {
    const { x, y, half, far } = spot.place;
    if (far) this.pointed.append(this.drawing.leader(spot, spot.place));
    const ground = { stroke: hex(this.theme.background), "stroke-width": 5, "paint-order": "stroke", "stroke-linejoin": "round" };
    const colour = this.drawing.colour({ colour: spot.side });
    const place = { x: short(Math.min(this.drawing.width - half, Math.max(half, x))), y: short(y), "text-anchor": "middle" };
    const font = { "font-family": this.theme.font, "font-size": LETTERS, "font-weight": 700, "dominant-baseline": "central" };
    this.pointed.append(shape("text", { ...place, ...ground, ...font, fill: colour }, spot.label));
  }

  /** The other side's buttons, stronger where more attention goes. */
  tint(side, at, links) {
    for (const [each, { buttons }] of Object.entries(this.sides)) {
      buttons.forEach((button, nth) => {
        button.classList.toggle("active", each === side && nth === at);
        button.style.removeProperty("--level");
      });
    }
    for (const link of links) {
      this.sides[link.side].buttons[link.at].style.setProperty("--level", `${Math.round(45 * Math.sqrt(link.weight))}%`);
    }
  }

  read(side, at, links) {
    const token = element("bdi", { class: side, dir: "ltr", text: this.data.tokens[side][at].label });
    const heading = side === "query" ? [token, " looks at"] : [token, " is looked at by"];
    const column = (text, name) => element("th", { scope: "col", class: name }, text);
    const distances = this.data.keeps === "distances";
    const heads = [
      column(side === "query" ? "key" : "query", "token"),
      column("weight"),
      column("q · k", distances ? "" : "told"),
      column("distance", distances ? "told" : ""),
      column(distances ? "distance here" : "q · k here", "told"),
    ];
    const expected = links.length ? this.expected(links) : null;
    const listed = links.slice(0, LISTED);
    if (expected && !listed.includes(expected)) listed[LISTED - 1] = expected;
    const cell = (value, text, name = "") => element("td", { "data-value": value, class: name }, text);
    const rows = listed.map((link) => {
      const label = element("bdi", { class: link.side, dir: "ltr", text: link.token.label, title: link.token.title });
      const first = element("th", { scope: "row", class: "token" }, label);
      if (link === expected) first.append(element("span", { class: "expected", text: distances ? "nearest" : "largest" }));
      return tr(
        first,
        cell(link.weight, percent(link.weight)),
        cell(link.product, fixed(link.product, 1), distances ? "" : "told"),
        cell(link.distance, fixed(link.distance, 1), distances ? "told" : ""),
        cell(link.here, fixed(link.here, 1), "told"),
      );
    });
    const rest = links.length - listed.length;
    const more = rest > 0 ? `… and ${rest} more. ` : "";
    const ring = `Dashed ring: the ${distances ? "nearest point" : "largest dot product"} in this plane.`;
    this.reading.replaceChildren(
      element("p", { class: "heading" }, ...heading),
      table({ head: [tr(...heads)], body: rows }),
      element("p", { class: "hint", text: more + ring }),
    );
  }
}

export default widget(Plane, chartStyle, styles);
