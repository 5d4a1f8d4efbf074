/* room_bar: the bar of a live room on every page: presence, following, polls, and pointing. */

import { element } from "../../widgets/dom.js";
import { View, widget } from "../../widgets/widget.js";
import { button, places, PollPanel } from "./poll.js";
import { pointOf, Spot } from "./pointing.js";
import { sortedQuery, room } from "./room.js";
import styles from "./room_bar.css";

const SOON = 100; // milliseconds
const REPEAT = 2000; // milliseconds, before an unanswered request for a page is repeated
const MAX_REPEAT = 10_000;
const [POLL, END] = ["Poll this page's question", "End room for all?"];
const CLICK_EVENTS = ["pointerdown", "mousedown", "pointerup", "mouseup", "click"];

/**
 * Message from bar.py, documented there.
 * @typedef {{ page: string, query: string, revealed: string[], request: [string, string, string] | null,
 *   known: [string, boolean, string, string], question: { question: string, sentence: string, options: string[], right: number,
 *   own: boolean } | null }} Message
 */

// State that is kept when the page changes.
let lastRequest = ""; // the id of the last executed request
let followed = ""; // the teacher's view that was opened last
let folded = false;
/** @type {{ view: import("./room.js").TeacherView, tries: number }} */
let goal = null; // the teacher's view that is being opened; null once Python has drawn it

/** @extends {View<Message>} */
class RoomBar extends View {
  constructor() {
    super();
    this.code = element("strong", { class: "code" });
    this.status = element("span", { role: "status" });
    this.trouble = element("span", { role: "alert" });
    this.dismiss = button("OK", () => room.forgetTrouble());
    const fold = () => {
      folded = !folded;
      this.draw();
    };
    this.fold = button("", fold, "Show question");
    this.follow = button("", () => this.setFollowing(!room.follows));
    this.pollButton = button("", () => room.act({ do: "poll", ...this.data.question }), POLL);
    this.point = button("Point", () => this.aim());
    this.point.classList.add("point");
    this.end = button("", () => this.confirmEnd(), END);
    this.row = element("div", { class: "row" }, this.code, this.status, this.trouble, this.dismiss);
    this.leading = places(this.pollButton, this.point, this.end);
    this.row.append(this.follow, this.fold, this.leading);
    this.poll = new PollPanel(() => this.showVotes());
    this.panel = element("div", { class: "panel" }, this.poll.root);
    const label = "Live room";
    this.spot = new Spot();
    this.root = element("section", { class: "root room-bar", "aria-label": label }, this.spot.root, this.panel, this.row);
    this.aiming = false;
    this.clicked = (event) => this.pointAt(event);
    for (const each of CLICK_EVENTS) window.addEventListener(each, this.clicked, { capture: true });
    this.changed = () => this.data && this.draw();
    room.addEventListener("change", this.changed);
    this.onResize(() => {
      const part = this.root.hasAttribute("data-teacher") ? this.row : this.root; // in the teacher's view, a poll covers the page
      document.documentElement.style.setProperty("--room-bar", `${part.getBoundingClientRect().height}px`);
    });
  }

  close() {
    room.removeEventListener("change", this.changed);
    for (const each of CLICK_EVENTS) window.removeEventListener(each, this.clicked, { capture: true });
    this.spot.show(null, false);
    clearTimeout(this.repeat);
    super.close();
  }

  /** @param {Message} data */
  update(data) {
    const arrived = data.page !== this.data?.page;
    if (arrived) [this.requested, this.aiming] = ["", false]; // a request may be lost while the page changes
    this.data = data;
    if (data.request && data.request[0] !== lastRequest) {
      lastRequest = data.request[0];
      const [, action, code] = data.request;
      if (action === "open") room.open();
      else if (action === "join") room.join(code);
      else room.leave();
    }
    if (room.teaches && data.page !== "classroom" && !document.hidden) {
      room.show({ path: data.page, query: data.query, reveal: data.revealed });
    }
    this.draw();
    if (goal) this.later(SOON);
  }

  /** Starts or stops following the teacher.
   * @param {boolean} on */
  setFollowing(on) {
    followed = "";
    room.follow(on);
  }

  draw() {
    const { seat, state, trouble, teaches, follows } = room;
    const { poll, point } = state ?? {};
    const leads = teaches && Boolean(state);
    this.root.hidden = !seat && (!trouble || this.atEntrance);
    this.root.dataset.role = teaches ? "teacher" : "student";
    this.code.textContent = seat?.room ? `Room ${seat.room}` : "";
    this.status.textContent = seat ? this.statusOf() : "";
    this.trouble.textContent = trouble;
    this.dismiss.hidden = !trouble;
    this.follow.hidden = !seat?.voter;
    this.follow.textContent = follows ? "Stop following" : "Follow again";
    this.leading.hidden = !leads;
    this.pollButton.hidden = !this.data.question;
    this.pollButton.textContent = this.data.question?.own ? "Poll your question" : POLL;
    this.point.hidden = this.data.page === "classroom"; // students cannot follow the teacher to this page
    this.point.setAttribute("aria-pressed", String(this.isPointing));
    this.point.classList.toggle("on", this.isPointing);
    this.end.textContent = this.ending ? END : "End room";
    const projected = this.root.hasAttribute("data-teacher"); // the poll then covers the page
    const isAsked = poll?.question === this.data.question?.question;
    this.poll.update(poll ?? null, teaches && !projected && isAsked);
    this.fold.hidden = !poll;
    this.fold.textContent = folded ? "Show question" : "Hide question";
    this.fold.setAttribute("aria-expanded", String(!folded));
    this.poll.root.hidden ||= folded;
    document.documentElement.toggleAttribute("data-asking", leads && !this.poll.root.hidden);
    // A student's page shows one question at a time: the teacher's question replaces the page's own.
    document.documentElement.toggleAttribute("data-student", Boolean(seat?.voter));
    document.documentElement.toggleAttribute("data-voting", !teaches && Boolean(poll?.open) && !folded);
    if (!goal) this.spot.show((teaches || follows) && point ? point : null, follows);
    this.notifyPython();
    this.goTo(follows && state?.view);
  }

  /** Returns the state in words, and the text of the element that the teacher points at. */
  statusOf() {
    const { state, connected, failures } = room;
    if (!connected) {
      if (failures > 2 && !state) return "The room cannot be reached. Trying again …";
      return state ? "Reconnecting …" : "Connecting …";
    }
    const { people, point, poll, view } = state;
    const pointed = point ? ` ${room.teaches ? "Pointing at" : "Look at"} ${point.words ? `“${point.words}”` : "the frame"}.` : "";
    if (this.aiming && !point) return "Click what you want to point at.";
    if (room.teaches) return `${people.here} in the room · ${people.following} following.${pointed}`;
    if (poll?.open && poll.mine === null) return "Choose one answer.";
    if (!room.follows) return "You are not following your teacher.";
    return view ? `Following your teacher.${pointed}` : "Your teacher has not opened a page yet.";
  }

  /** Returns whether the Classroom page offers to join a room; that page shows its own errors. */
  get atEntrance() {
    return this.data.page === "classroom" && !room.seat;
  }

  /** Sends Python the seat, for the Classroom page, and the reason why the page's answer stays covered: a poll is open,
   * or the visitor follows the teacher. */
  notifyPython() {
    const { seat, connected, state, trouble, teaches } = room;
    const code = connected || state ? (seat?.room ?? "") : "";
    const covered = state?.poll?.open ? "vote" : room.follows && code ? "led" : "";
    const now = { room: code, teaches: Boolean(code && teaches), trouble: this.atEntrance ? trouble : "", covered };
    if (this.data.page !== "classroom" && covered === this.data.known[3] && code === this.data.known[0]) return;
    const text = JSON.stringify(Object.values(now));
    if (text === JSON.stringify(this.data.known) || text === this.requested) return;
    this.requested = text;
    this.trigger("seat", now);
  }

  /** Returns whether a click in a picture points at an element, instead of having its usual effect. */
  get isPointing() {
    return room.teaches && Boolean(room.state) && (this.aiming || Boolean(room.state.point));
  }

  aim() {
    const on = !this.isPointing;
    if (room.state.point) room.act({ do: "point", point: null });
    this.aiming = on;
    this.draw();
  }

  /** @param {MouseEvent} event ignored if it is scripted, as for a key of a presenter's remote control */
  pointAt(event) {
    const point = this.isPointing && event.isTrusted && pointOf(event);
    if (!point) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (event.type === "click") room.act({ do: "point", point });
  }

  /** Shows the votes, and the answer if the page has this question. */
  showVotes() {
    const { page, question, revealed } = this.data;
    room.act({ do: "show" });
    const isPageQuestion = question && !question.own && room.state.poll.question === question.question;
    if (isPageQuestion && !room.trouble) this.trigger("reveal", { names: [...revealed, page] });
  }

  confirmEnd() {
    if (this.ending) return room.end();
    this.ending = setTimeout(() => {
      this.ending = undefined;
      this.draw();
    }, 10_000);
    return this.draw();
  }

  /** @param {import("./room.js").TeacherView | false} view the teacher's page */
  goTo(view) {
    if (!view) return;
    const text = JSON.stringify(view);
    if (text === followed) return;
    followed = text;
    goal = { view, tries: 0 };
    this.arrive();
  }

  /** Navigates until the page drawn by Python is the teacher's page. */
  arrive() {
    if (!isIdle()) {
      this.later(SOON);
      return;
    }
    const { view, tries } = goal;
    const here = this.data.page === view.path;
    const same = here && sortedQuery(this.data.query) === sortedQuery(view.query);
    // Do not repeat requests that the page cannot fulfil.
    if (same || (here && tries > 1)) {
      goal = null;
      this.uncover(view);
      this.draw();
      return;
    }
    goal.tries += 1;
    const url = new URL(view.path === "explore" ? "./" : `./${encodeURIComponent(view.path)}`, location.href);
    url.search = new URLSearchParams(view.query).toString();
    // Like the Back button: Streamlit changes the page without a reload.
    history.pushState({}, "", url);
    window.dispatchEvent(new PopStateEvent("popstate"));
    this.later(Math.min(REPEAT * goal.tries, MAX_REPEAT));
  }

  /** @param {number} wait */
  later(wait) {
    clearTimeout(this.repeat);
    this.repeat = setTimeout(() => goal && this.arrive(), wait);
  }

  /** @param {import("./room.js").TeacherView} view */
  uncover(view) {
    const same = JSON.stringify([...view.reveal].sort()) === JSON.stringify([...this.data.revealed].sort());
    if (!same) this.trigger("reveal", { names: view.reveal });
  }
}

/** Returns whether Streamlit has finished drawing. Before that, a request would discard text just typed into a box;
 * while Streamlit reconnects, requests are lost. */
function isIdle() {
  const { dataset } = /** @type {HTMLElement} */ (document.querySelector('[data-testid="stApp"]'));
  return dataset.testConnectionState === "CONNECTED" && dataset.testScriptState === "notRunning";
}

export default widget(RoomBar, styles);
