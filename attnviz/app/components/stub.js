/* stub: the script that Streamlit sends with each message of a widget; attnviz.code loads the code once. */

export default (message) => {
  const { data } = message; // a list with one message, or bytes
  const run = () => window.attnvizCode["NAME"]({ ...message, data: Array.isArray(data) ? data[0] : data });
  if (window.attnvizCode?.["NAME"]) return run();
  let close;
  const start = () => {
    close = run();
  };
  window.addEventListener("attnviz:code", start, { once: true });
  return () => {
    window.removeEventListener("attnviz:code", start);
    close?.();
  };
};
