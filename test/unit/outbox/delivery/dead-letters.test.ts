/** The dead-letter queue: durable, tried at waits that no restart and no clock changes, bounded, and ended among the rejected. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ResolvedEntry } from '../../../../src/outbox/format/entry-columns.ts';
import type { Outbox } from '../../../../src/outbox/outbox.ts';
import { MemoryFiles } from '../../../support/memory-files.ts';
import { everyDamage } from '../../../support/one-bit.ts';
import { drain, NO_LIMITS, OutboxFixture } from '../../../support/outbox-fixture.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

let fixture: OutboxFixture;
let files: MemoryFiles;
let outbox: Outbox;
let path: string;

beforeEach(async () => {
  fixture = await OutboxFixture.make({ maxBytes: 4_000_000 });
  files = new MemoryFiles();
  fixture.files = files;
  path = `${fixture.folder}/dead-letters.jsonl`;
  outbox = await fixture.open();
});
afterEach(() => fixture.remove());

/** Appends an entry and makes it a dead letter. */
async function bury(
  key: string,
  value: string | number = 1,
  more: { readonly class?: 'alarm' } = {},
): Promise<ResolvedEntry> {
  await fixture.commit(outbox, [fixture.entry(key, value, more)]);
  const batch = await outbox.peek(more.class ?? 'live', NO_LIMITS);
  const entry = [...(batch?.entries ?? [])].find((one) => one.key === key);
  if (entry === undefined) return expect.fail('it is not given out');
  await fixture.until(outbox.deadLetter([entry], `no ${key}`));
  return entry;
}

const due = (withHistory = true): string | undefined => outbox.deadLetters.next({ withHistory })?.entries.keys[0];

async function refuse(othersPass = true): Promise<void> {
  const letter = outbox.deadLetters.next({ withHistory: true });
  if (letter === undefined) return expect.fail('nothing is due');
  await fixture.until(
    outbox.deadLetters.refused(letter.entries.sequences[0] as number, { answer: 'again', othersPass }),
  );
}

async function reboot(): Promise<void> {
  await fixture.until(outbox.close());
  fixture.clock.reboot({ bootId: `boot-${Math.random()}` });
  outbox = await fixture.open();
}

/** Hours until a letter is due, each refused. */
async function waits(count: number, between: () => Promise<void> = async () => {}): Promise<number[]> {
  const all: number[] = [];
  for (let ms = 0; all.length < count; ) {
    await fixture.clock.advance(5 * MINUTE_MS);
    ms += 5 * MINUTE_MS;
    if (due() === undefined) continue;
    all.push(Math.round((ms / HOUR_MS) * 100) / 100);
    ms = 0;
    await refuse();
    await between();
  }
  return all;
}

describe('a dead letter', () => {
  it('is in no lane any more, and is held by no segment', async () => {
    await bury('bad');
    expect(await drain(outbox)).toEqual([]);
    expect(outbox.status()).toMatchObject({ heldEntries: 0, deadLetters: 1, rejected: 0, dropped: 0 });
    expect(await outbox.rejected()).toEqual([]);
  });

  it('is due after 10 minutes, 1 hour, 6 hours, then daily', async () => {
    await bury('bad');
    expect(await waits(6)).toEqual([0.17, 1, 6, 24, 24, 24]);
  });

  it('is due at the same times when the machine starts again and again', async () => {
    await bury('bad');
    expect(await waits(6, reboot)).toEqual([0.17, 1, 6, 24, 24, 24]);
  });

  it('leaves nothing that looks like damage where a kill took what had left from memory around it', async () => {
    await fixture.commit(outbox, [fixture.entry('first', 1)]);
    await drain(outbox);
    for (const key of ['sent', 'bad', 'on its way']) {
      void outbox.append([fixture.entry(key, 1)]).catch(() => {});
      await fixture.clock.advance(400);
      const batch = await outbox.peek('live', NO_LIMITS);
      const found = [...(batch?.entries ?? [])].find((one) => one.key === key);
      if (batch === undefined || found === undefined) return expect.fail(`${key} is not given out`);
      if (key === 'bad') await fixture.until(outbox.deadLetter([found], 'no'));
      else if (key === 'sent') await outbox.acknowledge(batch);
    }
    // A kill now, with the disk as it is, a life, and a stop.
    const killed = new MemoryFiles();
    await killed.makeFolder(fixture.folder);
    for (const one of files.paths.filter((name) => name.startsWith(`${fixture.folder}/`)))
      killed.put(one, files.contentOf(one));
    fixture.files = killed;
    outbox = await fixture.open();
    await fixture.commit(outbox, [fixture.entry('later', 1)]);
    await fixture.until(outbox.close());
    outbox = await fixture.open();
    await drain(outbox);
    expect(outbox.status()).toMatchObject({ damaged: 0, deadLetters: 1 });
  });

  it('is due as it was when the process was killed in the middle of a wait', async () => {
    await bury('bad');
    await refuseAfter(10 * MINUTE_MS);
    await fixture.clock.advance(40 * MINUTE_MS);
    outbox = await fixture.open();
    await fixture.clock.advance(19 * MINUTE_MS);
    expect(due()).toBeUndefined();
    await fixture.clock.advance(MINUTE_MS);
    expect(due()).toBe('bad');
  });

  it('that is an alarm is due within half a minute, and before others of a day whose budget is spent', async () => {
    await bury('other');
    await bury('fire', 1, { class: 'alarm' });
    await fixture.clock.advance(30_000);
    expect(due()).toBe('fire');
    await fixture.clock.advance(10 * MINUTE_MS);
    expect([due(false), due(false)]).toEqual(['fire', 'fire']);
    // Each in its turn.
    expect([due(), due(), due()].sort()).toEqual(['fire', 'other', 'other']);
  });

  it('that is accepted is acknowledged late: in the ledger, once, and gone', async () => {
    const { ts } = await bury('bad');
    await fixture.clock.advance(10 * MINUTE_MS);
    const letter = outbox.deadLetters.next({ withHistory: true });
    if (letter === undefined) return expect.fail('nothing is due');
    for (let times = 0; times < 2; times += 1) await outbox.acknowledge(letter);
    const query = { keys: ['bad'], fromMs: 0, toMs: Number.POSITIVE_INFINITY };
    expect(await outbox.readLedger(query)).toMatchObject([{ key: 'bad', count: 1, first: [ts, 1] }]);
    expect(outbox.status().deadLetters).toBeUndefined();
    await fixture.until(outbox.close());
    outbox = await fixture.open();
    expect([outbox.deadLetters.size, await drain(outbox)]).toEqual([0, []]);
  });

  it('is due at once with all others when the platform was at fault, and its waits begin again', async () => {
    await bury('bad');
    await refuseAfter(10 * MINUTE_MS);
    expect(due()).toBeUndefined();
    outbox.deadLetters.hurry();
    expect(due()).toBe('bad');
    await refuse();
    expect((await waits(3)).slice(0, 3)).toEqual([0.17, 1, 6]);
  });

  it('is rejected for good at the first refusal after a week, when others are accepted, and can be sent again', async () => {
    await bury('bad');
    await fixture.clock.advance(6 * DAY_MS + 23 * HOUR_MS);
    await refuse();
    await fixture.clock.advance(DAY_MS);
    await refuse(false);
    expect([outbox.deadLetters.size, await outbox.rejected()]).toEqual([1, []]);
    await fixture.clock.advance(DAY_MS);
    await refuse();
    expect(await outbox.rejected()).toMatchObject([{ key: 'bad', value: 1, answer: 'again' }]);
    expect(outbox.status()).toMatchObject({ rejected: 1, dropped: 0, heldEntries: 0 });
    expect(outbox.status().deadLetters).toBeUndefined();
    expect(await fixture.until(outbox.resendRejected(() => true))).toBe(1);
    expect((await drain(outbox)).map(({ key }) => key)).toEqual(['bad']);
  });

  it('stays while the disk does not keep it among the rejected', async () => {
    await bury('bad');
    await fixture.clock.advance(8 * DAY_MS);
    files.faults = {
      fail: (operation, name) => (operation === 'open' && name.includes('rejected') ? { code: 'EIO' } : undefined),
    };
    await refuse();
    expect(outbox.status()).toMatchObject({ rejected: 0, deadLetters: 1 });
    files.faults = {};
    await fixture.clock.advance(DAY_MS);
    await refuse();
    expect(outbox.status()).toMatchObject({ rejected: 1 });
  });

  it('keeps its segment from nothing: it is tried and given out when its segment is gone', async () => {
    await fixture.until(outbox.close());
    fixture.settings = { ...fixture.settings, retain: { forMs: MINUTE_MS, bytes: 0 } };
    outbox = await fixture.open();
    await bury('bad');
    // What is sealed and delivered goes.
    for (let block = 0; block < 40; block += 1) await fixture.commit(outbox, fixture.noise(2_000, block * 2_000));
    await drain(outbox);
    await fixture.clock.advance(12 * MINUTE_MS);
    const held: string[] = [];
    for await (const { key } of outbox.read({}, new AbortController().signal)) held.push(key);
    expect(held).not.toContain('bad');
    expect(due()).toBe('bad');
  });

  async function refuseAfter(ms: number): Promise<void> {
    await fixture.clock.advance(ms);
    await refuse();
  }
});

describe('the queue', () => {
  it('is whole after a power cut, and what it has is in no lane', async () => {
    const { sequence } = await bury('bad');
    files.cutPower(() => false);
    fixture.clock.reboot({ bootId: 'boot-2' });
    outbox = await fixture.open();
    expect([outbox.deadLetters.size, await drain(outbox)]).toEqual([1, []]);
    // Nothing is written between two starts, and it is there at the second.
    await fixture.until(outbox.close());
    outbox = await fixture.open();
    expect([outbox.deadLetters.size, outbox.status().setAside]).toEqual([1, 0]);
    await fixture.clock.advance(10 * MINUTE_MS);
    expect(outbox.deadLetters.next({ withHistory: true })?.ranges).toEqual([[sequence, sequence]]);
  });

  it('does not take an entry that the disk does not take, which waits in its lane as before', async () => {
    await fixture.commit(outbox, [fixture.entry('bad', 1)]);
    const entry = (await outbox.peek('live', NO_LIMITS))?.entries.at(0) as ResolvedEntry;
    files.faults = {
      fail: (operation, name) =>
        operation === 'write' && name.includes('dead-letters') ? { code: 'ENOSPC', short: true } : undefined,
    };
    await expect(outbox.deadLetter([entry], 'no')).rejects.toThrow('ENOSPC');
    files.faults = {};
    expect(outbox.status()).toMatchObject({ heldEntries: 1 });
    expect((await drain(outbox)).map(({ key }) => key)).toEqual(['bad']);
    await bury('other');
    await fixture.until(outbox.close());
    outbox = await fixture.open();
    expect(outbox.deadLetters.size).toBe(1);
  });

  it('rejects its oldest for good when it has more than a thousand, and counts and keeps it', async () => {
    await fixture.until(outbox.close());
    fixture.settings = { ...fixture.settings, maxBytes: 256_000_000 };
    outbox = await fixture.open();
    const entries = Array.from({ length: 1_002 }, (_none, at) => fixture.entry(`k${at}`, 1));
    await fixture.commit(outbox, entries);
    const batch = await outbox.peek('live', NO_LIMITS);
    for (const entry of batch?.entries ?? []) await outbox.deadLetter([entry], 'no');
    expect(outbox.status()).toMatchObject({ deadLetters: 1_000, rejected: 2, heldEntries: 0 });
    expect((await outbox.rejected()).map(({ key }) => key)).toEqual(['k0', 'k1']);
  });

  it('is bounded in bytes, in memory and on the disk, and takes one that is larger by itself', async () => {
    for (let at = 0; at < 40; at += 1) await bury(`k${at}`, 'x'.repeat(1_000));
    const { deadLetters = 0, rejected } = outbox.status();
    expect([deadLetters + rejected, rejected > 20]).toEqual([40, true]);
    expect(files.contentOf(path).length).toBeLessThan((3 * 4_000_000) / 256);
    await bury('large', 'x'.repeat(50_000));
    expect(outbox.status()).toMatchObject({ deadLetters: 1, rejected: 40 });
    await fixture.until(outbox.close());
    outbox = await fixture.open();
    await fixture.clock.advance(10 * MINUTE_MS);
    expect(due()).toBe('large');
  });

  it.each(['damaged', 'not readable'])(
    'that is %s gives its entries back to their lanes, as far as segments have them',
    async (how) => {
      const { sequence } = await bury('lost');
      const rejected = await bury('rejected');
      await fixture.clock.advance(8 * DAY_MS);
      outbox.deadLetters.next({ withHistory: true });
      await fixture.until(outbox.deadLetters.refused(rejected.sequence, { answer: 'no', othersPass: true }));
      await fixture.until(outbox.close());
      if (how === 'damaged') files.put(path, files.contentOf(path).toString().replaceAll('lost', 'bost'));
      else
        files.faults = {
          fail: (operation, name) => (operation === 'open' && name === path ? { code: 'EISDIR' } : undefined),
        };
      outbox = await fixture.open();
      files.faults = {};
      expect(outbox.deadLetters.size).toBe(0);
      expect((await drain(outbox)).map((entry) => [entry.key, entry.sequence])).toEqual([['lost', sequence]]);
      await fixture.until(outbox.close());
      outbox = await fixture.open();
      expect(await drain(outbox)).toEqual([]);
    },
  );

  it('leaves out a line of which a bit is wrong, and what is no letter', async () => {
    await bury('bad');
    await fixture.until(outbox.close());
    const [head = '', line = ''] = files.contentOf(path).toString().split('\n');
    for (const damaged of [...everyDamage(line)].filter((_one, at) => at % 97 === 0)) {
      files.put(path, `${head}\n${damaged.toString().replaceAll('\n', ' ')}\n7\n{"sequence":"x"}\n`);
      outbox = await fixture.open();
      expect(outbox.deadLetters.size).toBe(0);
      await fixture.until(outbox.close());
    }
  });

  it.each<[{ readonly class?: 'alarm' }, number]>([
    [{}, 10 * MINUTE_MS],
    [{ class: 'alarm' }, MINUTE_MS / 2],
  ])('sends the mark of an entry whose time is a guess: %j', async (more, afterMs) => {
    fixture.settings = { ...fixture.settings, timeUncertain: 'send' };
    fixture.timeSync.become(false);
    await reboot();
    await fixture.commit(outbox, [fixture.entry('bad', 7, more)]);
    const rows = [...((await outbox.peek(more.class ?? 'live', NO_LIMITS))?.entries ?? [])];
    await fixture.until(outbox.deadLetter(rows, 'no'));
    const sent = async (): Promise<unknown[]> => {
      await fixture.clock.advance(afterMs);
      const letter = outbox.deadLetters.next({ withHistory: true });
      return [...(letter?.entries ?? [])].map(({ key, value, ts }) => [key, value, ts]);
    };
    const { ts } = rows[0] as ResolvedEntry;
    const both = [
      ['bad', 7, ts],
      ['bad_timeUncertain', true, ts],
    ];
    expect(await sent()).toEqual(both);
    await fixture.until(outbox.close());
    outbox = await fixture.open();
    expect(await sent()).toEqual(both);
  });
});
