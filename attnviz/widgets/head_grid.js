/* head grid: base class of pictures with a button per head; rows are layers, columns are heads. */

import { element } from "./dom.js";
import { buttonOf, moveFocus, onHover } from "./keyboard.js";
import { Choice } from "./selection.js";
import { View } from "./widget.js";

/**
 * Indices of buttons count row by row from 0; layers and heads count from 1. `numbers` are the layer numbers if some
 * layers have no weights; by default 1, 2, 3 …
 * @template {{ heads: number, numbers?: number[], row_labels?: string[] | null, column_labels?: string[] | null }} Data
 * @extends {View<Data>}
 */
export class HeadGrid extends View {
  /** @type {HTMLElement[]} one per head */
  buttons = [];
  /** @type {number[]} indices of the selected heads */
  selectedIndices = [];

  constructor() {
    super();
    /** @type {Choice<{ layer: number, heads: number[] } | null>} */
    this.selected = new Choice();
    this.grid = element("div", { class: "grid", role: "grid" });
    this.fact = element("p", { class: "fact" });
    this.grid.onclick = (event) => this.pick(this.buttons.indexOf(buttonOf(event)));
    this.grid.onkeydown = (event) => moveFocus(event, this.buttons, this.data.heads);
    onHover(this.grid, (button) => this.describeHead(this.buttons.indexOf(button)));
  }

  /**
   * Creates the buttons, under the head numbers and next to the layer numbers.
   * @param {number} count
   */
  build(count) {
    const { heads } = this.data;
    this.buttons = Array.from({ length: count }, () => element("button", { type: "button", role: "gridcell", tabindex: -1 }));
    const label = (role, name, ...content) => element("div", { class: name, role }, ...content);
    const corner = label("columnheader", "row-label", element("span", { class: "hidden", text: this.data.row_labels ? "Row" : "Layer" }));
    const { row_labels: rowNames, column_labels: columnNames } = this.data;
    const numbers = Array.from({ length: heads }, (_, head) => {
      const text = columnNames?.[head] ?? String(head + 1);
      return label("columnheader", "column-label", element("bdi", { text, title: columnNames && text }));
    });
    /** @type {HTMLElement[][]} */
    const rows = [[corner, ...numbers]];
    for (let first = 0; first < count; first += heads) {
      const name = rowNames?.[first / heads] ?? `L${this.layerOf(first / heads)}`;
      rows.push([label("rowheader", "row-label", element("bdi", { text: name, title: rowNames && name })), ...this.buttons.slice(first, first + heads)]);
    }
    this.grid.replaceChildren(...rows.map((cells) => element("div", { class: "row", role: "row" }, ...cells)));
  }

  /** Returns the layer and the head of a button. @param {number} at */
  place(at) {
    const { heads } = this.data;
    return { layer: this.layerOf(Math.floor(at / heads)), head: (at % heads) + 1 };
  }

  /**
   * Returns the index of a head.
   * @param {number} layer
   * @param {number} head
   */
  number(layer, head) {
    const { numbers, heads } = this.data;
    return (numbers ? numbers.indexOf(layer) : layer - 1) * heads + head - 1;
  }

  /**
   * Returns the layer number of a row.
   * @param {number} row
   */
  layerOf(row) {
    return this.data.numbers?.[row] ?? row + 1;
  }

  /** Outlines the selected heads, sets the tab stop, and describes the focused or first selected head. */
  mark() {
    const { layer, heads } = this.selected.value ?? { layer: 0, heads: [] };
    this.selectedIndices = heads.map((head) => this.number(layer, head));
    this.buttons.forEach((button, at) => button.setAttribute("aria-selected", String(this.selectedIndices.includes(at))));
    this.describeHead(this.keepTabStop(this.buttons, this.selectedIndices[0] ?? 0));
  }

  /**
   * Shows the description of a head (−1: the first selected head) under the grid; returns its index, −1 for none.
   * @param {number} at
   */
  describeHead(at) {
    const shown = at >= 0 ? at : (this.selectedIndices[0] ?? -1);
    const name = element("strong", { text: this.name(shown) });
    this.fact.replaceChildren(...(shown < 0 ? [] : [name, `: ${this.factOf(shown) ?? ""}`]));
    return shown;
  }

  // Overridden by each picture: a head's name, its description, and the handler of a click (−1 outside the buttons).

  /** @param {number} _at */
  name(_at) {
    return "";
  }

  /** @param {number} _at */
  factOf(_at) {
    return "";
  }

  /** @param {number} _at */
  pick(_at) {}
}
