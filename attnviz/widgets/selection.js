/* selection: what a visitor chose, while Python still answers to it. */

/** @type {Map<string, Choice<any>>} */
const named = new Map(); // the latest choice of each name

/**
 * The visitor's choice, shown immediately, while Python still handles it or an earlier one.
 * Without this, two quick clicks would show the second, the first and the second again.
 * @template Value a JSON value
 */
export class Choice {
  /** @type {{ text: string, at: number }[]} choices that Python has not confirmed yet */
  #asked = [];
  /** @type {string} */
  #told;
  /** @type {Value} */
  value;

  /** @param {string} [name] shared with other widgets on the page, if any */
  constructor(name) {
    if (name) named.set(name, this);
  }

  /**
   * Sets the visitor's choice.
   * @param {Value} value
   */
  choose(value) {
    this.value = value;
    this.#asked.push({ text: JSON.stringify(value), at: performance.now() });
  }

  /**
   * Sets the choice reported by Python.
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

  /** Returns whether Python has confirmed the visitor's choice. */
  get answered() {
    return JSON.stringify(this.value) === this.#told;
  }
}

/**
 * Returns { also: … } with the unconfirmed choices of other widgets; {} without any.
 * A message to Python also brings back what Streamlit's own controls showed when it was sent, and would undo it.
 *
 * @param {string} own the name of the choice in this message
 * @returns {{ also?: object }}
 */
export function unanswered(own) {
  const open = [...named].filter(([name, choice]) => name !== own && !choice.answered);
  return open.length ? { also: Object.assign({}, ...open.map(([, choice]) => choice.value)) } : {};
}
