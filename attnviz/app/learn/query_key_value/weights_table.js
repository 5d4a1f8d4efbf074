/* weights table: the weights of one head in numbers; queries are the rows, or the columns. */

import { element, table, tr } from "../../../widgets/dom.js";
import { percent, total } from "../../../widgets/numbers.js";
import { View, widget } from "../../../widgets/widget.js";
import styles from "./weights_table.css";

/**
 * @typedef {{ weights: number[][], others: number[] | null, queries: string[], keys: string[], forbidden: boolean[][]
 *   | null, query: number, columns: boolean, caption: string }} Message what sections.py sends, and describes
 */

/** @extends {View<Message>} */
class WeightsTable extends View {
  constructor() {
    super();
    this.root = element("div", { class: "root weights-table" });
  }

  update(data) {
    if (this.data === data) return;
    this.data = data;
    const { weights, others, queries, query, columns, forbidden } = data;
    const keys = [...data.keys, ...(others ? ["all others"] : [])];
    const rows = weights.map((row, at) => [...row, ...(others ? [others[at]] : [])]);
    const sums = rows.map(total);
    const [down, across] = columns ? [keys, queries] : [queries, keys];
    const place = (i, j) => (columns ? [j, i] : [i, j]);
    const body = down.map((label, i) => {
      const cells = across.map((_, j) => {
        const [asked, looked] = place(i, j);
        return cell(rows[asked][looked], asked === query, Boolean(forbidden?.[asked][looked]));
      });
      const sum = columns ? [] : [sumCell(sums[i])];
      return tr(name(label, "row", !columns && i === query), ...cells, ...sum);
    });
    if (columns) body.push(tr(element("th", { scope: "row", class: "sum" }, "sum"), ...sums.map(sumCell)));
    const heads = across.map((label, j) => name(label, "col", columns && j === query));
    const sum = columns ? [] : [element("th", { scope: "col", class: "sum" }, "sum")];
    const [asked, looked] = ["query (looks)", "key (is looked at)"];
    const corner = element(
      "td",
      { class: "corner" },
      element("span", {}, `${columns ? asked : looked} →`),
      element("span", {}, `${columns ? looked : asked} ↓`),
    );
    const weightsTable = table({ head: [tr(corner, ...heads, ...sum)], body });
    const scrolls = { class: "scroll", tabindex: 0, role: "group", "aria-label": data.caption };
    this.root.replaceChildren(element("div", scrolls, weightsTable), element("p", {}, data.caption));
  }
}

/** 0.664 as "66", for a table whose caption says that these are percents; never 0 for something. */
function cell(weight, marked, forbidden) {
  const node = element("td", { "data-value": weight }, percent(weight, 0).replace(" %", ""));
  node.classList.toggle("marked", marked);
  node.classList.toggle("forbidden", forbidden);
  node.style.setProperty("--level", `${Math.round(45 * Math.sqrt(Math.max(0, weight)))}%`);
  return node;
}

const sumCell = (sum) => element("td", { class: "sum", "data-value": sum }, (100 * sum).toFixed(0));

const name = (label, scope, chosen) =>
  element("th", { scope, class: chosen ? "chosen" : null }, element("bdi", { text: label, title: label }));

export default widget(WeightsTable, styles);
