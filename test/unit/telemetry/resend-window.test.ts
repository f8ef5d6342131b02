/** A real local platform that loses what it acknowledged and had not stored: what it lost is sent once more, and nothing is missing. */
import { afterEach, expect, it } from 'vitest';
import { silentLog } from '../../../src/host/log.ts';
import type { Outbox } from '../../../src/outbox/outbox.ts';
import { Contact } from '../../../src/platform/contact.ts';
import { HttpDeviceApi } from '../../../src/platform/http-device-api.ts';
import { LocalPlatform } from '../../../src/stand-ins/local-platform/local-platform.ts';
import { Uploader } from '../../../src/telemetry/uploader.ts';
import { OutboxFixture } from '../../support/outbox-fixture.ts';

const WINDOW_MS = 15_000;
/** Less than the window, as the clock passes while a post is on its way. */
const STORE_DELAY_MS = 10_000;
const never = new AbortController().signal;

let end: () => Promise<void>;
afterEach(() => end());

async function open(settings: Parameters<typeof OutboxFixture.make>[0] = {}) {
  const fixture = await OutboxFixture.make({ commitAgeMs: 100, ...settings });
  const { clock } = fixture;
  const platform = await LocalPlatform.start({ clock, storeDelayMs: STORE_DELAY_MS });
  const { id, accessToken } = platform.ensureDevice('gateway');
  const contact = new Contact({ clock, log: silentLog, networkAddresses: () => ['192.0.2.1'] });
  const api = new HttpDeviceApi({ settings: { url: platform.url }, token: () => accessToken, clock, contact });
  const outbox = await fixture.open();
  contact.onRestarted((lastHeardAtMs) => outbox.resendRecent(lastHeardAtMs - WINDOW_MS));
  const uploader = new Uploader({
    outbox,
    clock,
    log: silentLog,
    postTelemetry: (rows, signal) => api.postTelemetry(rows, signal),
    settings: () => ({ maxBatchBytes: 256_000, maxBatchEntries: 2_000, intervalMs: 0 }),
    link: () => ({ history: true, present: true }),
  });
  end = async () => {
    contact.close();
    await fixture.until(Promise.all([api.close(), platform.close()]));
    await fixture.remove();
  };
  let written = 0;
  const send = async (times: number): Promise<void> => {
    for (let time = 0; time < times; time += 1) {
      written += 1;
      await fixture.commit(outbox, [fixture.entry('level', written), fixture.entry('flow', written)]);
      await fixture.until(uploader.uploadNextBatch(never));
      await clock.advance(1_000);
    }
  };
  const drained = async (): Promise<void> => {
    while (outbox.status().heldEntries > 0) {
      await fixture.until(uploader.uploadNextBatch(never));
      await clock.advance(1_000);
    }
    await clock.advance(STORE_DELAY_MS);
  };
  const stored = (key: string): number => platform.state.telemetry.series(id, key).size;
  return { fixture, clock, platform, outbox, send, drained, written: () => written, stored };
}

/** By the ledger, how many entries were delivered. */
async function counted(outbox: Outbox): Promise<number> {
  return (await outbox.readLedger({})).reduce((sum, { count }) => sum + count, 0);
}

it.each([
  ['kept for a day', {}],
  ['not kept at all', { retain: { forMs: 0, bytes: 0 } }],
])(
  'a platform that loses what it acknowledged is missing nothing at the end, with delivered entries %s',
  async (_name, settings) => {
    const { clock, platform, outbox, send, drained, written, stored } = await open(settings);
    await send(30);
    await platform.crash();
    expect(platform.arrivals.lost).toBeGreaterThan(0);
    const lost = written() - stored('level');
    await clock.advance(70_000);
    await send(20);
    await platform.comeBack();
    await drained();
    const { resent, dropped, damaged } = outbox.status();
    expect([stored('level'), stored('flow'), dropped, damaged]).toEqual([written(), written(), 0, 0]);
    expect(resent).toBeGreaterThanOrEqual(2 * lost);
    expect(resent).toBeLessThanOrEqual((2 * WINDOW_MS) / 1_000);
    expect(await counted(outbox)).toBe(2 * written());
  },
);
