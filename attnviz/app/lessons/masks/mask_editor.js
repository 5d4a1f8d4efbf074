/* mask editor: which tokens may attend to which, cell by cell; drawn here at once, computed by Python. */

import { element, isolated } from "../../../widgets/dom.js";
import { buttonOf, destination, tabStop } from "../../../widgets/keyboard.js";
import { written } from "../../../widgets/numbers.js";
import { gradient, levelOf, paint, SCALE } from "../../../widgets/palette.js";
import { textWidth } from "../../../widgets/pens.js";
import { Choice } from "../../../widgets/selection.js";
import { View, widget } from "../../../widgets/widget.js";
import styles from "./mask_editor.css";

const CELL_SIZE = { least: 26, most: 38 };
const ON_A_PROJECTOR = 20; // the height of a row

/** The cells of a mask as it is written: "8-c-e" for three tokens; each digit holds four cells of a row. */
function cellsOf(text, count) {
  return text.split("-").flatMap((row) => {
    const bits = [...row].map((digit) => parseInt(digit, 16).toString(2).padStart(4, "0")).join("");
    return Array.from({ length: count }, (_, key) => bits[key] === "1");
  });
}

/** The same the other way round. */
function writtenCells(cells, count) {
  const rows = Array.from({ length: count }, (_, query) => {
    const bits = cells.slice(query * count, (query + 1) * count).map(Number).join("");
    const whole = bits.padEnd(4 * Math.ceil(count / 4), "0");
    return whole.match(/..../g).map((four) => parseInt(four, 2).toString(16)).join("");
  });
  return rows.join("-");
}

/**
 * @typedef {{ tokens: ShownToken[], mask: string, without: number[][], with_mask: number[][] | null, query: number }} Message what mask_editor.py sends, and describes
 */

/** @extends {View<Message>} */
class MaskEditor extends View {
  constructor() {
    super();
    this.drawn = new Choice();
    this.axes = element(
      "p",
      { class: "axes" },
      element("span", { class: "looks", text: "from (query) ↓" }),
      element("span", { class: "looked-at", text: "to (key) →" }),
    );
    this.grid = element("div", { class: "grid", role: "grid", "aria-label": "Mask: which tokens may attend to which" });
    this.words = element("p", { class: "words", "aria-live": "polite" });
    this.ramp = element("span", { class: "ramp", "aria-hidden": "true" });
    const closed = element("span", { class: "closed sample", "aria-hidden": "true" });
    this.legend = element(
      "p",
      { class: "legend" },
      element("span", { class: "scale" }, element("span", { text: "0 %" }), this.ramp, element("span", { text: "100 %" })),
      element("span", { class: "scale" }, closed, element("span", { text: "masked" })),
      element("span", { text: `numbers in %, none below 0.5; ${SCALE}` }),
    );
    const scroller = element("div", { class: "scroller", "data-rows": true }, this.grid);
    this.root = element("div", { class: "root" }, this.axes, scroller, this.legend, this.words);
    this.grid.onpointerdown = (event) => this.startStroke(event);
    this.grid.onpointerover = (event) => this.continueStroke(event);
    this.grid.onpointerleave = () => this.describe(null);
    this.grid.onclick = (event) => this.press(event);
    this.grid.onkeydown = (event) => this.move(event);
    this.grid.addEventListener("focusin", ({ target }) => this.reach(target));
    this.grid.addEventListener("focusout", () => this.describe(null));
    this.onResize(() => this.data && this.layout());
    const end = () => this.endStroke();
    this.listen({ pointerup: end, pointercancel: end });
  }

  update(data) {
    this.data = data;
    this.count = data.tokens.length;
    this.without = data.without.flat();
    this.withMask = data.with_mask?.flat();
    this.drawn.tell({ mask: data.mask });
    const labels = data.tokens.map(({ name }) => name).join("\n");
    if (this.labels !== labels) this.build();
    this.labels = labels;
    if (!this.stroke) this.cells = cellsOf(this.drawn.value.mask, this.count);
    this.layout();
    this.draw();
  }

  /** Buttons for all cells; the first row and column are the tokens', the corner is for all of them. */
  build() {
    const { tokens } = this.data;
    const button = (attributes) => element("button", { type: "button", tabindex: -1, ...attributes });
    const corner = button({ class: "corner", text: "all", title: "Open every cell" });
    corner.setAttribute("aria-label", "all: open every cell");
    this.columns = tokens.map(() => button({ class: "column" }));
    this.columns.forEach((column, at) => column.append(element("bdi", { text: tokens[at].label })));
    this.rows = tokens.map(({ label }) => button({ class: "row-name", text: label }));
    this.buttons = [corner, ...this.columns];
    this.cellButtons = [];
    const head = element("div", { role: "row" }, element("div", { role: "columnheader" }, corner));
    head.append(...this.columns.map((column) => element("div", { role: "columnheader" }, column)));
    this.lines = tokens.map((_, query) => {
      const cells = tokens.map(() => button({ class: "cell", role: "gridcell" }));
      this.cellButtons.push(...cells);
      this.buttons.push(this.rows[query], ...cells);
      const name = element("div", { role: "rowheader" }, this.rows[query]);
      return element("div", { role: "row" }, name, ...cells);
    });
    this.grid.replaceChildren(head, ...this.lines);
    this.looks = [];
    this.at = null;
    tabStop(this.buttons, (this.data.query + 1) * (this.count + 1) + 1);
  }

  layout() {
    const room = this.root.clientWidth;
    if (!room) return;
    const narrow = room < 420;
    const projected = this.root.hasAttribute("data-teacher");
    const letters = projected ? 16 : 12.5;
    const widest = Math.max(...this.data.tokens.map(({ label }) => textWidth(label, letters, this.theme.font)));
    // With room for a ⚠.
    const left = Math.min(narrow ? 72 : 116, Math.ceil(widest) + 30);
    const cell = Math.floor((room - left - 6) / this.count);
    const top = Math.min(narrow ? 72 : 96, Math.max(30, Math.ceil(widest) + 14));
    this.root.style.setProperty("--left", `${left}px`);
    this.root.style.setProperty("--top", `${top}px`);
    const size = Math.min(CELL_SIZE.most, Math.max(CELL_SIZE.least, cell));
    this.root.style.setProperty("--cell", `${size}px`);
    this.root.style.setProperty("--row", `${projected ? ON_A_PROJECTOR : size}px`);
  }

  // What the cells hold

  isBlind(query) {
    return !this.cells.slice(query * this.count, (query + 1) * this.count).includes(true);
  }

  /** The number in a cell; null for none. */
  value(at) {
    if (!this.withMask || this.pending) return null;
    return this.cells[at] ? this.withMask[at] : null;
  }

  draw() {
    const { tokens, query: marked } = this.data;
    // The numbers under a mask belong to the mask that Python ran, not to one drawn since.
    this.pending = writtenCells(this.cells, this.count) !== this.data.mask;
    const levels = this.theme.levels("sequential");
    const values = this.cells.map((_, at) => this.value(at));
    const blind = tokens.map((_, query) => this.isBlind(query));
    this.cellButtons.forEach((button, at) => {
      const [query, key] = [Math.floor(at / this.count), at % this.count];
      const value = values[at];
      const open = this.cells[at];
      const look = `${open} ${value} ${blind[query]} ${this.theme.dark} ${this.pending}`;
      if (this.looks[at] === look) return;
      this.looks[at] = look;
      button.className = `cell ${open ? "open" : "closed"}${blind[query] ? " blind" : ""}`;
      button.setAttribute("aria-selected", String(open));
      const number = value === null ? "" : `, ${written(value, "percent")}`;
      button.setAttribute(
        "aria-label",
        `${tokens[query].name} → ${tokens[key].name}: ${open ? "open" : "closed"}${number}`,
      );
      if (value === null) {
        delete button.dataset.value;
        button.textContent = "";
        button.style.background = button.style.color = "";
        return;
      }
      button.dataset.value = value;
      button.textContent = Math.round(100 * value) || "";
      paint(button, levels[levelOf(value, "sequential", 1)]);
    });
    this.rows.forEach((row, query) => {
      const { label, name, title } = tokens[query];
      row.replaceChildren(blind[query] ? "⚠ " : "", element("bdi", { text: label }));
      row.title = title;
      row.classList.toggle("blind", blind[query]);
      const state = blind[query] ? ", attends to nothing" : "";
      row.setAttribute("aria-label", `${blind[query] ? "⚠ " : ""}${isolated(label)}${state}: the whole row of ${name}, query`);
      this.lines[query].classList.toggle("marked", query === marked);
      this.lines[query].toggleAttribute("data-followed", query === marked);
    });
    this.columns.forEach((column, key) => {
      const { label, name, title } = tokens[key];
      column.title = title;
      column.setAttribute("aria-label", `${isolated(label)}: the whole column of ${name}, key`);
    });
    this.root.toggleAttribute("data-pending", this.pending);
    this.ramp.style.background = gradient(levels);
    this.describe(this.at);
  }

  /** Writes what a cell holds; null for how to use the picture. */
  describe(at) {
    this.at = at;
    const { tokens } = this.data;
    const { without, withMask } = this;
    const [atQuery, atKey] = at === null ? [-1, -1] : [Math.floor(at / this.count), at % this.count];
    this.columns.forEach((column, key) => column.classList.toggle("active", key === atKey));
    this.rows.forEach((row, query) => row.classList.toggle("active", query === atQuery));
    const blind = tokens.findIndex((_, query) => this.isBlind(query));
    const name = (place) => element("bdi", { text: tokens[place].name });
    if (at === null) {
      const help = matchMedia("(hover: none)").matches
        ? "Tap cells to open and close them; tap a token for its whole row or column."
        : "Click or drag over cells to open and close them; click a token for its whole row or column. " +
          "By keyboard: arrow keys and Space.";
      this.words.replaceChildren(
        ...(blind < 0 ? [help] : [name(blind), " attends to nothing. Open at least one cell in its row."]),
      );
      return;
    }
    const before = ` ${written(without[at], "percent")} without a mask`;
    const parts = [name(atQuery), " attends to ", name(atKey), before];
    if (!this.cells[at]) parts.push("; with it, it may not");
    else if (this.pending) parts.push("; the model is running …");
    else if (withMask) {
      const change = written(withMask[at] - without[at], "signed percent");
      parts.push(`, ${written(withMask[at], "percent")} with it (${change})`);
    }
    this.words.replaceChildren(...parts);
  }

  // Drawing

  startStroke(event) {
    this.pointer = event.pointerType;
    const at = this.cellButtons.indexOf(buttonOf(event));
    // A finger must be able to scroll: it taps, and a tap is a click.
    if (at < 0 || event.button !== 0 || event.pointerType === "touch") return;
    this.stroke = { open: !this.cells[at] };
    this.paint(at, this.stroke.open);
  }

  continueStroke(event) {
    const at = this.cellButtons.indexOf(buttonOf(event));
    if (at < 0) return;
    if (this.stroke && this.cells[at] !== this.stroke.open) this.paint(at, this.stroke.open);
    else if (event.pointerType !== "touch") this.describe(at);
  }

  endStroke() {
    if (!this.stroke) return;
    this.stroke = null;
    this.send();
  }

  paint(at, open) {
    this.cells[at] = open;
    this.at = at;
    this.draw();
  }

  /** A click that no stroke has drawn already: by the keyboard, by a finger, or on a token. */
  press(event) {
    const button = buttonOf(event);
    const place = this.buttons.indexOf(button);
    if (place < 0) return;
    const at = this.cellButtons.indexOf(button);
    if (at >= 0) {
      if (event.detail > 0 && this.pointer !== "touch") return;
      this.paint(at, !this.cells[at]);
    } else {
      const query = this.rows.indexOf(button);
      const key = this.columns.indexOf(button);
      const places = this.cells
        .map((_, each) => each)
        .filter((each) => {
          if (query >= 0) return Math.floor(each / this.count) === query;
          return key < 0 || each % this.count === key;
        });
      const open = place === 0 || !places.every((each) => this.cells[each]);
      for (const each of places) this.cells[each] = open;
      this.draw();
    }
    this.send();
  }

  send() {
    const mask = writtenCells(this.cells, this.count);
    if (mask === this.drawn.value.mask) return;
    this.drawn.choose({ mask });
    this.trigger("draw", { mask });
  }

  move(event) {
    const from = this.buttons.indexOf(event.target);
    const to = destination(event, from, this.buttons.length, this.count + 1);
    if (from < 0 || to === null) return;
    event.preventDefault();
    this.buttons[to].focus();
  }

  reach(button) {
    const place = this.buttons.indexOf(button);
    if (place < 0) return;
    tabStop(this.buttons, place);
    const at = this.cellButtons.indexOf(button);
    this.describe(at < 0 ? null : at);
  }
}

export default widget(MaskEditor, styles);
