/* explore: opens a page of the site: Explore, or Masks. */

import { colour } from "../export/report/report.js";
import { element } from "../widgets/dom.js";
import { Masks } from "./masks.js";
import { find, Model, Site } from "./site.js";

/** Returns the sentences in the link, if any.
 * @returns {[] | [string, string?]} */
function linked() {
  const link = new URLSearchParams(location.hash.slice(1));
  return /** @type {[string, string?]} */ ([link.get("sentence"), link.get("other")].filter(Boolean));
}

class Explore extends Site {
  listen() {
    const { opening } = this;
    const [form, sentence, other, choose] = ["sentences", "sentence", "other", "examples"].map(find);
    const model = new Model(opening.model, (runs) => {
      const alike = !runs[1] || runs[0].tokens.length === runs[1].tokens.length;
      if (!alike) model.say("The two sentences have different numbers of tokens, so no change is shown.", true);
      this.show(runs);
    });
    const enter = (text, second = "") => {
      [sentence.value, other.value] = [text, second];
      const place = opening.examples.findIndex((each) => each.text === text && each.other === second);
      choose.value = place < 0 ? "" : place;
      const parts = (opening.examples[place]?.remark ?? "").split(/\*+/);
      find("remark").replaceChildren(...parts.map((part, at) => (at % 2 ? element("em", { text: part }) : part)));
    };
    const read = () => {
      const texts = [sentence.value, other.value].filter((text, at) => !at || text.trim());
      enter(...texts);
      model.read(texts);
    };
    const follow = () => {
      const texts = linked();
      if (!texts.length || texts.join("\n") === this.runs.map(({ text }) => text).join("\n")) return;
      enter(...texts);
      read();
    };
    form.onsubmit = (event) => {
      event.preventDefault();
      read();
    };
    choose.append(...opening.examples.map(({ name }, at) => element("option", { value: at, text: name })));
    choose.onchange = () => {
      if (choose.value === "") return;
      enter(opening.examples[choose.value].text, opening.examples[choose.value].other);
      read();
    };
    enter(...this.runs.map(({ text }) => text));
    window.addEventListener("hashchange", follow);
    follow();
  }
}

async function start() {
  colour("auto");
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
  const masked = document.documentElement.dataset.page === "masks";
  const page = masked ? new Masks(opening, runs.slice(0, 1)) : new Explore(opening, runs);
  document.documentElement.dataset.drawn = String(performance.now());
  page.listen();
  navigator.serviceWorker?.register("service_worker.js"); // only https and localhost have one
}

start();
