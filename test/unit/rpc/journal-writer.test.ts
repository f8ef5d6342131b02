/** When the journal's writer writes the whole file, and what it does while its disk hangs. */
import { expect, it } from 'vitest';
import type { JournalFile, JournalRecord } from '../../../src/rpc/journal-file.ts';
import { JournalWriter } from '../../../src/rpc/journal-writer.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const boot = (atMs: number): JournalRecord => ({ kind: 'boot', bootId: 'boot-1', atMs });

it.each(['append', 'replace'] as const)(
  'keeps few records waiting for a disk that hangs in %s, and loses none of them',
  async (hangsIn) => {
    const disk = Promise.withResolvers<void>();
    const appended: number[] = [];
    let replaced: readonly JournalRecord[] = [];
    const file: Pick<JournalFile, 'append' | 'replace'> = {
      append: async (records) => {
        appended.push(records.length);
        if (hangsIn === 'append') await disk.promise;
      },
      replace: async (records) => {
        if (hangsIn === 'replace') await disk.promise;
        replaced = records;
      },
    };
    let known = 0;
    const writer = new JournalWriter({
      file,
      clock: new FakeClock(),
      inForce: () => [boot(known)],
      beginAnew: hangsIn === 'replace',
    });
    let waiting = 0;
    const writes = Array.from({ length: 10_000 }, async (_, index) => {
      known += 1;
      waiting += 1;
      await writer.write(boot(index), { sync: index === 9_999 });
      waiting -= 1;
    });
    await new FakeClock().advance(0);
    expect(waiting).toBeLessThan(300);
    disk.resolve();
    await Promise.all(writes);
    expect(replaced).toEqual([boot(10_000)]);
    expect(Math.max(0, ...appended)).toBeLessThan(300);
  },
);

it('syncs where one of the records that go together asks for it, and what is not synced when all is to be', async () => {
  const calls: unknown[] = [];
  const first = Promise.withResolvers<void>();
  const writer = new JournalWriter({
    file: {
      append: async (records, { isDurable }) => {
        calls.push([records.length, isDurable]);
        if (calls.length === 1) await first.promise;
      },
      replace: async () => void calls.push('replace'),
    },
    clock: new FakeClock(),
    inForce: () => [],
    beginAnew: false,
  });
  const writes = [false, false, true].map((sync, index) => writer.write(boot(index), { sync }));
  first.resolve();
  await Promise.all(writes);
  await writer.flush();
  await writer.write(boot(3), { sync: false });
  await writer.flush();
  await writer.flush();
  expect(calls).toEqual([
    [1, false],
    [2, true],
    [1, false],
    [0, true],
  ]);
});
