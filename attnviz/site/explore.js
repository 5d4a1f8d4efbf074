/* explore: the page Explore, and the function that starts the site. */

import { applyTheme } from "../export/report/report.js";
import { element } from "../widgets/dom.js";
import { Masks } from "./masks.js";
import { find, Model, Site } from "./site.js";

/**
 * Returns the sentences in the link, if any.
 * @returns {[] | [string, string?]}
 */
function textsInLink() {
  const link = new URLSearchParams(location.hash.slice(1));
  return /** @type {[string, string?]} */ ([link.get("sentence"), link.get("other")].filter(Boolean));
}

class Explore extends Site {
  listen() {
    const { opening } = this;
    const [form, sentence, other, menu] = ["sentences", "sentence", "other", "examples"].map(find);
    const model = new Model(opening.model, (runs) => {
      const sameLength = !runs[1] || runs[0].tokens.length === runs[1].tokens.length;
      if (!sameLength) model.showStatus("The two sentences have different numbers of tokens, so no change is shown.", true);
      this.show(runs);
    });
    const fillIn = (text, second = "") => {
      [sentence.value, other.value] = [text, second];
      const index = opening.examples.findIndex((each) => each.text === text && each.other === second);
      menu.value = index < 0 ? "" : index;
      const parts = (opening.examples[index]?.remark ?? "").split(/\*+/);
      find("remark").replaceChildren(...parts.map((part, at) => (at % 2 ? element("em", { text: part }) : part)));
    };
    const read = () => {
      const texts = [sentence.value, other.value].filter((text, at) => !at || text.trim());
      fillIn(...texts);
      model.read(texts);
    };
    const readLink = () => {
      const texts = textsInLink();
      if (!texts.length || texts.join("\n") === this.runs.map(({ text }) => text).join("\n")) return;
      fillIn(...texts);
      read();
    };
    form.onsubmit = (event) => {
      event.preventDefault();
      read();
    };
    menu.append(...opening.examples.map(({ name }, at) => element("option", { value: at, text: name })));
    menu.onchange = () => {
      if (menu.value === "") return;
      fillIn(opening.examples[menu.value].text, opening.examples[menu.value].other);
      read();
    };
    fillIn(...this.runs.map(({ text }) => text));
    window.addEventListener("hashchange", readLink);
    readLink();
  }
}

async function start() {
  applyTheme("auto");
  const [opening, bytes] = await Promise.all([
    fetch("example.json").then((response) => response.json()),
    fetch("example.bin").then((response) => response.arrayBuffer()),
  ]);
  const { layers, heads, d_head: size } = opening.sizes;
  let at = 0;
  const take = (length) => {
    at += length;
    return new Float32Array(bytes, 4 * (at - length), length);
  };
  const runs = opening.runs.map(({ text, tokens }) => {
    const [pairs, vectors] = [layers * heads * tokens.length ** 2, layers * heads * tokens.length * size];
    return { text, tokens, weights: take(pairs), query: take(vectors), key: take(vectors) };
  });
  const isMasks = document.documentElement.dataset.page === "masks";
  const page = isMasks ? new Masks(opening, runs.slice(0, 1)) : new Explore(opening, runs);
  document.documentElement.dataset.drawn = String(performance.now());
  page.listen();
  navigator.serviceWorker?.register("service_worker.js"); // undefined without HTTPS, except on localhost
}

start();
