/* translation: an English and a French sentence, and the lines from a French word back to what its row attended to. */

import { drawing, element, isolated } from "../../../widgets/dom.js";
import { destination, moveFocus, tabStop } from "../../../widgets/keyboard.js";
import { strongest } from "../../../widgets/numbers.js";
import { Choice } from "../../../widgets/selection.js";
import { View, widget } from "../../../widgets/widget.js";
import { Lanes } from "./lanes.js";
import styles from "./translation.css";

const REST = 250; // milliseconds until Python gets the chosen row
const THICKEST_LINE = 11; // pixels of a line of 100 %, where there is room
const THINNER_LINE = 8; // the same on a phone
const NARROW = 480; // pixels; the same number is in the style sheet
const CAPTION = 24; // pixels that a caption needs above the encoder's lines, and below the decoder's
const MAX_NAMED = 3; // words named in a sentence
const MIN_LABELLED = 0.05; // the smallest weight worth telling, but for the first

/** The places of the largest numbers, the largest first: at most `most`, and only the first below `least`. */
function largest(values, most = MAX_NAMED, least = MIN_LABELLED) {
  const order = values.map((_, at) => at).sort((one, other) => values[other] - values[one]);
  return order.slice(0, most).filter((at, nth) => nth === 0 || values[at] >= least);
}

/** What any of the heads gives at most: [head][query][key] → [key]. */
const mostOfHeads = (weights, query) => weights[0][query].map((_, key) => Math.max(...weights.map((head) => head[query][key])));

/**
 * @typedef {{ caption: string, heads: number[], weights: number[][][] }} Drawn
 * @typedef {{ source: ShownToken[], target: ShownToken[], written: ShownToken[], row: number, encoder: Drawn, cross:
 *   Drawn, decoder: Drawn }} Message what translation.py sends, and describes
 */

/** @extends {View<Message>} */
class Translation extends View {
  constructor() {
    super();
    this.choice = new Choice();
    this.root = element("div", { class: "root translation" });
    this.picture = drawing("svg", { class: "picture", "aria-hidden": "true" });
    this.english = element("div", { class: "words english", role: "group", "aria-label": "English words" });
    this.french = element("div", { class: "words french", role: "radiogroup", "aria-label": "French word to choose", lang: "fr" });
    this.captions = ["encoder", "cross", "decoder"].map((name) => element("p", { class: `caption ${name}` }));
    this.stage = element("div", { class: "stage" }, this.picture, this.english, this.french);
    this.frame = element("div", { class: "frame" }, ...this.captions, this.stage);
    this.root.replaceChildren(this.frame);
    this.lanes = new Lanes(this.stage, this.picture);
    this.english.onkeydown = (event) => moveFocus(event, this.sources, this.sources.length);
    this.french.onkeydown = (event) => this.onKey(event);
    this.watch = new ResizeObserver(() => this.arrange());
    this.watch.observe(this.root);
  }

  close() {
    this.watch.disconnect();
    clearTimeout(this.telling);
    super.close();
  }

  update(data) {
    const sentences = JSON.stringify([data.source, data.written]);
    const same = sentences === this.sentences;
    this.sentences = sentences;
    this.data = data;
    this.choice.tell(data.row);
    if (!same) this.build();
    this.arrange(!same);
  }

  get row() {
    return this.choice.value;
  }

  build() {
    const { source, target, written } = this.data;
    const focused = [this.sources, this.targets].map((buttons) => buttons?.indexOf(this.focused) ?? -1);
    this.pointed = this.pinned = null;
    this.sources = source.map((word, at) =>
      element("button", {
        type: "button",
        class: word.special ? "word special" : "word",
        text: word.label,
        onclick: () => this.pin(at),
        onpointerenter: ({ pointerType }) => pointerType === "mouse" && this.point({ source: at }),
        onpointerleave: () => this.point(null),
        onfocus: ({ target: button }) => button.matches(":focus-visible") && this.point({ source: at }),
        onblur: () => this.point(null),
      }),
    );
    this.targets = written.map((word, at) =>
      element("button", {
        type: "button",
        role: "radio",
        class: word.special ? "word special" : "word",
        text: word.label,
        "aria-label": `${isolated(word.label)}, word ${at + 1}, chosen after ${isolated(target[at].label)}`,
        onclick: () => this.choose(at),
        onpointerenter: ({ pointerType }) => pointerType === "mouse" && this.point({ row: at }),
        onpointerleave: () => this.point(null),
      }),
    );
    this.begin = element("span", { class: "word special begin", text: target[0].label });
    this.english.replaceChildren(...this.sources);
    this.french.replaceChildren(this.begin, ...this.targets);
    tabStop(this.sources, 0);
    const [english, french] = focused;
    if (english >= 0) this.sources[Math.min(english, this.sources.length - 1)].focus({ preventScroll: true });
    if (french >= 0) this.targets[Math.min(this.row, this.targets.length - 1)].focus({ preventScroll: true });
  }

  /** Lays the sentences down if both fit on a line, or in two columns, and draws. */
  arrange(moving = false) {
    if (!this.data) return;
    this.root.classList.remove("standing");
    const tooLong = [this.english, this.french].some((words) => words.scrollWidth > words.clientWidth + 1);
    this.standing = tooLong || this.root.clientWidth < NARROW;
    this.root.classList.toggle("standing", this.standing);
    this.show(moving);
  }

  /** Draws everything that depends on the row, or on the word that is pointed at. */
  show(moving = false) {
    const { row } = this;
    this.mark();
    this.picture.classList.toggle("moving", moving);
    this.lanes.measure(this.sources, [this.begin, ...this.targets], this.standing);
    const english = this.pointed?.source ?? this.pinned;
    if (english !== null && english !== undefined) this.showEnglish(english);
    else this.showFrench(this.pointed?.row ?? row);
    this.lanes.draw();
    const { encoder, cross, decoder, written } = this.data;
    const [first, second, third] = this.captions;
    // Out of the way of the lines.
    second.classList.toggle("aside", (this.pointed?.row ?? row) < written.length / 2);
    first.replaceChildren(element("b", { text: "Encoder" }), ` reads English: ${encoder.caption}`);
    second.replaceChildren(element("b", { text: "Cross-attention" }), ` from French to English: ${cross.caption}`);
    third.replaceChildren(element("b", { text: "Decoder" }), ` attends to earlier French words: ${decoder.caption}`);
  }

  mark() {
    const { row } = this;
    this.targets.forEach((button, at) => {
      button.setAttribute("aria-checked", String(at === row));
      button.classList.toggle("later", at > row);
    });
    if (!this.targets.includes(this.focused)) tabStop(this.targets, row);
    this.sources.forEach((button, at) => button.setAttribute("aria-pressed", String(at === this.pinned)));
  }

  /** A row of the decoder: what it read, and what the word that it read most had read. */
  showFrench(row) {
    const { encoder, cross, decoder } = this.data;
    const read = strongest(mostOfHeads(cross.weights, row));
    // A row is drawn at the word that it chooses; [START] is first.
    this.lanes.crossing(row + 1, cross.weights.map((head) => head[row]), this.style("across"));
    this.lanes.beside("first", read, encoder.weights.map((head) => head[read]), this.style("before"));
    this.lanes.beside("second", row + 1, decoder.weights.map((head) => head[row].slice(0, row + 1)), this.style("after", 0.5));
    this.edges({ queries: [read], isRead: largest(mostOfHeads(encoder.weights, read)), crossed: [read], row });
  }

  /** An English word: what it read in the encoder, and which rows of the decoder read it. */
  showEnglish(word) {
    const { encoder, cross } = this.data;
    this.lanes.beside("first", word, encoder.weights.map((head) => head[word]), this.style("before"));
    const readers = this.targets.map((_, row) => Math.max(...cross.weights.map((head) => head[row][word])));
    readers.forEach((most, row) => {
      if (row > this.row || most < MIN_LABELLED) return;
      const only = cross.weights.map((head) => head[row].map((weight, at) => (at === word ? weight : 0)));
      // Many lines end at this word, so each number is where its line begins.
      this.lanes.crossing(row + 1, only, { ...this.style("across"), labels: "reader" });
    });
    this.edges({ queries: [word], isRead: largest(mostOfHeads(encoder.weights, word)), crossed: [word], row: null });
  }

  style(name, times = 1) {
    const narrow = this.root.clientWidth < NARROW;
    return { name, thickest: times * (narrow ? THINNER_LINE : THICKEST_LINE), margin: this.standing ? 4 : CAPTION };
  }

  edges({ queries, isRead, crossed, row }) {
    this.sources.forEach((button, at) => {
      button.classList.toggle("reading", queries.includes(at));
      button.classList.toggle("is-read", isRead.includes(at));
      button.classList.toggle("crossed", crossed.includes(at));
    });
    [this.begin, ...this.targets].forEach((button, at) => {
      button.classList.toggle("chosen", row !== null && at === row + 1);
      button.classList.toggle("current", row !== null && at === row);
    });
  }

  point(what) {
    this.pointed = what;
    this.show();
  }

  pin(word) {
    this.pinned = this.pinned === word ? null : word;
    this.show();
  }

  onKey(event) {
    const key = { ArrowUp: "ArrowLeft", ArrowDown: "ArrowRight" }[event.key] ?? event.key;
    const to = destination({ key, ctrlKey: event.ctrlKey }, this.row, this.targets.length, this.targets.length);
    if (to === null) return;
    event.preventDefault();
    this.choose(to);
    this.targets[to].focus({ preventScroll: true });
  }

  /** Shows another row, and sends it to Python after a pause. */
  choose(row) {
    this.go(row);
    clearTimeout(this.telling);
    this.telling = setTimeout(() => this.trigger("pick", { row: this.row }), REST);
  }

  go(row) {
    this.choice.choose(row);
    this.pointed = this.pinned = null;
    tabStop(this.targets, row);
    this.show(true);
  }

}

export default widget(Translation, styles);
