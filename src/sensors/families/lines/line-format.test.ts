import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { heldBytes } from '../../../../test/support/held-bytes.ts';
import { forRandomBytes } from '../../../../test/support/random-bytes.ts';
import { sensorConfig } from '../../../../test/support/sensor-bench.ts';
import { sensorKeys } from '../../../config/keys/sensor-keys.ts';
import { loadLinearPatterns } from '../../../values/linear-pattern.ts';
import { sorted } from '../../kind/outcome.ts';
import type { LineFormat } from './definition.ts';
import { csvFields, lineParser } from './line-format.ts';
import { LineSplitter } from './line-splitter.ts';

const compile = await loadLinearPatterns();
const format = (more: Partial<LineFormat>): LineFormat => ({ format: 'json', separator: ',', key: 'value', ...more });
const pairs = (more: Partial<LineFormat>, line: string): readonly (readonly [string, unknown])[] =>
  sorted(lineParser(format(more), compile)(line)).readings.map(({ key, value }) => [key, value] as const);

describe('lineParser', () => {
  it('reads JSON: every member a key, longs unharmed, nested values as they are', () => {
    expect(pairs({}, '{"t":21.5,"on":true,"id":9007199254740993,"where":{"x":1},"none":null}')).toEqual([
      ['t', 21.5],
      ['on', true],
      ['id', 9007199254740993n],
      ['where', { x: 1 }],
    ]);
    expect(pairs({ key: 'flow' }, ' 12.5\r')).toEqual([['flow', 12.5]]);
  });

  // Python: json.dumps({"t": float("nan"), "h": 40, "p": float("-inf"), "name": "NaN \\" Infinity"})
  it('does not lose a line of JSON over a number that is none', () => {
    expect(pairs({}, '{"t": NaN, "h": 40, "p": -Infinity, "name": "NaN \\" Infinity"}')).toEqual([
      ['h', 40],
      ['name', 'NaN " Infinity'],
    ]);
    expect(() => pairs({}, 'NaN')).toThrow(/without a value/);
    expect(() => pairs({}, '{"t": NaNa}')).toThrow(/not json/);
  });

  it('reads CSV by its columns, passing over unnamed ones', () => {
    expect(pairs({ format: 'csv', columns: ['t', '', 'state'] }, '21.5, 99 ,open')).toEqual([
      ['t', 21.5],
      ['state', 'open'],
    ]);
    expect(pairs({ format: 'csv', separator: ';' }, '1;-2.5e3')).toEqual([
      ['column1', 1],
      ['column2', -2500],
    ]);
    expect(() => pairs({ format: 'csv', columns: ['a', 'b'] }, '1')).toThrow(/not csv/);
  });

  it('keeps the columns of CSV in their places, whatever separates them and however empty they are', () => {
    const columns = ['a', 'b', 'c'];
    expect(pairs({ format: 'csv', separator: '\t', columns }, '\t\t7\r')).toEqual([['c', 7]]);
    expect(pairs({ format: 'csv', separator: '\t', columns }, '5\t\t')).toEqual([['a', 5]]);
    expect(pairs({ format: 'csv', separator: ' ', columns }, ' 6 7')).toEqual([
      ['b', 6],
      ['c', 7],
    ]);
  });

  it('takes quotes off, and what they hold as it is', () => {
    expect(pairs({ format: 'csv', columns: ['a', 'b', 'c', 'd'] }, '"21.5", "x, ""y"" " ,"",open')).toEqual([
      ['a', 21.5],
      ['b', 'x, "y" '],
      ['d', 'open'],
    ]);
    expect(() => pairs({ format: 'csv', columns: ['a'] }, '"21.5')).toThrow(/not csv/);
    expect(() => pairs({ format: 'csv', columns: ['a'] }, '"21"5')).toThrow(/not csv/);
  });

  it('splits lines as the csv module of Python does', async () => {
    const { cases } = JSON.parse(
      await readFile(join(import.meta.dirname, '../../../../test/fixtures/sensors/csv-python.json'), 'utf8'),
    ) as {
      readonly cases: readonly (readonly [string, string, readonly string[]])[];
    };
    for (const [line, separator, fields] of cases)
      expect(csvFields(line, separator).map(({ text }) => text)).toEqual(fields);
    expect(cases).toHaveLength(120);
  });

  it('leaves out alone what the line itself calls no number', () => {
    const outcomes = lineParser(format({ format: 'csv', columns: ['t', 'h', 'p', 'name'] }))('nan,40,-Inf,nancy');
    const { readings, refused } = sorted(outcomes);
    expect(readings).toEqual([
      { key: 'h', value: 40, text: '40' },
      { key: 'name', value: 'nancy' },
    ]);
    expect(refused.map(({ key, fault }) => [key, fault.code])).toEqual([
      ['t', 'sensors/no-value'],
      ['p', 'sensors/no-value'],
    ]);
    expect(() => pairs({ format: 'number' }, 'NaN')).toThrow(/the line says NaN/);
  });

  it('reads the named groups of a regular expression', () => {
    expect(pairs({ format: 'regex', pattern: '^T=(?<t>[-\\d.]+) H=(?<h>\\d+)?' }, 'T=-3.5 H=')).toEqual([['t', -3.5]]);
    expect(() => pairs({ format: 'regex', pattern: '^T=(?<t>\\d+)' }, 'nothing')).toThrow(/without a value/);
  });

  it('reads a number, and nothing else, as a number', () => {
    expect(pairs({ format: 'number', key: 'weight' }, ' +12.50 ')).toEqual([['weight', 12.5]]);
    expect(pairs({ format: 'number' }, '18446744073709551616')).toEqual([['value', 18446744073709551616n]]);
    expect(() => pairs({ format: 'number' }, '12 kg')).toThrow(/not number/);
  });

  it('gives the keys that its pattern is known to give, whatever their letters', () => {
    const pattern = '\\(?<(?<füllstand>\\d+)> (?<_t$2>\\d+)';
    const sensor = sensorConfig({ name: 'tank', kind: 'serial-line', port: '/dev/ttyS0', format: 'regex', pattern });
    const keys = pairs({ format: 'regex', pattern }, '<90> 20').map(([key]) => key);
    expect(keys).toEqual(['füllstand', '_t$2']);
    expect(sensorKeys(sensor)).toEqual(keys);
  });

  it('keeps every key, whatever the platform thinks of it, and leaves out numbers that are none', () => {
    expect(pairs({}, '{"<b>":1," ":2,"__proto__":{"x":1},"ok":3}')).toEqual([
      ['<b>', 1],
      [' ', 2],
      ['ok', 3],
    ]);
    expect(() => pairs({}, '{}')).toThrow(/without a value/);
    expect(() => pairs({ format: 'number' }, 'Infinity')).toThrow(/the line says Infinity/);
  });

  it('refuses a number that is larger than can be held, and gives the others', () => {
    const { readings, refused } = sorted(lineParser(format({}))('{"a":1e999,"b":1}'));
    expect(readings).toEqual([{ key: 'b', value: 1 }]);
    expect(refused.map(({ key, fault }) => [key, fault.message])).toEqual([['a', 'a number larger than can be held']]);
  });

  it('answers every line with readings or an AgentError, whatever the bytes', () => {
    const parsers = [
      lineParser(format({})),
      lineParser(format({ format: 'csv', columns: ['a', 'b'] })),
      lineParser(format({ format: 'regex', pattern: '(?<a>[0-9.]+)' }), compile),
      lineParser(format({ format: 'number' })),
    ];
    forRandomBytes(100_000, 24, (bytes, random) => {
      const parser = parsers[Math.floor(random() * parsers.length)];
      // Half of them look like JSON from afar.
      const text = random() < 0.5 ? `{"a":${bytes.toString('latin1')}}` : bytes.toString('utf8');
      for (const { key, value } of sorted(parser?.(text) ?? []).readings) {
        if (key === '' || value === null || (typeof value === 'number' && !Number.isFinite(value)))
          throw new Error(`${key}: ${String(value)} was reported as good`);
      }
    });
  });
});

describe('LineSplitter', () => {
  const split = (
    options: { delimiter?: string; maxBytes?: number },
    ...pieces: readonly string[]
  ): { lines: string[]; tooLong: number } => {
    const lines: string[] = [];
    let tooLong = 0;
    const splitter = new LineSplitter({
      delimiter: options.delimiter ?? '\n',
      maxBytes: options.maxBytes ?? 16,
      onLine: (line) => lines.push(line),
      onTooLong: () => {
        tooLong += 1;
      },
    });
    splitter.expectLine();
    for (const piece of pieces) splitter.splitBytes(Buffer.from(piece));
    return { lines, tooLong };
  };

  it('puts lines together from pieces of any size, also when the delimiter is cut in two', () => {
    expect(split({ delimiter: '\r\n' }, 'on', 'e\r', '\ntwo\r\nth').lines).toEqual(['one', 'two']);
  });

  it('drops what comes before the first line end, and again after a port was plugged in', () => {
    const lines: string[] = [];
    const splitter = new LineSplitter({ delimiter: '\n', maxBytes: 64, onLine: (line) => lines.push(line) });
    splitter.splitBytes(Buffer.from('3.5\n23.6\n23'));
    splitter.reset();
    splitter.splitBytes(Buffer.from('.7\n'));
    splitter.expectLine(); // it was heard in the middle of a line
    splitter.splitBytes(Buffer.from('23.8\n'));
    expect(lines).toEqual(['23.6', '23.8']);
  });

  it('takes the first line of a sender that was silent until it was asked', () => {
    const lines: string[] = [];
    const splitter = new LineSplitter({ delimiter: '\n', maxBytes: 64, onLine: (line) => lines.push(line) });
    splitter.expectLine();
    splitter.splitBytes(Buffer.from('23.5\n'));
    splitter.reset();
    splitter.splitBytes(Buffer.from('3'));
    splitter.expectLine();
    splitter.splitBytes(Buffer.from('.5\n'));
    expect(lines).toEqual(['23.5']);
  });

  it('drops a line that is too long up to its end, and goes on', () => {
    expect(split({ maxBytes: 4 }, 'abcdefghij', 'klmnop\nok\n')).toEqual({ lines: ['ok'], tooLong: 1 });
    expect(split({ maxBytes: 4 }, 'abcdefgh\nok\n')).toEqual({ lines: ['ok'], tooLong: 1 });
  });

  it('keeps no more than a line, however much comes without an end', async () => {
    const lines: string[] = [];
    const splitter = new LineSplitter({ delimiter: '\n', maxBytes: 64, onLine: (line) => lines.push(line) });
    const before = await heldBytes();
    const piece = Buffer.alloc(4096, 0x41);
    for (let at = 0; at < 60_000; at += 1) splitter.splitBytes(piece);
    expect((await heldBytes()) - before).toBeLessThan(1e6); // 246 MB went through
    splitter.splitBytes(Buffer.from('\nfine\n'));
    expect(lines).toEqual(['fine']);
  });

  it('survives any bytes in any pieces', () => {
    let longest = 0;
    const splitter = new LineSplitter({
      delimiter: '\n',
      maxBytes: 50,
      onLine: (line) => {
        longest = Math.max(longest, Buffer.byteLength(line, 'latin1'));
      },
    });
    forRandomBytes(100_000, 31, (bytes) => splitter.splitBytes(bytes));
    expect(longest).toBeLessThanOrEqual(50);
    expect(longest).toBeGreaterThan(20);
  });
});
