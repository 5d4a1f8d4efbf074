/* keyboard: groups of buttons with one tab stop, arrow keys and hover events. */

/**
 * Returns the index that an arrow key, Home or End selects in a grid of `count` cells; null for other keys.
 * @param {{ key: string, ctrlKey?: boolean }} event
 * @param {number} index
 * @param {number} count
 * @param {number} columns
 * @returns {number | null}
 */
export function destination({ key, ctrlKey }, index, count, columns) {
  const column = index % columns;
  const rowEnd = Math.min(index - column + columns, count) - 1;
  const to = {
    ArrowLeft: column > 0 ? index - 1 : index,
    ArrowRight: Math.min(index + 1, rowEnd),
    ArrowUp: index - columns >= 0 ? index - columns : index,
    ArrowDown: index + columns < count ? index + columns : index,
    Home: ctrlKey || columns === 1 ? 0 : index - column,
    End: ctrlKey || columns === 1 ? count - 1 : rowEnd,
  }[key];
  return to ?? null;
}

/**
 * Makes one of these buttons their only tab stop.
 * @param {HTMLElement[]} buttons
 * @param {number} index
 */
export function tabStop(buttons, index) {
  for (const [at, button] of buttons.entries()) {
    const value = at === index ? 0 : -1;
    if (button.tabIndex !== value) button.tabIndex = value;
  }
}

/**
 * Moves the focus between buttons with the keys of `destination`.
 * @param {KeyboardEvent} event
 * @param {HTMLElement[]} buttons
 * @param {number} columns
 */
export function moveFocus(event, buttons, columns) {
  const from = buttons.indexOf(/** @type {HTMLElement} */ (event.target));
  const to = from < 0 ? null : destination(event, from, buttons.length, columns);
  if (to === null) return;
  event.preventDefault();
  tabStop(buttons, to);
  buttons[to].focus();
}

/**
 * Returns the button that is or contains the target of an event, or null.
 * @param {Event} event
 * @returns {HTMLButtonElement | null}
 */
export const buttonOf = ({ target }) => /** @type {Element} */ (target).closest("button");

/**
 * Calls back with the hovered or focused button of a container, and with null when there is no such button.
 * @param {HTMLElement} container
 * @param {(button: HTMLButtonElement | null) => void} callback
 */
export function onHover(container, callback) {
  const enter = (event) => callback(buttonOf(event));
  const leave = () => callback(null);
  container.addEventListener("pointerover", enter);
  container.addEventListener("focusin", enter);
  container.addEventListener("pointerleave", leave);
  container.addEventListener("focusout", leave);
}
