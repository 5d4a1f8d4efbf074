/* widget: how Streamlit, or a page without it, creates, updates and closes a widget. */

import shared from "./shared.css";

/**
 * What Streamlit calls when a widget appears, and again at each change of data or theme: one View for each place
 * on the page. A page without Streamlit makes its views with `mount`, and updates them itself.
 */
export function widget(View, ...styles) {
  const views = new WeakMap();
  const mount = (parentElement) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync([shared, ...styles].join("\n"));
    parentElement.adoptedStyleSheets = [sheet];
    return new View(parentElement);
  };
  const show = ({ parentElement, data, setTriggerValue }) => {
    let view = views.get(parentElement);
    if (!view?.root.isConnected) {
      view?.close();
      view = mount(parentElement);
      views.set(parentElement, view);
    }
    view.trigger = setTriggerValue;
    view.update(data);
    return () => {
      view.close();
      views.delete(parentElement);
    };
  };
  return Object.assign(show, { mount });
}

/** Listens to window events until the returned function is called. */
export function listen(handlers) {
  for (const [name, handler] of Object.entries(handlers)) window.addEventListener(name, handler);
  return () => {
    for (const [name, handler] of Object.entries(handlers)) window.removeEventListener(name, handler);
  };
}
