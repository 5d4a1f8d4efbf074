/* distributions: a table of measures, each with its mean, its spread and its baseline. */

import { drawing, element, table, tr } from "../../../widgets/dom.js";
import { View, widget } from "../../../widgets/widget.js";
import styles from "./distributions.css";

const WIDE = 200; // of a row's picture, in its own units
const TALL = 40;

/**
 * @typedef {{ rows: { name: string, words: string, mean: number, baseline: number, heights: number[], written:
 *   string, of: string, even: string, ends: [string, string], chosen: boolean }[], heading: string, caption: string }} Message
 *   what distributions.py sends, and describes
 */

/** @extends {View<Message>} */
class Distributions extends View {
  constructor() {
    super();
    this.root = element("div", { class: "root distributions" });
  }

  update(data) {
    if (this.data === data) return; // a change of theme: the colours are the style sheet's business
    this.data = data;
    const head = ["Rule", "Mean", "Even", data.heading].map((text) => element("th", { scope: "col", text }));
    const body = data.rows.map((row, at) => this.row(row, data.rows[at + 1]));
    this.root.replaceChildren(table({ head: [tr(...head)], body }), element("p", { text: data.caption }));
  }

  row(rule, next) {
    const { name, words, written, of, even, chosen } = rule;
    return element(
      "tr",
      { class: chosen ? "chosen" : null },
      element("th", { scope: "row", text: name }, element("small", { text: words })),
      element("td", { class: "mean", text: written }, element("small", { text: of })),
      element("td", { class: "even", text: even }),
      element("td", { class: "spread" }, this.picture(rule, String(rule.ends) !== String(next?.ends))),
    );
  }

  /** The axis is written where the next row has another, or there is none. */
  picture({ mean, baseline, heights, ends }, isWritten) {
    const tallest = Math.max(...heights, 0) || 1;
    const width = WIDE / Math.max(1, heights.length);
    const bars = heights.map((height, at) => {
      const tall = ((TALL - 6) * height) / tallest;
      return drawing("rect", { x: at * width + 0.5, y: TALL - tall, width: width - 1, height: tall });
    });
    const mark = (name, at, top) => {
      const x = 2 + (WIDE - 4) * Math.min(1, Math.max(0, at));
      return drawing("line", { class: name, x1: x, x2: x, y1: top, y2: TALL });
    };
    const picture = drawing(
      "svg",
      { viewBox: `0 0 ${WIDE} ${TALL}`, preserveAspectRatio: "none", "aria-hidden": "true" },
      drawing("line", { class: "axis", x1: 0, x2: WIDE, y1: TALL, y2: TALL }),
      ...bars,
      mark("baseline", baseline, 0),
      mark("at", mean, 0),
    );
    const written = isWritten ? [element("div", { class: "ends" }, ...ends.map((text) => element("span", { text })))] : [];
    return element("div", { class: "picture" }, picture, ...written);
  }
}

export default widget(Distributions, styles);
