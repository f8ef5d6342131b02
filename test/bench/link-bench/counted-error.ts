/** The agent's own count of its link against the counting proxy's, over real sockets: relative errors of four profiles, positive when it counts more. */
import { setTimeout as delay } from 'node:timers/promises';
import { rowsOf } from '../../support/telemetry-rows.ts';
import { countingProxy } from './counting-proxy.ts';
import { type Client, clientOf, poll, standIn } from './stand-in.ts';

const GAP_MS = 60;
const never = new AbortController().signal;

type Profile = (client: Client, cut: () => void) => Promise<void>;

/** Standing polls, and a reading now and then. */
const usual: Profile = async (client) => {
  for (let turn = 0; turn < 15; turn += 1) {
    await Promise.all([
      poll(client, 'rpc', 25_000 + turn),
      poll(client, 'attributes/updates', 25_000 + turn),
      post(client, turn),
    ]);
    await delay(GAP_MS);
  }
};

/** Each wake on a connection of its own. */
const wakes: Profile = async (client, cut) => {
  for (let turn = 0; turn < 8; turn += 1) {
    await poll(client, 'rpc', 3_000);
    await client.api.getAttributes({ sharedKeys: ['a', 'b'] }, never);
    await post(client, turn);
    await delay(GAP_MS);
    cut();
    await delay(GAP_MS);
  }
};

const download: Profile = async (client) => {
  for (let chunk = 0; chunk < 10; chunk += 1) {
    const { stream } = await client.api.getFirmware(
      { title: 'turnstone', version: '2', sizeBytes: 262_144, chunk },
      never,
    );
    for await (const _piece of stream);
  }
  await delay(GAP_MS);
};

export async function countedErrors(): Promise<Readonly<Record<'h2' | 'h1' | 'metered' | 'firmware', number>>> {
  return {
    h2: await errorOf(usual, false),
    h1: await errorOf(usual, true),
    metered: await errorOf(wakes, false),
    firmware: await errorOf(download, false),
  };
}

async function errorOf(profile: Profile, isHttp1: boolean): Promise<number> {
  const platform = await standIn({ isHttp1, pollMs: GAP_MS, fileBytes: 262_144 });
  const line = await countingProxy(platform.port);
  const client = clientOf(line.port);
  try {
    await profile(client, line.cut);
    const counted = Object.values(client.connections.traffic.lanes ?? {}).reduce((sum, one) => sum + one, 0);
    return Math.round((counted / line.bytes() - 1) * 10_000) / 10_000;
  } finally {
    await client.api.close();
    line.close();
    platform.end();
  }
}

async function post({ api }: Client, time: number): Promise<void> {
  const values = { temperature: 21.5 + time / 10, humidity: 40 + time, pressure: 1013.2 };
  const { kind } = await api.postTelemetry(rowsOf({ ts: 1_780_000_000_000 + time, values }), never);
  if (kind !== 'accepted') throw new Error(`an upload was ${kind}`);
}
