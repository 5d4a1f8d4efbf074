/* keyboard: arrow keys between many buttons of which one is the tab stop. */

/** Where an arrow key, Home or End leads from `index` in a grid of `count` cells; null for other keys. */
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

/** Makes one of many buttons the only tab stop among them. */
export function tabStop(buttons, index) {
  for (const [at, button] of buttons.entries()) {
    const value = at === index ? 0 : -1;
    if (button.tabIndex !== value) button.tabIndex = value;
  }
}

/** Moves the focus from button to button, as the keys of `destination` say. */
export function moveFocus(event, buttons, columns) {
  const from = buttons.indexOf(event.target);
  const to = from < 0 ? null : destination(event, from, buttons.length, columns);
  if (to === null) return;
  event.preventDefault();
  tabStop(buttons, to);
  buttons[to].focus();
}
