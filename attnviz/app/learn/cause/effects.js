/* effects: two tables of words and heads: what is looked at, and what changes if it is silenced. */

import { element, isolated, tr } from "../../../widgets/dom.js";
import { moveFocus, onPointed, tabStop } from "../../../widgets/keyboard.js";
import { written } from "../../../widgets/numbers.js";
import { levelOf, paint } from "../../../widgets/palette.js";
import { Choice } from "../../../widgets/selection.js";
import { View, widget } from "../../../widgets/widget.js";
import styles from "./effects.css";

/**
 * @typedef {{ words: string[], heads: string[], looks: number[][], changes: number[][], whole: number[], looks_title:
 *   string, changes_title: string, head: number | null, word: number }} Message what tried.py sends, and describes
 */

/** @extends {View<Message>} */
class Effects extends View {
  constructor() {
    super();
    this.choice = new Choice();
    this.tables = element("div", { class: "tables" });
    onPointed(this.tables, (button) => this.point(button));
    this.words = element("p", { class: "words", "aria-live": "polite" });
    this.root = element("div", { class: "root effects" }, this.tables, this.words);
  }

  update(data) {
    const { theme } = this;
    this.choice.tell({ head: data.head, word: data.word });
    const look = JSON.stringify({ ...data, head: null, word: null, dark: theme.dark });
    this.data = data;
    if (look !== this.look) {
      this.look = look;
      this.buttons = [[], []];
      this.tables.replaceChildren(
        this.table(0, data.looks_title, data.looks, null, "sequential"),
        this.table(1, data.changes_title, data.changes, data.whole, "diverging"),
      );
    }
    this.mark();
    this.point(null);
  }

  table(which, title, values, whole, kind) {
    const { words, heads } = this.data;
    const signed = kind === "diverging";
    const unit = signed ? "signed percent" : "percent";
    const levels = this.theme.levels(kind);
    const cell = (value, attributes, tag) => {
      const size = Math.round(100 * Math.abs(value));
      const text = size === 0 ? "" : `${signed ? (value < 0 ? "−" : "+") : ""}${size}`;
      const node = element(tag, { class: "cell", "data-value": value, text, ...attributes });
      paint(node, levels[levelOf(value, kind)]);
      return node;
    };
    const layer = (head) => head.split("-")[0];
    const starts = heads.map((head, at) => at > 0 && layer(head) !== layer(heads[at - 1]));
    const head = tr(
      element("td", { class: "corner" }),
      ...heads.map((name, at) => element("th", { scope: "col", class: starts[at] ? "starts" : "", text: name })),
    );
    const rows = values.map((row, word) => {
      const buttons = row.map((value, at) =>
        cell(
          value,
          {
            type: "button",
            tabindex: -1,
            "data-word": word,
            "data-head": at,
            "aria-label": `${isolated(words[word])} in head ${heads[at]}: ${written(value, unit)}`,
            onclick: () => this.pick(at, word),
          },
          "button",
        ),
      );
      this.buttons[which].push(...buttons);
      return tr(
        element("th", { scope: "row" }, element("bdi", { text: words[word] })),
        ...buttons.map((button, at) => element("td", { class: starts[at] ? "starts" : "" }, button)),
      );
    });
    const last = element(
      "tr",
      { class: "whole" },
      element("th", { scope: "row", text: whole ? "whole head" : "" }),
      ...(whole ?? heads).map((value, at) =>
        element("td", { class: starts[at] ? "starts" : "" }, ...(whole ? [cell(value, {}, "span")] : [])),
      ),
    );
    this.root.style.setProperty("--columns", String(heads.length));
    const body = element("tbody", {}, ...rows, ...(whole ? [last] : []));
    body.onkeydown = (event) => moveFocus(event, this.buttons[which], heads.length);
    const table = element("table", {}, element("caption", { text: title }), element("thead", {}, head), body);
    return element("div", { class: "scroller" }, table);
  }

  mark() {
    const { heads } = this.data;
    const { head, word } = this.choice.value;
    for (const buttons of this.buttons) {
      const chosen = head === null ? -1 : word * heads.length + head;
      buttons.forEach((button, at) => button.setAttribute("aria-pressed", String(at === chosen)));
      tabStop(buttons, Math.max(0, chosen));
    }
  }

  /** The cell under the pointer and its twin, and both numbers in words. */
  point(button) {
    const at = button ? this.buttons.map((buttons) => buttons.indexOf(button)).find((each) => each >= 0) : -1;
    for (const buttons of this.buttons) buttons.forEach((each, place) => each.classList.toggle("pointed", place === at));
    if (at < 0 || at === undefined) {
      this.words.textContent = "Click a cell to put its arrow into the picture above.";
      return;
    }
    const { words, heads, looks, changes, looks_title: looksTitle, changes_title: changesTitle } = this.data;
    const [word, head] = [Math.floor(at / heads.length), at % heads.length];
    this.words.replaceChildren(
      element("bdi", { text: words[word] }),
      ` in head ${heads[head]} · ${looksTitle}: ${written(looks[word][head], "percent")} · `,
      `${changesTitle}: ${written(changes[word][head], "signed percent")}`,
    );
  }

  pick(head, word) {
    this.choice.choose({ head, word });
    this.mark();
    this.trigger("pick", { head, word });
  }
}

export default widget(Effects, styles);
