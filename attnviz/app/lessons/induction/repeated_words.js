/* repeated words: two columns of words, the arrows of one of them, and what the model expects after each. */

import { bar, boxIn, drawing, element, table, tr } from "../../../widgets/dom.js";
import { moveFocus } from "../../../widgets/keyboard.js";
import { percent } from "../../../widgets/numbers.js";
import { Choice, unanswered } from "../../../widgets/selection.js";
import { View, widget } from "../../../widgets/widget.js";
import styles from "./repeated_words.css";

const BOW = 22; // pixels by which the first arrow to the word before reaches
const GAP = 2; // pixels between two arrows
const ENDS = 9; // pixels above and below which the arrows to the word before end

/**
 * @typedef {{ words: string[], heads: { name: string, role: "back" | "match", weights: number[], ablated: boolean }[],
 *   expected: { word: string, right: number }[], place: number }} Message what repeated_words.py sends, and describes
 */

/** @extends {View<Message>} */
class RepeatedWords extends View {
  constructor() {
    super();
    this.place = new Choice("repeated word");
    this.arrows = drawing("svg", { "aria-hidden": "true" });
    this.stage = element("div", { class: "stage", "data-rows": true });
    this.roles = element("div", { class: "roles" });
    this.root = element("div", { class: "root repeated-words" }, this.stage, this.roles);
    this.onResize(() => this.data && this.drawArrows());
  }

  update(data) {
    this.data = data;
    this.place.tell({ place: data.place });
    const { words, expected } = data;
    const focused = this.focused?.closest("td, .role") && this.focused.dataset;
    this.first = words.map((text) => element("bdi", { text }));
    this.again = expected.map((_, at) =>
      element("button", { type: "button", "data-place": at, onclick: () => this.pick(at) }, element("bdi", { text: words[at] })),
    );
    const last = element("bdi", { text: words.at(-1) });
    const rows = this.first.map((word, at) =>
      tr(
        element("td", { class: "first" }, word),
        element("td", { class: "again" }, this.again[at] ?? last),
        ...this.next(expected[at], words[at + 1]),
      ),
    );
    const head = tr(...["first", "repeated", "expected next", "correct"].map((text) => element("th", { scope: "col", text })));
    this.list = table({ head: [head], body: rows });
    this.list.onkeydown = (event) => moveFocus(event, this.again, 1);
    this.stage.replaceChildren(this.list, this.arrows);
    this.roles.replaceChildren(
      this.role("back", "Attend to the previous word"),
      this.role("match", "Attend to what followed the last time"),
    );
    this.mark();
    if (focused?.place) this.again[focused.place]?.focus();
    if (focused?.head) this.button(focused.head).focus();
  }

  /** The cells of what the model expects; empty after the last word. */
  next(expected, right) {
    if (!expected) return [element("td"), element("td")];
    const { word, right: probability } = expected;
    return [
      element("td", { class: word === right ? "next right" : "next" }, element("bdi", { text: word })),
      element("td", { class: "probability", "data-value": probability }, bar(probability), element("span", { class: "number", text: percent(probability) })),
    ];
  }

  /** The heads with a role: a button each, which ablates it. */
  role(role, title) {
    const heads = this.data.heads.filter((head) => head.role === role);
    const buttons = heads.map(({ name, ablated }) =>
      element(
        "button",
        { type: "button", "data-head": name, "aria-pressed": String(ablated), "aria-label": `Ablate head ${name}`, onclick: () => this.trigger("ablate", { head: name, ...unanswered("ablate") }) },
        element("b", { text: name }),
        element("span", { class: "weight number" }),
      ),
    );
    return element("div", { class: `role ${role}`, role: "group", "aria-label": title }, element("p", { text: title }), ...buttons);
  }

  /** @returns {HTMLElement} */
  button(head) {
    return this.roles.querySelector(`[data-head="${head}"]`);
  }

  pick(at) {
    this.place.choose({ place: at });
    this.mark();
    this.trigger("pick", { place: at });
  }

  /** Marks the chosen word, and draws its arrows. */
  mark() {
    const { place: at } = this.place.value;
    for (const [place, word] of this.first.entries()) {
      word.classList.toggle("same", place === at);
      word.classList.toggle("followed", place === at + 1);
    }
    for (const [place, button] of this.again.entries()) {
      button.setAttribute("aria-pressed", String(place === at));
      button.toggleAttribute("data-followed", place === at);
    }
    this.keepTabStop(this.again, at);
    for (const { name, weights, ablated } of this.data.heads) {
      this.button(name).lastElementChild.textContent = ablated ? "ablated" : percent(weights[at]);
    }
    this.drawArrows();
  }

  drawArrows() {
    const { place: at } = this.place.value;
    const { width, height } = boxIn(this.list, this.list); // the stage may scroll, and the list and the arrows with it
    if (!width) return;
    this.arrows.setAttribute("width", String(width));
    this.arrows.setAttribute("height", String(height));
    const [same, followed, again] = [this.first[at], this.first[at + 1], this.again[at]].map((node) => boxIn(node, this.list));
    const middle = ({ y, height: tall }) => y + tall / 2;
    const drawn = (role, path) => {
      const heads = this.data.heads.filter((head) => head.role === role);
      const widths = heads.map(({ weights, ablated }) => (ablated ? 1 : 1 + 9 * weights[at]));
      const whole = widths.reduce((sum, wide) => sum + wide + GAP, -GAP);
      let before = -whole / 2;
      return heads.map(({ ablated }, nth) => {
        const d = path(before + widths[nth] / 2, whole);
        before += widths[nth] + GAP;
        return drawing("path", { d, class: ablated ? "line closed" : "line", "stroke-width": widths[nth] });
      });
    };
    const lines = [
      ...drawn("back", (aside, whole) => {
        const [x, out] = [same.x - 6, BOW + 1.4 * (aside + whole / 2)];
        const [from, to] = [middle(followed) + ENDS * (aside / whole), middle(same) - ENDS * (aside / whole)];
        return `M${x} ${from}C${x - out} ${from} ${x - out} ${to} ${x} ${to}`;
      }),
      ...drawn("match", (aside) => {
        const [from, to] = [again.x - 6, followed.x + followed.width + 6];
        const [start, end, half] = [middle(again) + aside, middle(followed) + aside, (from - to) / 2];
        return `M${from} ${start}C${from - half} ${start} ${to + half} ${end} ${to} ${end}`;
      }),
    ];
    this.arrows.replaceChildren(...lines);
  }
}

export default widget(RepeatedWords, styles);
