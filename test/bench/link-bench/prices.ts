/** What an exchange of each kind costs on the line, by the counting proxy, on a connection that stands; and what a connection costs. */
import { setTimeout as delay } from 'node:timers/promises';
import { rowsOf } from '../../support/telemetry-rows.ts';
import { countingProxy, type Line } from './counting-proxy.ts';
import { type Client, clientOf, poll, standIn } from './stand-in.ts';

/** Bytes beside the bodies. */
export interface Prices {
  readonly isHttp1: boolean;
  /** With a whole handshake, and with one that goes on from the last. */
  readonly connection: number;
  readonly resumed: number;
  readonly post: number;
  /** Of a path that was used before, and of another. */
  readonly poll: number;
  readonly pollOther: number;
  /** Of one that begins and ends together with another. */
  readonly pollTogether: number;
  readonly get: number;
}

/** One reading of one key, as a bare exchange is made. */
const BODY = Buffer.byteLength('[{"ts":1780000000000,"values":{"temperature":21.5}}]');
const TIMES = 10;
/** Longer than an acknowledgement is put off. */
const GAP_MS = 60;
const never = new AbortController().signal;

export async function measurePrices(
  isHttp1: boolean,
  isMetered = false,
): Promise<Prices & { readonly reading: number }> {
  const platform = await standIn({ isHttp1, pollMs: GAP_MS });
  const line = await countingProxy(platform.port);
  const client = clientOf(line.port, isMetered);
  try {
    await delay(GAP_MS);
    const connection = await bytesOf(line, () => reading(client, -1));
    await reading(client, -2);
    const post = await averageOf(line, async (time) => {
      await reading(client, time);
      await delay(GAP_MS);
    });
    await poll(client, 'rpc', 25_000);
    await poll(client, 'rpc', 25_000);
    const same = await averageOf(line, () => poll(client, 'rpc', 25_000));
    const other = await averageOf(line, (time) => poll(client, 'rpc', 25_001 + time));
    const pair = await averageOf(line, async (time) => {
      await Promise.all([poll(client, 'rpc', 25_101 + time), poll(client, 'attributes/updates', 25_101 + time)]);
    });
    // Each of the lane's sockets, over HTTP/1.1.
    for (let time = 0; time < 3; time += 1) await client.api.getAttributes({ sharedKeys: ['a'] }, never);
    const get = await averageOf(line, async () => {
      await client.api.getAttributes({ sharedKeys: ['a'] }, never);
      await delay(GAP_MS);
    });
    line.cut();
    await delay(GAP_MS);
    const resumed = await bytesOf(line, () => reading(client, TIMES));
    const base = post - BODY;
    return {
      isHttp1,
      reading: Math.round(post),
      connection: connection - post,
      resumed: resumed - post,
      post: base,
      poll: same,
      pollOther: other,
      pollTogether: isHttp1 ? other : pair - other,
      get: get - 2,
    };
  } finally {
    await client.api.close();
    line.close();
    platform.end();
  }
}

async function reading({ api }: Client, time: number): Promise<void> {
  const answer = await api.postTelemetry(
    rowsOf({ ts: 1_780_000_000_000 + time, values: { temperature: 21.5 + time / 10 } }),
    never,
  );
  if (answer.kind !== 'accepted') throw new Error(`an upload was ${answer.kind}`);
}

async function bytesOf(line: Line, work: () => Promise<void>): Promise<number> {
  const before = line.bytes();
  await work();
  await delay(GAP_MS);
  return line.bytes() - before;
}

async function averageOf(line: Line, work: (time: number) => Promise<void>): Promise<number> {
  const bytes = await bytesOf(line, async () => {
    for (let time = 0; time < TIMES; time += 1) await work(time);
  });
  return bytes / TIMES;
}
