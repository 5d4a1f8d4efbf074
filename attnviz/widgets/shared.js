/* shared: what every widget uses; widgets/code.py puts it in front of their code. */

/** The sets of arrays that the stores keep: id -> { key, facts, arrays: { name: { shape, values } } }. */
function allData() {
  window.attnviz ??= new Map();
  return window.attnviz;
}

/** A new element. Text only ever becomes textContent: tokens are what a visitor typed. */
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "text") node.textContent = value;
    else if (name.startsWith("on")) node[name] = value;
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/** A new element of a picture in SVG. */
function drawing(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** Streamlit calls a widget again at each change of data or theme: one View per place on the page. */
function widget(View) {
  const views = new WeakMap();
  const show = ({ parentElement, data, setTriggerValue }) => {
    let view = views.get(parentElement);
    if (!view?.root.isConnected) {
      view?.close();
      view = new View(parentElement);
      views.set(parentElement, view);
    }
    view.trigger = setTriggerValue;
    view.update(data);
    return () => {
      view.close();
      views.delete(parentElement);
    };
  };
  return Object.assign(show, { View }); // a page without Streamlit makes and updates its views itself
}

/** Listens to window events until the returned function is called. */
function listen(handlers) {
  for (const [name, handler] of Object.entries(handlers)) window.addEventListener(name, handler);
  return () => {
    for (const [name, handler] of Object.entries(handlers)) window.removeEventListener(name, handler);
  };
}

/** Where an arrow key, Home or End leads from `index` in a grid of `count` cells; null for other keys. */
function destination({ key, ctrlKey }, index, count, columns) {
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
function tabStop(buttons, index) {
  for (const [at, button] of buttons.entries()) {
    const value = at === index ? 0 : -1;
    if (button.tabIndex !== value) button.tabIndex = value;
  }
}

/** Moves the focus from button to button, as the keys of `destination` say. */
function moveFocus(event, buttons, columns) {
  const from = buttons.indexOf(event.target);
  const to = from < 0 ? null : destination(event, from, buttons.length, columns);
  if (to === null) return;
  event.preventDefault();
  tabStop(buttons, to);
  buttons[to].focus();
}

/**
 * What the visitor chose here, shown at once, while Python still answers to it or to an earlier choice.
 * Without this, two quick clicks would show the second, the first and the second again.
 */
class Choice {
  #asked = [];
  #told;
  value;

  /** @param name under which other widgets on the page know it, if they do. */
  constructor(name) {
    window.attnvizChoices ??= {};
    if (name) window.attnvizChoices[name] = this;
  }

  choose(value) {
    this.value = value;
    this.#asked.push({ text: JSON.stringify(value), at: performance.now() });
  }

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

  get answered() {
    return JSON.stringify(this.value) === this.#told;
  }
}

/**
 * { also: … }, what was chosen in other widgets and Python has not answered yet; {} if there is nothing.
 * A message to Python also brings back what Streamlit's own controls showed when it was sent, and would undo it.
 *
 * @param own the name of the choice that the message is about.
 */
function unanswered(own) {
  const open = Object.entries(window.attnvizChoices ?? {}).filter(([name, choice]) => name !== own && !choice.answered);
  return open.length ? { also: Object.assign({}, ...open.map(([, choice]) => choice.value)) } : {};
}

/** 0.664 as "66.4 %", "0.66" or, of a change, "+66.4 pp": percentage points. */
function written(value, unit, digits = 1) {
  const minus = value < 0 ? "−" : "";
  const size = Math.abs(value);
  if (unit === "score") return minus + size.toFixed(digits + 1);
  const sign = unit === "signed percent" && value > 0 ? "+" : minus;
  return `${sign}${(100 * size).toFixed(digits)} ${unit === "signed percent" ? "pp" : "%"}`;
}

/** The same for places with little room: whole percents. */
const brief = (value, unit) => written(value, unit, unit === "score" ? 1 : 0);
