/* stretched: a long sentence, what networks keep of it, and what they write. */

import { element } from "../../../widgets/dom.js";
import { percent } from "../../../widgets/numbers.js";
import { levelsImage } from "../../../widgets/palette.js";
import { View, widget } from "../../../widgets/widget.js";
import styles from "./stretched.css";

const CELL = 2; // height of one number in a picture of what is kept, in pixels

/**
 * @typedef {{ sentences: { title: string, language: string, reads: string, words: { text: string, clause: number,
 *   weight: number | null, role: "referent" | "pronoun" | "" }[] }[], networks: { name: string, verdict: string,
 *   exact: boolean, keeps: string, levels: number[], columns: number, words: { text: string, mark: "right" | "wrong"
 *   | "missing" }[] }[] }} Message what stretched.py sends, and describes
 */

/** @extends {View<Message>} */
class Stretched extends View {
  constructor() {
    super();
    this.root = element("div", { class: "root stretched" });
  }

  update({ sentences, networks }) {
    this.root.replaceChildren(
      ...sentences.map((sentence) => this.sentence(sentence)),
      element("div", { class: "networks", "data-rows": true }, ...networks.map((network) => this.network(network))),
    );
  }

  sentence({ title, language, reads, words }) {
    const most = Math.max(...words.map(({ weight }) => weight ?? 0));
    const clauses = [];
    for (const word of words) {
      if (clauses.at(-1)?.number !== word.clause) clauses.push({ number: word.clause, words: [] });
      clauses.at(-1).words.push(word);
    }
    const pieces = clauses.flatMap(({ number: clause, words: some }) => [
      element("span", { class: clause ? "clause inserted" : "clause" }, ...spaced(some.map((word) => readWord(word, most)))),
      " ",
    ]);
    return element(
      "section",
      { class: "read", "aria-label": title },
      element("p", { class: "above" }, element("b", { text: title }), element("span", { class: "key muted" }, element("span", { class: "shades", "aria-hidden": "true" }), element("span", { text: reads }))),
      element("p", { class: "sentence", lang: language }, ...pieces),
    );
  }

  network({ name, verdict, exact, keeps, levels, columns, words }) {
    const picture = levelsImage(levels, levels.length / columns, columns, this.theme.pixels("diverging"));
    picture.style.height = `${(CELL * levels.length) / columns}px`;
    picture.setAttribute("aria-hidden", "true");
    return element(
      "section",
      { class: "network", "aria-label": name },
      element("p", { class: "above" }, element("b", { text: name }), element("span", { class: exact ? "verdict exact" : "verdict", "data-part": "verdict", text: verdict })),
      element("div", { class: "kept" }, element("p", { class: "muted", "data-part": "keeps", text: keeps }), picture),
      element("p", { class: "sentence", lang: "fr" }, ...spaced(words.map(targetWord))),
    );
  }
}

/** A word that is shaded by how much it is read, if it can be. */
function readWord({ text, weight, role }, most) {
  const node = element("span", { class: `word ${role}` }, element("bdi", { text }));
  if (weight === null) return node;
  node.title = percent(weight);
  node.dataset.value = weight;
  node.style.setProperty("--shade", (weight / most).toFixed(3));
  return node;
}

/** A word that is right, or marked as wrong or missing: by line and by word, not by colour alone. */
function targetWord({ text, mark }) {
  const said = { wrong: "wrong: ", missing: "missing: " }[mark];
  const word = element("span", { class: `word ${mark}`, "data-mark": mark });
  if (said) word.append(element("span", { class: "hidden", text: said }));
  word.append(element("bdi", { text }));
  return word;
}

/** With a space between them, as text that wraps; none after an apostrophe. */
function spaced(nodes) {
  return nodes.flatMap((node, at) => {
    const elided = at > 0 && nodes[at - 1].textContent.endsWith("'");
    if (elided) node.classList.add("elided");
    return at && !elided ? [" ", node] : [node];
  });
}

export default widget(Stretched, styles);
