/**
 * The status that was seen last, for a page that is opened without contact. It is kept where the browser keeps the page itself: on this
 * machine, and behind a certificate that the browser trusts. Elsewhere a browser refuses, and nothing is kept. It goes after 12 hours, when the
 * agent asks for the PIN, and when somebody has the browser forget it.
 */

const KEY = 'turnstone-last';
const KEEP_EVERY_MS = 15_000;
/** Some hundred sensors; a browser gives a page a few megabytes. */
const MAX_LENGTH = 500_000;
/** As long as a session lives. */
const MAX_AGE_MS = 12 * 3_600_000;
let keptAtMs = 0;
let isAsked = false;
/** True when the browser keeps the page's files. */
let isPageKept = false;

/** Has the browser keep the page's files; called when the first status is shown, so that nobody waits for it. */
export async function keepPage() {
  if (isAsked || navigator.serviceWorker === undefined) return;
  isAsked = true;
  try {
    await navigator.serviceWorker.register('/page/status/offline.js', { scope: '/', updateViaCache: 'none' });
    isPageKept = true;
    await keepFiles();
  } catch {
    forgetStatus();
  }
}

/** Keeps the files that this first visit has loaded before the worker was there. */
async function keepFiles() {
  const paths = performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname);
  const pages = await caches.open('turnstone-page');
  const loaded = ['/', ...new Set(paths.filter((path) => path.startsWith('/page/')))];
  // The browser has them already.
  await pages.addAll(loaded.map((path) => new Request(path, { cache: 'force-cache' })));
}

/** @param text the status as it came. */
export function keepStatus(text) {
  const nowMs = Date.now();
  if (!isPageKept || text.length > MAX_LENGTH || nowMs - keptAtMs < KEEP_EVERY_MS) return;
  keptAtMs = nowMs;
  quietly(() => localStorage.setItem(KEY, `${nowMs} ${text}`));
}

/** Returns `{atMs, text}`, or undefined. */
export function lastStatus() {
  const [, atMs, text] = /^(\d+) (.+)$/s.exec(quietly(() => localStorage.getItem(KEY)) ?? '') ?? [];
  if (text === undefined || !(Date.now() - Number(atMs) < MAX_AGE_MS)) return forgetStatus();
  return { atMs: Number(atMs), text };
}

export function forgetStatus() {
  keptAtMs = 0;
  quietly(() => localStorage.removeItem(KEY));
}

/** A browser that keeps nothing for a page throws. */
function quietly(act) {
  try {
    return act();
  } catch {
    return undefined;
  }
}
