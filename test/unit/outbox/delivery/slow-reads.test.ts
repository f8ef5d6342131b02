/** A card that is slow, or comes back late, costs no entry that a quick one does not: slow is not hanging. */
import { afterEach, describe, expect, it } from 'vitest';
import type { OutboxConfig } from '../../../../src/config/schema/agent-config.ts';
import type { Outbox } from '../../../../src/outbox/outbox.ts';
import type { OutboxStatus } from '../../../../src/outbox/outbox-status.ts';
import { MemoryFiles, type Operation } from '../../../support/memory-files.ts';
import { OutboxFixture } from '../../../support/outbox-fixture.ts';

let fixture: OutboxFixture;
let files: MemoryFiles;
let outbox: Outbox;

/** Full, but for the zeros of the last segment. */
async function open(whenFull: OutboxConfig['whenFull'], blocks: number): Promise<void> {
  fixture = await OutboxFixture.make({ maxBytes: 256 * 1024, commitAgeMs: 100, whenFull });
  files = new MemoryFiles({ keepsChanges: false });
  fixture.files = files;
  outbox = await fixture.open();
  for (let block = 0; block < blocks; block += 1) await fixture.commit(outbox, fixture.noise(500, block * 500));
  await fixture.until(outbox.close());
  outbox = await fixture.open();
}
afterEach(() => fixture.remove());

const segments = (): string[] => files.paths.filter((path) => path.endsWith('.seg'));

function slow(ms: number, { path = /\.seg/, operations = ['read'] as readonly Operation[] } = {}): () => void {
  return files.addFaults({
    delay: (operation, one) =>
      operations.includes(operation) && path.test(one)
        ? fixture.clock.sleep(ms, new AbortController().signal)
        : undefined,
  });
}

/** A path and no other that begins like it. */
function only(path = ''): RegExp {
  return new RegExp(`${path.split('/').at(-1)}$`);
}

interface Course extends Pick<OutboxStatus, 'dropped' | 'thinned' | 'bytes'> {
  /** The longest that a commit took. */
  readonly maxMs: number;
  readonly undone: number;
}

/** So many blocks of 500 entries come in, one each 30 s; what that cost. */
async function takeIn(blocks: number, meanwhile: () => void = () => {}): Promise<Course> {
  const before = outbox.status();
  let maxMs = 0;
  let undone = 0;
  for (let at = 0; at < blocks; at += 1) {
    meanwhile();
    const sinceMs = fixture.clock.monotonicMs();
    undone += 1;
    void outbox.append(fixture.noise(500, at * 500)).then(() => {
      undone -= 1;
      maxMs = Math.max(maxMs, fixture.clock.monotonicMs() - sinceMs);
    });
    await fixture.clock.advance(30_000);
  }
  await fixture.clock.advance(120_000);
  const { dropped, thinned, bytes } = outbox.status();
  return { dropped: dropped - before.dropped, thinned: thinned - before.thinned, bytes, maxMs, undone };
}

const NOBODY = (): void => {};
const PLOTS = (): void =>
  void (async () => {
    for await (const _entry of outbox.read({}, new AbortController().signal));
  })();
const LARGE_BATCHES = (): void => void outbox.peek('backlog', { maxEntries: 20_000, maxBytes: 1 << 20 });
const RESENDING = (): void =>
  void outbox.resend({ key: 'key1', fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }, new AbortController().signal);

describe('where the oldest is thinned', () => {
  it.each<[string, number, () => void, readonly Operation[]]>([
    ['reads', 2_500, NOBODY, ['read']],
    ['reads and writes', 2_500, NOBODY, ['read', 'write', 'sync', 'rename', 'sync-folder']],
    ['reads for large batches', 400, LARGE_BATCHES, ['read']],
    ['reads for large batches', 2_500, LARGE_BATCHES, ['read']],
    ['reads for many plots at once', 400, PLOTS, ['read']],
    ['reads for many plots at once', 2_500, PLOTS, ['read']],
    ['reads of all for who sends again', 2_500, RESENDING, ['read']],
  ])(
    'slow %s, of %i ms, make nothing go that is not thinned on a quick card',
    async (_what, ms, meanwhile, operations) => {
      await open('thin', 140);
      slow(ms, { operations });
      const { dropped, thinned, undone, maxMs } = await takeIn(30, meanwhile);
      expect([dropped, undone]).toEqual([0, 0]);
      expect(thinned).toBeGreaterThan(10_000);
      expect(maxMs).toBeLessThan(40_000);
    },
  );

  it('who sends all again holds up a commit for one read, not for those of a segment', async () => {
    await open('thin', 140);
    slow(2_500);
    const { maxMs, dropped } = await takeIn(30, RESENDING);
    expect(maxMs).toBeLessThanOrEqual(10_000);
    expect(dropped).toBe(0);
  });
});

describe('where the oldest is dropped', () => {
  it.each<[string, number, readonly Operation[]]>([
    ['read', 9_000, ['read']],
    ['read', 11_000, ['read']],
    ['read', 25_000, ['read']],
    ['unlink', 15_000, ['unlink']],
  ])(
    'a %s that comes back after %i ms makes no more go than what is needed, counted once',
    async (_what, ms, operations) => {
      await open('drop-oldest', 120);
      const before = segments();
      slow(ms, { path: only(before[0]), operations });
      while (segments()[0] === before[0]) await takeIn(1);
      expect([segments()[0], outbox.status().dropped]).toEqual([before[1], 4_000]);
    },
  );

  it('a read that comes back late takes nothing when what was delivered meanwhile went', async () => {
    await open('drop-oldest', 120);
    const before = segments();
    const batch = await outbox.peek('backlog', { maxEntries: 1, maxBytes: 1 });
    if (batch === undefined) expect.fail('nothing waits');
    let isRead = false;
    files.addFaults({
      delay: (operation, path) => {
        isRead ||= operation === 'read' && path === before[0];
        return undefined;
      },
    });
    slow(15_000, { path: only(before[0]) });
    for (let at = 0; at < 60 && !isRead; at += 1) {
      void outbox.append(fixture.noise(500));
      await fixture.clock.advance(1_000);
    }
    // The second segment arrived.
    await outbox.acknowledge({ ...batch, entries: batch.entries.where(() => false), ranges: [[4_001, 8_000]] });
    await fixture.clock.advance(30_000);
    expect([segments().slice(0, 2), outbox.status().dropped]).toEqual([[before[0], before[2]], 0]);
  });
});
