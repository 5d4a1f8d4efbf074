/* service worker: caches the pages for offline use. build.py inserts the constants above this line. */
const worker = /** @type {any} */ (self);
const { FILES, MODEL, VERSION } = worker.site;

worker.addEventListener("install", (event) => {
  worker.skipWaiting();
  event.waitUntil(caches.open(VERSION).then((cache) => cache.addAll(FILES)));
});

worker.addEventListener("activate", (event) => {
  const deleteOld = async () => {
    const names = (await caches.keys()).filter((name) => /^(page|model)-/.test(name) && name !== VERSION && name !== MODEL);
    await Promise.all(names.map((name) => caches.delete(name)));
    await worker.clients.claim();
  };
  event.waitUntil(deleteOld());
});

worker.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET") return;
  event.respondWith(caches.match(event.request, { ignoreSearch: true }).then((cached) => cached ?? fetch(event.request)));
});
