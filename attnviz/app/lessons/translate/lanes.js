/* lanes: two sentences side by side, and the lines between and beside them: thick where much was read.

   "Along" runs with the words of a sentence, "across" from the first sentence to the second: right and down while the
   sentences are lines, down and right while they are columns. */

import { boxIn, drawing } from "../../../widgets/dom.js";
import { percent } from "../../../widgets/numbers.js";

const FAINTEST_DRAWN = 0.02; // weights below are not drawn
const FIRST_LABELLED = 0.1; // weights from here on are written beside the line

export class Lanes {
  /** @param stage holds both sentences and a picture that covers them. */
  constructor(stage, picture) {
    this.stage = stage;
    this.picture = picture;
  }

  /** Measures the places of the words; call it before drawing, whenever they may have moved. */
  measure(first, second, standing) {
    this.standing = standing;
    this.numberWidth = 2.75 * parseFloat(getComputedStyle(document.documentElement).fontSize); // "> 99 %"
    const place = (word) => {
      const { x: left, y: top, width, height } = boxIn(word, this.stage);
      return standing
        ? { along: top + height / 2, before: left, after: left + width }
        : { along: left + width / 2, before: top, after: top + height };
    };
    this.first = first.map(place);
    this.second = second.map(place);
    const { offsetWidth: width, offsetHeight: height } = this.stage;
    this.size = standing ? { along: height, across: width } : { along: width, across: height };
    this.picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.lines = [];
    this.labels = []; // above all lines
  }

  /** Lines from a word of the second sentence to what it read in the first: weights as [head][key]. */
  crossing(from, weights, style) {
    const start = this.second[from];
    this.#each(weights, (key, shares) => {
      const end = this.first[key];
      this.#bundle(shares, style, [start.along, start.before - 3], [end.along, end.after], 1, (a, b) => {
        const middle = (a[1] + b[1]) / 2;
        return [[a[0], middle], [b[0], middle]];
      });
    });
  }

  /** Arcs from a word to what it read in its own sentence, outside of the two. */
  beside(which, from, weights, style) {
    const words = this[which];
    const [side, sign] = which === "first" ? ["before", -1] : ["after", 1];
    const room = which === "first" ? Math.min(...words.map(({ before }) => before)) : this.size.across - words[0].after;
    const longest = Math.max(1, words.at(-1).along - words[0].along);
    this.#each(weights, (key, shares) => {
      const apart = words[key].along - words[from].along;
      // Beside columns of words there is little room, and the numbers need most of it.
      const nearest = this.standing ? 0.85 : 0.4;
      const depth = (nearest + ((1 - nearest) * Math.abs(apart)) / longest) * (room - style.margin);
      // A word that reads itself: a small loop.
      const lean = apart ? 0 : 22;
      const start = [words[from].along, words[from][side] + 2 * sign];
      this.#bundle(shares, style, start, [words[key].along, words[key][side]], sign, (a, b) => {
        // A Bézier curve stays inside of its handles: halfway it is ⅛ a + ¾ handle + ⅛ b.
        const handle = (words[from][side] + sign * depth - (a[1] + b[1]) / 8) / 0.75;
        return [
          [a[0] - lean, handle],
          [b[0] + lean, handle],
        ];
      });
    });
  }

  draw() {
    this.picture.replaceChildren(...this.lines, ...this.labels);
  }

  /** Calls with each key that some head reads, and the share that every head gives it; the strongest last, on top. */
  #each(weights, each) {
    const keys = weights[0].map((_, key) => ({ key, shares: weights.map((row) => row[key]) }));
    const most = ({ shares }) => Math.max(...shares);
    const seen = keys.filter((one) => most(one) >= FAINTEST_DRAWN).sort((one, other) => most(one) - most(other));
    for (const { key, shares } of seen) each(key, shares);
  }

  /**
   * One strand for each head, side by side, with an arrow at the word that is read: that word ends at `edge`, and the
   * line comes from the side of `sign`. The largest share is there too, or, with `style.labels`, at the reader.
   */
  #bundle(shares, style, start, [along, edge], sign, controls) {
    const most = Math.max(...shares);
    const labelled = most >= FIRST_LABELLED;
    const room = labelled ? (this.standing ? this.numberWidth : 17) : 3; // from the number's word to the line
    const fromReader = style.labels === "reader";
    const thickness = shares.map((share) => (share * style.thickest) / Math.sqrt(shares.length));
    const whole = thickness.reduce((sum, one) => sum + one, 0);
    const point = edge + sign * (fromReader ? 3 : room);
    const head = labelled ? 4 + whole / 2 : 0;
    const end = [along, point + sign * head];
    const begin = fromReader ? [start[0], start[1] - sign * (room - 3)] : start;
    let offset = -whole / 2;
    const strands = shares.flatMap((share, at) => {
      const middle = offset + thickness[at] / 2;
      offset += thickness[at];
      if (share < FAINTEST_DRAWN) return [];
      const [a, b] = [begin, end].map(([x, y]) => [x + middle, y]);
      const points = [a, ...controls(a, b), b].map((one) => this.#screen(one));
      return [
        drawing("path", {
          d: `M${points[0]}C${points.slice(1).join(" ")}`,
          pathLength: 1,
          "stroke-width": Math.max(0.8, thickness[at] - (shares.length > 1 ? 0.7 : 0)).toFixed(2),
          "stroke-opacity": (0.25 + 0.75 * share).toFixed(3),
        }),
      ];
    });
    const bundle = drawing("g", { class: `bundle ${style.name}`, "data-weights": shares.join(" ") }, ...strands);
    if (labelled) {
      const half = 3 + whole / 2;
      const base = end[1] + 0.5 * sign; // no gap is seen between arrow and line
      const corners = [[along - half, base], [along + half, base], [along, point]].map((one) => this.#screen(one));
      bundle.append(drawing("polygon", { points: corners.join(" "), "fill-opacity": (0.25 + 0.75 * most).toFixed(3) }));
      const outwards = fromReader ? -sign : sign;
      const [beside, off] = fromReader ? start : [along, edge];
      const [x, y] = this.#screen([beside, off + outwards * (this.standing ? 4 : 8)]).split(",");
      const anchor = this.standing ? (outwards > 0 ? "start" : "end") : "middle";
      const text = drawing("text", { x, y, "text-anchor": anchor, "dominant-baseline": "central" });
      text.textContent = percent(most, 0);
      this.labels.push(drawing("g", { class: `share ${style.name}` }, text));
    }
    this.lines.push(bundle);
  }

  /**
   * (along, across) as "x,y".
   * @param {number[]} place
   */
  #screen([along, across]) {
    return (this.standing ? [across, along] : [along, across]).map((value) => value.toFixed(1)).join(",");
  }
}
