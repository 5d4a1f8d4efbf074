/* selection: the visitor's choice, which Python confirms later. */

/** @type {Map<string, Choice<any>>} */
const choicesByName = new Map(); // the latest choice by name

/**
 * The visitor's choice, shown immediately, even while Python still handles an earlier choice.
 * Without this, two quick clicks would show the second choice, then the first, then the second again.
 * @template Value a JSON value
 */
export class Choice {
  /** @type {{ text: string, at: number }[]} choices that Python has not confirmed yet */
  #pending = [];
  /** @type {string} */
  #confirmedText;
  /** @type {Value} */
  value;

  /** @param {string} [name] name shared with other widgets on the page, if any */
  constructor(name) {
    if (name) choicesByName.set(name, this);
  }

  /**
   * Sets the visitor's choice.
   * @param {Value} value
   */
  choose(value) {
    this.value = value;
    this.#pending.push({ text: JSON.stringify(value), at: performance.now() });
  }

  /**
   * Sets the choice reported by Python.
   * @param {Value} value
   */
  receive(value) {
    const text = JSON.stringify(value);
    if (text === this.#confirmedText) return;
    this.#confirmedText = text;
    const recent = this.#pending.filter(({ at }) => performance.now() - at < 5000);
    this.#pending = recent.slice(recent.findLastIndex((choice) => choice.text === text) + 1);
    const confirmsEarlier = this.#pending.length < recent.length && this.#pending.length > 0;
    if (!confirmsEarlier) {
      this.#pending = [];
      this.value = value;
    }
  }

  /** Returns whether Python has confirmed the visitor's choice. */
  get confirmed() {
    return JSON.stringify(this.value) === this.#confirmedText;
  }
}

/**
 * Returns { also: … } with the unconfirmed choices of other widgets; {} if there are none.
 * A message to Python also contains the values of Streamlit's own controls; without `also`, outdated values would
 * undo these choices.
 *
 * @param {string} own the name of the choice in this message
 * @returns {{ also?: object }}
 */
export function pendingChoices(own) {
  const open = [...choicesByName].filter(([name, choice]) => name !== own && !choice.confirmed);
  return open.length ? { also: Object.assign({}, ...open.map(([, choice]) => choice.value)) } : {};
}
