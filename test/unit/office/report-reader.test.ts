import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ReportReader } from '../../../src/office/reports/report-reader.ts';
import { type JsonObject, parseJson } from '../../../src/values/json.ts';

/** Labels and rows of a report that arrives in pieces of the given lengths. */
function read(text: string, lengths: readonly number[] = []): { labels: readonly string[]; rows: JsonObject[] } {
  const bytes = Buffer.from(text);
  const reader = new ReportReader();
  let labels: readonly string[] = [];
  const rows: JsonObject[] = [];
  let at = 0;
  for (const length of [...lengths, bytes.length]) {
    for (const part of reader.readPiece(bytes.subarray(at, at + length))) {
      if (part.kind === 'labels') labels = part.columnLabels;
      else rows.push(...part.rows);
    }
    at += length;
  }
  reader.end();
  return { labels, rows };
}

const REPORT = {
  columnLabels: ['Date', 'temperature', 'note "quoted" ]}'],
  extra: { nested: [1, { deep: '}' }], text: '\\' },
  count: 3,
  dataTable: [
    { Date: '1780000000000', temperature: -20.5e-1, 'note "quoted" ]}': 'a } b ] c \\" d' },
    { Date: 1780000001000, temperature: null, 'note "quoted" ]}': 'Ü€😀' },
    {},
  ],
};

describe('the report reader', () => {
  it('reads labels and rows, whatever else is in the answer', () => {
    expect(read(JSON.stringify(REPORT))).toEqual({ labels: REPORT.columnLabels, rows: REPORT.dataTable });
    expect(read(JSON.stringify(REPORT, null, 2)).rows).toEqual(REPORT.dataTable);
  });

  it('reads the same wherever the bytes are cut', () => {
    const text = JSON.stringify(REPORT);
    const whole = read(text);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 200 }), (lengths) => {
        expect(read(text, lengths)).toEqual(whole);
      }),
    );
    expect(
      read(
        text,
        Array.from({ length: Buffer.byteLength(text) }, () => 1),
      ),
    ).toEqual(whole);
  });

  it('reads any rows, however they are cut', () => {
    const row = fc.dictionary(
      fc.string(),
      fc.oneof(fc.string(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean(), fc.constant(null)),
      {
        noNullPrototype: true,
      },
    );
    fc.assert(
      fc.property(fc.array(row), fc.array(fc.integer({ min: 1, max: 40 })), (dataTable, lengths) => {
        const text = JSON.stringify({ columnLabels: [], dataTable });
        const expected = dataTable.map((one) => parseJson(JSON.stringify(one)));
        expect(read(text, lengths).rows).toEqual(expected);
      }),
    );
  });

  it('leaves longs unharmed', () => {
    expect(read('{"columnLabels":["n"],"dataTable":[{"n":9007199254740993}]}').rows).toEqual([
      { n: 9007199254740993n },
    ]);
  });

  it('labels rows that come first by the first of them', () => {
    expect(read('{"dataTable":[{"a":1,"b":2}],"columnLabels":["a","b"]}').labels).toEqual(['a', 'b']);
  });

  it('reads a report without rows', () => {
    expect(read('{"columnLabels":["a"],"dataTable":[]}')).toEqual({ labels: ['a'], rows: [] });
  });

  it.each([
    ['', /ends in the middle/],
    ['{"columnLabels":["a"],"dataTable":[{"a":1}', /ends in the middle/],
    ['{"columnLabels":["a"]}', /no dataTable/],
    ['[1]', /no JSON object/],
    ['<html>', /no JSON object/],
    ['{"dataTable":{}}', /no list/],
    ['{"dataTable":[1]}', /a row is no object/],
    ['{"dataTable":[{"a":tru}]}', /not JSON/],
    ['{"dataTable":[{"a":1}{"a":2}]}', /not separated/],
    ['{"dataTable":[]} {', /follows/],
    ['{"dataTable" 1}', /not JSON/],
    ['{"columnLabels":3,"dataTable":[]}', /no list/],
  ])('refuses %j in words', (text, words) => {
    expect(() => read(text)).toThrow(words);
  });

  it('does not gather a value without end', () => {
    const reader = new ReportReader();
    reader.readPiece(Buffer.from('{"dataTable":[{"a":"'));
    const piece = Buffer.alloc(64 * 1024, 'x');
    expect(() => {
      for (let pieces = 0; pieces < 20; pieces += 1) reader.readPiece(piece);
    }).toThrow(/larger than/);
  });

  it.each<[string, string, RegExp]>([
    ['objects', `[${'{},'.repeat(100_000)}{}]`, /values/],
    ['numbers', `[${'1,'.repeat(100_000)}1]`, /values/],
    ['members', `{${Array.from({ length: 30_000 }, (_, at) => `"${at}":1`).join()}}`, /values/],
    ['depth', '['.repeat(40) + ']'.repeat(40), /deeper/],
  ])('does not make of a value the many times larger thing that it stands for: %s', (_name, value, words) => {
    expect(() => read(`{"dataTable":[{"a":${value}}]}`)).toThrow(words);
  });

  it('reads a row of as many columns as anybody has', () => {
    const row = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`column ${at}`, at]));
    expect(read(JSON.stringify({ dataTable: Array(5).fill(row) })).rows).toHaveLength(5);
  });

  it('holds a value that comes byte by byte in little more than its bytes', () => {
    const reader = new ReportReader();
    reader.readPiece(Buffer.from('{"dataTable":[{"a":"'));
    const byte = Buffer.from('x');
    const { heapUsed, external } = process.memoryUsage();
    for (let bytes = 0; bytes < 500_000; bytes += 1) reader.readPiece(byte);
    const after = process.memoryUsage();
    // Each byte kept as a piece of its own makes 50 MB of it; what is left here is what nobody has cleared away yet.
    expect(after.heapUsed - heapUsed + after.external - external).toBeLessThan(40e6);
    expect(reader.readPiece(Buffer.from('"}]}')).at(-1)).toMatchObject({
      kind: 'rows',
      rows: [{ a: 'x'.repeat(500_000) }],
    });
  });
});
