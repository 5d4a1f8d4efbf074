/* stopwatch: times, inside the page, what a visitor sees; the benchmarks put it in front of the page's own code. */

window.stopwatch = (() => {
  const QUIET_MS = 300; // a page that has not changed for so long has settled
  const FOLLOWS_THE_POINTER = ["aria-describedby", "data-focused", "data-hovered", "data-pressed"];

  const PATIENCE_MS = 60_000;

  let heard = 0; // when the server last said something
  let onMessage = () => {};

  window.WebSocket = class extends WebSocket {
    constructor(...where) {
      super(...where);
      this.addEventListener("message", () => {
        heard = performance.now();
        onMessage();
      });
    }
  };

  const widget = (key) =>
    document.querySelector(`.st-key-${key} [data-testid="stBidiComponentIsolated"]`)?.shadowRoot?.querySelector(".root");

  /** Resolves when the next frame is on the screen: a message waits until the frame's own work is done. */
  const frame = () =>
    new Promise((done) => {
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => done(performance.now());
        port2.postMessage(null);
      });
    });

  function hasInk(canvas) {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const pixels = new Uint32Array(data.buffer);
    return pixels.some((pixel) => pixel !== pixels[0]);
  }

  const isDrawn = (root) => root?.dataset.drawn && !root.hasAttribute("data-waiting");

  /** Waits for the atlas and the head view, of a sentence with this word; returns the time since 1970 in ms. */
  async function picture(word) {
    for (;;) {
      const at = await frame();
      const [atlas, head] = [widget("atlas"), widget("one-head")];
      if (!isDrawn(atlas) || !isDrawn(head)) continue;
      const labels = [...head.querySelectorAll(".column .label")].map(({ textContent }) => textContent);
      if (!labels.includes(word)) continue;
      if ([atlas, head].every((root) => hasInk(root.querySelector("canvas")))) return performance.timeOrigin + at;
    }
  }

  let running; // what `begin` began

  /**
   * Times the next click: call it, click, then wait for `end`.
   *
   * @param head "4-2": also time until the head view shows this head
   */
  function begin(head) {
    const app = document.querySelector('[data-testid="stApp"]');
    const times = { start: null, drawn: null, settled: null };
    let [changed, shown] = [0, 0];
    const seen = new WeakSet();
    const noteFrame = async () => {
      changed = performance.now();
      const until = changed;
      times.settled = await frame();
      shown = until;
    };
    onMessage = () => times.start !== null && noteFrame();
    const observer = new MutationObserver((records) => {
      if (times.start === null) return;
      if (head && times.drawn === null) {
        const { drawn, head: at } = widget("one-head").dataset;
        if (at === head && drawn !== times.before) {
          times.drawn = NaN; // once
          frame().then((now) => (times.drawn = now));
        }
      }
      if (!records.every(({ attributeName }) => FOLLOWS_THE_POINTER.includes(attributeName))) {
        noteFrame();
      }
      watch();
    });
    const observe = (node) => {
      if (seen.has(node)) return;
      seen.add(node);
      observer.observe(node, { subtree: true, childList: true, attributes: true, characterData: true });
    };
    const watch = () => {
      for (const { shadowRoot } of document.querySelectorAll('[data-testid="stBidiComponentIsolated"]')) {
        if (shadowRoot) observe(shadowRoot);
      }
    };
    times.before = widget("one-head")?.dataset.drawn;
    observer.observe(app, { attributeFilter: ["data-test-script-state"] });
    observe(document.querySelector('[data-testid="stMain"]'));
    watch();
    window.addEventListener("click", ({ timeStamp }) => (times.start = timeStamp), { capture: true, once: true });
    running = async () => {
      const begun = performance.now();
      const answered = () => heard > times.start && app.dataset.testScriptState === "notRunning";
      const quiet = () => shown >= changed && performance.now() - Math.max(changed, heard) > QUIET_MS;
      while (times.start === null || !answered() || !quiet()) {
        if (performance.now() - begun > PATIENCE_MS) throw new Error("The page did not settle.");
        await new Promise((done) => setTimeout(done, 25));
      }
      observer.disconnect();
      return { drawn: head ? times.drawn - times.start : null, settled: times.settled - times.start };
    };
  }

  /** Resolves, once the page has settled, with the ms from the click to the drawn head and to the settled page. */
  const end = () => running();

  return { picture, begin, end, widget };
})();
