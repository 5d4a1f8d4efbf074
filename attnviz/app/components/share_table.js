/* share table: shares as bars with their numbers, a row for each token, or for each key with its score. */

import { bar, element, table, tr } from "../../widgets/dom.js";
import { fixed, percent } from "../../widgets/numbers.js";
import { View, widget } from "../../widgets/widget.js";
import styles from "./share_table.css";

/**
 * @typedef {{ title: string, of: "token" | "key", columns: string[], rows: { label: string, place: string, score?:
 *   number | null, shares: number[], mark?: string }[], measures: { label: string, values: string[] }[] }} Message
 *   what share_table.py sends, and describes
 */

/** @extends {View<Message>} */
class ShareTable extends View {
  constructor() {
    super();
    this.root = element("div", { "data-rows": true });
  }

  update({ title, of, columns, rows, measures }) {
    this.root.className = `root share-table of-${of}`;
    const scored = of === "key";
    const strongest = columns.map((_, column) => Math.max(...rows.map(({ shares }) => shares[column])));
    const heads = [["name", of], ...(scored ? [["score", "q\u202f·\u202fk"]] : []), ...columns.map((text) => ["share", text])];
    const head = tr(...heads.map(([name, text]) => element("th", { scope: "col", class: name, text })));
    const row = ({ label, place, score = null, shares, mark }) => {
      const marked = mark ? [" ", element("span", { class: "mark", text: `✓ ${mark}` })] : [];
      const small = element("small", { "aria-hidden": "true", text: place });
      const name = element("th", { scope: "row", class: "name" }, small, element("bdi", { text: label, title: label }), ...marked);
      const cells = shares.map((share, column) => {
        const most = scored && share === strongest[column];
        const drawn = share || scored ? bar(share) : element("span", { class: "bar" });
        const number = element("span", { class: "number", text: share || scored ? percent(share) : "–" });
        return element("td", { class: most ? "share strongest" : "share", "data-value": share }, drawn, number);
      });
      const written = score === null ? "" : fixed(score, Math.abs(score) < 100 ? 2 : 1);
      const scores = scored ? [element("td", { "data-value": score, text: written })] : [];
      return element("tr", { class: mark ? "taken" : null }, name, ...scores, ...cells);
    };
    const foot = measures.map(({ label, values }) =>
      tr(element("th", { scope: "row", colspan: 2, text: label }), ...values.map((text) => element("td", { text }))),
    );
    this.root.replaceChildren(table({ caption: title, head: [head], body: rows.map(row), foot }));
  }
}

export default widget(ShareTable, styles);
