/* service worker: keeps the page, so that it opens without a network. build.py writes FILES and MODEL above this. */
const worker = /** @type {any} */ (self);
const { FILES, MODEL, VERSION } = worker.site;

worker.addEventListener("install", (event) => {
  worker.skipWaiting();
  event.waitUntil(caches.open(VERSION).then((cache) => cache.addAll(FILES)));
});

worker.addEventListener("activate", (event) => {
  const forget = async () => {
    const names = (await caches.keys()).filter((name) => /^(page|model)-/.test(name) && name !== VERSION && name !== MODEL);
    await Promise.all(names.map((name) => caches.delete(name)));
    await worker.clients.claim();
  };
  event.waitUntil(forget());
});

worker.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET") return;
  event.respondWith(caches.match(event.request, { ignoreSearch: true }).then((known) => known ?? fetch(event.request)));
});
