import { expect, it } from 'vitest';
import { configSchema } from '../../../src/config/schema/agent-config.ts';
import { AgentLog } from '../../../src/host/log.ts';
import type { StatusServerDeps } from '../../../src/page-server/page-server.ts';
import { StatusPublisher, type StatusPublisherDeps } from '../../../src/page-server/status-publisher.ts';
import { attachedDevice } from '../../support/attached-device-status.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { openFirmwareUpdates, walkThrough } from '../../support/firmware-updates-bench.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

it('the page gets the latest ten updates, the latest first', async () => {
  const clock = new FakeClock();
  const firmware = await openFirmwareUpdates({}, { clock });
  const versions = Array.from({ length: 12 }, (_, index) => String(index + 1));
  for (const version of versions) {
    await walkThrough(firmware, clock, [{ fw_title: 'toaster', fw_version: version, fw_checksum: 'ab' }]);
    // Offers in quick succession wait.
    await clock.advance(3_600_000);
  }
  const { opened, side } = sideWith({ clock, firmware });
  side.open();
  await clock.advance(1_000);
  expect(
    opened()
      ?.view()
      .firmware.history.map((entry) => (entry as { version: string }).version),
  ).toEqual(versions.toReversed().slice(0, 10));
  await side.close();
});

it('the page gets what is kept of attached devices', async () => {
  const clock = new FakeClock();
  const firmware = await openFirmwareUpdates({}, { clock });
  const asked: string[] = [];
  const slots: StatusPublisherDeps['slots'] = {
    list: () => [attachedDevice({ name: 'meter' })],
    idsOf: (slot) => [slot],
    async *read(slot) {
      asked.push(slot);
      yield { key: 'power', ts: 5, value: 7 };
    },
  };
  const query = { keys: ['power'], fromMs: 0, toMs: 10, points: 10 };
  const { signal } = new AbortController();
  const { opened, side } = sideWith({ clock, firmware, slots });
  side.open();
  await clock.advance(1_000);
  expect(await opened()?.series({ ...query, device: 'meter1' }, signal)).toEqual({ power: [[5], [7]] });
  expect(asked).toEqual(['meter1']);
  expect(await opened()?.series(query, signal)).toEqual({ power: [[6], [8]] });
  await side.close();

  const without = sideWith({ clock, firmware });
  without.side.open();
  await clock.advance(1_000);
  expect(await without.opened()?.series({ ...query, device: 'meter1' }, signal)).toEqual({});
  await without.side.close();
});

it('the page gets a week from the coarser record, of the device it asks for, and ends it', async () => {
  const clock = new FakeClock();
  const firmware = await openFirmwareUpdates({}, { clock });
  const asked: (readonly string[])[] = [];
  let closed = 0;
  const bands: StatusPublisherDeps['bands'] = {
    async *read({ devices }) {
      asked.push(devices);
      yield { key: 'power', hourMs: 1_779_996_000_000, at: 0, least: 1, greatest: 3, last: 2, lastMs: 0 };
    },
    close: () => {
      closed += 1;
    },
  };
  const slots: StatusPublisherDeps['slots'] = {
    list: () => [],
    idsOf: (slot) => [slot, `?${slot}`],
    async *read() {},
  };
  const { opened, side } = sideWith({ clock, firmware, slots, bands });
  side.open();
  await clock.advance(1_000);
  const query = { keys: ['power'], fromMs: clock.wallMs() - 7 * 86_400_000, toMs: clock.wallMs(), points: 3_000 };
  const { signal } = new AbortController();
  const banded = { power: [[1_779_996_150_000], [1], [3]] };
  expect(await opened()?.series(query, signal)).toEqual(banded);
  expect(await opened()?.series({ ...query, device: 'meter1' }, signal)).toEqual(banded);
  expect(asked).toEqual([['self'], ['meter1', '?meter1']]);
  await side.close();
  expect(closed).toBe(1);
});

/** As much of the parts as a page asks for. */
function sideWith(parts: Pick<StatusPublisherDeps, 'firmware' | 'slots' | 'bands'> & { readonly clock: FakeClock }) {
  const { clock, firmware } = parts;
  let deps: StatusServerDeps | undefined;
  const openStatusServer: StatusPublisherDeps['machine']['openStatusServer'] = async (given) => {
    deps = given;
    return { url: '', openPages: 0, close: async () => {} };
  };
  const config = configSchema.parse({ version: 1, platform: { url: 'http://127.0.0.1:1', accessToken: 'token' } });
  async function* read() {
    yield { key: 'power', ts: 6, value: 8 };
  }
  const side = new StatusPublisher({
    ...parts,
    config: { current: config },
    machine: { clock, files: new MemoryFiles(), randomBytes: Buffer.alloc, usage: () => ({}), openStatusServer },
    rightClock: clock,
    log: new AgentLog({ level: 'error', clock, sink: { write: () => {} } }),
    status: () => ({ connection: {}, outbox: {}, sensors: [], firmware: firmware.summary() }),
    timeline: { lastSeq: 0, answer: () => ({ events: [], more: false }) },
    telemetry: { outbox: { status: () => ({ lanes: {}, ratePerS: 0 }), read }, uploads: { status: () => ({}) } },
    self: { store: { record: () => undefined } },
    // Only what is asked for is there.
  } as unknown as StatusPublisherDeps);
  return { opened: () => deps, side };
}
