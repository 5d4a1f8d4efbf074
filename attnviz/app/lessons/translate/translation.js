/* translation: a sentence on its way from English to French, one French word at a time. Every number that is printed
   is also, unrounded, in a data-value attribute. */

import { drawing, element, isolated } from "../../../widgets/dom.js";
import { destination, moveFocus, tabStop } from "../../../widgets/keyboard.js";
import { number, percent, strongest } from "../../../widgets/numbers.js";
import { Choice } from "../../../widgets/selection.js";
import { View, widget } from "../../../widgets/widget.js";
import { Lanes } from "./lanes.js";
import styles from "./translation.css";

const PACE = 1200; // milliseconds a word, when played
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

const role = (name, text) => element("bdi", { class: name, text });

/**
 * @typedef {{ caption: string, heads: number[], weights: number[][][] }} Drawn
 * @typedef {{ source: ShownToken[], target: ShownToken[], written: ShownToken[], row: number, encoder: Drawn, cross:
 *   Drawn, decoder: Drawn, choices: [string, number][][], pronouns: { step: number, il: number, elle: number }[] }}
 *   Message what translation.py sends, and describes
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
    this.why = element("p", { class: "why" });
    this.summary = element("p", { class: "summary", "aria-live": "polite" });
    this.chances = element("div", { class: "chances" });
    this.root.replaceChildren(this.steps(), this.frame, this.why, this.chances, this.summary);
    this.lanes = new Lanes(this.stage, this.picture);
    this.english.onkeydown = (event) => moveFocus(event, this.sources, this.sources.length);
    this.french.onkeydown = (event) => this.onKey(event);
    this.watch = new ResizeObserver(() => this.arrange());
    this.watch.observe(this.root);
  }

  close() {
    this.watch.disconnect();
    this.pause();
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

  /** The buttons that step from word to word. */
  steps() {
    const button = (name, text, act, by) =>
      element("button", { type: "button", class: name, text, onclick: act, "data-move": by });
    this.back = button("move", "‹ Back", () => this.step(-1), -1);
    this.next = button("move", "Next ›", () => this.step(1), 1);
    this.play = button("move on play", "", () => (this.playing ? this.pause() : this.start()));
    this.doing = element("p", { class: "doing" });
    return element("div", { class: "steps" }, this.back, this.play, this.next, this.doing);
  }

  build() {
    const { source, target, written } = this.data;
    const focused = [this.sources, this.targets].map((buttons) => buttons?.indexOf(this.focused) ?? -1);
    this.pause();
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
    this.showChances(this.pointed?.row ?? row);
    const { encoder, cross, decoder, written } = this.data;
    const [first, second, third] = this.captions;
    // Out of the way of the lines.
    second.classList.toggle("aside", (this.pointed?.row ?? row) < written.length / 2);
    first.replaceChildren(element("b", { text: "Encoder" }), ` reads English: ${encoder.caption}`);
    second.replaceChildren(element("b", { text: "Cross-attention" }), ` from French to English: ${cross.caption}`);
    third.replaceChildren(element("b", { text: "Decoder" }), ` attends to earlier French words: ${decoder.caption}`);
  }

  mark() {
    const { written } = this.data;
    const { row } = this;
    this.targets.forEach((button, at) => {
      button.setAttribute("aria-checked", String(at === row));
      button.classList.toggle("later", at > row);
    });
    if (!this.targets.includes(this.focused)) tabStop(this.targets, row);
    this.sources.forEach((button, at) => button.setAttribute("aria-pressed", String(at === this.pinned)));
    this.back.disabled = row === 0;
    this.next.disabled = row === written.length - 1;
    this.play.textContent = this.playing ? "❚❚ Pause" : "▶ Play";
  }

  /** A row of the decoder: what it read, and what the word that it read most had read. */
  showFrench(row) {
    const { encoder, cross, decoder, target, written } = this.data;
    this.doing.replaceChildren(
      element("span", { class: "muted", text: `row ${row + 1} of ${written.length}: ` }),
      "after ",
      role("key", target[row].label),
      ", choosing ",
      role("query", written[row].label),
    );
    const read = strongest(mostOfHeads(cross.weights, row));
    this.why.replaceChildren(
      "The row after ",
      role("key", target[row].label),
      " chooses ",
      role("query", written[row].label),
      " and has not read it yet. Its lines are drawn from the word that it chooses.",
    );
    // A row is drawn at the word that it chooses; [START] is first.
    this.lanes.crossing(row + 1, cross.weights.map((head) => head[row]), this.style("across"));
    this.lanes.beside("first", read, encoder.weights.map((head) => head[read]), this.style("before"));
    this.lanes.beside("second", row + 1, decoder.weights.map((head) => head[row].slice(0, row + 1)), this.style("after", 0.5));
    this.edges({ queries: [read], isRead: largest(mostOfHeads(encoder.weights, read)), crossed: [read], row });
    this.summary.replaceChildren(...this.tellFrench(row, read));
  }

  /** An English word: what it read in the encoder, and which rows of the decoder read it. */
  showEnglish(word) {
    const { encoder, cross, source, written } = this.data;
    this.lanes.beside("first", word, encoder.weights.map((head) => head[word]), this.style("before"));
    const readers = this.targets.map((_, row) => Math.max(...cross.weights.map((head) => head[row][word])));
    readers.forEach((most, row) => {
      if (row > this.row || most < MIN_LABELLED) return;
      const only = cross.weights.map((head) => head[row].map((weight, at) => (at === word ? weight : 0)));
      // Many lines end at this word, so each number is where its line begins.
      this.lanes.crossing(row + 1, only, { ...this.style("across"), labels: "reader" });
    });
    this.edges({ queries: [word], isRead: largest(mostOfHeads(encoder.weights, word)), crossed: [word], row: null });
    const shown = readers.slice(0, this.row + 1);
    this.summary.replaceChildren(
      ...this.tellEncoder(word),
      " Across, ",
      role("key", source[word].name),
      " was read most to choose ",
      ...this.list(largest(shown), shown, written, "query", "reader"),
      ".",
    );
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

  /** The picture in words. */
  tellFrench(row, read) {
    const { cross, decoder, source, target, written, choices } = this.data;
    const [[, chance], second] = choices[row];
    const parts = [
      "After ",
      role("key", target[row].name),
      ", the decoder chooses ",
      role("query", written[row].name),
      " (",
      number("chance", chance, percent(chance)),
      second ? `; next best: ${second[0]} ` : "",
      second ? number("second", second[1], percent(second[1])) : "",
      `). Across (${cross.caption}), this row read `,
    ];
    parts.push(...this.listHeads(cross, row, source, "cross"), ". ", ...this.tellEncoder(read));
    parts.push(" Looking back in the French so far, the row read ", ...this.listHeads(decoder, row, target, "decoder"), ".");
    return parts;
  }

  tellEncoder(word) {
    const { encoder, source } = this.data;
    const row = encoder.weights[0][word];
    const read = this.list(largest(row), row, source, "key", "encoder");
    return [`In the encoder (${encoder.caption}), `, role("query", source[word].name), " had read ", ...read, "."];
  }

  /** What a row read most, and by which heads. */
  listHeads({ heads, weights }, row, words, part) {
    const places = largest(mostOfHeads(weights, row));
    if (heads.length === 1) return this.list(places, weights[0][row], words, "key", part);
    return places.flatMap((at, nth) => {
      const readers = largest(weights.map((head) => head[row][at]), heads.length);
      const shares = readers.flatMap((head, order) => {
        const share = weights[head][row][at];
        return [order ? ", " : "", `head ${heads[head]} `, number(part, share, percent(share), "weights")];
      });
      return [nth ? ", " : "", role("key", words[at].name), " (", ...shares, ")"];
    });
  }

  list(places, weights, words, name, part) {
    return places.flatMap((at, nth) => [
      nth ? ", " : "",
      role(name, words[at].name),
      " ",
      number(part, weights[at], percent(weights[at]), "weights"),
    ]);
  }

  /** How probable the next words are at this row, and what il and elle were given at theirs. */
  showChances(row) {
    const { choices, target, written, pronouns } = this.data;
    const title = element("p", { class: "title" }, "After ", role("key", target[row].label), " comes …");
    const one = ([word, chance], part, chosen, hidden = false) =>
      element(
        "li",
        { class: chosen && !hidden ? "chance top" : "chance" },
        element("bdi", { text: word, lang: "fr" }),
        element("span", { class: "track" }, element("span", { class: "bar", style: `width:${hidden ? 0 : 100 * chance}%` })),
        hidden ? element("span", { class: "number", text: "?" }) : number(part, chance, percent(chance)),
      );
    const next = element("ol", {}, ...choices[row].map((choice, at) => one(choice, "choice", at === 0)));
    const panels = [element("div", { class: "panel next" }, title, next)];
    const pronoun = pronouns.find((it) => it.step === row) ?? pronouns[0];
    if (pronoun) {
      const { il, elle, step: at } = pronoun;
      const here = at === row;
      const hidden = Boolean(this.playing) && row < at; // not written yet
      const both = element("ol", {}, one(["il", il], "il", il > elle, hidden), one(["elle", elle], "elle", elle > il, hidden));
      const where = element("p", { class: "where" }, `at word ${at + 1}, after `, role("key", target[at].label), here ? "" : " ");
      if (!here && !this.playing) {
        const text = `show ${isolated(written[at].label)}`;
        where.append(element("button", { type: "button", class: "go", text, onclick: () => this.choose(at) }));
      }
      const heading = element("p", { class: "title" }, role("", "il"), " or ", role("", "elle"), "?");
      panels.push(element("div", { class: here ? "panel pronoun here" : "panel pronoun" }, heading, both, where));
    }
    this.chances.replaceChildren(...panels);
  }

  point(what) {
    if (this.playing) return;
    this.pointed = what;
    this.show();
  }

  pin(word) {
    this.pause();
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

  step(by) {
    this.choose(this.row + by);
  }

  /** Shows another row, and sends it to Python after a pause. */
  choose(row) {
    this.pause();
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

  start() {
    clearTimeout(this.telling);
    const last = this.targets.length - 1;
    const from = this.paused && this.row < last ? this.row + 1 : 0;
    this.root.classList.add("playing");
    this.playing = setInterval(() => (this.row < last ? this.go(this.row + 1) : this.choose(last)), PACE);
    this.go(from);
  }

  pause() {
    this.paused = Boolean(this.playing);
    if (!this.playing) return;
    clearInterval(this.playing);
    this.playing = null;
    this.root.classList.remove("playing");
    clearTimeout(this.telling);
    this.telling = setTimeout(() => this.trigger("pick", { row: this.row }), REST);
    this.show();
  }
}

export default widget(Translation, styles);
