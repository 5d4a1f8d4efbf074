/* widget: how Streamlit, or a page without it, creates, updates and closes a widget. */

import { element, onPaper } from "./dom.js";
import { tabStop } from "./keyboard.js";
import { themeOf } from "./palette.js";
import look from "./look.css";
import shared from "./shared.css";

const SHEET = 860; // pixels: the height of a sheet without its margins and a heading, of A4 as of Letter
const MIN_ZOOM = 0.5; // of a high picture on paper: a smaller one cannot be read
const MIN_WIDTH = 320; // pixels of a page for which pictures are made

/** Enlarges the pictures as the visitor's text is larger than 16 pixels, as far as the window is wide enough. */
function followTextSize() {
  const probe = document.documentElement.appendChild(element("span", { hidden: true }));
  probe.style.fontSize = "medium"; // a report's page takes no style in an attribute
  const size = parseFloat(getComputedStyle(probe).fontSize) / 16;
  probe.remove();
  const zoom = Math.max(Math.min(size, 1), Math.min(size, window.innerWidth / MIN_WIDTH));
  document.documentElement.style.setProperty("--text-zoom", String(zoom));
}
followTextSize();
window.addEventListener("resize", followTextSize);

/**
 * What draws a widget in one place on the page.
 * @template Data what Python sends: the module beside the widget's own describes it
 */
export class View {
  /** @type {HTMLElement} what is put on the page */
  root;
  /** @type {Data} the latest message */
  data;
  /** @type {import("./palette.js").Theme} the colours around it */
  theme;
  /** @type {(name: string, value: unknown) => void} tells Python what the visitor did */
  trigger = () => {};
  #closing = new AbortController();

  constructor() {
    // in another width, or colours
    this.listen({ "attnviz:redraw": () => this.data && this.receive(this.data) });
  }

  /**
   * Takes a message from Python: another one, or the same in another theme.
   * @param {Data} data
   * @param {boolean} paper whether to draw as on paper: light, with nothing to press, and whole
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

  /** Reduces a picture that is too large for a sheet. One that is still too high is divided as an image is: its parts
   * stay beside each other. */
  #fitSheet() {
    const { clientWidth, scrollWidth, offsetHeight, style } = this.root;
    const zoom = Math.min(1, clientWidth / scrollWidth, Math.max(MIN_ZOOM, SHEET / offsetHeight));
    if (zoom < 1) Object.assign(style, { zoom: String(zoom), width: `${clientWidth}px`, display: "inline-block" });
  }

  /**
   * Draws what a message says; `this.data` is still the one before.
   * @param {Data} _data
   */
  update(_data) {}

  /** The element that has the keyboard's focus, if it is one of ours. */
  get focused() {
    const page = /** @type {ShadowRoot} */ (this.root.getRootNode());
    return /** @type {any} */ (page.activeElement);
  }

  /**
   * Listens to events of the window until the widget goes from the page.
   * @param {{ [name: string]: (event: any) => void }} handlers
   */
  listen(handlers) {
    const { signal } = this.#closing;
    for (const [name, handler] of Object.entries(handlers)) window.addEventListener(name, handler, { signal });
  }

  /**
   * Calls back whenever the widget has another size.
   * @param {() => void} callback
   */
  onResize(callback) {
    const observer = new ResizeObserver(callback);
    observer.observe(this.root);
    this.#closing.signal.addEventListener("abort", () => observer.disconnect());
  }

  /** Says to tests and benchmarks how often it was drawn. */
  countDrawing() {
    const { dataset } = this.root;
    dataset.drawn = String(Number(dataset.drawn ?? 0) + 1);
  }

  /**
   * Calls back when arrays have come that the message names.
   * @param {string[]} names under which it does
   * @param {() => void} callback
   */
  onArrays(names, callback) {
    this.listen({
      "attnviz:data": ({ detail }) => names.some((name) => this.data?.[name] === detail.id) && callback(),
    });
  }

  /**
   * Makes the focused one of many buttons the only tab stop among them, or else this one; returns the place of the
   * focused one, -1 for none.
   * @param {HTMLElement[]} buttons
   * @param {number} otherwise
   */
  keepTabStop(buttons, otherwise) {
    const focused = buttons.indexOf(this.focused);
    tabStop(buttons, focused >= 0 ? focused : otherwise);
    return focused;
  }

  /** Goes from the page. */
  close() {
    this.#closing.abort();
    this.root.remove();
  }
}

/**
 * What Streamlit calls when a widget appears, and again at each change of data or theme: one view for each place on
 * the page. A page without Streamlit makes its views with `mount`, and updates them itself.
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
