/** Order of writes to the disk: no crash at any time loses, doubles or hides an entry. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemoryFiles } from '../../support/memory-files.ts';
import { drain, OutboxFixture } from '../../support/outbox-fixture.ts';
import { OutboxModel } from '../../support/outbox-model.ts';

let fixture: OutboxFixture;
let files: MemoryFiles;

beforeEach(async () => {
  fixture = await OutboxFixture.make({ commitAgeMs: 100 });
  files = new MemoryFiles();
  fixture.files = files;
});

afterEach(() => {
  files.faults = {};
  return fixture.remove();
});

const segments = (): string[] => files.paths.filter((path) => path.endsWith('.seg'));

describe('an outbox', () => {
  it('has a boot in its table before the first of its entries is written', async () => {
    await fixture.open().then((outbox) => outbox.append([fixture.entry('a', 1)]));
    const table = files.changes.findIndex((change) => /^rename .*boots\.json$/.test(change));
    const entry = files.changes.findIndex((change) => change.endsWith('.seg'));
    expect(table).toBeGreaterThanOrEqual(0);
    expect(table).toBeLessThan(entry);
  });

  it('calls no entry durable whose time is on no disk, for a minute at the most', async () => {
    const isTable = (path: string): boolean => /boots\.(twin\.)?json/.test(path);
    files.faults = {
      fail: (operation, path) => (operation === 'rename' && isTable(path) ? { code: 'EIO' } : undefined),
    };
    const outbox = await fixture.open();
    const durable: string[] = [];
    const appended = outbox.append([fixture.entry('a', 1)]).then(() => durable.push('a'));
    await fixture.clock.advance(50_000);
    expect([durable, outbox.status().fault]).toEqual([[], 'EIO']);
    await fixture.clock.advance(30_000);
    await appended;
    expect(durable).toEqual(['a']);
  });

  it('writes no commit before one whose time had to be written first', async () => {
    const append = { kind: 'append', count: 50, alarm: false, ownTime: false } as const;
    // Found by the random lives: the second commit took the first one's place, which then lay behind it and was lost by a restart.
    const disk = { kind: 'failDisk', code: 'EIO', operations: 6 } as const;
    const model = new OutboxModel({ order: 'oldest-first' }, 0);
    await model.run([disk, append, { kind: 'resend', key: 'key0' }, append, { kind: 'pass', ms: 40_000 }]);
  });

  it('writes an entry as soon as its time can be written', async () => {
    let refusals = 3;
    files.faults = {
      fail: (operation, path) =>
        operation === 'rename' && path.endsWith('boots.json') && refusals-- > 0 ? { code: 'EIO' } : undefined,
    };
    const outbox = await fixture.open();
    const appended = outbox.append([fixture.entry('a', 1)]);
    await fixture.clock.advance(20_000);
    await appended;
    expect(outbox.status().fault).toBeUndefined();
  });

  it('gives new entries no number that was ever acknowledged, though nothing is left that had it', async () => {
    const first = await fixture.open();
    await fixture.commit(first, [fixture.entry('old', 1), fixture.entry('old', 2)]);
    await drain(first);
    await fixture.until(first.close());
    for (const path of segments()) await files.unlink(path);
    const second = await fixture.open();
    await fixture.commit(second, [fixture.entry('new', 1)]);
    expect((await drain(second)).map(({ key }) => key)).toEqual(['new']);
  });

  it('calls nothing durable while something before it is not', async () => {
    const outbox = await fixture.open();
    await outbox.append([fixture.entry('a', 0, { class: 'alarm' })]);
    const slow = Promise.withResolvers<void>();
    let writes = 0;
    files.faults = {
      delay: (operation, path) => {
        if (operation !== 'write' || !path.endsWith('.seg')) return undefined;
        writes += 1;
        return writes === 1 ? slow.promise : undefined;
      },
    };
    const durable: string[] = [];
    const appended = ['first', 'second'].map(async (key) => {
      await outbox.append([fixture.entry(key, 1, { class: 'alarm' })]);
      durable.push(key);
    });
    await fixture.clock.advance(1_000);
    expect([writes, durable]).toEqual([2, []]);
    slow.resolve();
    await Promise.all(appended);
    expect(durable).toEqual(['first', 'second']);
  });

  it('writes again, in their order, what came after a write that failed', async () => {
    const outbox = await fixture.open();
    await outbox.append([fixture.entry('a', 0, { class: 'alarm' })]);
    let writes = 0;
    files.faults = {
      fail: (operation, path) => {
        if (operation !== 'write' || !path.endsWith('.seg')) return undefined;
        writes += 1;
        return writes === 1 ? { code: 'EIO' } : undefined;
      },
    };
    const durable: string[] = [];
    const appended = ['first', 'second'].map(async (key) => {
      await outbox.append([fixture.entry(key, 1, { class: 'alarm' })]);
      durable.push(key);
    });
    await fixture.until(Promise.all(appended));
    expect(durable).toEqual(['first', 'second']);
    expect((await drain(outbox)).map(({ key }) => key)).toEqual(['a', 'first', 'second']);
  });

  it.each([
    ['EIO', true],
    ['ENOSPC', false],
    ['EDQUOT', false],
  ])('lets go of delivered segments for its own sake only when the disk is full: %s', async (code, stays) => {
    const first = await fixture.open();
    await fixture.commit(first, [fixture.entry('a', 1)]);
    await drain(first);
    await fixture.until(first.close());
    const [path = ''] = segments();
    // A tail that is no block: the segment is not gone on with.
    files.put(path, Buffer.concat([files.contentOf(path), Buffer.from('torn')]));
    const second = await fixture.open();
    let failures = 0;
    files.faults = {
      fail: (operation, where) =>
        operation === 'write' && where.endsWith('.seg') && ++failures === 1 ? { code } : undefined,
    };
    await fixture.until(second.append([fixture.entry('b', 2)]));
    expect([failures > 1, segments().includes(path)]).toEqual([true, stays]);
    expect((await drain(second)).map(({ key }) => key)).toEqual(['b']);
  });

  it('keeps what was delivered in two files in turns, so that a cut in the middle of a write sends little again', async () => {
    const first = await fixture.open();
    for (let minute = 0; minute < 4; minute += 1) {
      await fixture.commit(first, [fixture.entry(`minute${minute}`, 1)]);
      await drain(first);
      await fixture.clock.advance(61_000);
    }
    const states = files.paths.filter((path) => /delivered-\d\.state$/.test(path));
    expect(states).toHaveLength(2);
    const numberOf = (path: string): number => JSON.parse(files.contentOf(path).toString().split('\n')[1] ?? '').number;
    const [older = '', newest = ''] = states.sort((a, b) => numberOf(a) - numberOf(b));
    expect(numberOf(newest)).toBeGreaterThan(numberOf(older));
    files.put(newest, files.contentOf(newest).subarray(0, 200));
    const second = await fixture.open();
    const again = (await drain(second)).map(({ key }) => key);
    expect(again.length).toBeLessThanOrEqual(1);
    expect(again).not.toContain('minute2');
  });

  it.each([3, 4])('believes the newer of the two, whichever it is: after %i minutes', async (minutes) => {
    const first = await fixture.open();
    for (let minute = 0; minute < minutes; minute += 1) {
      await fixture.commit(first, [fixture.entry('a', minute)]);
      await drain(first);
      await fixture.clock.advance(61_000);
    }
    expect(await drain(await fixture.open())).toEqual([]);
  });
});
