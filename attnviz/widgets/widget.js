/* widget: creates, updates and closes widgets, in Streamlit or on other pages. */

import { element, onPaper } from "./dom.js";
import { tabStop } from "./keyboard.js";
import { themeOf } from "./palette.js";
import look from "./look.css";
import shared from "./shared.css";

const SHEET_HEIGHT = 860; // pixels; height of an A4 or Letter sheet without margins and a heading
const MIN_ZOOM = 0.5; // of a tall picture on paper; below this, it would be illegible
const MIN_WIDTH = 320; // pixels; the narrowest supported page

/** Scales the pictures with the visitor's font size (1 for 16 pixels), as far as the window's width allows. */
function followTextSize() {
  const probe = document.documentElement.appendChild(element("span", { hidden: true }));
  probe.style.fontSize = "medium"; // a report's security policy forbids style attributes
  const size = parseFloat(getComputedStyle(probe).fontSize) / 16;
  probe.remove();
  const zoom = Math.max(Math.min(size, 1), Math.min(size, window.innerWidth / MIN_WIDTH));
  document.documentElement.style.setProperty("--text-zoom", String(zoom));
}
followTextSize();
window.addEventListener("resize", followTextSize);

/**
 * One instance of a widget on the page.
 * @template Data the message from Python, described in its Python module
 */
export class View {
  /** @type {HTMLElement} the element on the page */
  root;
  /** @type {Data} the latest message */
  data;
  /** @type {import("./palette.js").Theme} the surrounding colours */
  theme;
  /** @type {(name: string, value: unknown) => void} sends an action of the visitor to Python */
  trigger = () => {};
  #closing = new AbortController();

  constructor() {
    // sent when printing begins or ends, and by the teacher's view
    this.listen({ "attnviz:redraw": () => this.data && this.receive(this.data) });
  }

  /**
   * Handles a new message from Python, or draws the latest message again.
   * @param {Data} data
   * @param {boolean} paper true to draw for paper: light, without controls, and not scrolled
   */
  receive(data, paper = onPaper()) {
    const { root } = this;
    for (const node of [root, /** @type {ShadowRoot} */ (root.parentNode).host]) node.toggleAttribute("data-paper", paper);
    this.theme = themeOf(root);
    root.toggleAttribute("data-teacher", "teacher" in document.documentElement.dataset);
    Object.assign(root.style, { zoom: "", width: "", display: "" });
    this.update(data);
    this.data = data;
    if (onPaper()) this.#fitSheet();
  }

  /** Shrinks a picture that is too large for a sheet. If it is still too tall, browsers slice it across pages like an
   * image, because it is an inline block. */
  #fitSheet() {
    const { clientWidth, scrollWidth, offsetHeight, style } = this.root;
    const zoom = Math.min(1, clientWidth / scrollWidth, Math.max(MIN_ZOOM, SHEET_HEIGHT / offsetHeight));
    if (zoom < 1) Object.assign(style, { zoom: String(zoom), width: `${clientWidth}px`, display: "inline-block" });
  }

  /**
   * Draws a message; `this.data` is still the previous message.
   * @param {Data} _data
   */
  update(_data) {}

  /** The focused element, if it belongs to this widget. */
  get focused() {
    const page = /** @type {ShadowRoot} */ (this.root.getRootNode());
    return /** @type {any} */ (page.activeElement);
  }

  /**
   * Listens to events of the window until the widget is removed.
   * @param {{ [name: string]: (event: any) => void }} handlers
   */
  listen(handlers) {
    const { signal } = this.#closing;
    for (const [name, handler] of Object.entries(handlers)) window.addEventListener(name, handler, { signal });
  }

  /**
   * Calls `callback` whenever the widget's size changes.
   * @param {() => void} callback
   */
  onResize(callback) {
    const observer = new ResizeObserver(callback);
    observer.observe(this.root);
    this.#closing.signal.addEventListener("abort", () => observer.disconnect());
  }

  /** Counts the drawings, for tests and benchmarks. */
  countDrawing() {
    const { dataset } = this.root;
    dataset.drawn = String(Number(dataset.drawn ?? 0) + 1);
  }

  /**
   * Calls `callback` when arrays named in the message have arrived.
   * @param {string[]} names keys of the message
   * @param {() => void} callback
   */
  onArrays(names, callback) {
    this.listen({
      "attnviz:data": ({ detail }) => names.some((name) => this.data?.[name] === detail.id) && callback(),
    });
  }

  /**
   * Makes the focused button, or else the button at `fallback`, the only tab stop of a group; returns the index of the
   * focused button, or −1.
   * @param {HTMLElement[]} buttons
   * @param {number} fallback
   */
  keepTabStop(buttons, fallback) {
    const focused = buttons.indexOf(this.focused);
    tabStop(buttons, focused >= 0 ? focused : fallback);
    return focused;
  }

  /** Cleans up when the widget is removed. */
  close() {
    this.#closing.abort();
    this.root.remove();
  }
}

/**
 * Returns the function that Streamlit calls when a widget appears or changes; it keeps one view per place on the
 * page. Pages without Streamlit create views with `mount` and update them.
 * @template {View<any>} Kind
 * @param {new () => Kind} Widget
 * @param {...string} styles the widget's style sheets
 */
export function widget(Widget, ...styles) {
  /** @type {WeakMap<ShadowRoot, Kind>} */
  const views = new WeakMap();

  /** @param {ShadowRoot} parentElement */
  const mount = (parentElement) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync([look, shared, ...styles].join("\n"));
    parentElement.adoptedStyleSheets = [sheet];
    const view = new Widget();
    parentElement.append(view.root);
    return view;
  };

  /** @param {{ parentElement: ShadowRoot, data: any, setTriggerValue: (name: string, value: unknown) => void }} message */
  const show = ({ parentElement, data, setTriggerValue }) => {
    let view = views.get(parentElement);
    if (!view?.root.isConnected) {
      view?.close();
      view = mount(parentElement);
      views.set(parentElement, view);
    }
    view.trigger = setTriggerValue;
    view.receive(data);
    return () => {
      view.close();
      views.delete(parentElement);
    };
  };
  return Object.assign(show, { mount, viewIn: (parentElement) => views.get(parentElement) });
}
