/* passage: a typed text and the tokens that a model added to it. */

import { element, isolated } from "../../widgets/dom.js";
import { moveFocus, tabStop } from "../../widgets/keyboard.js";
import { Choice } from "../../widgets/selection.js";
import { View, widget } from "../../widgets/widget.js";
import styles from "./passage.css";

/**
 * @typedef {{ typed: string, tokens: string[], written: boolean, pending: boolean, chosen: number | null }} Message
 *   message from passage.py, documented there
 */

/** @extends {View<Message>} */
class Passage extends View {
  constructor() {
    super();
    this.choice = new Choice();
    const step = (name, text, by) =>
      element("button", { type: "button", class: "step", "aria-label": name, title: name, text, onclick: () => this.step(by) });
    this.back = step("Previous token", "‹", -1);
    this.next = step("Next token", "›", 1);
    this.place = element("span", { class: "place" });
    this.text = element("p", {
      class: "text",
      onkeydown: (event) => moveFocus(event, this.buttons, this.buttons.length),
    });
    const steps = element("div", { class: "steps" }, this.back, this.place, this.next);
    this.root = element("div", { class: "root passage" }, steps, this.text);
  }

  update(data) {
    this.choice.receive(data.chosen);
    this.pending = data.pending;
    const texts = JSON.stringify([data.typed, data.tokens, data.written, data.pending]);
    if (texts !== this.texts) this.build(data);
    this.texts = texts;
    this.show();
  }

  build({ typed, tokens, written, pending }) {
    const origin = written ? "written" : "typed";
    const count = tokens.length - Number(pending);
    this.buttons = tokens.map((token, at) =>
      element(
        "button",
        {
          type: "button",
          class: origin,
          "aria-label": at === count ? "next token, not written yet" : `${isolated(token.trim()) || "space"}, ${origin} token ${at + 1} of ${count}`,
          onclick: () => this.pick(at),
        },
        element("bdi", { text: token }),
      ),
    );
    this.text.replaceChildren(
      ...(typed ? [element("span", { class: "hidden", text: "typed: " }), element("bdi", { text: typed })] : []),
      ...(typed && written ? [element("span", { class: "by", text: "model" })] : []),
      ...this.buttons,
    );
  }

  pick(at) {
    this.choice.choose(at);
    this.show();
    this.trigger("pick", { token: at });
  }

  step(by) {
    const { value } = this.choice;
    const at = value === null ? 0 : value + by;
    if (at >= 0 && at < this.buttons.length) this.pick(at);
  }

  /** Scrolls the text, not the page, to centre the token if it is not visible.
   * @param {HTMLElement | undefined} button */
  scrollIntoView(button) {
    const { scrollTop, clientHeight } = this.text;
    const [top, bottom] = button ? [button.offsetTop, button.offsetTop + button.offsetHeight] : [scrollTop, scrollTop];
    if (top < scrollTop || bottom > scrollTop + clientHeight) this.text.scrollTop = (top + bottom - clientHeight) / 2;
  }

  show() {
    const { value } = this.choice;
    const last = this.buttons.length - 1;
    this.buttons.forEach((button, at) => button.setAttribute("aria-pressed", String(at === value)));
    if (!this.buttons.includes(this.focused)) tabStop(this.buttons, value ?? 0);
    if (value !== this.shown) this.scrollIntoView(this.buttons[value]);
    this.shown = value;
    const count = this.buttons.length - Number(this.pending);
    if (value === null) this.place.textContent = `${count} token${count === 1 ? "" : "s"}`;
    else this.place.textContent = value === count ? "next token" : `token ${value + 1} of ${count}`;
    this.back.setAttribute("aria-disabled", String(value === 0));
    this.next.setAttribute("aria-disabled", String(value === last));
  }
}

export default widget(Passage, styles);
