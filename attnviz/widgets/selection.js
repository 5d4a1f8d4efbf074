/* selection: what a visitor chose, while Python still answers to it. */

/** @type {Map<string, Choice<any>>} */
const named = new Map(); // the latest choice of each name

/**
 * What the visitor chose here, shown at once, while Python still answers to it or to an earlier choice.
 * Without this, two quick clicks would show the second, the first and the second again.
 * @template Value something that JSON can hold
 */
export class Choice {
  /** @type {{ text: string, at: number }[]} what Python has not answered yet */
  #asked = [];
  /** @type {string} */
  #told;
  /** @type {Value} */
  value;

  /** @param {string} [name] under which other widgets on the page know it, if they do */
  constructor(name) {
    if (name) named.set(name, this);
  }

  /**
   * The visitor chooses.
   * @param {Value} value
   */
  choose(value) {
    this.value = value;
    this.#asked.push({ text: JSON.stringify(value), at: performance.now() });
  }

  /**
   * Python says what is chosen.
   * @param {Value} value
   */
  tell(value) {
    const text = JSON.stringify(value);
    if (text === this.#told) return;
    this.#told = text;
    const recent = this.#asked.filter(({ at }) => performance.now() - at < 5000);
    this.#asked = recent.slice(recent.findLastIndex((asked) => asked.text === text) + 1);
    const answersEarlier = this.#asked.length < recent.length && this.#asked.length > 0;
    if (!answersEarlier) {
      this.#asked = [];
      this.value = value;
    }
  }

  /** Whether Python knows of the visitor's choice. */
  get answered() {
    return JSON.stringify(this.value) === this.#told;
  }
}

/**
 * { also: … }, what was chosen in other widgets and Python has not answered yet; {} if there is nothing.
 * A message to Python also brings back what Streamlit's own controls showed when it was sent, and would undo it.
 *
 * @param {string} own the name of the choice that the message is about
 * @returns {{ also?: object }}
 */
export function unanswered(own) {
  const open = [...named].filter(([name, choice]) => name !== own && !choice.answered);
  return open.length ? { also: Object.assign({}, ...open.map(([, choice]) => choice.value)) } : {};
}
