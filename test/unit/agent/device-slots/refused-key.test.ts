/** Ten devices of one kind with a key that the platform always refuses: the others' good readings are not held up while it is learnt. */
import { expect, it } from 'vitest';
import type { DeviceApi } from '../../../../src/platform/device-api.ts';
import { HostPace } from '../../../../src/platform/host-pace.ts';
import { PartsBench } from '../../../support/device-slots-bench.ts';

const SLOTS = Array.from({ length: 10 }, (_, at) => `m${at}`);

/** Reads a good key and a bad one of each device every second; tells the waits of good readings, s, by the minute in which they were read. */
async function waitsOf(
  slots: readonly string[],
  minutes: number,
  isBad: (device: string, key: string, atMs: number) => boolean,
) {
  const bench = new PartsBench({ devices: slots.map((name) => ({ name })), upload: { interval: '1s' } });
  const pace = new HostPace({ clock: bench.clock });
  const arrivedAtMs = new Map<string, number>();
  const { openApi } = bench.platform;
  bench.platform.openApi = (token) => {
    const api = openApi(token);
    const own = pace.ofAnotherClient();
    const postTelemetry: DeviceApi['postTelemetry'] = (rows, signal) =>
      own.paceRequest(
        'upload',
        {
          faultIn: ({ kind }) => (kind === 'accepted' ? undefined : 'answered'),
          work: async () => {
            const [device = ''] = [...bench.platform.tokens].find(([, one]) => one === token()) ?? [];
            if (rows.keys.some((key) => isBad(device, key, bench.clock.monotonicMs())))
              return { kind: 'refused', status: 400, text: 'no such key' };
            for (const key of rows.keys) arrivedAtMs.set(`${device} ${key}`, bench.clock.monotonicMs());
            return await api.postTelemetry(rows, signal);
          },
        },
        signal,
      );
    return { ...api, postTelemetry };
  };
  await bench.start();
  const readAtMs = new Map<string, number>();
  for (let second = 0; second < minutes * 60; second += 1) {
    for (const slot of slots) {
      const key = `good${second}`;
      readAtMs.set(`roof ${slot} ${key}`, bench.clock.monotonicMs());
      bench.read(slot, key);
      bench.read(slot, 'power');
    }
    await bench.clock.advance(1_000);
  }
  const byMinute = Map.groupBy(readAtMs, ([, atMs]) => Math.floor(atMs / 60_000));
  const waits = [...byMinute.values()].map((those) =>
    those
      .map(([name, atMs]) => ((arrivedAtMs.get(name) ?? Number.POSITIVE_INFINITY) - atMs) / 1_000)
      .sort((a, b) => a - b),
  );
  const waiting = { heldEntries: 0, deadLetters: 0, rejected: 0 };
  for (const { outbox } of bench.held.list()) {
    waiting.heldEntries += outbox.heldEntries;
    waiting.deadLetters += outbox.deadLetters ?? 0;
    waiting.rejected += outbox.rejected;
  }
  const { arrived } = bench.platform;
  await bench.close();
  return {
    waits,
    waiting,
    taken: (device: string, key: string) => arrived.filter((one) => one.device === device && one.key === key).length,
  };
}

/** Waits that all but a twentieth stay below, s, minute by minute. */
const mostOf = (waits: readonly (readonly number[])[]): number[] =>
  waits.map((those) => those[Math.floor(those.length * 0.95)] as number);

it('ten devices with one key that is always refused have their other readings there within seconds, once it is learnt', async () => {
  const { waits, waiting } = await waitsOf(SLOTS, 8, (_, key) => key === 'power');
  // The first two minutes are for the learning, the last was just read.
  const most = mostOf(waits).slice(3, -1);
  expect(Math.max(...most)).toBeLessThan(6);
  expect(most.length).toBeGreaterThan(3);
  expect(waiting.heldEntries).toBeLessThan(60);
});

it('a device of which the key passes is not held up by three of which it is refused', async () => {
  const { waits, waiting, taken } = await waitsOf(
    ['m0', 'm1', 'm2', 'm3'],
    8,
    (device, key) => key === 'power' && device !== 'roof m3',
  );
  expect(Math.max(...mostOf(waits).slice(3, -1))).toBeLessThan(6);
  expect(taken('roof m3', 'power')).toBeGreaterThan(450);
  expect(waiting.deadLetters).toBeGreaterThan(900);
});

it('all that was refused arrives when the platform takes the key after all', async () => {
  const { waiting, taken } = await waitsOf(['m0', 'm1'], 12, (_, key, atMs) => key === 'power' && atMs < 300_000);
  expect([taken('roof m0', 'power') > 700, taken('roof m1', 'power') > 700]).toEqual([true, true]);
  expect(waiting).toMatchObject({ deadLetters: 0, rejected: 0 });
});
