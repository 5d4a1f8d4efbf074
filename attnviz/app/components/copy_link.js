/* copy_link: copies the URL of the current view to the clipboard. */

import { element } from "../../widgets/dom.js";
import { View, widget } from "../../widgets/widget.js";
import { URL_CHANGED, removeParameters, replaceUrl } from "./browsing.js";
import styles from "./copy_link.css";

const COPIED_FOR = 2000; // milliseconds
const OPENED = location.pathname; // path of the first page loaded in this session

/** @typedef {{ query: string, always: string[], never: string[], shared_url: string }} Message sent and documented by copy_link.py */

/** @extends {View<Message>} */
class CopyLink extends View {
  constructor() {
    super();
    this.button = element("button", { type: "button", class: "copy", onclick: () => this.copy() });
    this.status = element("span", { class: "status hidden", "aria-live": "polite" });
    this.field = element("input", {
      type: "text",
      readonly: true,
      "aria-label": "Link to this view",
      onfocus: () => this.field.select(),
      onkeydown: (event) => event.key === "Escape" && this.reset(),
    });
    this.hint = element("span", { text: /Mac|iP(hone|ad)/.test(navigator.platform) ? "Press ⌘C" : "Press Ctrl+C" });
    this.manual = element("div", { class: "by-hand" }, this.field, this.hint);
    this.root = element("div", { class: "root copy-link" }, this.button, this.status, this.manual);
    this.reset();
    this.onUrlChange = () => location.pathname === this.page && this.complete();
    window.addEventListener(URL_CHANGED, this.onUrlChange);
  }

  update(data) {
    this.data = data;
    this.page = location.pathname;
    this.complete({ isNew: true });
  }

  /** Restores missing parameters: Streamlit may drop them on page navigation, and reverts to an earlier
   * URL when the server corrects a parameter. With new data, also clears parameters that are empty now. */
  complete({ isNew = false } = {}) {
    const bare = location.search === "" && location.pathname !== OPENED;
    if (bare && this.data?.query) replaceUrl(`?${this.data.query}`);
    const [chosen, url] = [new URLSearchParams(this.data?.query), new URL(location.href)];
    const isStale = (name) => isNew && chosen.get(name) === "" && url.searchParams.get(name);
    const names = (this.data?.always ?? []).filter((name) => chosen.has(name) && (!url.searchParams.has(name) || isStale(name)));
    for (const name of names) {
      url.searchParams.delete(name);
      for (const value of chosen.getAll(name)) url.searchParams.append(name, value);
    }
    if (names.length) replaceUrl(url);
  }

  close() {
    clearTimeout(this.timer);
    window.removeEventListener(URL_CHANGED, this.onUrlChange);
    super.close();
  }

  reset() {
    const inField = this.focused === this.field;
    this.button.textContent = "Copy link";
    this.status.textContent = "";
    this.manual.hidden = true;
    if (inField) this.button.focus();
  }

  /** Copies from the text field: browsers block the clipboard API on plain http, for example in a classroom. */
  copy() {
    clearTimeout(this.timer);
    const link = new URL(removeParameters(location.href, this.data?.never ?? []));
    const shared = this.data?.shared_url;
    this.field.value = shared ? `${shared}/${link.pathname.split("/").pop()}${link.search}` : link.href;
    this.manual.hidden = false;
    this.field.focus();
    this.field.select();
    if (!document.execCommand("copy")) {
      this.status.textContent = this.hint.textContent;
      return;
    }
    this.reset();
    this.button.focus({ preventScroll: true });
    this.button.textContent = "Copied ✓";
    this.status.textContent = "Link copied";
    this.timer = setTimeout(() => this.reset(), COPIED_FOR);
  }
}

export default widget(CopyLink, styles);
