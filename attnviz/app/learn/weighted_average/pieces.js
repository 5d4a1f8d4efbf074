/* pieces: a text and the tokens it was cut into. */

import { element, isolated } from "../../../widgets/dom.js";
import { moveFocus, onPointed, tabStop } from "../../../widgets/keyboard.js";
import { View, widget } from "../../../widgets/widget.js";
import styles from "./pieces.css";

/**
 * @typedef {{ text: string, cuts: { label: string, id: number, start: number, end: number }[], more: number }}
 *   Message what page.py sends, and describes
 */

/** @extends {View<Message>} */
class Pieces extends View {
  constructor() {
    super();
    this.typed = element("p", { class: "typed" });
    this.list = element("div", {
      class: "list",
      role: "group",
      "aria-label": "Tokens",
      onkeydown: (event) => moveFocus(event, this.buttons, this.buttons.length),
    });
    onPointed(this.list, (button) => this.show(button));
    this.more = element("p", { class: "more" });
    this.root = element("div", { class: "root pieces" }, this.typed, this.list, this.more);
  }

  update(data) {
    if (this.data === data) return; // only the theme changed
    this.data = data;
    this.buttons = data.cuts.map((cut, at) => {
      const where = cut.end > cut.start ? `${cut.start}–${cut.end}` : "added";
      return element(
        "button",
        {
          type: "button",
          "data-start": cut.start,
          "data-end": cut.end,
          class: at % 2 ? "odd" : "even",
          "aria-label": `${isolated(cut.label)}, id ${cut.id}, ${cut.end > cut.start ? `characters ${where}` : where}`,
        },
        element("bdi", { class: "label", text: cut.label }),
        element("span", { class: "id", text: cut.id }),
        element("span", { class: "span", text: where }),
      );
    });
    this.list.replaceChildren(...this.buttons);
    tabStop(this.buttons, 0);
    this.more.textContent = data.more ? `… and ${data.more.toLocaleString("en")} more tokens.` : "";
    this.show(null);
  }

  /** Marks the token's characters in the text; null for none. */
  show(button) {
    // By characters, as Python counts them: a JavaScript string counts an emoji twice.
    const letters = Array.from(this.data.text);
    const [start, end] = button ? [Number(button.dataset.start), Number(button.dataset.end)] : [0, 0];
    const part = (from, to) => letters.slice(from, to).join("");
    this.typed.replaceChildren(part(0, start), element("mark", { text: part(start, end) }), part(end));
    for (const other of this.buttons) other.classList.toggle("shown", other === button);
  }
}

export default widget(Pieces, styles);
