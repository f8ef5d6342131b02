import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BandsBench, HOUR_MS, MIDNIGHT, PART_MS } from '../../support/bands-bench.ts';

const DAY_MS = 24 * HOUR_MS;
const KEYS = ['a', 'b', 'c'];
const ALWAYS = [0, Number.MAX_SAFE_INTEGER] as const;

// A plot knows one zero.
const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);

describe('the record for plots', () => {
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        key: fc.constantFrom(...KEYS),
        value: number,
        agoMs: fc.nat(PART_MS),
      }),
    },
    { weight: 3, arbitrary: fc.record({ passMs: fc.nat(HOUR_MS) }) },
    { weight: 1, arbitrary: fc.record({ look: fc.constant(true) }) },
    { weight: 1, arbitrary: fc.record({ restart: fc.boolean() }) },
    {
      weight: 1,
      arbitrary: fc.record({
        cutAfter: fc.integer({ min: 1, max: 4 }),
        at: fc.constantFrom('before', 'inside', 'after'),
        kept: fc.infiniteStream(fc.boolean()),
      }),
    },
  );

  it('has the least, the greatest and the last of all numbers of each part, whatever the order, with restarts and cuts in between', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const bench = new BandsBench();
        for (const one of steps) {
          if ('value' in one) {
            const { clock } = bench;
            // What comes after its hour was written is another test's.
            bench.report(one.key, one.value, { agoMs: Math.min(one.agoMs, clock.wallMs() % HOUR_MS) });
          } else if ('passMs' in one) await bench.clock.advance(one.passMs);
          else if ('look' in one) await bench.read(KEYS, ...ALWAYS);
          else if ('restart' in one) {
            bench.timeSync.become(one.restart);
            bench.restart();
            await bench.clock.advance(60_000);
            bench.timeSync.become(true);
          } else {
            bench.files.cutAt(one.cutAfter, one.at as 'before' | 'inside' | 'after', () => {
              bench.bands.close();
              bench.files.cutPower(() => one.kept.next().value === true);
              bench.restart();
            });
          }
        }
        expect(await bench.read(KEYS, ...ALWAYS)).toEqual(bench.expected(KEYS));
        await bench.clock.advance(2 * HOUR_MS);
        expect(await bench.read(KEYS, ...ALWAYS)).toEqual(bench.expected(KEYS));
      }),
      { numRuns: 150 },
    );
  });

  it('writes once an hour, in a file for each day, and reads it in the next run', async () => {
    const bench = new BandsBench(MIDNIGHT + 22 * HOUR_MS);
    for (let hour = 0; hour < 4; hour += 1) {
      for (let at = 0; at < 12; at += 1) {
        bench.report('a', hour * 100 + at);
        await bench.clock.advance(PART_MS);
      }
    }
    await bench.clock.advance(PART_MS);
    expect(bench.bandFiles).toEqual(['/state/bands/bands-20260602-00.jsonl', '/state/bands/bands-20260603-00.jsonl']);
    expect(bench.files.changes.filter((change) => change.startsWith('write /state/bands'))).toHaveLength(4);
    const expected = bench.expected(['a']);
    bench.outbox.length = 0;
    bench.restart();
    expect(await bench.read(['a'], ...ALWAYS)).toEqual(expected);
    expect(expected.size).toBe(48);
  });

  it('counts what comes after its hour was written, in any later hour', async () => {
    const bench = new BandsBench();
    bench.report('a', 5);
    await bench.clock.advance(2 * HOUR_MS);
    bench.report('a', 9, { agoMs: 2 * HOUR_MS - 1, isOwnTime: true });
    bench.report('a', -9, { agoMs: 2 * HOUR_MS, isOwnTime: true });
    await bench.clock.advance(2 * HOUR_MS);
    bench.outbox.splice(0, 1);
    bench.restart();
    expect([...(await bench.read(['a'], ...ALWAYS)).values()]).toEqual([
      { least: -9, greatest: 9, last: 9, lastTs: MIDNIGHT + 1 },
    ]);
  });

  it('knows devices apart, switches as 0 and 1, and leaves out words and what is older than it keeps', async () => {
    const bench = new BandsBench();
    bench.report('a', true);
    bench.report('a', 3n, { device: 'meter' });
    bench.report('a', 'open');
    bench.report('a', 7, { agoMs: 9 * DAY_MS, isOwnTime: true });
    bench.report('a', 7, { agoMs: -2 * DAY_MS, isOwnTime: true });
    const at = { lastTs: MIDNIGHT };
    expect([...(await bench.read(['a'], ...ALWAYS)).values()]).toEqual([{ least: 1, greatest: 1, last: 1, ...at }]);
    expect([...(await bench.read(['a'], ...ALWAYS, ['meter', '?one'])).values()]).toEqual([
      { least: 3, greatest: 3, last: 3, ...at },
    ]);
  });

  it('reads the outbox only for the hours that are not written, and not before somebody asks or an hour is over', async () => {
    const bench = new BandsBench();
    bench.report('a', 1);
    await bench.clock.advance(2 * HOUR_MS + PART_MS);
    bench.reads = [];
    bench.restart();
    bench.report('a', 2);
    await bench.clock.advance(1_000);
    expect(bench.reads).toEqual([]);
    await bench.read(['a'], ...ALWAYS);
    await bench.read(['a'], ...ALWAYS);
    expect(bench.reads.map(({ fromMs }) => fromMs)).toEqual([MIDNIGHT + HOUR_MS]);
  });

  it('writes nothing before the outbox could be read, and tries again', async () => {
    const bench = new BandsBench();
    bench.outboxFault = new Error('not open');
    bench.report('a', 1);
    await bench.clock.advance(2 * HOUR_MS);
    expect(bench.bandFiles).toEqual([]);
    expect((await bench.read(['a'], ...ALWAYS)).size).toBe(1);
    bench.outboxFault = undefined;
    await bench.clock.advance(HOUR_MS);
    expect(bench.bandFiles).toHaveLength(1);
  });

  it('says once that a full disk takes nothing, and loses no part of what it could not write', async () => {
    const bench = new BandsBench();
    const mend = bench.files.addFaults({
      fail: (operation) => (operation === 'write' ? { code: 'ENOSPC', short: true } : undefined),
    });
    bench.report('a', 1);
    await bench.clock.advance(3 * HOUR_MS);
    expect(bench.warnings).toEqual(['the record for plots cannot be written now']);
    mend();
    await bench.clock.advance(HOUR_MS);
    const expected = bench.expected(['a']);
    bench.outbox.length = 0;
    bench.restart();
    expect(await bench.read(['a'], ...ALWAYS)).toEqual(expected);
  });

  it('passes over damage, says so once, and reads the rest', async () => {
    const bench = new BandsBench();
    for (let hour = 0; hour < 3; hour += 1) {
      bench.report('a', hour);
      await bench.clock.advance(HOUR_MS);
    }
    await bench.clock.advance(PART_MS);
    const [path = ''] = bench.bandFiles;
    const text = bench.files.contentOf(path).toString();
    const lines = text.split('\n').filter((line) => line !== '');
    expect(lines).toHaveLength(4);
    bench.files.put(
      path,
      [lines[0], lines[1], lines[2]?.replace('"bands":"', '"bands":"x'), 'no line', lines[3], ''].join('\n'),
    );
    bench.restart();
    const found = await bench.read(['a'], ...ALWAYS);
    await bench.read(['a'], ...ALWAYS);
    expect([...found.values()].map(({ last }) => last)).toEqual([0, 2]);
    expect(bench.warnings).toEqual(['a part of the record for plots is damaged and passed over']);
  });

  it('keeps eight days, and no days of a clock that was ahead', async () => {
    const bench = new BandsBench();
    bench.files.put('/state/bands/bands-20990101-00.jsonl', '');
    bench.files.put('/state/bands/notes.txt', 'a person put this here');
    for (let day = 0; day < 11; day += 1) {
      bench.report('a', day);
      await bench.clock.advance(DAY_MS);
    }
    await bench.clock.advance(PART_MS);
    expect(bench.bandFiles[0]).toBe('/state/bands/bands-20260604-00.jsonl');
    expect(bench.bandFiles).toHaveLength(10);
    expect(bench.bandFiles.at(-1)).toBe('/state/bands/notes.txt');
  });

  it('answers nothing for a span past all days', async () => {
    const bench = new BandsBench();
    bench.report('a', 1);
    expect((await bench.read(['a'], -1e300, -1e299)).size).toBe(0);
    expect((await bench.read(['a'], 1e299, 1e300)).size).toBe(0);
  });

  it('has room for so many keys, and says when there are more', async () => {
    const bench = new BandsBench();
    for (let key = 0; key < 20_001; key += 1) bench.report(`key${key}`, key);
    expect(bench.warnings).toEqual(['the record for plots has no room for more keys']);
    expect((await bench.read(['key19999'], ...ALWAYS)).size).toBe(1);
    expect((await bench.read(['key20000'], ...ALWAYS)).size).toBe(0);
    await bench.clock.advance(HOUR_MS + PART_MS);
    bench.restart();
    expect((await bench.read(['key19999', 'key0', 'key201'], ...ALWAYS)).size).toBe(3);
  });
});
