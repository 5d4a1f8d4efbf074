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

  let settling; // of the click that `begin` waits for

  /**
   * Times the next click: call this, click, then wait for `end`.
   *
   * @param head "4-2": also time until the head view shows this head
   */
  function begin(head) {
    const app = document.querySelector('[data-testid="stApp"]');
    const drawnBefore = widget("one-head")?.dataset.drawn;
    const seen = new WeakSet();
    let [start, drawn, settled, changed, waiting] = [null, null, 0, 0, false];

    // The page has settled with the frame after its last change, or after the server's last word.
    const note = async () => {
      if (start === null) return;
      changed = performance.now();
      if (waiting) return;
      for (waiting = true; settled < changed; ) settled = await frame();
      waiting = false;
    };
    const noteHead = () => {
      const { dataset } = widget("one-head");
      if (start === null || drawn || dataset.head !== head || dataset.drawn === drawnBefore) return;
      drawn = frame();
    };
    const observer = new MutationObserver((records) => {
      if (head) noteHead();
      if (records.every(({ attributeName }) => FOLLOWS_THE_POINTER.includes(attributeName))) return;
      note();
      if (records.some(({ type }) => type === "childList")) observeWidgets();
    });
    const observe = (node) => {
      if (seen.has(node)) return;
      seen.add(node);
      observer.observe(node, { subtree: true, childList: true, attributes: true, characterData: true });
    };
    const observeWidgets = () => {
      for (const { shadowRoot } of document.querySelectorAll('[data-testid="stBidiComponentIsolated"]')) {
        if (shadowRoot) observe(shadowRoot);
      }
    };
    observer.observe(app, { attributeFilter: ["data-test-script-state"] });
    observe(document.querySelector('[data-testid="stMain"]'));
    observeWidgets();
    onMessage = note;
    window.addEventListener("click", ({ timeStamp }) => (start = timeStamp), { capture: true, once: true });

    settling = async () => {
      const begun = performance.now();
      const answered = () => start !== null && heard > start && app.dataset.testScriptState === "notRunning";
      while (!answered() || waiting || performance.now() - changed < QUIET_MS) {
        if (performance.now() - begun > PATIENCE_MS) throw new Error("The page did not settle.");
        await new Promise((done) => setTimeout(done, 25));
      }
      observer.disconnect();
      return { drawn: drawn && (await drawn) - start, settled: settled - start };
    };
  }

  /** Resolves, once the page has settled, with the ms from the click to the drawn head and to the settled page. */
  const end = () => settling();

  return { picture, begin, end, widget };
})();
