/* masks: the page Masks: an editable mask, and the model's weights with it. */

import { find, Model, Site } from "./site.js";

const BY_HAND = "by hand";

export class Masks extends Site {
  /** Returns labels for the weights without and with the mask, and for their difference. */
  get titles() {
    const labels = this.opening?.labels;
    return this.facts.traces.map((_, at) => [labels?.before, labels?.masked, "difference"][at]);
  }

  get changeLabel() {
    return "with minus without the mask";
  }

  runLabel(at) {
    return `: ${this.titles[at]}`;
  }

  /** Masks or unmasks the chosen cell in the matrix with the mask. */
  handleTrigger(trigger, value) {
    super.handleTrigger(trigger, value);
    const { text, view, query, key } = this.state;
    if (trigger !== "pick" || text !== 2 || view !== "matrix" || query === null || key === null) return;
    const { tokens, allowed } = this.runs[1];
    const cells = allowed ? [...allowed] : tokens.flatMap(() => tokens.map(() => 1));
    const row = (query - 1) * tokens.length;
    cells[row + key - 1] = 1 - cells[row + key - 1];
    if (cells.slice(row, row + tokens.length).some(Boolean)) this.read(cells.join(""));
    else this.model.showStatus(`Every key of ${tokens[query - 1].text} would be masked. Leave at least one key unmasked.`, true);
  }

  show(runs) {
    const isFirst = this.runs.length < 2;
    super.show(runs);
    if (isFirst) this.change({ text: 2, view: "matrix" });
  }

  linkTexts() {
    super.linkTexts();
    const choices = location.hash.slice(1).split("&").filter((each) => !/^(mask|other)=/.test(each));
    const mask = this.runs[1]?.mask ?? "causal";
    history.replaceState(null, "", `#${[...choices, `mask=${mask || "none"}`].join("&")}`);
  }

  listen() {
    const [form, sentence, menu] = ["sentences", "sentence", "mask"].map(find);
    this.model = new Model(this.opening.model, (runs) => this.show(runs));
    this.read = (mask) => {
      menu.value = ["", "causal"].includes(mask) ? mask : BY_HAND;
      this.model.read([sentence.value, sentence.value], ["", mask]);
    };
    form.onsubmit = (event) => {
      event.preventDefault();
      this.read(menu.value === BY_HAND ? "causal" : menu.value); // an edited mask is valid for one sentence only
    };
    menu.onchange = () => this.read(menu.value === BY_HAND ? (this.runs[1]?.mask ?? "causal") : menu.value);
    const readLink = () => {
      const link = new URLSearchParams(location.hash.slice(1));
      const [text, mask] = [link.get("sentence") ?? this.runs[0].text, link.get("mask") ?? "causal"];
      if (text === this.runs[0].text && mask === (this.runs[1]?.mask || "none") && this.runs[1]) return;
      sentence.value = text;
      this.read(mask === "none" ? "" : mask);
    };
    window.addEventListener("hashchange", readLink);
    readLink();
  }
}
