/* stopwatch: measures times inside the page; the benchmarks run it before the page's own code. */

window.stopwatch = (() => {
  const QUIET_MS = 300; // a page without changes for this time has settled
  const POINTER_ATTRIBUTES = ["aria-describedby", "data-focused", "data-hovered", "data-pressed"];

  const TIMEOUT_MS = 60_000;

  let lastMessage = 0; // the time of the server's last message
  let onMessage = () => {};

  window.WebSocket = class extends WebSocket {
    constructor(...options) {
      super(...options);
      this.addEventListener("message", () => {
        lastMessage = performance.now();
        onMessage();
      });
    }
  };

  const widget = (key) =>
    document.querySelector(`.st-key-${key} [data-testid="stBidiComponentIsolated"]`)?.shadowRoot?.querySelector(".root");

  /** Resolves with the time at which the next frame is drawn: the message arrives after the frame is rendered. */
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

  /** Waits until the atlas and the head view show a sentence with this word; returns the time since 1970 in ms. */
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

  let waitUntilSettled; // waits until the page settles after the click that `begin` times

  /**
   * Times the next click: call this, click, then wait for `end`.
   *
   * @param head such as "4-2": also measure the time until the head view shows this head
   */
  function begin(head) {
    const app = document.querySelector('[data-testid="stApp"]');
    const drawnBefore = widget("one-head")?.dataset.drawn;
    const seen = new WeakSet();
    let [start, drawn, settled, changed, waiting] = [null, null, 0, 0, false];

    // The page settles in the frame after its last change or the server's last message.
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
      if (records.every(({ attributeName }) => POINTER_ATTRIBUTES.includes(attributeName))) return;
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

    waitUntilSettled = async () => {
      const begun = performance.now();
      const answered = () => start !== null && lastMessage > start && app.dataset.testScriptState === "notRunning";
      while (!answered() || waiting || performance.now() - changed < QUIET_MS) {
        if (performance.now() - begun > TIMEOUT_MS) throw new Error("The page did not settle.");
        await new Promise((done) => setTimeout(done, 25));
      }
      observer.disconnect();
      return { drawn: drawn && (await drawn) - start, settled: settled - start };
    };
  }

  /** Resolves when the page settles; returns the ms from the click until the head is drawn, and until the page settles. */
  const end = () => waitUntilSettled();

  return { picture, begin, end, widget };
})();
