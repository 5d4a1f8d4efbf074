/* poll: the question of a room, its options, and the votes. */

import { element } from "../../widgets/dom.js";
import { room } from "./room.js";

// The round of the votes shown on the teacher's screen only; 0 for none. Kept when the page changes.
let peeked = 0;
const PEEK = "Show the votes on this screen";

/** Returns a button of the bar, as wide as its longest text.
 * @param {string} text @param {() => void} onclick */
export const button = (text, onclick, longest = text) =>
  element("button", { type: "button", class: "move", text, onclick, "data-longest": longest });

/** Returns a row of buttons with fixed positions. */
export const places = (...buttons) => element("div", { class: "row places" }, ...buttons);

/** The panel of the current or latest poll. */
export class PollPanel {
  /** @param {() => void} show shows the votes to all */
  constructor(show) {
    this.question = element("p", { class: "question" });
    this.sentence = element("p", { class: "sentence" });
    this.options = element("ul", { class: "options" });
    this.note = element("p", { class: "note" });
    this.close = button("Close the vote", () => room.act({ do: "close" }));
    this.peek = button("", () => this.togglePeek(), PEEK);
    this.show = button("Show votes and answer to all", show);
    this.again = button("Vote again", () => room.act({ do: "again" }));
    this.clear = button("Done", () => room.act({ do: "clear" }));
    this.buttons = places(this.close, this.peek, this.show, this.again, this.clear);
    this.root = element("div", { class: "poll" }, this.question, this.sentence, this.options, this.note, this.buttons);
  }

  /** @param {import("./room.js").Poll} poll null for none
   * @param {boolean} isShown true if the page itself shows this question */
  update(poll, isShown) {
    this.root.hidden = !poll;
    this.question.hidden = isShown;
    this.sentence.hidden = isShown || !poll?.sentence;
    this.buttons.hidden = !room.teaches;
    if (!poll) return;
    const built = JSON.stringify([poll.question, poll.sentence, poll.options, room.teaches]);
    if (built !== this.built) this.build(poll);
    this.built = built;
    const solvedNow = poll.shown && !this.poll?.shown;
    this.poll = poll;
    for (const [at, option] of poll.options.entries()) this.mark(this.options.children[at], option, at);
    if (solvedNow) this.options.querySelector(".right")?.scrollIntoView({ block: "nearest" });
    this.note.textContent = this.noteOn(poll);
    this.close.disabled = !poll.open;
    this.peek.disabled = poll.shown;
    this.peek.textContent = peeked === poll.round ? "Hide the votes" : PEEK;
    this.show.disabled = poll.shown;
    this.again.disabled = !poll.votes || Boolean(poll.before);
    this.again.style.visibility = poll.shown ? "hidden" : ""; // no second vote once the answer is shown
  }

  /** Shows or hides the votes on the teacher's screen, which may be projected. */
  togglePeek() {
    peeked = peeked === this.poll.round ? 0 : this.poll.round;
    this.update(this.poll, Boolean(this.question.hidden));
  }

  /** @param {import("./room.js").Poll} poll */
  build({ question, sentence, options }) {
    this.question.textContent = question;
    this.sentence.textContent = sentence;
    const vote = (at) => () => this.poll.open && room.act({ do: "vote", round: this.poll.round, option: at });
    const label = (at) => (room.teaches ? element("span") : element("button", { type: "button", onclick: vote(at) }));
    const line = (at) => element("li", {}, label(at), element("span", { class: "votes" }));
    this.options.replaceChildren(...options.map((_, at) => line(at)));
  }

  mark(line, option, at) {
    const { mine, right, open, shown, counts, before, votes, round } = this.poll;
    const [label, bars] = line.children;
    const solved = shown && right === at;
    line.classList.toggle("right", solved);
    label.textContent = `${solved ? "✓ " : ""}${option}`;
    if (label.tagName === "BUTTON") {
      label.setAttribute("aria-pressed", String(mine === at));
      label.setAttribute("aria-disabled", String(!open));
    }
    const totalBefore = before ? before.reduce((sum, count) => sum + count, 0) : 0;
    const visible = shown || peeked === round;
    bars.replaceChildren(
      ...(visible && before ? [barOf("first", before[at], totalBefore)] : []),
      ...(visible && counts ? [barOf(before ? "now" : "votes", counts[at], votes)] : []),
    );
  }

  noteOn({ open, shown, mine, votes, before }) {
    if (room.teaches) {
      const { here } = room.state.people;
      const when = before ? " in the second vote" : "";
      const hidden = peeked === this.poll.round ? "Only this screen shows the votes." : "The votes are hidden on all screens.";
      const hint = shown ? "" : ` ${hidden}`;
      return `${votes} of ${here} voted${when}.${open ? "" : " The vote is closed."}${hint}`;
    }
    if (open) return mine === null ? "" : "You have voted. You can change your answer until the vote is closed.";
    return shown ? `Votes: ${votes}.` : "The vote is closed. Your teacher will show the result.";
  }
}

/** Returns the count of an option, with its share of all votes as a bar. */
const barOf = (vote, count, all) =>
  element(
    "span",
    { class: "count" },
    element("span", { class: "bar" }, element("span", { style: `width:${all ? (100 * count) / all : 0}%` })),
    element("span", { class: "number", text: vote === "votes" ? String(count) : `${vote} ${count}` }),
  );
