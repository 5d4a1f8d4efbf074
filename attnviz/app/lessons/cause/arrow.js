/* arrow: one row of weights as arrows with heads to drag to other words. */

import { drawing, element, isolated, placeUnder } from "../../../widgets/dom.js";
import { percent } from "../../../widgets/numbers.js";
import { Choice } from "../../../widgets/selection.js";
import { View, widget } from "../../../widgets/widget.js";
import styles from "./arrow.css";

const PIN_LEAST = 0.1; // a smaller weight has no handle
const LINE_LEAST = 0.01; // and one below this is not drawn
const THICKEST = 11; // pixels, for a weight of 1
const KEYBOARD_PAUSE = 600; // ms after the last arrow key before the model is run
const PIN = 17; // radius in pixels
const HINT = 220; // what the longer hint takes, in pixels
const STEPS = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };

/**
 * The row until Python answers: the weight on `source` moves to `target`, or all weights are 0.
 */
function changedRow(before, { change, source, target }) {
  if (change === "row" || change === "head") return before.map(() => 0);
  const row = [...before];
  if (change === "move") {
    row[target] = before[target] + before[source];
    row[source] = 0;
  }
  return row;
}

/**
 * @typedef {{ title: string, words: string[], query: number | null, reader: string, open_to: boolean[], before:
 *   number[], now: number[], interference: { change: "none" | "move" | "row" | "head", source: number | null, target:
 *   number | null }, translation: { text: string, differs: boolean }[], translation_before: { text: string, differs:
 *   boolean }[], choices: { word: string, before: number, now: number }[], choice_label: string, others: number }}
 *   Message what arrow.py sends, and describes
 */

/** @extends {View<Message>} */
class Arrow extends View {
  constructor() {
    super();
    this.choice = new Choice();
    this.arcs = drawing("svg", { "aria-hidden": "true" });
    this.sentence = element("div", { class: "words", onclick: (event) => this.click(event) });
    this.pins = element("div", { class: "pins" });
    this.pinNodes = new Map();
    this.hint = element("p", { class: "hint", "aria-hidden": "true" });
    this.stage = element("div", { class: "stage" }, this.arcs, this.sentence, this.pins, this.hint);
    this.buttons = element("div", { class: "buttons" });
    this.result = element("div", { class: "result" });
    this.unchanged = element("div");
    this.announced = element("p", { class: "hidden", "aria-live": "polite" });
    this.root = element("div", { class: "root arrow" }, this.stage, this.result, this.buttons, this.unchanged, this.announced);
    this.onResize(() => this.data && this.layout());
    this.arcs.onpointerdown = (event) => this.grab(event, /** @type {SVGElement} */ (event.target).dataset.key);
    this.listen({
      pointermove: (event) => this.drag(event),
      pointerup: (event) => this.drop(event),
      pointercancel: () => this.letGo(),
    });
  }

  close() {
    clearTimeout(this.pause);
    super.close();
  }

  update(data) {
    const before = this.data && JSON.stringify(this.data.translation);
    this.data = data;
    this.root.setAttribute("role", "group");
    this.root.setAttribute("aria-label", `${isolated(data.reader)} in ${data.title}`);
    this.choice.tell(data.interference);
    this.buildWords();
    this.buildButtons();
    this.buildResult();
    this.layout();
    const now = data.translation.map(({ text }) => text).join("");
    if (before && before !== JSON.stringify(data.translation)) this.announced.textContent = `The model writes: ${now}`;
  }

  /** What is changed, as the visitor sees it: maybe a step ahead of Python. */
  get interference() {
    return this.choice.value;
  }

  get row() {
    return this.choice.answered ? this.data.now : changedRow(this.data.before, this.interference);
  }

  /** The word that had the weight which this word has now. */
  sourceOf(key) {
    const { change, source, target } = this.interference;
    return change === "move" && key === target ? source : key;
  }

  name(key) {
    const { words } = this.data;
    return words.filter((word) => word === words[key]).length > 1 ? `${words[key]} (word ${key + 1})` : words[key];
  }

  // The sentence

  buildWords() {
    const { words, query, reader, open_to: open } = this.data;
    const texts = JSON.stringify([words, query, reader, open]);
    if (texts === this.texts) return;
    this.texts = texts;
    this.used = false; // another arrow: show the hint again
    this.wordNodes = words.map((text, key) =>
      element("span", { class: open[key] ? "word" : "word closed", "data-key": key }, element("bdi", { text })),
    );
    const nodes = [...this.wordNodes];
    if (query === null) {
      this.queryNode = element("span", { class: "word reader" }, element("bdi", { text: reader }));
      nodes.push(element("span", { class: "between", text: "French" }), this.queryNode);
    } else this.queryNode = this.wordNodes[query];
    this.queryNode.classList.add("query");
    this.sentence.replaceChildren(...nodes);
  }

  /** Lays the words in one line if there is room, else one below the other; then draws the arrows. */
  layout() {
    const room = this.root.clientWidth;
    if (!room) return;
    const fits = () => this.sentence.scrollWidth <= this.sentence.clientWidth;
    this.root.dataset.way = "across";
    delete this.root.dataset.tight;
    if (!fits()) this.root.dataset.tight = "";
    if (!fits()) {
      this.root.dataset.way = "down";
      delete this.root.dataset.tight;
    }
    this.across = this.root.dataset.way === "across";
    const place = (node) => {
      const { offsetLeft: left, offsetTop: top, offsetWidth: width, offsetHeight: height } = node;
      return this.across ? [left + width / 2, top - 3] : [left + width + 4, top + height / 2];
    };
    this.places = this.wordNodes.map(place);
    this.from = place(this.queryNode);
    if (!this.across) {
      const right = Math.max(this.from[0], ...this.places.map(([x]) => x));
      this.places = this.places.map(([, y]) => [right, y]);
      this.from = [right, this.from[1]];
    }
    this.arcs.setAttribute("width", String(this.stage.clientWidth));
    this.arcs.setAttribute("height", String(this.stage.clientHeight));
    this.draw();
  }

  // The arrows

  draw() {
    if (!this.places) return;
    const row = this.row;
    const { change, source, target } = this.interference;
    const strongest = row.indexOf(Math.max(...row));
    const lines = [];
    if (change !== "none") {
      // Where the arrows were: dashed.
      const gone = change === "move" ? [source] : row.map((_, key) => key);
      for (const key of gone.filter((each) => this.data.before[each] >= PIN_LEAST)) {
        lines.push(drawing("path", { class: "ghost", d: this.path(this.places[key]) }));
      }
    }
    const shown = row.map((_, key) => key).filter((key) => row[key] >= LINE_LEAST);
    const withPin = shown.filter((key) => row[key] >= PIN_LEAST || key === strongest);
    for (const key of shown) {
      const held = this.held?.key === key;
      const at = held ? this.held.at : this.places[key];
      const d = this.path(at, withPin.includes(key));
      const width = Math.max(1, THICKEST * row[key]);
      lines.push(drawing("path", { class: "line", d, "stroke-width": width }));
      if (withPin.includes(key)) lines.push(drawing("path", { class: "grip", d, "data-key": key }));
    }
    this.arcs.replaceChildren(...lines, ...this.labels(row, withPin));
    this.drawPins(row, withPin);
    const aimed = this.held?.target ?? this.preview?.target ?? null;
    this.wordNodes.forEach((node, key) => {
      node.classList.toggle("read", row[key] >= PIN_LEAST && aimed === null);
      node.classList.toggle("aimed", key === aimed);
    });
    this.root.toggleAttribute("data-dragging", aimed !== null);
    this.drawHint(withPin);
    this.root.toggleAttribute("data-pending", !this.choice.answered);
    if (change === "move") this.root.dataset.target = target;
    else delete this.root.dataset.target;
  }

  /**
   * From the query token to a word: a bow above the line, or beside the column.
   * @param {number[]} place
   * @param {boolean} [pin] whether it ends at a pin
   */
  path([x, y], pin = true) {
    const [fromX, fromY] = this.from;
    const stop = pin ? 2 * PIN + 6 : 0;
    if (this.across) {
      const bow = this.bow(Math.abs(x - fromX), this.sentence.clientWidth);
      if (Math.abs(x - fromX) < 4) {
        const wide = PIN + 13;
        return `M${fromX - 6} ${fromY}C${fromX - wide} ${fromY} ${fromX - wide} ${y - stop - 44} ${x} ${y - stop}`;
      }
      return `M${fromX} ${fromY}C${fromX} ${fromY - bow} ${x} ${y - bow - stop / 2} ${x} ${y - stop}`;
    }
    const bow = this.bow(Math.abs(y - fromY), this.sentence.clientHeight);
    if (Math.abs(y - fromY) < 4) {
      const wide = PIN + 9;
      return `M${fromX} ${fromY - 6}C${fromX} ${fromY - wide} ${x + stop + 40} ${fromY - wide} ${x + stop} ${y}`;
    }
    return `M${fromX} ${fromY}C${fromX + bow} ${fromY} ${x + bow + stop / 2} ${y} ${x + stop} ${y}`;
  }

  /** How far a bow over this distance reaches, in its control points: longer ones pass over shorter ones. */
  bow(distance, whole) {
    const most = this.across ? this.from[1] - 3 : Math.min(190, this.stage.clientWidth - this.from[0] - 70);
    return 62 + (most - 62) * Math.sqrt(Math.min(1, (1.6 * distance) / whole));
  }

  /** The percents, at the top of each bow. */
  labels(row, keys) {
    return keys.map((key) => {
      const [x, y] = this.held?.key === key ? this.held.at : this.places[key];
      const [fromX, fromY] = this.from;
      const text = drawing("text", { class: "percent", "data-value": row[key] });
      text.textContent = percent(row[key]);
      const bow = this.bow(Math.abs(this.across ? x - fromX : y - fromY), this.across ? this.sentence.clientWidth : this.sentence.clientHeight);
      // The middle of a cubic curve lies at three quarters of its control points.
      const reach = 0.75 * bow + (0.75 / 2 + 0.125) * (2 * PIN + 6) * 0.62;
      const [atX, atY] = this.across ? [(x + fromX) / 2, fromY - reach - 11 - (THICKEST * row[key]) / 2] : [fromX + reach + 12, (y + fromY) / 2];
      text.setAttribute("x", String(atX));
      text.setAttribute("y", String(atY));
      text.setAttribute("text-anchor", this.across ? "middle" : "start");
      return text;
    });
  }

  drawPins(row, keys) {
    for (const [key, node] of this.pinNodes) {
      if (keys.includes(key)) continue;
      node.remove();
      this.pinNodes.delete(key);
    }
    for (const key of keys) {
      if (!this.pinNodes.has(key)) {
        const node = element(
          "div",
          {
            class: "pin",
            role: "slider",
            tabindex: 0,
            "aria-valuemin": 1,
            onpointerdown: (event) => this.grab(event, key),
            onkeydown: (event) => this.step(event, key),
          },
          element("span", { class: "glyph", "aria-hidden": "true" }),
        );
        this.pinNodes.set(key, node);
        this.pins.append(node);
      }
      const node = this.pinNodes.get(key);
      const aimed = this.preview?.key === key ? this.preview.target : key;
      const [x, y] = this.held?.key === key ? this.held.at : this.places[key];
      node.style.left = `${this.across ? x : x + PIN + 6}px`;
      node.style.top = `${this.across ? y - PIN - 6 : y}px`;
      node.setAttribute("aria-label", `Arrow from ${isolated(this.data.reader)}`);
      node.setAttribute("aria-valuemax", String(this.data.words.length));
      node.setAttribute("aria-valuenow", String(aimed + 1));
      node.setAttribute("aria-valuetext", `${this.name(aimed)}, ${percent(row[key])}`);
      node.dataset.key = key;
      node.classList.toggle("held", this.held?.key === key);
    }
  }

  drawHint(keys) {
    const untouched = this.interference.change === "none" && !this.held && !this.preview && !this.used;
    this.hint.hidden = !untouched || keys.length === 0;
    if (this.hint.hidden) return;
    const row = this.row;
    const strongest = keys.reduce((best, key) => (row[key] > row[best] ? key : best));
    const [x, y] = this.places[strongest];
    // It lies where it hides no other arrow's pin, if there is such a side.
    const others = keys.map((key) => this.places[key][0]).filter((other) => other !== x);
    const right = Math.min(this.stage.clientWidth, ...others.filter((other) => other > x)) - x;
    const left = x - Math.max(0, ...others.filter((other) => other < x));
    this.hint.textContent = this.across && Math.max(left, right) > HINT ? "Drag me to another word" : "Drag me";
    const toTheRight = !this.across || right >= left;
    this.hint.dataset.side = toTheRight ? "right" : "left";
    this.hint.style.left = `${this.across ? x + (toTheRight ? PIN + 12 : -PIN - 12) : x + 2 * PIN + 14}px`;
    this.hint.style.top = `${this.across ? y - PIN - 6 : y - PIN - 9}px`;
  }

  // Dragging

  grab(event, key) {
    if (key === undefined || event.button !== 0) return;
    event.preventDefault();
    key = Number(key);
    this.pinNodes.get(key)?.focus({ focusVisible: false });
    this.settle();
    this.used = true;
    this.held = { key, pointer: event.pointerId, at: this.places[key], target: key };
  }

  drag(event) {
    if (this.held?.pointer !== event.pointerId) return;
    const { x, y } = placeUnder(event, this.stage);
    const along = this.across ? 0 : 1;
    const at = [x, y][along];
    const ends = this.places.map((place) => place[along]);
    const kept = Math.min(Math.max(at, Math.min(...ends)), Math.max(...ends));
    const own = this.places[this.held.key];
    this.held.at = this.across ? [kept, own[1]] : [own[0], kept];
    const open = this.places.map((_, key) => key).filter((key) => this.data.open_to[key]);
    this.held.target = open.reduce((best, key) => (Math.abs(ends[key] - at) < Math.abs(ends[best] - at) ? key : best));
    this.draw();
  }

  drop(event) {
    if (this.held?.pointer !== event.pointerId) return;
    const { key, target } = this.held;
    this.held = null;
    this.move(key, target);
  }

  letGo() {
    this.held = null;
    this.draw();
  }

  /** A click on a word points the strongest arrow there, without dragging. */
  click(event) {
    const word = event.target.closest("[data-key]");
    const row = this.row;
    const strongest = row.indexOf(Math.max(...row));
    if (!word || row[strongest] === 0) return;
    const target = Number(word.dataset.key);
    if (this.data.open_to[target]) this.move(strongest, target);
  }

  step(event, key) {
    const { words, open_to: open } = this.data;
    const now = this.preview?.key === key ? this.preview.target : key;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.settle();
      return;
    }
    if (event.key === "Escape") {
      clearTimeout(this.pause);
      this.preview = null;
      this.letGo();
      return;
    }
    const ends = { Home: open.indexOf(true), End: open.lastIndexOf(true) };
    let target = ends[event.key];
    if (event.key in STEPS) {
      target = now + STEPS[event.key];
      while (target >= 0 && target < words.length && !open[target]) target += STEPS[event.key];
    }
    if (target === undefined) return;
    event.preventDefault();
    this.used = true;
    if (target < 0 || target >= words.length) return;
    this.preview = { key, target };
    this.held = { key, at: this.places[target], target };
    this.draw();
    clearTimeout(this.pause);
    this.pause = setTimeout(() => this.settle(), KEYBOARD_PAUSE);
  }

  /** Runs the model with what the keyboard chose. */
  settle() {
    clearTimeout(this.pause);
    if (!this.preview) return;
    const { key, target } = this.preview;
    this.preview = this.held = null;
    const focused = this.pinNodes.get(key) === this.focused;
    this.move(key, target);
    if (focused) this.pinNodes.get(target)?.focus();
  }

  /** Move the arrow of a word to another one; back at where it came from, nothing is changed. */
  move(key, target) {
    if (key === target) {
      this.draw();
      return;
    }
    const source = this.sourceOf(key);
    this.send(target === source ? { change: "none", source: null, target: null } : { change: "move", source, target });
  }

  send(interference) {
    this.used = true;
    this.choice.choose(interference);
    this.trigger("change", { interference });
    this.buildButtons();
    this.buildResult();
    this.draw();
  }

  // What else can be done

  buildButtons() {
    const { change } = this.interference;
    const focused = this.buttons.contains(this.focused) ? this.focused.dataset.change : null;
    const button = (value, pressed, ...content) =>
      element(
        "button",
        {
          type: "button",
          class: "do",
          "data-change": value,
          "aria-pressed": value === "none" ? null : String(pressed),
          "aria-disabled": value === "none" && change === "none" ? "true" : null,
          onclick: ({ detail }) => {
            if (detail > 1) return; // the second click of a double click would take the first one back
            const next = pressed || value === "none" ? "none" : value;
            if (next !== change) this.send({ change: next, source: null, target: null });
          },
        },
        ...content,
      );
    const undo = element("button", {
      type: "button",
      class: "do",
      "data-change": "undo",
      text: "Undo all changes",
      onclick: () => this.trigger("undo", {}),
    });
    this.buttons.replaceChildren(
      button("row", change === "row", "Switch off the row of ", element("bdi", { class: "query", text: this.data.reader })),
      button("head", change === "head", "Switch off the whole head"),
      button("none", false, "Undo"),
      ...(this.data.others ? [undo] : []),
    );
    const again = /** @type {HTMLElement} */ (this.buttons.querySelector(`[data-change="${focused}"]`));
    if (focused) again?.focus();
  }

  // What the model writes

  buildResult() {
    const { translation, translation_before: before, choices, choice_label: label, others } = this.data;
    const pending = !this.choice.answered;
    const changed = this.interference.change !== "none" || others > 0;
    const line = (name, pieces, className) =>
      element(
        "div",
        { class: `writes ${className}` },
        element("span", { class: "label", text: name }),
        element(
          "p",
          { lang: "fr" },
          ...pieces.flatMap(({ text, differs }) => {
            const [, word, end] = text.match(/^(.*?)([\s.]*)$/);
            return [differs ? element("mark", { text: word }) : word, end];
          }),
        ),
      );
    const writes = line(changed ? "It now writes" : "It writes", translation, "now");
    this.unchanged.replaceChildren(...(changed ? [line("Unchanged, it wrote", before, "before")] : []));
    if (pending) writes.append(element("span", { class: "running", text: "the model is running …" }));
    const bars = choices.map(({ word, before: was, now }) => {
      const bar = (className, value) => {
        const node = element("span", { class: `bar ${className}` });
        node.style.width = `${100 * value}%`;
        return node;
      };
      const numbers = element("span", { class: "numbers" });
      if (changed) numbers.append(element("span", { class: "was", "data-value": was, text: percent(was) }), " → ");
      numbers.append(element("span", { class: "is", "data-value": now, text: percent(now) }));
      return element(
        "div",
        { class: "choice", "data-word": word },
        element("span", { class: "of", lang: "fr", text: word }),
        element("span", { class: "track", "aria-hidden": "true" }, bar("is", now), ...(changed ? [bar("was", was)] : [])),
        numbers,
      );
    });
    const chances = bars.length ? [element("p", { class: "label", text: label }), ...bars] : [];
    this.result.replaceChildren(writes, element("div", { class: "choices" }, ...chances));
    this.result.setAttribute("aria-busy", String(pending));
  }
}

export default widget(Arrow, styles);
