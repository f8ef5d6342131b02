/**
 * The agent's events, for a page or for the worker that all pages of one browser share. It comes back by itself after the agent restarted, and takes a
 * connection that is silent for one that is gone: a phone that left the Wi-Fi hears no end of it.
 */

const SILENT_MS = 8_000;
const AGAIN_MS = 2_000;

/** Posts `{kind: 'status' | 'log', data}`, `{kind: 'lost'}` and `{kind: 'pin'}`; returns `{again, close}`. */
export function openStream(post) {
  let source;
  let watchdog;
  let retry;

  const watch = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => {
      post({ kind: 'lost' });
      again();
    }, SILENT_MS);
  };

  const again = () => {
    close();
    source = new EventSource('/api/events');
    watch();
    for (const kind of ['status', 'log']) {
      source.addEventListener(kind, ({ data }) => {
        watch();
        post({ kind, data });
      });
    }
    source.onerror = () => {
      post({ kind: 'lost' });
      // Refused with a status: the browser does not try again by itself.
      if (source.readyState === EventSource.CLOSED) void askWhy();
    };
  };

  const askWhy = async () => {
    clearTimeout(watchdog);
    const status = await fetch('/api/status').then(
      (answer) => answer.status,
      () => 0,
    );
    if (status === 401) post({ kind: 'pin' });
    else retry = setTimeout(again, AGAIN_MS);
  };

  const close = () => {
    clearTimeout(watchdog);
    clearTimeout(retry);
    source?.close();
  };

  again();
  return { again, close };
}
