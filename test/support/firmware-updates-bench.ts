/** The firmware side with its real updaters and journals, in memory, and no platform behind it. */

import { configSchema } from '../../src/config/schema/agent-config.ts';
import type { DeviceUpdates } from '../../src/firmware/device-updates.ts';
import { FirmwareUpdates, type FirmwareUpdatesDeps } from '../../src/firmware/firmware-updates.ts';
import { silentLog } from '../../src/host/log.ts';
import { runProgram } from '../../src/host/run-program.ts';
import type { DeviceApi } from '../../src/platform/device-api.ts';
import { FakeClock } from './fake-clock.ts';
import { MemoryFiles } from './memory-files.ts';

export interface FirmwareBench {
  readonly files?: MemoryFiles;
  readonly clock?: FakeClock;
  readonly locked?: () => boolean;
  readonly alerts?: FirmwareUpdatesDeps['alerts'];
}

export async function openFirmwareUpdates(firmware: object, bench: FirmwareBench = {}) {
  const {
    files = new MemoryFiles(),
    clock = new FakeClock(),
    locked = () => false,
    alerts = { raise: () => {}, clear: () => {} },
  } = bench;
  const config = configSchema.parse({
    version: 1,
    platform: { url: 'http://127.0.0.1:1', accessToken: 'token' },
    firmware,
  });
  const unused = () => Promise.reject(new Error('not asked for'));
  return FirmwareUpdates.open({
    config,
    clock,
    files,
    newId: () => 'id',
    runProgram,
    log: silentLog,
    self: {
      id: 'self',
      name: '',
      folder: config.stateFolder,
      // Nothing of it is asked for in these tests.
      deviceApi: { getAttributes: unused } as Partial<DeviceApi> as DeviceApi,
    },
    getUrl: unused,
    append: async () => {},
    uploaded: () => true,
    fault: () => undefined,
    restart: () => {},
    locked,
    alerts,
  });
}

/** Lets a side walk with these offers, one after the other, each to its end, and a minute apart after a few: they have their pace. */
export async function walkThrough(
  side: FirmwareUpdates,
  clock: FakeClock,
  offers: readonly Parameters<DeviceUpdates['consider']>[0][],
) {
  const stop = new AbortController();
  const running = side.run(stop.signal);
  for (const [at, offer] of offers.entries()) {
    if (at >= 5) await clock.advance(60_000);
    side.self.consider(offer);
    for (let turn = 0; turn < 40; turn += 1) await clock.advance(0);
  }
  stop.abort();
  await clock.advance(0);
  await running;
}
