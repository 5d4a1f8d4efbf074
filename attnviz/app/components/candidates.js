/* candidates: the tokens that a model holds for likely, as a table of bars. */

import { bar, element, table, tr } from "../../widgets/dom.js";
import { percent } from "../../widgets/numbers.js";
import { View, widget } from "../../widgets/widget.js";
import styles from "./candidates.css";

/**
 * @typedef {{ title: string, columns: string[], rows: { label: string, place: number | null, numbers: number[], mark:
 *   string }[] }} Message what candidates.py sends, and describes
 */

/** @extends {View<Message>} */
class Candidates extends View {
  constructor() {
    super();
    this.root = element("div", { class: "root candidates", "data-rows": true });
  }

  update({ title, columns, rows }) {
    const heads = [
      element("th", { scope: "col", class: "token" }, "token"),
      ...columns.map((column) => element("th", { scope: "col", class: "share" }, column)),
    ];
    const body = rows.map((row) => this.row(row));
    this.root.replaceChildren(table({ caption: title, head: [tr(...heads)], body }));
  }

  row({ label, place, numbers, mark }) {
    const name = element(
      "th",
      { scope: "row", class: "token" },
      element("small", { "aria-hidden": "true" }, place === null ? "…" : String(place)),
      element("bdi", { text: label, title: label }),
    );
    if (mark) name.append(" ", element("span", { class: "mark", text: `✓ ${mark}` }));
    const cell = (value) =>
      element(
        "td",
        { "data-value": value },
        value === 0 ? element("span", { class: "bar" }) : bar(value),
        element("span", { class: "number" }, value === 0 ? "–" : percent(value)),
      );
    return element("tr", { class: mark ? "taken" : null }, name, ...numbers.map(cell));
  }
}

export default widget(Candidates, styles);
