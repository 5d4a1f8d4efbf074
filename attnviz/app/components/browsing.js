/* browsing: history entries and links, so that Back undoes one user action. */

/** Event dispatched on the window after Streamlit has changed the URL. */
export const URL_CHANGED = "attnviz:url";

/** Replaces the URL of the current history entry.
 * @param {string | URL} url */
export function replaceUrl(url) {
  History.prototype.replaceState.call(history, history.state, "", url);
}

const MAX_LENGTH = 8000; // characters of a URL; servers and proxies refuse longer URLs

/** Returns the URL without these parameters.
 * @param {string} url @param {string[]} names */
export function removeParameters(url, names) {
  const link = new URL(url);
  for (const name of names) link.searchParams.delete(name);
  return link.href;
}

/** Returns the URL, without its longest parameters if it is too long.
 * @param {string | URL} url */
function shortenUrl(url) {
  let link = new URL(url, location.href).href;
  while (link.length > MAX_LENGTH) {
    const sizes = [...new URL(link).searchParams].map(([name, value]) => ({ name, size: encodeURI(value).length }));
    if (!sizes.length) break;
    const [{ name }] = sizes.sort((one, other) => other.size - one.size);
    link = removeParameters(link, [name]);
  }
  return link;
}

/** Installs the history handlers; call once. */
export function installHistoryHandler() {
  // Streamlit replaces the URL when the user changes a widget, but pushes a history entry for each parameter that
  // the server adds or removes. Each user action should be one entry instead.
  let acted = false;
  for (const type of ["pointerdown", "keydown", "click"]) {
    window.addEventListener(type, () => (acted = true), { capture: true });
  }
  let page = location.pathname;
  const write = (state, unused, url) => {
    const link = shortenUrl(url ?? location.href);
    const changes = link.split("#")[0] !== location.href.split("#")[0];
    History.prototype[acted && changes ? "pushState" : "replaceState"].call(history, state, unused, link);
    if (!changes) return;
    acted = false;
    scrollToTopOnNewPage();
    window.dispatchEvent(new Event(URL_CHANGED));
  };
  history.pushState = write;
  history.replaceState = write;
  window.addEventListener("popstate", scrollToTopOnNewPage);

  // A new page opens at its top, not at the scroll position of the previous page.
  function scrollToTopOnNewPage() {
    if (location.pathname !== page) document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);
    page = location.pathname;
  }

  // Links to the first page have an empty or query-only href, which the browser resolves against the current page.
  const resolve = (event) => {
    const link = event.target.closest?.("a[href]");
    const url = link?.getAttribute("href");
    if (url === "" || url?.startsWith("?")) link.setAttribute("href", `./${url}`);
  };
  for (const type of ["pointerover", "pointerdown", "focusin"]) {
    window.addEventListener(type, resolve, { capture: true });
  }

  // On a phone the menu covers the page; close it after a click.
  window.addEventListener("click", ({ target }) => {
    if (!(target instanceof Element && target.closest("[data-testid=stSidebarNavLink]"))) return;
    const close = /** @type {HTMLElement | null} */ (document.querySelector("[data-testid=stSidebarCollapseButton] button"));
    close?.click();
  });

  // With Ctrl, ⌘ or Shift held, a link opens in a new tab or window.
  const allowNewTab = (event) => {
    const held = event.ctrlKey || event.metaKey || event.shiftKey;
    if (held && event.target.closest?.("a[href]")) event.stopPropagation();
  };
  window.addEventListener("click", allowNewTab, { capture: true });
}
