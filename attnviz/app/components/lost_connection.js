/* lost_connection: what the page says while its server does not answer, in words for those who did not start it. */

const STREAMLITS = /^(Streamlit server is not responding|Is Streamlit still running)/;
const OURS =
  "The server does not answer. Leave this page open: it goes on by itself once the server is back. If it does not come back, tell whoever runs it.";

/** Call it once: it changes the words of Streamlit's dialog, which asks for the internet, or for a terminal. */
export function mendLostConnection() {
  const mend = () => {
    for (const said of document.querySelectorAll("[role=dialog] div:not(:has(*))")) {
      if (!STREAMLITS.test(said.textContent)) continue;
      said.textContent = OURS;
      said.nextElementSibling?.setAttribute("hidden", "");
    }
  };
  new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
}
