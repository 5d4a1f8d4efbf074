/* measures: rows of coloured cells, one row a measure, one column a token. */

import { element, isolated } from "../../../widgets/dom.js";
import { buttonOf, moveFocus, onPointed, tabStop } from "../../../widgets/keyboard.js";
import { gradient, paint } from "../../../widgets/palette.js";
import { Choice } from "../../../widgets/selection.js";
import { View, widget } from "../../../widgets/widget.js";
import styles from "./measures.css";

const half = (rank) => (Number.isInteger(rank) ? String(rank) : rank.toFixed(1));

const STANDINGS = {
  counted: "",
  itself: "the token itself, not ranked",
  aside: "not ranked",
  unseen: "the token cannot look there",
};

/** A bar on a scale from −1 to 1, with a mark at 0. */
const bandOf = ([low, high]) => {
  const bar = element("span");
  bar.style.left = `${50 * (1 + low)}%`;
  bar.style.right = `${50 * (1 - high)}%`;
  return element("span", { class: "band", "aria-hidden": "true" }, bar);
};

const MANY = 16; // columns, above which a token has no room to be written across

/**
 * @typedef {{ title: string, agreement: string, columns: { label: string, title: string, standing: "counted" |
 *   "itself" | "aside" | "unseen", place: number }[], lines: { key: string, label: string, agreement: string, band:
 *   [number, number] | null, yardstick: boolean, values: number[], written: string[], ranks: number[] }[], chosen:
 *   string }} Message what measures.py sends, and describes
 */

/** @extends {View<Message>} */
class Measures extends View {
  constructor() {
    super();
    this.choice = new Choice();
    this.table = element("div", { class: "table", role: "grid" });
    this.fact = element("p", { class: "fact", "aria-live": "polite" });
    this.ramp = element("span", { class: "ramp" });
    const legend = element(
      "p",
      { class: "legend" },
      element("span", {}, "colour: how large, from 0 ", this.ramp, " to the largest ranked one of its row"),
      element("span", { text: "number: its rank, 1 is the largest" }),
    );
    const scroller = element("div", { class: "scroller", "data-rows": true }, this.table);
    this.root = element("div", { class: "root measures" }, legend, scroller, this.fact);
    this.table.onclick = (event) => this.pick(buttonOf(event));
    onPointed(this.table, (button) => this.point(button));
    this.table.onkeydown = (event) => {
      moveFocus(event, this.tokens, this.tokens.length);
      moveFocus(event, this.cells, this.tokens.length + 1);
    };
  }

  update(data) {
    const { theme } = this;
    this.choice.tell(data.chosen);
    const look = JSON.stringify({ ...data, chosen: "", dark: theme.dark });
    this.data = data;
    if (look !== this.look) this.build(theme);
    this.look = look;
    this.mark();
    this.point(null);
  }

  build(theme) {
    const { title, agreement, columns, lines } = this.data;
    this.table.setAttribute("aria-label", title);
    this.ramp.style.background = gradient(theme.levels("sequential"));
    this.root.style.setProperty("--columns", String(columns.length));
    this.root.classList.toggle("many", columns.length > MANY);
    const counted = columns.filter(({ standing }) => standing === "counted").length;
    const head = element(
      "div",
      { role: "row", class: "row head" },
      element("div", { role: "columnheader", class: "name corner" }, agreement),
      ...columns.map(({ label, standing, title: longer }, column) =>
        element(
          "div",
          { role: "columnheader", class: "cell" },
          element(
            "button",
            { type: "button", class: `token ${standing}`, "data-column": column, title: longer },
            element("bdi", { text: label }),
          ),
        ),
      ),
    );
    const rows = lines.map((line, row) => {
      const largest = Math.max(
        ...line.values.filter((_, column) => columns[column].standing === "counted"),
        Number.MIN_VALUE,
      );
      const cells = line.values.map((value, column) => {
        const { label, standing } = columns[column];
        const rank = line.ranks[column];
        const cell = element("button", {
          type: "button",
          class: `value ${standing}`,
          "data-row": row,
          "data-column": column,
          "data-value": value,
          "aria-label": `${line.label}, ${isolated(label)}: ${line.written[column]}, ${rank ? `rank ${half(rank)} of ${counted}` : STANDINGS[standing]}`,
          text: rank ? half(rank) : "",
        });
        if (standing === "counted") {
          paint(cell, theme.levels("sequential")[Math.round(254 * Math.min(1, value / largest))]);
        }
        return element("div", { role: "gridcell", class: "cell" }, cell);
      });
      const name = element(
        "button",
        { type: "button", class: "measure", "data-row": row, "data-measure": line.key },
        element("span", { class: "label", text: line.label }),
        " ",
        ...(line.band ? [bandOf(line.band)] : []),
        element("span", { class: "agreement", text: line.agreement }),
      );
      return element(
        "div",
        { role: "row", class: line.yardstick ? "row yardstick" : "row" },
        element("div", { role: "rowheader", class: "name" }, name),
        ...cells,
      );
    });
    this.table.replaceChildren(head, ...rows);
    this.tokens = [...head.querySelectorAll("button")];
    this.cells = rows.flatMap((row) => [...row.querySelectorAll("button")]);
    tabStop(this.tokens, 0);
    tabStop(this.cells, 0);
  }

  mark() {
    for (const [row, each] of [...this.table.children].slice(1).entries()) {
      const chosen = this.data.lines[row].key === this.choice.value;
      each.classList.toggle("chosen", chosen);
      each.querySelector(".measure").setAttribute("aria-pressed", String(chosen));
    }
  }

  /** The column under the pointer in all rows, and the number in words. */
  point(button) {
    const { columns, lines } = this.data;
    const column = button?.dataset.column ?? null;
    for (const each of [...this.tokens, ...this.cells]) {
      each.classList.toggle("beside", column !== null && each.dataset.column === column);
    }
    const line = lines[button?.dataset.row];
    const token = columns[column];
    if (!line && !token) {
      this.fact.textContent =
        "Click a measure to read what it is, or a token to ask about that one. Pointing at a cell shows its number.";
      return;
    }
    const counted = columns.filter(({ standing }) => standing === "counted").length;
    const parts = [];
    if (token) parts.push(element("bdi", { text: token.label }));
    if (line && token) {
      const rank = line.ranks[column];
      parts.push(
        ` · ${line.label}: ${line.written[column]}`,
        rank ? `, rank ${half(rank)} of ${counted}` : ` (${STANDINGS[token.standing]})`,
      );
    } else if (line) parts.push(line.label);
    else parts.push(token.standing === "counted" ? "" : ` (${STANDINGS[token.standing]})`);
    this.fact.replaceChildren(...parts);
  }

  pick(button) {
    if (!button) return;
    const { row, column } = button.dataset;
    if (row !== undefined) {
      const { key } = this.data.lines[row];
      this.choice.choose(key);
      this.mark();
      this.trigger("measure", { key });
    } else if (column !== undefined) this.trigger("token", { place: this.data.columns[column].place });
  }
}

export default widget(Measures, styles);
