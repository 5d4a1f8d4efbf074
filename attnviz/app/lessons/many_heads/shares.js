/* shares: one token through all heads of a block. Every printed number is also, unrounded, in a
   data-value attribute beside it. */

import { cellUnder, drawing, element, stretched, vectorBars } from "../../../widgets/dom.js";
import { buttonOf, moveFocus, onPointed } from "../../../widgets/keyboard.js";
import { enoughDigits, fixed, number, percent, total } from "../../../widgets/numbers.js";
import { Choice } from "../../../widgets/selection.js";
import { View, widget } from "../../../widgets/widget.js";
import styles from "./shares.css";

const MAX_STRIPES = 150; // of a strip; with more tokens each stripe is this wide, and may cover its neighbours

/** A row of weights: one stripe a token. Not quite in proportion, or small weights would vanish. */
function strip(weights) {
  const width = Math.max(1, weights.length / MAX_STRIPES);
  const stripes = weights.flatMap((weight, at) =>
    weight < 0.002 ? [] : [drawing("rect", { x: at, y: 0, width, height: 1, "fill-opacity": (weight ** 0.7).toFixed(3) })],
  );
  return stretched("strip", [0, 0, weights.length, 1], ...stripes);
}

/**
 * A share as a bar to the right of the line, or to its left if it is negative.
 * @param {number} share
 * @param {number[]} range from where to where the bars go
 */
function bar(share, [low, high]) {
  const positive = share >= 0;
  const rect = drawing("rect", {
    class: positive ? "positive" : "negative",
    x: positive ? 0 : share,
    y: 0.1,
    width: Math.abs(share),
    height: 0.8,
  });
  const line = drawing("line", { x1: 0, x2: 0, y1: -0.2, y2: 1.2 });
  return stretched("bar", [low, 0, high - low, 1], rect, line);
}

/** 0.176 as "+17.6 %". */
function signed(share) {
  const text = (100 * Math.abs(share)).toFixed(1);
  if (Number(text) === 0) return "0.0 %";
  return `${share < 0 ? "−" : "+"}${text} %`;
}

const shortPercent = (weight) => percent(weight, weight > 0 && weight < 0.01 ? 1 : 0);

/** length × cosine ÷ length of the output, with so many digits that who works it out gets the printed share. */
function worked(length, cosine, whole, share) {
  const digits = enoughDigits([length, cosine, whole], 2, (l, c, w) => signed((l * c) / w) === signed(share));
  return `${fixed(length, digits)} × ${fixed(cosine, digits)} ÷ ${fixed(whole, digits)} = ${signed(share)}`;
}

/** W with its index. */
const matrix = () => element("span", { class: "number" }, "W", element("sub", { text: "O" }));

const unseen = (text) => element("span", { class: "hidden", text });

/**
 * @typedef {{ query: string, tokens: string[], weights: number[][], pieces: number[][], lengths: number[], cosines:
 *   number[], shares: number[], bias: [number, number, number], output: number[], output_length: number, selected:
 *   number }} Message what sections.py sends, and describes
 */

/** @extends {View<Message>} */
class Shares extends View {
  constructor() {
    super();
    this.selected = new Choice();
    this.root = element("div", { class: "root shares" });
  }

  update(data) {
    if (this.data === data) return; // a change of theme: the colours are the style sheet's business
    const focused = this.buttons?.indexOf(this.focused) ?? -1;
    const shape = (message) => JSON.stringify({ ...message, selected: null });
    const same = this.data && shape(this.data) === shape(data);
    this.data = data;
    this.selected.tell({ head: data.selected });
    if (!same) this.draw();
    this.mark();
    if (!same && focused >= 0) this.buttons[Math.min(focused, this.buttons.length - 1)].focus({ preventScroll: true });
  }

  draw() {
    const { data } = this;
    const everything = [...data.shares, data.bias[2], 0];
    const range = [Math.min(...everything), Math.max(...everything)];
    const room = (range[1] - range[0] || 1) * 0.01;
    this.range = [range[0] - room, range[1] + room];
    this.most = Math.max(...data.pieces.flat().map(Math.abs)) || 1;
    this.buttons = data.weights.map((_, head) => this.row(head));
    const rows = element("div", { class: "rows", role: "group", "aria-label": "Heads" }, ...this.buttons);
    rows.onclick = (event) => this.pick(this.buttons.indexOf(buttonOf(event)));
    rows.onkeydown = (event) => moveFocus(event, this.buttons, 1);
    onPointed(rows, (button) => this.show(this.buttons.indexOf(button)));
    this.fact = element("p", { class: "fact" });
    this.root.replaceChildren(this.titles(), rows, this.biasLine(), this.totalLine(), this.fact);
  }

  titles() {
    const [d_head, d_model] = [this.data.pieces[0].length, this.data.output.length];
    const title = (area, name, ...rest) => element("span", { class: area }, element("strong", {}, ...name), ...rest);
    const slice = `${d_head} × ${d_model}`;
    return element(
      "div",
      { class: "line titles" },
      title("head", ["1 Split"], `${d_head} of ${d_model}`),
      title("looks", ["2 Attend"], "its own row of weights, a stripe for each token"),
      title("piece", ["3 Concatenate"], `what it read: ${d_head} of ${d_model}`),
      element("span", { class: "length", text: "length added" }),
      title("share", ["4 Multiply by ", matrix()], `its slice is ${slice}: its share of the output`),
    );
  }

  row(head) {
    const { weights, pieces, lengths, shares, tokens } = this.data;
    const first = head * pieces[head].length;
    const top = weights[head].indexOf(Math.max(...weights[head]));
    const word = element("span", { class: "word" });
    const name = (at) =>
      word.replaceChildren(
        element("bdi", { text: tokens[at], title: tokens[at] }),
        number("weight", weights[head][at], shortPercent(weights[head][at])),
      );
    name(top);
    const picture = strip(weights[head]);
    picture.onpointermove = (event) => name(cellUnder(event, picture, 1, tokens.length).column);
    picture.onpointerleave = () => name(top);
    return element(
      "button",
      { type: "button", class: "line", "data-head": head },
      element(
        "span",
        { class: "head" },
        unseen("Head "),
        element("b", { text: head + 1 }),
        " ",
        element("span", { class: "muted number", text: `${first + 1}–${first + pieces[head].length}` }),
      ),
      element("span", { class: "keys" }, picture, unseen(" attends to "), word),
      element("span", { class: "piece" }, vectorBars("bars", pieces[head], this.most)),
      element("span", { class: "length muted" }, unseen(" adds a vector of length "), number("length", lengths[head], lengths[head].toFixed(2))),
      element(
        "span",
        { class: "share" },
        bar(shares[head], this.range),
        unseen(" its share of the output is "),
        number("share", shares[head], signed(shares[head])),
      ),
    );
  }

  biasLine() {
    const [length, , share] = this.data.bias;
    return element(
      "div",
      { class: "line foot" },
      element("span", { class: "name" }, "+ bias of ", matrix(), " ", element("span", { class: "muted", text: "(the same for every token)" })),
      element("span", { class: "length muted" }, number("bias-length", length, length.toFixed(2))),
      element("span", { class: "share" }, bar(share, this.range), number("bias-share", share, signed(share))),
    );
  }

  totalLine() {
    const { output, output_length: length, query, shares, bias } = this.data;
    const sum = total([...shares, bias[2]]);
    const most = Math.max(...output.map(Math.abs)) || 1;
    return element(
      "div",
      { class: "line foot total" },
      element("span", { class: "name" }, "= output of the block for ", element("bdi", { text: query })),
      element("span", { class: "piece" }, vectorBars("bars", output, most)),
      element("span", { class: "length muted" }, number("output-length", length, length.toFixed(2))),
      element("span", { class: "share" }, element("span"), number("sum", sum, `${(100 * sum).toFixed(0)} %`)),
    );
  }

  mark() {
    const { head } = this.selected.value;
    this.buttons.forEach((button, at) => button.setAttribute("aria-pressed", String(at === head)));
    this.show(this.keepTabStop(this.buttons, head));
  }

  /** Writes out one head's arithmetic below the rows; -1 for the selected one. */
  show(at) {
    const { lengths, cosines, shares, pieces, output, output_length: whole, query } = this.data;
    const head = at >= 0 ? at : this.selected.value.head;
    const d_head = pieces[head].length;
    this.fact.replaceChildren(
      element("b", { text: `Head ${head + 1}: ` }),
      `the ${d_head} numbers that it read, times its ${d_head} × ${output.length} slice of `,
      matrix(),
      `, give ${output.length} numbers: a vector of length ${lengths[head].toFixed(2)}. Its cosine to the whole output for `,
      element("bdi", { text: query }),
      `, of length ${whole.toFixed(2)}, is ${fixed(cosines[head])}. Length × cosine ÷ whole length is its share: `,
      element("b", { class: "number value-role", "data-part": "worked" }, worked(lengths[head], cosines[head], whole, shares[head])),
      ".",
    );
  }

  pick(head) {
    if (head < 0) return;
    this.selected.choose({ head });
    this.mark();
    this.trigger("pick", { head });
  }
}

export default widget(Shares, styles);
