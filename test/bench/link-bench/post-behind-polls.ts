/** Time of an upload beside standing polls over HTTP/2, of which the server, in a process of its own, answers none. */
import { setTimeout as delay } from 'node:timers/promises';
import { rowsOf } from '../../support/telemetry-rows.ts';
import { clientOf, poll, standIn } from './stand-in.ts';

const STANDING = 90;
/** Posts before those that count. */
const WARM_UP = 50;
const never = new AbortController().signal;

/** Returns the 99th percentile, ms. */
export async function postBehindPolls(posts: number): Promise<number> {
  const platform = await standIn({ isHttp1: false });
  const client = clientOf(platform.port);
  const stop = new AbortController();
  try {
    const polls = Array.from({ length: STANDING }, () => poll(client, 'rpc', 60_000, stop.signal).catch(() => {}));
    while (platform.standing() < STANDING) await delay(10);
    const times: number[] = [];
    for (let post = -WARM_UP; post < posts; post += 1) {
      const startMs = performance.now();
      await client.api.postTelemetry(rowsOf({ ts: 1_780_000_000_000 + post, values: { temperature: post } }), never);
      if (post >= 0) times.push(performance.now() - startMs);
    }
    stop.abort();
    await Promise.all(polls);
    return Math.round((times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN) * 10) / 10;
  } finally {
    await client.api.close();
    platform.end();
  }
}
