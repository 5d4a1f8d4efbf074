/* token bars: a number for every token, as bars of one scale. */

import { bar, element } from "../../widgets/dom.js";
import { View, widget } from "../../widgets/widget.js";
import styles from "./token_bars.css";

/**
 * @typedef {{ title: string, bars: { number: number, label: string, size: number, written: string, hint: string,
 *   marked: boolean }[] }} Message what token_bars.py sends, and describes
 */

/** @extends {View<Message>} */
class TokenBars extends View {
  constructor() {
    super();
    this.title = element("p", { class: "title" });
    this.list = element("ol");
    this.root = element("div", { class: "root token-bars" }, this.title, this.list);
  }

  update({ title, bars }) {
    this.title.textContent = title;
    this.list.setAttribute("aria-label", title);
    this.list.replaceChildren(...bars.map((each) => this.row(each)));
  }

  row({ number, label, size, written, hint, marked }) {
    const item = element(
      "li",
      { class: marked ? "marked" : null, title: hint },
      element("small", { text: number }),
      element("bdi", { text: label, title: `${label} · ${hint}` }),
      bar(size),
      element("span", { class: "written", text: written }),
    );
    item.dataset.size = size;
    return item;
  }
}

export default widget(TokenBars, styles);
