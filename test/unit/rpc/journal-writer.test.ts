/** When the journal's writer writes the whole file, and what it does while its storage hangs. */
import { expect, it } from 'vitest';
import { encodeFrame, type Frame } from '../../../src/rpc/journal-frames.ts';
import type { JournalStorage } from '../../../src/rpc/journal-storage.ts';
import { JournalWriter } from '../../../src/rpc/journal-writer.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const text = 'x'.repeat(1_000);

it.each(['append', 'replace'] as const)(
  'keeps few frames waiting for a storage that hangs in %s, and loses none of them',
  async (hangsIn) => {
    const disk = Promise.withResolvers<void>();
    const appended: number[] = [];
    let replaced: string[] = [];
    const storage: Partial<JournalStorage> = {
      append: async (bytes) => {
        appended.push(bytes.length);
        if (hangsIn === 'append') await disk.promise;
      },
      replace: async (bytes) => {
        if (hangsIn === 'replace') await disk.promise;
        replaced = [Buffer.from(bytes).toString()];
      },
      sync: async () => {},
    };
    let known = 0;
    const writer = new JournalWriter({
      // Nothing else is asked for.
      storage: storage as JournalStorage,
      clock: new FakeClock(),
      content: () => Buffer.from(`${known} frames`),
      compactAboveBytes: 1_000_000,
      beginAnew: hangsIn === 'replace',
    });
    let waiting = 0;
    const writes = Array.from({ length: 10_000 }, async (_, index) => {
      known += 1;
      waiting += 1;
      await writer.write({ kind: 'entry', payload: { index, text } }, { sync: index === 9_999 });
      waiting -= 1;
    });
    await new FakeClock().advance(0);
    expect(waiting).toBeLessThan(300);
    disk.resolve();
    await Promise.all(writes);
    expect(replaced).toEqual(['10000 frames']);
    expect(Math.max(0, ...appended)).toBeLessThan(300_000);
  },
);

it('writes the whole file once more than so much was added, and counts anew from there', async () => {
  const calls: string[] = [];
  const call = (name: string) => async (): Promise<void> => void calls.push(name);
  const frame: Frame = { kind: 'entry', payload: { text } };
  const writer = new JournalWriter({
    // Nothing else is asked for.
    storage: {
      append: call('append'),
      replace: call('replace'),
      sync: call('sync'),
    } as Partial<JournalStorage> as JournalStorage,
    clock: new FakeClock(),
    content: () => Buffer.alloc(0),
    compactAboveBytes: encodeFrame(frame).length,
    beginAnew: false,
  });
  for (let n = 0; n < 6; n += 1) await writer.write(frame, { sync: false });
  expect(calls).toEqual(['append', 'append', 'replace', 'append', 'append', 'replace']);
});
