/* stub: all that Streamlit sends with a widget's messages; the code itself comes once, with attnviz.code. */

export default (message) => {
  const run = () => window.attnvizCode["NAME"](message);
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
