/**
 * Keeps the page's own files for times without contact. The agent is asked first, always: a new release is seen at once. What the agent says is
 * not kept here.
 */

const KEPT = 'turnstone-page';
/** An agent in reach answers in a fraction of it. */
const ANSWERS_WITHIN_MS = 4_000;

self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
self.addEventListener('fetch', (event) => {
  const { request } = event;
  const { origin, pathname, search } = new URL(request.url);
  const isFile = search === '' && (pathname === '/' || pathname.startsWith('/page/'));
  if (request.method === 'GET' && origin === self.location.origin && isFile)
    event.respondWith(newestOf(request, event));
});

async function newestOf(request, event) {
  const pages = await caches.open(KEPT);
  try {
    const answer = await fetch(request, { signal: AbortSignal.timeout(ANSWERS_WITHIN_MS) });
    if (answer.ok && answer.status === 200) event.waitUntil(pages.put(request, answer.clone()).catch(() => {}));
    // A kept page asks for files of its own release, which the newer one does not have.
    if (answer.status !== 404) return answer;
    return (await pages.match(request, { ignoreVary: true })) ?? answer;
  } catch (error) {
    const kept = await pages.match(request, { ignoreVary: true });
    if (kept === undefined) throw error;
    return kept;
  }
}
