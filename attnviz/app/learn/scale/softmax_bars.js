/* softmax_bars: one row of keys under several softmaxes, as a table of bars; sections.py describes the data. */

import { bar, element, table, tr } from "../../../widgets/dom.js";
import { fixed, percent } from "../../../widgets/numbers.js";
import { View, widget } from "../../../widgets/widget.js";
import styles from "./softmax_bars.css";

/**
 * @typedef {{ title: string, columns: string[], keys: { label: string, place: number | null, score: number | null,
 *   weights: number[] }[], measures: { label: string, values: string[] }[] }} Message what sections.py sends, and
 *   describes
 */

/** @extends {View<Message>} */
class SoftmaxBars extends View {
  constructor() {
    super();
    this.root = element("div", { class: "root softmax-bars" });
  }

  update({ title, columns, keys, measures }) {
    const strongest = columns.map((_, column) => Math.max(...keys.map((key) => key.weights[column])));
    const product = [element("i", { text: "q" }), "\u202f·\u202f", element("i", { text: "k" })];
    const heads = [
      tr(
        element("th", { scope: "col", rowspan: 2, class: "key" }, "key"),
        element("th", { scope: "col", rowspan: 2 }, ...product),
        element("th", { scope: "colgroup", colspan: columns.length, class: "weights" }, "weight"),
      ),
      tr(...columns.map((column) => element("th", { scope: "col", class: "weight" }, column))),
    ];
    const row = ({ label, place, score, weights }) =>
      tr(
        element(
          "th",
          { scope: "row", class: "key" },
          ...(place === null ? [] : [element("small", { "aria-hidden": "true" }, String(place))]),
          element("bdi", { text: label, title: label }),
        ),
        element("td", { "data-value": score }, score === null ? "" : fixed(score, Math.abs(score) < 100 ? 2 : 1)),
        ...weights.map((weight, column) =>
          element(
            "td",
            { class: weight === strongest[column] ? "weight strongest" : "weight", "data-value": weight },
            bar(weight),
            element("span", { class: "number" }, percent(weight)),
          ),
        ),
      );
    const foot = measures.map(({ label, values }) =>
      tr(element("th", { scope: "row", colspan: 2 }, label), ...values.map((value) => element("td", {}, value))),
    );
    this.root.replaceChildren(table({ caption: title, head: heads, body: keys.map(row), foot }));
  }
}

export default widget(SoftmaxBars, styles);
