import { expect, it } from 'vitest';
import { configSchema } from '../../../src/config/schema/agent-config.ts';
import { AgentLog } from '../../../src/host/log.ts';
import { StatusPublisher, type StatusPublisherDeps } from '../../../src/status/status-publisher.ts';
import type { StatusView } from '../../../src/status/status-view.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { openFirmwareUpdates, walkThrough } from '../../support/firmware-updates-bench.ts';
import { MemoryFiles } from '../../support/memory-files.ts';

it('the page gets the latest ten updates, the latest first', async () => {
  const clock = new FakeClock();
  const firmware = await openFirmwareUpdates({}, { clock });
  const versions = Array.from({ length: 12 }, (_, index) => String(index + 1));
  await walkThrough(
    firmware,
    clock,
    versions.map((version) => ({ fw_title: 'toaster', fw_version: version, fw_checksum: 'ab' })),
  );
  let view: (() => StatusView) | undefined;
  const openStatusServer: StatusPublisherDeps['machine']['openStatusServer'] = async (deps) => {
    view = deps.view;
    return { url: '', openPages: 0, close: async () => {} };
  };
  const config = configSchema.parse({ version: 1, platform: { url: 'http://127.0.0.1:1', accessToken: 'token' } });
  // As much of the parts as a page asks for.
  const side = new StatusPublisher({
    config: { current: config },
    machine: { clock, files: new MemoryFiles(), randomBytes: Buffer.alloc, usage: () => ({}), openStatusServer },
    rightClock: clock,
    log: new AgentLog({ level: 'error', clock, sink: { write: () => {} } }),
    status: () => ({ connection: {}, outbox: {}, sensors: [], firmware: firmware.summary() }),
    telemetry: { outbox: { status: () => ({ lanes: {}, ratePerS: 0 }) }, uploads: { status: () => ({}) } },
    platform: { store: { record: () => undefined } },
    firmware,
  } as unknown as StatusPublisherDeps);
  side.open();
  await clock.advance(1_000);
  expect(view?.().firmware.history.map((entry) => (entry as { version: string }).version)).toEqual(versions.toReversed().slice(0, 10));
  await side.close();
});
