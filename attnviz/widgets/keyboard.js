/* keyboard: many buttons of which one is the tab stop, with arrow keys between them, and which one is pointed at. */

/**
 * Returns the cell that an arrow key, Home or End selects from `index` among `count` cells; null for other keys.
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
 * Makes one of many buttons the only tab stop among them.
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
 * Moves the focus from button to button, as the keys of `destination` say.
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
 * Returns the button of an event, including events of its children; null for none.
 * @param {Event} event
 * @returns {HTMLButtonElement | null}
 */
export const buttonOf = ({ target }) => /** @type {Element} */ (target).closest("button");

/**
 * Reports the button of a container that is hovered over or focused; null when there is none any more.
 * @param {HTMLElement} place
 * @param {(button: HTMLButtonElement | null) => void} tell
 */
export function onPointed(place, tell) {
  const enter = (event) => tell(buttonOf(event));
  const leave = () => tell(null);
  place.addEventListener("pointerover", enter);
  place.addEventListener("focusin", enter);
  place.addEventListener("pointerleave", leave);
  place.addEventListener("focusout", leave);
}
