/* share table: numbers as bars, with a row for each token or key; keys also have a score. */

import { bar, element, table, tr } from "../../widgets/dom.js";
import { fixed, percent } from "../../widgets/numbers.js";
import { View, widget } from "../../widgets/widget.js";
import styles from "./share_table.css";

/**
 * @typedef {{ label: string, place: string, score?: number | null, shares: number[], written?: string[], mark?: string,
 *   marked?: boolean, hint?: string }} Row
 * @typedef {{ title: string, row_kind: "token" | "key" | "", columns: string[], rows: Row[], measures: { label: string,
 *   values: string[] }[], full: number }} Message sent and documented by share_table.py
 */

/** @extends {View<Message>} */
class ShareTable extends View {
  constructor() {
    super();
    this.root = element("div", { "data-rows": true });
  }

  update({ title, row_kind: kind, columns, rows, measures, full }) {
    this.root.className = `root share-table of-${kind || "token"}`;
    const scored = kind === "key";
    const strongest = columns.map((_, column) => Math.max(...rows.map(({ shares }) => shares[column])));
    const heads = [...(scored ? [["score", "q\u202f·\u202fk"]] : []), ...columns.map((text) => ["share", text])];
    const corner = kind ? element("th", { scope: "col", class: "name", text: kind }) : element("td", { class: "name" });
    const head = tr(corner, ...heads.map(([name, text]) => element("th", { scope: "col", class: name, text })));
    const row = ({ label, place, score = null, shares, written, mark, marked, hint }) => {
      const note = mark ? [" ", element("span", { class: "mark", text: `✓ ${mark}` })] : [];
      const small = element("small", { "aria-hidden": "true", text: place });
      const name = element("th", { scope: "row", class: "name" }, small, element("bdi", { text: label, title: label }), ...note);
      const cells = shares.map((share, column) => {
        const isStrongest = scored && share === strongest[column];
        const drawn = share || scored ? bar(Math.max(0, Math.min(1, share / full))) : element("span", { class: "bar" });
        const text = written?.[column] ?? (share || scored ? percent(share) : "–");
        return element("td", { class: isStrongest ? "share strongest" : "share", "data-value": share }, drawn, element("span", { class: "number", text }));
      });
      const scoreText = score === null ? "" : fixed(score, Math.abs(score) < 100 ? 2 : 1);
      const scores = scored ? [element("td", { "data-value": score, text: scoreText })] : [];
      return element("tr", { class: mark || marked ? "taken" : null, title: hint }, name, ...scores, ...cells);
    };
    const foot = measures.map(({ label, values }) =>
      tr(element("th", { scope: "row", colspan: scored ? 2 : 1, text: label }), ...values.map((text) => element("td", { text }))),
    );
    this.root.replaceChildren(table({ caption: title, head: [head], body: rows.map(row), foot }));
  }
}

export default widget(ShareTable, styles);
