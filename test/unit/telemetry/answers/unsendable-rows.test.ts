/** What the client itself refuses to send, because the server would lose it without a word. */
import { expect, it } from 'vitest';
import { silentLog } from '../../../../src/host/log.ts';
import type { OutboxBatch } from '../../../../src/outbox/delivery/outbox-batch.ts';
import { EntryColumns } from '../../../../src/outbox/format/entry-columns.ts';
import type { TelemetryRows, UploadAnswer } from '../../../../src/platform/device-api.ts';
import { isAboutWhatWasSent } from '../../../../src/telemetry/answers/answer-table.ts';
import { UploadJudge } from '../../../../src/telemetry/answers/upload-judge.ts';
import { reasonFor } from '../../../../src/telemetry/answers/upload-waits.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const unexpected = (): never => expect.fail('nothing is in quarantine here');
/** What cannot be sent is not in quarantine while the disk keeps it. */
const NONE_QUARANTINED = { add: unexpected, putBack: unexpected, isWaiting: unexpected };
const NO_LETTERS = { deadLetter: unexpected, deadLetters: undefined };
const never = new AbortController().signal;

function batchOf(keys: readonly string[]): OutboxBatch {
  const entries = keys.map((key, sequence) => ({
    sequence,
    device: 'self',
    key,
    value: 1,
    ts: 1000 + sequence,
    class: 'regular' as const,
  }));
  return { lane: 'live', entries: EntryColumns.of(entries), ranges: [[0, keys.length - 1]], bytes: 1 };
}

/** Refuses every key that begins with `bad`, as the client does. */
function refuseBad({ keys }: TelemetryRows): UploadAnswer {
  const unsendable = keys.flatMap((key, row) =>
    key.startsWith('bad') ? [{ row, reason: `${key} would be lost` }] : [],
  );
  return unsendable.length === 0
    ? { kind: 'accepted' }
    : { kind: 'refused', status: 0, text: 'would be lost', unsendable };
}

it('is set aside with its reason, and the others go in one piece', async () => {
  const posts: (readonly string[])[] = [];
  const rejected: [string, string][] = [];
  const judge = new UploadJudge({
    postTelemetry: async (rows) => {
      posts.push(rows.keys);
      return refuseBad(rows);
    },
    outbox: {
      ...NO_LETTERS,
      quarantined: NONE_QUARANTINED,
      reject: async ({ key }, answer) => void rejected.push([key, answer]),
    },
    clock: new FakeClock(),
    log: silentLog,
  });
  expect(await judge.deliver(batchOf(['a', 'bad1', 'b', 'bad2', 'c']), never)).toEqual({ kind: 'accepted' });
  expect(posts).toEqual([
    ['a', 'bad1', 'b', 'bad2', 'c'],
    ['a', 'b', 'c'],
  ]);
  expect(rejected).toEqual([
    ['bad1', 'not sent: bad1 would be lost'],
    ['bad2', 'not sent: bad2 would be lost'],
  ]);
});

it('leaves nothing to send when it is all there is', async () => {
  const rejected: string[] = [];
  let posts = 0;
  const judge = new UploadJudge({
    postTelemetry: async (rows) => {
      posts += 1;
      return refuseBad(rows);
    },
    outbox: { ...NO_LETTERS, quarantined: NONE_QUARANTINED, reject: async ({ key }) => void rejected.push(key) },
    clock: new FakeClock(),
    log: silentLog,
  });
  // Nobody took anything: it says nothing of the platform.
  expect(await judge.deliver(batchOf(['bad1', 'bad2']), never)).toEqual({ kind: 'kept' });
  expect(rejected).toEqual(['bad1', 'bad2']);
  expect(posts).toBe(1);
});

it.each(['refuses', 'hangs on'])(
  'makes way while the disk %s it, so that the others go, and is kept when the disk lets it',
  async (how) => {
    const clock = new FakeClock();
    const posts: (readonly string[])[] = [];
    const rejected: string[] = [];
    const quarantined = new Set<number>();
    const disk = Promise.withResolvers<void>();
    let works = false;
    let asked = 0;
    const some = (rows: readonly number[]): OutboxBatch => {
      const { entries, ...rest } = batchOf(['a', 'bad1', 'b', 'bad2', 'c']);
      return { ...rest, entries: entries.where((row) => rows.includes(row)), ranges: rows.map((row) => [row, row]) };
    };
    const judge = new UploadJudge({
      postTelemetry: async (rows) => {
        posts.push(rows.keys);
        return refuseBad(rows);
      },
      outbox: {
        ...NO_LETTERS,
        quarantined: {
          ...NONE_QUARANTINED,
          add: (sequence) => void quarantined.add(sequence),
          putBack: (sequence) => void quarantined.delete(sequence),
          isWaiting: (sequence) => !rejected.includes(some([sequence]).entries.keys[0] as string),
        },
        reject: async ({ key }) => {
          asked += 1;
          if (!works && how === 'refuses') throw new Error('EIO');
          if (!works) await disk.promise;
          rejected.push(key);
        },
      },
      clock,
      log: silentLog,
    });
    const first = judge.deliver(some([0, 1, 2, 3, 4]), never);
    await clock.advance(5_000);
    const answer = await first;
    if (answer.kind === 'accepted' || answer.kind === 'kept') expect.fail('nothing was taken');
    expect([answer.kind, reasonFor(answer)]).toEqual(['busy', 'the disk does not take what cannot be sent']);
    // So that a drain goes on with the others.
    expect(isAboutWhatWasSent(answer)).toBe(true);
    expect([...quarantined]).toEqual([1, 3]);
    expect(await judge.deliver(some([0, 2, 4]), never)).toEqual({ kind: 'accepted' });
    const again = async () => {
      await clock.advance(600_000);
      const batch = await judge.nextAlone({ nothingElse: true, withHistory: true, withDeadLetters: true });
      if (batch === undefined) return 'nothing is due';
      const delivering = judge.deliver(batch, never);
      await clock.advance(5_000);
      return delivering;
    };
    for (let times = 0; times < 4; times += 1) expect(await again()).toMatchObject({ kind: 'busy' });
    // A disk that has not answered is not asked for the same again.
    if (how === 'hangs on') expect(asked).toBeLessThanOrEqual(2);
    works = true;
    disk.resolve();
    // What the disk hung on is kept now, without being asked for again.
    const kept = how === 'hangs on' ? ['nothing is due'] : [{ kind: 'kept' }, { kind: 'kept' }];
    for (const expected of kept) expect(await again()).toEqual(expected);
    expect([new Set(rejected), judge.quarantine.size]).toEqual([new Set(['bad1', 'bad2']), 0]);
  },
);
