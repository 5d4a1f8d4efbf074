/* shuffle: the same tokens in two orders, and what became of each token's output. */

import { drawing, element, table, tr } from "../../../widgets/dom.js";
import { moveFocus, tabStop } from "../../../widgets/keyboard.js";
import { levelsImage } from "../../../widgets/palette.js";
import { Choice } from "../../../widgets/selection.js";
import { View, widget } from "../../../widgets/widget.js";
import styles from "./shuffle.css";

/**
 * @typedef {{ tokens: { label: string, special: boolean, place: number, came_from: number, outcomes: { before:
 *   number[], after: number[], same: boolean, verdict: string, exact: [number, number], title: string }[] }[],
 *   columns: string[], chosen: number, note: string }} Message what sections.py sends, and describes
 */

/** @extends {View<Message>} */
class Shuffle extends View {
  constructor() {
    super();
    this.choice = new Choice();
    this.root = element("div", { class: "root shuffle" });
  }

  update(data) {
    this.data = data;
    this.choice.tell(data.chosen);
    const focused = this.buttons?.indexOf(this.focused) ?? -1;
    this.palette = this.theme.pixels("diverging");
    this.root.style.setProperty("--columns", data.columns.length);
    this.root.replaceChildren(
      element("div", { class: "stage", "data-rows": true }, this.orders(), this.table()),
      element("p", { class: "note", text: data.note }),
    );
    this.show();
    if (focused >= 0) this.buttons[Math.min(focused, this.buttons.length - 1)].focus();
  }

  /** The original order and the lines to the new one; the table says the same in numbers. */
  orders() {
    const before = this.data.tokens.toSorted((one, other) => one.came_from - other.came_from);
    const list = element(
      "ol",
      {},
      ...before.map((token) =>
        element(
          "li",
          { class: token.special ? "special" : "", "data-token": token.came_from },
          element("small", { text: token.came_from }),
          element("bdi", { text: token.label }),
        ),
      ),
    );
    const lines = this.data.tokens.map((token, to) => {
      const from = before.indexOf(token);
      const way = `M0 ${from + 0.5}C50 ${from + 0.5} 50 ${to + 0.5} 100 ${to + 0.5}`;
      return drawing("path", { d: way, "data-token": token.came_from });
    });
    const picture = drawing("svg", { viewBox: `0 0 100 ${before.length}`, preserveAspectRatio: "none" }, ...lines);
    const heading = element("div", { class: "heading", text: "Original order" });
    return element("div", { class: "orders", "aria-hidden": "true" }, heading, list, picture);
  }

  table() {
    const head = ["Shuffled", ...this.data.columns].map((text) => element("th", { scope: "col", text }));
    const rows = this.data.tokens.map((token, row) => this.row(token, row));
    this.buttons = rows.map((row) => row.querySelector("button"));
    return table({ head: [tr(...head)], body: rows }, { onkeydown: (event) => moveFocus(event, this.buttons, 1) });
  }

  row(token, row) {
    const moved = token.place === token.came_from ? "where it was" : `was token ${token.came_from}`;
    const button = element(
      "button",
      {
        type: "button",
        class: token.special ? "special" : "",
        title: `token ${token.place}, ${moved}`,
        onclick: () => this.pick(row),
      },
      element("small", { text: token.place }),
      element("bdi", { text: token.label }),
      element("span", { class: "hidden", text: `, ${moved}` }),
      element("span", { class: "was", "aria-hidden": "true", text: token.came_from }),
    );
    return element(
      "tr",
      {
        "data-token": token.came_from,
        onmouseenter: () => this.show(token.came_from),
        onmouseleave: () => this.show(),
      },
      element("th", { scope: "row" }, button),
      ...token.outcomes.map((outcome) => this.outcome(outcome)),
    );
  }

  outcome({ before, after, same, verdict, exact, title }) {
    const strips = [before, after].map((levels) => levelsImage(levels, 1, levels.length, this.palette));
    const verdictText = element("span", {
      class: same ? "verdict same" : "verdict",
      text: verdict,
      "data-difference": exact[0],
      "data-cosine": exact[1],
    });
    return element(
      "td",
      { title },
      element(
        "div",
        { class: "outcome" },
        element("div", { class: "strips", "aria-hidden": "true" }, ...strips),
        verdictText,
      ),
    );
  }

  pick(row) {
    const number = this.data.tokens[row].came_from;
    this.choice.choose(number);
    this.show();
    this.trigger("pick", { came_from: number });
  }

  /** Highlights the chosen token, and the one pointed at. */
  show(pointed) {
    for (const node of /** @type {NodeListOf<HTMLElement>} */ (this.root.querySelectorAll("[data-token]"))) {
      const number = Number(node.dataset.token);
      node.classList.toggle("chosen", number === this.choice.value);
      node.toggleAttribute("data-followed", number === this.choice.value && node.matches("tr"));
      node.classList.toggle("pointed", number === pointed);
    }
    const chosen = this.data.tokens.findIndex((token) => token.came_from === this.choice.value);
    this.buttons.forEach((button, row) => button.setAttribute("aria-pressed", String(row === chosen)));
    tabStop(this.buttons, Math.max(chosen, 0));
  }
}

export default widget(Shuffle, styles);
