/** What of a lane goes first when a batch may not hold all of it. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Lane } from '../../../../src/outbox/delivery/outbox-batch.ts';
import type { Outbox } from '../../../../src/outbox/outbox.ts';
import { MemoryFiles } from '../../../support/memory-files.ts';
import { NO_LIMITS, OutboxFixture } from '../../../support/outbox-fixture.ts';

let fixture: OutboxFixture;
let outbox: Outbox;
afterEach(() => fixture.remove());

describe.each([
  ['newest-first', 'live', ['b', 'c']],
  ['newest-first', 'backlog', ['b', 'c']],
  ['newest-first', 'alarm', ['a', 'b']],
  ['oldest-first', 'live', ['a', 'b']],
  ['oldest-first', 'backlog', ['a', 'b']],
  ['oldest-first', 'alarm', ['a', 'b']],
] as const)('in the order %s, of three blocks of which two fit, the lane %s', (order, lane: Lane, expected) => {
  beforeEach(async () => {
    fixture = await OutboxFixture.make({ commitAgeMs: 100, order });
    fixture.files = new MemoryFiles();
    outbox = await fixture.open();
    for (const key of ['a', 'b', 'c']) {
      await fixture.commit(outbox, [
        fixture.entry(key, 'x'.repeat(100), { class: lane === 'alarm' ? 'alarm' : 'regular' }),
      ]);
      // Commits in quick succession are one stretch.
      await fixture.clock.advance(1_000);
    }
    if (lane === 'backlog') await fixture.clock.advance(40_000);
  });

  it.each([
    ['bytes', { maxEntries: 100, maxBytes: 300 }],
    ['entries', { maxEntries: 2, maxBytes: 10_000 }],
  ])('gives what comes first, by %s', async (_name, limits) => {
    const batch = await outbox.peek(lane, limits);
    expect(batch?.entries.keys).toEqual(expected);
    if (batch !== undefined) await outbox.acknowledge(batch);
    expect(await outbox.peek(lane, limits)).toMatchObject({ entries: { length: 1 } });
  });

  it('gives two that are just within the bytes, and one that is too large by itself', async () => {
    const bytes = (await outbox.peek(lane, NO_LIMITS))?.bytes ?? 0;
    expect(await outbox.peek(lane, { maxEntries: 100, maxBytes: bytes })).toMatchObject({
      bytes,
      entries: { length: 3 },
    });
    expect(await outbox.peek(lane, { maxEntries: 100, maxBytes: bytes - 1 })).toMatchObject({ entries: { length: 2 } });
    expect(await outbox.peek(lane, { maxEntries: 100, maxBytes: 1 })).toMatchObject({ entries: { length: 1 } });
  });
});
