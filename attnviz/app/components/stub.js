/* stub: all that Streamlit sends with a widget's messages; the code itself comes once, with attnviz.code. */

export default (message) => {
  const { data } = message; // a message in a list of one, or bytes
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
