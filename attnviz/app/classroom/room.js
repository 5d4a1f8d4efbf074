/* room: this browser's seat in a live room, its connection to the server, and the last received state. */

/**
 * The state of a room as the server sends it; `rooms.py` selects the parts that each window receives.
 * @typedef {{ path: string, query: string, reveal: string[] }} TeacherView a page, its complete URL query, revealed lessons
 * @typedef {{ words: string, picture: string, place: string }} Point the element's text; the key of the page's
 *   part; the element in it ("0.2.1"), and the position in the element, in thousandths ("0.2.1 500 250")
 * @typedef {{ question: string, sentence: string, options: string[], counts: number[], before: number[], right: number,
 *   round: number, open: boolean, votes: number, mine: number, shown: boolean }} Poll options are numbered
 *   from 0; null: unknown
 * @typedef {{ n: number, view: TeacherView, point: Point, poll: Poll,
 *   people: { here: number, following: number } }} State
 * @typedef {{ room: string, key?: string, voter?: string, left?: boolean }} Seat `key` for the teacher, `voter` for
 *   a student; `left`: the student does not follow
 */

const STORAGE_KEY = "attnviz:room";
const HEARTBEAT = 20_000; // milliseconds; the server disconnects clients that are silent for a minute
const MAX_RETRY_DELAY = 3000; // milliseconds
const VIEW_INTERVAL = 250; // milliseconds; the server relays four views a second
const MAX_QUERY = 3000; // characters; also in rooms.py

/** Returns the letters and digits of a typed code, in upper case.
 * @param {string} typed */
export const codeOf = (typed) => typed.replace(/[^a-z0-9]/gi, "").toUpperCase();

/** Returns a URL query with sorted parameters, for comparison.
 * @param {string} query */
export function sortedQuery(query) {
  const parts = new URLSearchParams(query);
  parts.sort();
  return parts.toString();
}

/** Returns a random token. */
const token = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** The connection to a room; dispatches "change" after every change. */
class Room extends EventTarget {
  /** @type {Seat} null: not in a room */
  seat = null;
  /** @type {State} null: not received yet */
  state = null;
  /** The message for the visitor; "" for none. */
  trouble = "";
  connected = false;
  failures = 0; // consecutive
  /** @type {WebSocket} */
  #socket;
  /** @type {TeacherView} */
  #view;
  /** @type {TeacherView} the last view that could not be sent, because its link is too long */
  #tooLongView;

  /** Restores this browser's seat and connects; call it once. */
  begin() {
    try {
      this.seat = JSON.parse(localStorage.getItem(STORAGE_KEY));
    } catch {
      // Storage is unavailable or its content is invalid: there is no seat.
    }
    setInterval(() => this.#send({ do: "here" }), HEARTBEAT);
    // Browsers delay the heartbeat in hidden pages and on sleeping phones, and the server then closes the socket.
    document.addEventListener("visibilitychange", () => !document.hidden && this.#retry());
    if (this.seat) this.#connect();
  }

  get teaches() {
    return Boolean(this.seat?.key);
  }

  get follows() {
    return Boolean(this.seat?.voter) && !this.seat.left;
  }

  /** Opens a new room. */
  open() {
    if (this.seat) return;
    this.#setSeat({ room: "" }); // the server sends the code
    this.#connect();
  }

  /** @param {string} typed the code */
  join(typed) {
    const room = codeOf(typed);
    if (room === this.seat?.room) return;
    if (this.teaches) {
      this.trouble = `You are teaching in room ${this.seat.room}. End that room before you join another.`;
      this.#changed();
      return;
    }
    this.#setSeat({ room, voter: token() });
    this.#connect();
  }

  /** Leaves the room, which stays open for the others. */
  leave() {
    this.#setSeat(null);
    this.#socket?.close();
    this.#socket = null;
    this.#changed();
  }

  /** Ends the teacher's room for everyone. */
  end() {
    this.act({ do: "end" });
    if (!this.trouble) this.leave();
  }

  /** @param {boolean} on */
  follow(on) {
    this.#setSeat({ ...this.seat, left: !on });
    this.#send({ do: "follow", on });
    this.#changed();
  }

  /** Sends the teacher's current page.
   * @param {TeacherView} view */
  show(view) {
    this.#view = view;
    this.pushing ??= setTimeout(() => this.#push(), VIEW_INTERVAL);
  }

  /** Sends an action of the teacher or a student.
   * @param {{ do: string, [name: string]: unknown }} message */
  act(message) {
    this.trouble = "";
    if (!this.#send(message)) this.trouble = "Not connected. Try again in a moment.";
    this.#changed();
  }

  forgetTrouble() {
    this.trouble = "";
    this.#changed();
  }

  #push() {
    this.pushing = undefined;
    if (!this.state || !this.#view || JSON.stringify(this.#view) === JSON.stringify(this.state.view)) return;
    if (this.#view.query.length <= MAX_QUERY) {
      this.#send({ do: "view", view: this.#view });
    } else if (this.#view !== this.#tooLongView) {
      this.#tooLongView = this.#view;
      this.trouble = "The text of this page is too long for a link, so students stay on the previous page. Shorten the text.";
      this.#changed();
    }
  }

  /** @param {Seat} seat */
  #setSeat(seat) {
    if (seat?.room !== this.seat?.room) this.state = null;
    this.seat = seat;
    this.trouble = "";
    try {
      if (!seat) localStorage.removeItem(STORAGE_KEY);
      else if (seat.room) localStorage.setItem(STORAGE_KEY, JSON.stringify(seat));
    } catch {
      // Without storage, the seat is lost when the page is closed.
    }
  }

  #connect() {
    const former = this.#socket;
    const socket = new WebSocket(new URL("./room", location.href).href.replace(/^http/, "ws"));
    this.#socket = socket;
    former?.close();
    this.connected = false;
    socket.onopen = () => {
      const { room, key, voter } = this.seat;
      if (voter) this.#send({ do: "join", room, voter });
      else this.#send(key ? { do: "teach", room, key } : { do: "open" });
      if (this.seat.left) this.#send({ do: "follow", on: false });
    };
    socket.onmessage = ({ data }) => socket === this.#socket && this.#receive(JSON.parse(data));
    socket.onclose = () => socket === this.#socket && this.#reconnect();
    this.#changed();
  }

  #receive(message) {
    if (message.error) {
      if (message.fatal) this.leave(); // there is no such room, or the key is wrong; otherwise keep the seat
      this.trouble = message.error;
    } else if (message.key) {
      this.#setSeat({ room: message.room, key: message.key });
    } else {
      if (message.n === this.state?.n) this.trouble = ""; // a repeated state: the store is available again
      const reconnected = !this.connected;
      this.state = message;
      this.connected = true;
      this.failures = 0;
      if (reconnected && !document.hidden) this.#push();
    }
    this.#changed();
  }

  /** Reconnects after a random delay that grows with each failure, so that a class does not reconnect all at once. */
  #reconnect() {
    this.connected = false;
    this.#socket = null;
    this.failures += 1;
    const wait = Math.min(MAX_RETRY_DELAY, 250 * 2 ** this.failures) * (0.5 + Math.random() / 2);
    setTimeout(() => this.#retry(), wait);
    this.#changed();
  }

  #retry() {
    if (this.seat && !this.#socket) this.#connect();
  }

  /** Sends a message; returns whether it was sent. */
  #send(message) {
    const open = this.#socket?.readyState === WebSocket.OPEN;
    if (open) this.#socket.send(JSON.stringify(message));
    return open;
  }

  #changed() {
    this.dispatchEvent(new Event("change"));
  }
}

/** The only instance, kept when pages change. */
export const room = new Room();
