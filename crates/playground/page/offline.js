// The service worker: it keeps the page for visits without a network.
const PAGE = "./";
const keep = async (response) => {
  if (response.ok) await (await caches.open("playground")).put(PAGE, response);
};

addEventListener("install", (event) => {
  skipWaiting();
  event.waitUntil(fetch(PAGE).then(keep));
});
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
// The network first, so that a new version is seen.
addEventListener("fetch", (event) => {
  if (event.request.mode !== "navigate") return;
  const fetched = fetch(event.request).then((response) => {
    event.waitUntil(keep(response.clone()));
    return response;
  });
  event.respondWith(fetched.catch(() => caches.match(PAGE)));
});
