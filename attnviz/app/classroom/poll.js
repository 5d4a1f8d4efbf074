/* poll: the question of a room: its options to vote for, its results, and the teacher's form for another one. */

import { element } from "../../widgets/dom.js";
import { download } from "../../widgets/pens.js";
import { room } from "./room.js";

const MOST_OPTIONS = 6; // these three are the server's limits, too
const MOST_QUESTION = 300;
const MOST_OPTION = 80;

/** The results as a table for a spreadsheet.
 * @param {Pick<import("./room.js").Poll, "question" | "options" | "counts" | "before" | "right">} poll */
export function csvOf({ question, options, counts, before, right }) {
  const cell = (text) => `"${String(text).replaceAll('"', '""')}"`;
  const votes = before ? ["first vote", "second vote"] : ["votes"];
  const row = (option, at) => [question, option, ...(before ? [before[at]] : []), counts[at], at === right ? "yes" : ""];
  const lines = [["question", "option", ...votes, "right"], ...options.map(row)];
  return lines.map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}

/** A button of the bar.
 * @param {string} text @param {() => void} onclick */
export const button = (text, onclick) => element("button", { type: "button", class: "move", text, onclick });

/** The question that is open, or was last. */
export class PollPanel {
  constructor() {
    this.question = element("p", { class: "question" });
    this.options = element("ul", { class: "options" });
    this.note = element("p", { class: "note" });
    this.close = button("Close the vote", () => room.act({ do: "close" }));
    this.show = button("Show votes and answer", () => room.act({ do: "show" }));
    this.again = button("Vote again", () => room.act({ do: "again" }));
    this.csv = button("CSV", () => this.save());
    this.clear = button("Done", () => room.act({ do: "clear" }));
    this.buttons = element("div", { class: "row" }, this.close, this.show, this.again, this.csv, this.clear);
    this.root = element("div", { class: "poll" }, this.question, this.options, this.note, this.buttons);
  }

  /** @param {import("./room.js").Poll} poll null: none */
  update(poll) {
    this.root.hidden = !poll;
    this.buttons.hidden = !room.teaches;
    if (!poll) return;
    const made = JSON.stringify([poll.question, poll.options, room.teaches]);
    if (made !== this.made) this.make(poll);
    this.made = made;
    this.poll = poll;
    for (const [at, option] of poll.options.entries()) this.mark(this.options.children[at], option, at);
    this.note.textContent = this.noteOn(poll);
    this.close.hidden = !poll.open;
    this.show.hidden = poll.shown;
    this.again.hidden = poll.open || Boolean(poll.before);
  }

  /** @param {import("./room.js").Poll} poll */
  make({ question, options }) {
    this.question.textContent = question;
    const vote = (at) => () => this.poll.open && room.act({ do: "vote", round: this.poll.round, option: at });
    const label = (at) => (room.teaches ? element("span") : element("button", { type: "button", onclick: vote(at) }));
    const line = (at) => element("li", {}, label(at), element("span", { class: "votes" }));
    this.options.replaceChildren(...options.map((_, at) => line(at)));
  }

  mark(line, option, at) {
    const { mine, right, open, shown, counts, before, votes } = this.poll;
    const [label, bars] = line.children;
    const solved = shown && right === at; // the teacher's screen may be the projector's
    line.classList.toggle("right", solved);
    label.textContent = `${solved ? "✓ " : ""}${option}`;
    if (label.tagName === "BUTTON") {
      label.setAttribute("aria-pressed", String(mine === at));
      label.setAttribute("aria-disabled", String(!open));
    }
    const ofAll = before ? before.reduce((sum, count) => sum + count, 0) : 0;
    bars.replaceChildren(
      ...(before ? [barOf("first", before[at], ofAll)] : []),
      ...(counts ? [barOf(before ? "now" : "votes", counts[at], votes)] : []),
    );
  }

  noteOn({ open, shown, mine, votes, before }) {
    if (room.teaches) {
      const { here } = room.state.people;
      const when = before ? " in the second vote" : "";
      const hint = shown ? "" : " Students' pages do not show the bars yet; hide them if your screen is on the wall.";
      return `${votes} of ${here} voted${when}.${open ? "" : " The vote is closed."}${hint}`;
    }
    if (open) return mine === null ? "Choose one." : "Your vote counts. You can change it until the vote is closed.";
    return shown ? `${votes} voted.` : "The vote is closed. Your teacher will show what came out.";
  }

  save() {
    download(new Blob([csvOf(this.poll)], { type: "text/csv" }), "poll.csv");
  }
}

/** How many chose an option, with its share of all votes as a bar. */
const barOf = (when, count, all) =>
  element(
    "span",
    { class: "count" },
    element("span", { class: "bar" }, element("span", { style: `width:${all ? (100 * count) / all : 0}%` })),
    element("span", { class: "number", text: when === "votes" ? String(count) : `${when} ${count}` }),
  );

/** The form in which a teacher writes a question; the server says what is wrong with one. */
export class OwnQuestion {
  /** @param {() => void} closed */
  constructor(closed) {
    this.closed = closed;
    this.question = element("textarea", { rows: 2, maxlength: MOST_QUESTION });
    this.lines = Array.from({ length: MOST_OPTIONS }, (_, at) => ({
      text: element("input", { type: "text", maxlength: MOST_OPTION, placeholder: `Option ${at + 1}` }),
      right: element("input", { type: "radio", name: "right", "aria-label": `Option ${at + 1} is right` }),
    }));
    this.root = element(
      "form",
      {
        class: "own",
        onsubmit: (event) => this.ask(event),
        onkeydown: (event) => this.key(event),
        onkeyup: (event) => event.stopPropagation(),
      },
      element("label", { text: "Your question" }, this.question),
      element("p", { class: "note", text: "2 to 6 options; mark the right one, if there is one." }),
      element("div", { class: "lines" }, ...this.lines.map(({ right, text }) => element("div", {}, right, text))),
      element("div", { class: "row" }, element("button", { class: "move on", text: "Ask" }), button("Cancel", closed)),
    );
  }

  ask(event) {
    event.preventDefault();
    this.before = room.state?.poll?.round ?? 0;
    const written = this.lines.filter(({ text }) => text.value.trim());
    const right = written.findIndex((line) => line.right.checked);
    const options = written.map(({ text }) => text.value.trim());
    this.asked = true;
    room.act({ do: "ask", question: this.question.value.trim(), options, right: right < 0 ? null : right });
  }

  /** Whether what was asked last stands in the room.
   * @param {import("./room.js").Poll} poll */
  arrived(poll) {
    return this.asked && poll?.round > this.before;
  }

  /** Streamlit's own keys, and those of a presentation, are letters here. */
  key(event) {
    event.stopPropagation();
    if (event.key === "Escape") this.closed();
  }
}
