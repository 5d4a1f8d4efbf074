/* moved outputs: each token's output stays the same to the bit, or moves, and how far. */

import { element } from "../../../widgets/dom.js";
import { css } from "../../../widgets/palette.js";
import { View, widget } from "../../../widgets/widget.js";
import styles from "./moved_outputs.css";

/**
 * @typedef {{ rows: { title: string, outputs: { label: string, edited: boolean, unchanged: boolean, distance: number,
 *   written: string }[] }[] }} Message what reach.py sends, and describes
 */

/** @extends {View<Message>} */
class MovedOutputs extends View {
  constructor() {
    super();
    this.root = element("div", { class: "root" });
  }

  update({ rows }) {
    const { theme } = this;
    this.root.replaceChildren(
      ...rows.map(({ title, outputs }) => {
        const list = element("ol", { "aria-label": title });
        list.append(...outputs.map((output) => this.token(output, theme)));
        return element("section", {}, element("p", { class: "title", text: title }), list);
      }),
    );
  }

  token({ label, edited, unchanged, distance, written: number }, theme) {
    const word = element("bdi", { class: "word", text: label });
    const said = element("span", { class: "said", text: unchanged ? "= same" : number });
    if (!unchanged) said.prepend(element("span", { class: "hidden", text: "moved " }));
    const item = element("li", { class: unchanged ? "same" : "moved" }, word, said);
    item.classList.toggle("edited", edited);
    item.dataset.distance = distance;
    if (!unchanged) {
      const bar = element("span", { class: "bar", "aria-hidden": "true" });
      bar.style.width = `${100 * Math.min(1, Math.sqrt(Math.max(0, distance)))}%`;
      bar.style.background = css(theme.change(true));
      item.append(bar);
    }
    return item;
  }
}

export default widget(MovedOutputs, styles);
