/**
 * Twenty topics at 1 Hz, and a commit that takes 5 s: how far the readings fall behind what is published. `npm run bench:mqtt [-- --json]`; needs
 * Debian's mosquitto.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { LinuxMqtt } from '../../src/hardware/linux-mqtt.ts';
import { systemClock } from '../../src/host/clock.ts';
import { Mosquitto } from '../support/mosquitto.ts';

const [TOPICS, SECONDS, COMMIT_MS] = [20, 30, 5_000];
const { signal } = new AbortController();
const { values: flags } = parseArgs({ options: { json: { type: 'boolean', default: false } } });
const rows: { version: string; published: number; heard: number; latestMs: number }[] = [];

const broker = await Mosquitto.open();
await broker.start();
try {
  for (const version of ['5', '3.1.1'] as const) {
    const [listening, publishing] = [new LinuxMqtt({ clock: systemClock }), new LinuxMqtt({ clock: systemClock })];
    const settings = { name: 'house', url: broker.url, version, keepAliveMs: 30_000, maxPacketBytes: 65_536 };
    const listener = await listening.open({ ...settings, clientId: `bench-${version}` }, signal);
    const publisher = await publishing.open(settings, signal);
    const lags: number[] = [];
    listener.subscribe('bench/+', async ({ payload }) => {
      lags.push(performance.now() - Number(Buffer.from(payload).toString()));
      await pause(COMMIT_MS);
    });
    await pause(1_500);
    let published = 0;
    for (let second = 0; second < SECONDS; second += 1) {
      for (let topic = 0; topic < TOPICS; topic += 1) {
        published += 1;
        const payload = String(performance.now());
        void publisher
          .publish({ topic: `bench/${topic}`, payload, retain: false }, AbortSignal.timeout(60_000))
          .catch(() => {});
      }
      await pause(1_000);
    }
    const last = lags.toSorted((one, other) => other - one)[0] ?? Number.NaN;
    rows.push({ version, published, heard: lags.length, latestMs: Math.round(last) });
    await Promise.all([listening.close(), publishing.close()]);
  }
} finally {
  await broker.remove();
}
if (flags.json) console.log(JSON.stringify(rows));
else console.table(rows);
