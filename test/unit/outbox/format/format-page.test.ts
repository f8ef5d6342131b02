/** src/outbox/FORMAT.md says what the code writes: its tables are read from the page and held against bytes and files. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { crc32, zstdDecompressSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { frameBlock } from '../../../../src/outbox/format/block-frame.ts';
import { type BlockEntries, PayloadEncoder } from '../../../../src/outbox/format/block-payload.ts';
import { ByteWriter } from '../../../../src/outbox/format/byte-writer.ts';
import {
  parseSegmentName,
  readSegmentHeader,
  SEGMENT_HEADER_BYTES,
  segmentHeader,
} from '../../../../src/outbox/format/segment-file.ts';
import { writeColumn } from '../../../../src/outbox/format/value-column.ts';
import { type JsonValue, parseJson } from '../../../../src/values/json.ts';
import { NO_LIMITS, OutboxFixture } from '../../../support/outbox-fixture.ts';

const ROOM = resolve(import.meta.dirname, '../../../../src/outbox');
const PAGE = readFileSync(join(ROOM, 'FORMAT.md'), 'utf8');
const UUID = '0d3f6c1e-52b7-4f0e-9a57-3c2b8f0e71aa';

/** Rows of the table whose first heading this is, without the lines around its cells. */
function table(heading: string): string[][] {
  const lines = PAGE.split('\n');
  const at = lines.findIndex((line) => line.startsWith(`| ${heading} |`));
  expect(at, `a table that begins with ${heading}`).not.toBe(-1);
  const end = lines.findIndex((line, row) => row > at && !line.startsWith('|'));
  return lines.slice(at + 2, end).map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
}

const quoted = (text = ''): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, inner]) => inner as string);

function entries(values: readonly JsonValue[], more: Partial<BlockEntries> = {}): BlockEntries {
  return {
    devices: values.map(() => 'self'),
    keys: values.map(() => 'k'),
    values,
    monotonicMs: values.map((_v, at) => 1_000 + 7 * at),
    ...more,
  };
}

const framed = (values: BlockEntries, label: Partial<Parameters<typeof frameBlock>[2]> = {}): Buffer =>
  frameBlock(new PayloadEncoder(), values, { alarm: false, bootId: 'boot-1', firstSequence: 5_000_000_000, ...label })
    .bytes;

/** The fields of a block by where the page puts them, in its order. */
function fieldsOf(bytes: Buffer): (number | string)[] {
  return table('Offset').map(([offset, type]) => {
    const at = Number(offset);
    if (type === 'text4') return bytes.toString('latin1', at, at + 4);
    if (type === 'u8') return bytes.readUInt8(at);
    if (type === 'u16') return bytes.readUInt16LE(at);
    if (type === 'u32') return bytes.readUInt32LE(at);
    if (type === 'u48') return bytes.readUIntLE(at, 6);
    if (type === 'f64') return bytes.readDoubleLE(at);
    expect(type).toBe('bytes');
    return bytes.toString('utf8', at, bytes.readUInt16LE(10));
  });
}

describe('the page of the format', () => {
  it('has every field of a block’s header in its place, and none left out', () => {
    const bytes = framed(entries([1.5, 'x', 2]), { lastSequence: 5_000_000_009 });
    const payload = bytes.length - 46 - 6;
    expect(fieldsOf(bytes)).toEqual([
      'TSOB',
      crc32(bytes.subarray(8)),
      1,
      0,
      52,
      payload,
      payload,
      3,
      5_000_000_000,
      9,
      1_000,
      14,
      'boot-1',
    ]);
    const ends = table('Offset').map(
      ([offset, type = '']) => Number(offset) + Number(/\d+/.exec(type)?.[0] ?? 0) / (type === 'text4' ? 1 : 8),
    );
    expect(table('Offset').map(([offset]) => Number(offset))).toEqual([0, ...ends.slice(0, -1)]);
    expect(PAGE).toContain(`A header of ${ends.at(-2)} bytes and a boot id`);
  });

  it('says what a span is that does not fit', () => {
    const [, , said] = table('Offset').find(([offset]) => offset === '42') as string[];
    const bytes = framed(entries([1, 2], { monotonicMs: [0, 2 ** 40] }));
    expect(said).toContain(String(bytes.readUInt32LE(42)));
  });

  it('has every flag', () => {
    const long = entries(Array.from({ length: 500 }, (_none, at) => at));
    const blocks = {
      alarms: framed(entries([1]), { alarm: true }),
      'own UTC times': framed(entries([1], { takenAtMs: [1] })),
      zstd: framed(long),
      sequence: framed(entries([1], { sequences: [5_000_000_000] })),
      UUID: framed(entries([1]), { bootId: UUID }),
    };
    const rows = table('Flag');
    expect(rows).toHaveLength(Object.keys(blocks).length);
    for (const [word, bytes] of Object.entries(blocks)) {
      const flag = bytes[9] as number;
      expect(rows.find(([bit]) => Number(bit) === flag)?.[1], `flag ${flag}`).toContain(word);
    }
    expect(framed(entries([1]), { bootId: UUID }).toString('hex', 46, 62)).toBe(UUID.replaceAll('-', ''));
    const { zstd } = blocks;
    expect(zstdDecompressSync(zstd.subarray(zstd.readUInt16LE(10)))).toHaveLength(zstd.readUInt32LE(16));
  });

  it('has the parts of a payload in their order', () => {
    expect(table('Order').map(([, part]) => part)).toEqual([
      'keys',
      'key of each entry',
      'ms since boot',
      'own times',
      'sequences',
      'values',
    ]);
    const expected = new ByteWriter();
    expected.varint(2);
    for (const text of ['', '"k"', '"meter"', '"k"']) expected.text(text);
    for (const column of [0, 1]) expected.varint(column);
    for (const differences of [
      [1_000, 7],
      [500, -100],
      [5_000_000_000, 2],
    ])
      for (const difference of differences) expected.zigzag(difference);
    for (const value of [3, 4]) writeColumn(expected, [value]);
    const encoded = new PayloadEncoder().encode(
      entries([3, 4], { devices: ['self', 'meter'], takenAtMs: [500, 400], sequences: [5_000_000_000, 5_000_000_002] }),
    );
    expect(encoded.toString('hex')).toBe(expected.view().toString('hex'));
  });

  it('says how numbers and texts are written', () => {
    const written = (write: (to: ByteWriter) => void): number[] => {
      const to = new ByteWriter();
      write(to);
      return [...to.view()];
    };
    expect(written((to) => to.varint(300))).toEqual([0xac, 0x02]);
    expect(written((to) => to.zigzag(3))).toEqual(written((to) => to.varint(6)));
    expect(written((to) => to.zigzag(-3))).toEqual(written((to) => to.varint(5)));
    expect(written((to) => to.text('é'))).toEqual([2, 0xc3, 0xa9]);
    expect(() => written((to) => to.varint(2 ** 53))).toThrow(RangeError);
  });

  it('has every form of a column and of a value', () => {
    const formOf = (...values: JsonValue[]): Buffer => {
      const to = new ByteWriter();
      writeColumn(to, values);
      return Buffer.from(to.view());
    };
    const columns = { decimals: formOf(1.25), doubles: formOf(0.1 + 0.2), texts: formOf('a'), mixed: formOf('a', 1) };
    expect(table('Column form').map(([form, name]) => [Number(form), name])).toEqual(
      Object.entries(columns).map(([name, bytes]) => [bytes[0], name]),
    );
    expect([...columns.decimals]).toEqual([0, 2, 0xfa, 0x01]);
    expect(formOf(0.123456789)[1]).toBe(9);
    expect(columns.doubles).toHaveLength(9);
    const values = {
      null: null,
      false: false,
      true: true,
      'whole number': 5,
      double: 0.5,
      long: 7n,
      text: 'x',
      JSON: { a: 1 },
    };
    // A text beside it makes the column mixed.
    const inMixed = (value: JsonValue): Buffer => formOf(null, value).subarray(2);
    expect(table('Value form').map(([form, name]) => [Number(form), name])).toEqual(
      Object.entries(values).map(([name, value]) => [inMixed(value)[0], name]),
    );
    expect([...inMixed(7n)]).toEqual([5, 1, 0x37]);
    expect(inMixed({ a: 1 }).toString('utf8', 2)).toBe('{"a":1}');
    expect([null, false, true].map((value) => inMixed(value).length)).toEqual([1, 1, 1]);
  });

  it('has the header of a segment', () => {
    const header = segmentHeader(2, 77);
    expect(PAGE).toContain(`A header of ${SEGMENT_HEADER_BYTES} bytes`);
    expect(header).toHaveLength(SEGMENT_HEADER_BYTES);
    expect(header.at(-1)).toBe(0x0a);
    const fields = JSON.parse(header.toString()) as Record<string, unknown>;
    expect(table('Header field').flatMap(([name]) => quoted(name))).toEqual(Object.keys(fields));
    expect(quoted(table('Header field')[0]?.[1])).toEqual([fields.format]);
    expect(table('Header field')[1]?.[1]).toMatch(new RegExp(`^${fields.version};`));
    expect(Object.keys(JSON.parse(segmentHeader().toString()))).toEqual(['format', 'version']);
    expect(readSegmentHeader(segmentHeader(2, 77))).toEqual({ kind: 'ours', thinned: 2, count: 77 });
  });

  it('names the parts that there are, in the order in which they may import', () => {
    const folders = readdirSync(ROOM, { withFileTypes: true }).filter((one) => one.isDirectory());
    expect(table('Part').flatMap(([name]) => quoted(name))).toEqual(['format/', 'segments/', 'times/', 'delivery/']);
    expect(folders.map(({ name }) => `${name}/`).sort()).toEqual(['delivery/', 'format/', 'segments/', 'times/']);
  });
});

describe('the page of the format, and a folder', () => {
  let fixture: OutboxFixture;

  beforeEach(async () => {
    fixture = await OutboxFixture.make();
  });

  afterEach(() => fixture.remove());

  it('names every file that an outbox makes, and the fields of the small ones', async () => {
    const outbox = await fixture.open();
    await fixture.commit(outbox, [fixture.entry('a', 1), fixture.entry('b', 2), fixture.entry('c', 3)]);
    const batch = await outbox.peek('live', NO_LIMITS);
    const [refused, buried] = batch?.entries ?? [];
    if (batch === undefined || refused === undefined || buried === undefined) throw new Error('nothing is given out');
    await outbox.reject(refused, 'no');
    await outbox.deadLetter([buried], 'no');
    await outbox.acknowledge(batch);
    // The ledger is written when an hour has passed.
    await fixture.clock.advance(3_700_000);
    await fixture.commit(outbox, [fixture.entry('a', 3)]);
    await fixture.until(outbox.close());
    const named = table('Name').flatMap(([name]) => quoted(name));
    const made = readdirSync(fixture.folder);
    const families = (names: readonly string[]): Set<string> => new Set(names.map((name) => name.replace(/\d+/g, '#')));
    expect([...families(made)].filter((name) => !families(named).has(name))).toEqual([]);
    expect(named.filter((name) => name.endsWith('.seg')).map(parseSegmentName)).toEqual([
      { firstSequence: 1, generation: 0 },
    ]);
    const rows = table('File');
    // One of each kind of file that was made, where a kind is what lies under names that differ in their numbers alone.
    const kinds = [...families(made)].filter((name) => !name.endsWith('.seg')).sort();
    expect([...families(rows.flatMap(([name]) => quoted(name)))].sort()).toEqual(kinds);
    for (const [file, format, fields] of rows) {
      const [name] = quoted(file) as [string];
      const lines = readFileSync(join(fixture.folder, name), 'utf8')
        .split('\n')
        // Behind the state may lie the rest of a longer one.
        .slice(0, name.endsWith('.state') ? 2 : undefined)
        .filter((line) => line !== '')
        .map((line) => parseJson(line) as Record<string, JsonValue>);
      const [head, body = head] = lines;
      expect([head?.format], name).toEqual(quoted(format));
      const [boot] = (head?.boots ?? []) as Record<string, JsonValue>[];
      const content = name.startsWith('boots.') ? boot : body;
      expect(Object.keys(content ?? {}).sort(), name).toEqual(quoted(fields).sort());
      if (name === 'delivered-0.state')
        expect(Object.keys(head ?? {})).toEqual(['format', 'version', 'bytes', 'crc32']);
    }
  });
});
