/** Places of held devices: one that is ended, because it is empty, while rows are moved into it, and one without contact. */
import { expect, it } from 'vitest';
import { configSchema } from '../../../../src/config/schema/agent-config.ts';
import { silentLog } from '../../../../src/host/log.ts';
import { EntryColumns } from '../../../../src/outbox/format/entry-columns.ts';
import { openOutbox } from '../../../../src/outbox/open-outbox.ts';
import type { UploadAnswer } from '../../../../src/platform/device-api.ts';
import { HeldDevices, placeName } from '../../../../src/telemetry/held-devices.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { MemoryFiles } from '../../../support/memory-files.ts';
import { FakeTimeSync } from '../../../support/outbox-fixture.ts';

const ACCEPTED: UploadAnswer = { kind: 'accepted' };

function heldBench(files = new MemoryFiles()) {
  const clock = new FakeClock({ jitter: 0 });
  const config = configSchema.parse({
    version: 1,
    platform: { url: 'http://p', accessToken: 'secret-token' },
  });
  const got: string[] = [];
  const held = new HeldDevices({
    clock,
    files,
    folder: '/state/devices/held',
    log: silentLog,
    openOutbox: (folder) =>
      openOutbox(
        {
          stateFolder: folder,
          config: config.outbox,
          clock,
          files,
          log: silentLog,
          timeSync: new FakeTimeSync(),
          expectFolder: async () => {},
        },
        new AbortController().signal,
      ),
    post: async (_device, rows) => {
      got.push(...rows.keys);
      return ACCEPTED;
    },
    settings: () => ({ ...config.upload, intervalMs: 0 }),
    link: () => ({ history: true, present: true }),
  });
  return { clock, files, held, got };
}

const rowsOf = (device: string, key: string): EntryColumns =>
  EntryColumns.of([{ sequence: 1, device, key, value: 1, ts: 1_780_000_000_000, class: 'regular' as const }]);

it('loses nothing that is moved in while an empty place ends', async () => {
  const { clock, files, held, got } = heldBench();
  const stop = new AbortController();
  await held.open();
  const running = held.run(stop.signal);
  const first = held.move('b', rowsOf('b', 'first'), 'refused', stop.signal);
  await clock.advance(1_000);
  await first;
  expect(got).toEqual(['first']);
  // The end of the place looks for rejected entries on the disk; meanwhile a window moves the next row.
  let second: Promise<void> | undefined;
  files.faults = {
    delay: (_operation, path) => {
      if (!path.includes(placeName('b')) || !path.includes('reject') || second !== undefined) return undefined;
      second = held.move('b', rowsOf('b', 'second'), undefined, stop.signal);
      return undefined;
    },
  };
  await clock.advance(90_000);
  expect(second).toBeDefined();
  await second; // Told to be durable: the shared outbox acknowledges it.
  await clock.advance(60_000);
  stop.abort();
  await clock.advance(10_000);
  await running;
  expect(got).toEqual(['first', 'second']);
});

it('writes what arrived of held devices when contact is lost', async () => {
  const { clock, files, held, got } = heldBench();
  const stop = new AbortController();
  await held.open();
  const running = held.run(stop.signal);
  const moved = held.move('b', rowsOf('b', 'moved'), 'refused', stop.signal);
  await clock.advance(1_000);
  await moved;
  const [place] = held.places;
  const arrived = place?.outbox.append([
    { device: 'b', key: 'late', value: 1, bootId: clock.bootId, monotonicMs: clock.monotonicMs(), class: 'regular' },
  ]);
  await clock.advance(400);
  await arrived;
  expect(got).toEqual(['moved', 'late']);
  held.keepRecord();
  await clock.advance(100);
  stop.abort();
  files.cutPower(() => false);
  await clock.advance(10_000);
  await running;
  const again = heldBench(files);
  await again.held.open();
  const kept: string[] = [];
  for (const { outbox } of again.held.places)
    for await (const { key } of outbox.read({}, new AbortController().signal)) kept.push(key);
  expect(kept).toEqual(['moved', 'late']);
});
