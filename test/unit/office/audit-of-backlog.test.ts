/** An audit while a backlog drains: what arrives between the ledger and the report is no fault, and what is wrong all the same is one. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isFaulty } from '../../../src/office/reports/audit-comparison.ts';
import { auditDelivery } from '../../../src/office/reports/audit-delivery.ts';
import type { Outbox } from '../../../src/outbox/outbox.ts';
import { sentCells } from '../../../src/telemetry/entry-digest.ts';
import { OutboxFixture } from '../../support/outbox-fixture.ts';

const HOUR = 3_600_000;
const START = Math.floor(1_780_000_000_000 / HOUR) * HOUR;
const signal = new AbortController().signal;

let fixture: OutboxFixture;
let outbox: Outbox;
/** Values at the platform, by time. */
let stored: Map<number, number>;

beforeEach(async () => {
  fixture = await OutboxFixture.make();
  outbox = await fixture.open();
  stored = new Map();
  for (let at = 0; at < 6; at += 1)
    await fixture.commit(outbox, [fixture.entry('level', at * 1.5, { takenAtMs: START + at * 60_000 })]);
  await fixture.clock.advance(60_000);
});
afterEach(() => fixture.remove());

/** The newest first. */
async function send(maxEntries: number): Promise<void> {
  const batch = await outbox.peek('backlog', { maxEntries, maxBytes: 1e9 });
  if (batch === undefined) throw new Error('nothing to send');
  for (const { ts, value } of batch.entries) stored.set(ts, value as number);
  await outbox.acknowledge(batch);
}

function resend(): Promise<unknown> {
  return outbox.resend({ key: 'level', fromMs: START, toMs: START + HOUR }, signal);
}

/** `meanwhile` happens after the ledger was read. */
async function audit(meanwhile: () => unknown = () => {}) {
  const range = { fromMs: START, toMs: START + HOUR };
  const { lines } = await auditDelivery(
    {
      readLedger: () => sentCells(outbox, range, signal),
      buildReport: async function* () {
        await meanwhile();
        yield { kind: 'labels', columnLabels: ['Date', 'level'] };
        yield { kind: 'rows', rows: [...stored].map(([ts, level]) => ({ Date: ts, level })) };
      },
      resend: async () => 0,
    },
    { viewConfigId: 'view', ...range, resend: false },
    signal,
  );
  return lines.map((line) => ({ ...line, isFaulty: isFaulty(line) }));
}

describe('what arrived since the ledger was read', () => {
  it('is not held against the platform, the newest having gone first', async () => {
    await send(3);
    expect(await audit(() => send(2))).toMatchObject([{ sent: 3, found: 5, isFaulty: false }]);
    expect(await audit(() => send(6))).toMatchObject([{ sent: 5, found: 6, isFaulty: false }]);
  });

  it('nor is what was put back and is there already', async () => {
    await send(6);
    expect(await resend()).toBe(6);
    expect(await audit()).toMatchObject([{ sent: 0, found: 6, isFaulty: false }]);
    expect(await audit(() => send(6))).toMatchObject([{ sent: 0, found: 6, isFaulty: false }]);
    expect(await audit()).toMatchObject([{ sent: 6, found: 6, isFaulty: false }]);
  });

  it('explains neither more than waited nor what is missing', async () => {
    await send(3);
    const extra = await audit(async () => {
      await send(6);
      stored.set(START + 1, 99);
    });
    expect(extra).toMatchObject([{ isFaulty: true, different: ['1 more than were sent'] }]);
    stored.clear();
    expect(await audit()).toMatchObject([{ sent: 6, missing: 6, isFaulty: true }]);
  });

  it('nor a value that another stands for', async () => {
    await send(3);
    stored.set(START + 5 * 60_000, 99);
    expect(await audit()).toMatchObject([{ sent: 3, found: 3, isFaulty: true }]);
    expect(await audit(() => send(2))).toMatchObject([{ sent: 3, found: 5, isFaulty: true }]);
  });
});
