/* browsing: the Back button and the links do what a visitor is used to, on every page. */

/** What the window dispatches once Streamlit has written the address. */
export const ADDRESS_CHANGED = "attnviz:address";

/** Changes the address in place: it belongs to what the visitor did last.
 * @param {string | URL} address */
export function replaceAddress(address) {
  History.prototype.replaceState.call(history, history.state, "", address);
}

const MAX_LENGTH = 8000; // characters of an address: servers and proxies refuse longer ones

/** An address without these parameters.
 * @param {string} address @param {string[]} names */
export function without(address, names) {
  const link = new URL(address);
  for (const name of names) link.searchParams.delete(name);
  return link.href;
}

/** An address without its longest parameters, as far as it would be too long with them.
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

/** Call it once: it replaces what the browser does. */
export function mendBrowsing() {
  // Streamlit writes each choice of the visitor into the address in place, and makes an entry in the browser's
  // history for each parameter that the server adds or takes out. What a visitor does should be one entry: Back
  // then undoes one thing, and leaves a page at once.
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

  // Another page begins at its top, and not as far down as one was on this page.
  function arrive() {
    if (location.pathname !== page) document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);
    page = location.pathname;
  }

  // A link to the first page has an address that means the page on which it stands.
  const mend = (event) => {
    const link = event.target.closest?.("a[href]");
    const address = link?.getAttribute("href");
    if (address === "" || address?.startsWith("?")) link.setAttribute("href", `./${address}`);
  };
  for (const nearing of ["pointerover", "pointerdown", "focusin"]) {
    window.addEventListener(nearing, mend, { capture: true });
  }

  // On a phone the menu lies over the page, and would stay there.
  window.addEventListener("click", ({ target }) => {
    if (!(target instanceof Element && target.closest("[data-testid=stSidebarNavLink]"))) return;
    const close = /** @type {HTMLElement | null} */ (document.querySelector("[data-testid=stSidebarCollapseButton] button"));
    close?.click();
  });

  // With one of these keys a link opens elsewhere, and this page stays.
  const elsewhere = (event) => {
    const held = event.ctrlKey || event.metaKey || event.shiftKey;
    if (held && event.target.closest?.("a[href]")) event.stopPropagation();
  };
  window.addEventListener("click", elsewhere, { capture: true });
}
