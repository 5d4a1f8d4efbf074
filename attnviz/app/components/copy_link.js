/* copy_link: copies the URL of the current view to the clipboard. */

import { element } from "../../widgets/dom.js";
import { View, widget } from "../../widgets/widget.js";
import { ADDRESS_CHANGED, replaceAddress, without } from "./browsing.js";
import styles from "./copy_link.css";

const COPIED_FOR = 2000; // milliseconds
const EXPLAINED_FOR = 12_000;
const OPENED = location.pathname; // the first page of this visit
const LOCAL_HOSTS = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** @typedef {{ query: string, always: string[], never: string[], others: string }} Message sent and documented by copy_link.py */

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
      onkeydown: (event) => event.key === "Escape" && this.rest(),
    });
    this.hint = element("span", { text: /Mac|iP(hone|ad)/.test(navigator.platform) ? "Press ⌘C" : "Press Ctrl+C" });
    this.byHand = element("div", { class: "by-hand" }, this.field, this.hint);
    this.root = element("div", { class: "root copy-link" }, this.button, this.status, this.byHand);
    this.rest();
    this.complete = () => location.pathname === this.page && this.update(this.data);
    window.addEventListener(ADDRESS_CHANGED, this.complete);
  }

  /** Restores missing parameters: Streamlit may leave them out after a change of page, and the server, when it
   * corrects a parameter, writes the URL as it was at the browser's last request. */
  update(data) {
    this.data = data;
    this.page = location.pathname;
    const bare = location.search === "" && location.pathname !== OPENED;
    if (bare && data?.query) replaceAddress(`?${data.query}`);
    const [chosen, address] = [new URLSearchParams(data?.query), new URL(location.href)];
    const missing = (data?.always ?? []).filter((name) => chosen.has(name) && !address.searchParams.has(name));
    for (const name of missing) {
      for (const value of chosen.getAll(name)) address.searchParams.append(name, value);
    }
    if (missing.length) replaceAddress(address);
  }

  close() {
    clearTimeout(this.timer);
    window.removeEventListener(ADDRESS_CHANGED, this.complete);
    super.close();
  }

  rest() {
    const inField = this.focused === this.field;
    this.button.textContent = "Copy link";
    this.status.textContent = "";
    this.status.classList.add("hidden");
    this.byHand.hidden = true;
    if (inField) this.button.focus();
  }

  async copy() {
    clearTimeout(this.timer);
    const link = new URL(without(location.href, this.data?.never ?? []));
    const others = this.data?.others;
    this.field.value = others ? `${others}/${link.pathname.split("/").pop()}${link.search}` : link.href;
    if (!(await this.toClipboard()) && !this.fromField()) {
      this.status.textContent = this.hint.textContent;
      return;
    }
    this.rest();
    this.button.focus({ preventScroll: true });
    this.button.textContent = "Copied ✓";
    if (LOCAL_HOSTS.has(new URL(this.field.value).hostname)) {
      this.status.textContent = "Copied. This link opens on this computer only: the server’s address for others is unknown.";
      this.status.classList.remove("hidden");
      this.timer = setTimeout(() => this.rest(), EXPLAINED_FOR);
      return;
    }
    this.status.textContent = "Link copied";
    this.timer = setTimeout(() => this.rest(), COPIED_FOR);
  }

  /** The clipboard API needs a secure context and permission. */
  async toClipboard() {
    try {
      await navigator.clipboard.writeText(this.field.value);
      return true;
    } catch {
      return false;
    }
  }

  /** Copies by execCommand, which works on plain http; leaves the field selected. */
  fromField() {
    this.byHand.hidden = false;
    this.field.focus();
    this.field.select();
    return document.execCommand("copy");
  }
}

export default widget(CopyLink, styles);
