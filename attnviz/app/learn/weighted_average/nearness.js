/* nearness: two similarities for each token, before and after. */

import { element, table, tr } from "../../../widgets/dom.js";
import { fixed } from "../../../widgets/numbers.js";
import { View, widget } from "../../../widgets/widget.js";
import styles from "./nearness.css";

/**
 * @typedef {{ lines: { label: string, before: number, after: number }[], before: string, after: string
 *   }} Message what averages_compared.py sends, and describes
 */

/** @extends {View<Message>} */
class Nearness extends View {
  constructor() {
    super();
    this.root = element("div", { class: "root nearness" });
  }

  update(data) {
    if (this.data === data) return; // only the theme changed
    this.data = data;
    const { lines, before, after } = data;
    const least = Math.min(0, ...lines.flatMap((line) => [line.before, line.after])) - 0.05;
    const place = (value) => (100 * (value - least)) / (1.05 - least);
    const head = tr(
      element("th", { scope: "col" }, "token"),
      element(
        "th",
        { scope: "col" },
        element("span", { class: "hidden", text: "on a scale up to 1" }),
        element("span", { class: "scale", "aria-hidden": "true" }, mark(0, place), mark(1, place)),
      ),
      element("th", { scope: "col", class: "before" }, element("span", { class: "circle" }), element("bdi", { text: before })),
      element("th", { scope: "col", class: "after" }, element("span", { class: "circle full" }), element("bdi", { text: after })),
    );
    const rows = lines.map((line) => {
      const [from, to] = [place(line.before), place(line.after)];
      const way = element("span", { class: "way" });
      way.style.left = `${Math.min(from, to)}%`;
      way.style.width = `${Math.abs(to - from)}%`;
      const zero = element("span", { class: "zero" });
      zero.style.left = `${place(0)}%`;
      const dots = [element("span", { class: "dot" }), element("span", { class: "dot full" })];
      dots[0].style.left = `${from}%`;
      dots[1].style.left = `${to}%`;
      return tr(
        element("th", { scope: "row", title: line.label }, element("bdi", { text: line.label })),
        element("td", {}, element("div", { class: "track", "aria-hidden": "true" }, zero, way, ...dots)),
        element("td", { class: "before", "data-value": line.before }, fixed(line.before)),
        element("td", { class: "after", "data-value": line.after }, fixed(line.after)),
      );
    });
    this.root.replaceChildren(table({ head: [head], body: rows }));
  }
}

function mark(value, place) {
  const node = element("span", { class: "mark" }, String(value));
  node.style.left = `${place(value)}%`;
  return node;
}

export default widget(Nearness, styles);
