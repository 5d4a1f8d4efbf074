/* browsing: history entries and links, so that Back undoes one action of the visitor. */

/** Event dispatched on the window after Streamlit has changed the URL. */
export const ADDRESS_CHANGED = "attnviz:address";

/** Replaces the URL of the current history entry.
 * @param {string | URL} address */
export function replaceAddress(address) {
  History.prototype.replaceState.call(history, history.state, "", address);
}

const MAX_LENGTH = 8000; // characters of a URL; servers and proxies refuse longer ones

/** Returns the URL without these parameters.
 * @param {string} address @param {string[]} names */
export function without(address, names) {
  const link = new URL(address);
  for (const name of names) link.searchParams.delete(name);
  return link.href;
}

/** Returns the URL; drops its longest parameters while it is too long.
 * @param {string | URL} address */
function bounded(address) {
  let link = new URL(address, location.href).href;
  while (link.length > MAX_LENGTH) {
    const sizes = [...new URL(link).searchParams].map(([name, value]) => ({ name, size: encodeURI(value).length }));
    if (!sizes.length) break;
    const [{ name }] = sizes.sort((one, other) => other.size - one.size);
    link = without(link, [name]);
  }
  return link;
}

/** Installs the history handlers; call once. */
export function installHistoryHandler() {
  // Streamlit replaces the URL at each choice of the visitor, but pushes a history entry for each parameter that
  // the server adds or removes. Each action of the visitor should be one entry instead.
  let acted = false;
  for (const act of ["pointerdown", "keydown", "click"]) {
    window.addEventListener(act, () => (acted = true), { capture: true });
  }
  let page = location.pathname;
  const write = (state, unused, address) => {
    const link = bounded(address ?? location.href);
    const changes = link.split("#")[0] !== location.href.split("#")[0];
    History.prototype[acted && changes ? "pushState" : "replaceState"].call(history, state, unused, link);
    if (!changes) return;
    acted = false;
    arrive();
    window.dispatchEvent(new Event(ADDRESS_CHANGED));
  };
  history.pushState = write;
  history.replaceState = write;
  window.addEventListener("popstate", arrive);

  // A new page opens at its top, not at the scroll position of the last one.
  function arrive() {
    if (location.pathname !== page) document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);
    page = location.pathname;
  }

  // The first page's links are empty or only a query, which the browser resolves against the current page.
  const resolve = (event) => {
    const link = event.target.closest?.("a[href]");
    const address = link?.getAttribute("href");
    if (address === "" || address?.startsWith("?")) link.setAttribute("href", `./${address}`);
  };
  for (const nearing of ["pointerover", "pointerdown", "focusin"]) {
    window.addEventListener(nearing, resolve, { capture: true });
  }

  // On a phone the menu covers the page; close it after a click.
  window.addEventListener("click", ({ target }) => {
    if (!(target instanceof Element && target.closest("[data-testid=stSidebarNavLink]"))) return;
    const close = /** @type {HTMLElement | null} */ (document.querySelector("[data-testid=stSidebarCollapseButton] button"));
    close?.click();
  });

  // With one of these keys a link opens in a new tab or window.
  const elsewhere = (event) => {
    const held = event.ctrlKey || event.metaKey || event.shiftKey;
    if (held && event.target.closest?.("a[href]")) event.stopPropagation();
  };
  window.addEventListener("click", elsewhere, { capture: true });
}
