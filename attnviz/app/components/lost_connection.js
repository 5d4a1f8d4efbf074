/* lost_connection: the message shown while the server is not responding. */

const STREAMLIT_MESSAGE = /^(Streamlit server is not responding|Is Streamlit still running)/;
const MESSAGE =
  "The server is not responding. Keep this page open: it reconnects automatically. If it does not, contact the administrator.";

/** Replaces the text of Streamlit's dialog, which mentions a terminal that visitors do not have; call once. */
export function installReconnectMessage() {
  const replace = () => {
    for (const message of document.querySelectorAll("[role=dialog] div:not(:has(*))")) {
      if (!STREAMLIT_MESSAGE.test(message.textContent)) continue;
      message.textContent = MESSAGE;
      message.nextElementSibling?.setAttribute("hidden", "");
    }
  };
  new MutationObserver(replace).observe(document.body, { childList: true, subtree: true });
}
