/* spend: a hundred percent to be spent over the words of a sentence, and what a head gives beside it. */

import { bar, element } from "../../widgets/dom.js";
import { percent, total } from "../../widgets/numbers.js";
import { Choice } from "../../widgets/selection.js";
import { View, widget } from "../../widgets/widget.js";
import styles from "./spend.css";

const WHOLE = 100;

/**
 * @typedef {{ title: string, words: string[], query: number, head: string, spent: number[], given: number[] | null }} Message what
 *   spending.py sends, and describes
 */

/** @extends {View<Message>} */
class Spend extends View {
  constructor() {
    super();
    this.choice = new Choice();
    this.left = element("p", { class: "left", "aria-live": "polite" });
    this.list = element("ol", { class: "tracks" });
    this.root = element("div", { class: "root spend" }, this.left, this.list);
  }

  update({ title, words, query, head, spent, given }) {
    this.choice.tell(spent);
    const picture = JSON.stringify([title, words, query, given]);
    if (picture === this.picture) {
      if (this.choice.answered) this.spent = [...spent];
      this.draw();
      return;
    }
    this.picture = picture;
    this.spent = [...this.choice.value];
    this.list.setAttribute("aria-label", title);
    this.sliders = words.map((word, at) =>
      element("input", {
        type: "range",
        min: 0,
        max: WHOLE,
        step: 1,
        "aria-label": word,
        oninput: () => this.give(at),
        onchange: () => this.tell(),
      }),
    );
    this.numbers = words.map(() => element("span", { class: "number" }));
    const rows = words.map((word, at) =>
      element(
        "li",
        { class: at === query ? "query" : null },
        element("bdi", { text: word }),
        this.sliders[at],
        this.numbers[at],
        ...(given ? [bar(given[at]), element("span", { class: "number given", text: percent(given[at], 0), "data-value": given[at] })] : []),
      ),
    );
    const at = this.focusedSlider;
    this.list.classList.toggle("compared", given !== null);
    const names = ["", "you", "", ...(given ? [head, ""] : [])];
    const titles = element("li", { class: "titles", "aria-hidden": "true" }, ...names.map((text) => element("span", { text })));
    this.list.replaceChildren(titles, ...rows);
    if (at >= 0) this.sliders[at]?.focus();
    this.draw();
  }

  /** Which slider has the focus, -1 for none: it stays there when the head's weights come. */
  get focusedSlider() {
    return [...this.list.querySelectorAll("input")].indexOf(this.focused);
  }

  /** Gives a word as much as its slider says, and no more than there is. */
  give(at) {
    const others = total(this.spent) - this.spent[at];
    this.spent[at] = Math.min(Number(this.sliders[at].value), WHOLE - others);
    this.draw();
  }

  draw() {
    this.spent.forEach((share, at) => {
      this.sliders[at].value = String(share);
      this.sliders[at].setAttribute("aria-valuetext", `${share} %`);
      this.numbers[at].textContent = share ? `${share} %` : "";
    });
    const left = WHOLE - total(this.spent);
    this.left.textContent = left ? `${left} % left to spend: then the head's own come beside yours.` : "All is spent.";
  }

  tell() {
    this.choice.choose([...this.spent]);
    this.trigger("change", { spent: this.spent });
  }
}

export default widget(Spend, styles);
