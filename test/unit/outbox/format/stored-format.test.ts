/** Blocks as version 1 wrote them: a disk that outlives an update must stay readable, and what is written today must be the same. */
import { describe, expect, it } from 'vitest';
import { frameBlock, readBlockInfo, unpackBlock } from '../../../../src/outbox/format/block-frame.ts';
import { type BlockEntries, PayloadEncoder } from '../../../../src/outbox/format/block-payload.ts';
import { readSegmentHeader, scanSegment, segmentHeader } from '../../../../src/outbox/format/segment-file.ts';

/** Each form that a value can have: decimals, doubles, texts, and everything else side by side. */
const ROWS = [
  ['self', 'decimal', 21.5],
  ['self', 'decimal', 21.75],
  ['self', 'decimal', -3],
  ['self', 'double', 1e300],
  ['self', 'double', 0.1],
  ['meter "7"', 'text', 'ab'],
  ['meter "7"', 'text', 'ключ'],
  ['self', 'mixed', null],
  ['self', 'mixed', false],
  ['self', 'mixed', true],
  ['self', 'mixed', 5],
  ['self', 'mixed', -7],
  ['self', 'mixed', 1.5],
  ['self', 'mixed', 2n ** 64n],
  ['self', 'mixed', 'x'],
  ['self', 'mixed', { a: [1, 'b'] }],
  ['self', 'mixed', -0],
] as const;
const REGULAR: BlockEntries = {
  devices: ROWS.map(([device]) => device),
  keys: ROWS.map(([, key]) => key),
  values: ROWS.map(([, , value]) => value),
  monotonicMs: ROWS.map((_row, at) => 5_000_000_000 + at * at),
};
const REGULAR_LABEL = { alarm: false, bootId: '0d3f6c1e-52b7-4f0e-9a57-3c2b8f0e71aa', firstSequence: 2 ** 40 };
const REGULAR_HEX =
  '54534f42475405a401103e00c1000000c10000001100000000000000000110000000000000205fa0f241000100000d3f6c1e52b74f0e9a573c2b8f0e71aa' +
  '04000922646563696d616c22000822646f75626c65220d226d65746572205c22375c2222062274657874220007226d6978656422' +
  '000000010102020303030303030303030380c8afa02502060a0e12161a1e22262a2e32363a3e0002cc2132d526019c7500883ce4377e9a9999999999b93f' +
  '0202616208d0bad0bbd18ed18703000102030a030d04000000000000f83f05143138343436373434303733373039353531363136060178' +
  '070d7b2261223a5b312c2262225d7d040000000000000080';

const ALARMS: BlockEntries = {
  ...REGULAR,
  takenAtMs: ROWS.map((_row, at) => 1_780_000_000_000 - at * 1_000),
  sequences: ROWS.map((_row, at) => 100 + 2 * at),
};
const ALARMS_LABEL = { alarm: true, bootId: 'boot-1', firstSequence: 100, lastSequence: 140 };
const ALARMS_HEX =
  '54534f4277d3cf66010b3400f9000000f900000011000000640000000000280000000000984404e77942803e0000626f6f742d31' +
  '04000922646563696d616c22000822646f75626c65220d226d65746572205c22375c2222062274657874220007226d6978656422' +
  '000000010102020303030303030303030380c8afa02502060a0e12161a1e22262a2e32363a3e80a0a484ce67' +
  'cf0fcf0fcf0fcf0fcf0fcf0fcf0fcf0fcf0fcf0fcf0fcf0fcf0fcf0fcf0fcf0fc801040404040404040404040404040404040002cc2132d526' +
  '019c7500883ce4377e9a9999999999b93f0202616208d0bad0bbd18ed18703000102030a030d04000000000000f83f' +
  '05143138343436373434303733373039353531363136060178070d7b2261223a5b312c2262225d7d040000000000000080';

/** Four hundred quarters of a degree, a second apart; zstd makes a tenth of them. */
const COMPRESSED_HEX =
  '54534f4252085bd201143e0029000000ab060000900100000100000000008f0100000000000000000000981606000d3f6c1e52b74f0e9a573c2b8f0e71aa' +
  '28b52ffd60ab05fd00009001000322742200d00f0002a01f32323295010300ea28eac998ab70a30a8c';

describe('a stored block', () => {
  it.each([
    ['regular entries of a boot with a UUID', REGULAR, REGULAR_LABEL, REGULAR_HEX],
    ['alarms with times of their own and gaps', ALARMS, ALARMS_LABEL, ALARMS_HEX],
  ])('is written byte by byte as ever, and reads back: %s', (_name, entries, label, hex) => {
    const { bytes, info } = frameBlock(new PayloadEncoder(), entries, label);
    expect(bytes.toString('hex')).toBe(hex);
    expect(readBlockInfo(bytes, 0)).toEqual(info);
    expect(unpackBlock(bytes, 0, info)).toEqual(entries);
  });

  it('says what it holds', () => {
    expect(readBlockInfo(Buffer.from(REGULAR_HEX, 'hex'), 0)).toEqual({
      offset: 0,
      bytes: REGULAR_HEX.length / 2,
      alarm: false,
      ownTime: false,
      gaps: false,
      count: 17,
      firstSequence: 2 ** 40,
      lastSequence: 2 ** 40 + 16,
      firstMs: 5_000_000_000,
      lastMs: 5_000_000_256,
      bootId: '0d3f6c1e-52b7-4f0e-9a57-3c2b8f0e71aa',
    });
    expect(readBlockInfo(Buffer.from(ALARMS_HEX, 'hex'), 0)).toMatchObject({
      alarm: true,
      ownTime: true,
      gaps: true,
      firstSequence: 100,
      lastSequence: 140,
      firstMs: 1_779_999_984_000,
      lastMs: 1_780_000_000_000,
      bootId: 'boot-1',
    });
  });

  it('that was packed reads back', () => {
    const bytes = Buffer.from(COMPRESSED_HEX, 'hex');
    const info = readBlockInfo(bytes, 0);
    if (info === undefined) throw new Error('no block');
    const { values, monotonicMs } = unpackBlock(bytes, 0, info);
    expect(values).toEqual(Array.from({ length: 400 }, (_none, at) => 20 + (at % 4) / 4));
    expect(monotonicMs).toEqual(Array.from({ length: 400 }, (_none, at) => at * 1_000));
  });
});

describe('a stored segment', () => {
  const header = (fields: string): Buffer => Buffer.from(`${fields.padEnd(95)}\n`);

  it('begins with a line of 96 characters, and has its blocks right behind it', () => {
    const first = header('{"format":"turnstone-outbox-segment","version":1}');
    expect(segmentHeader()).toEqual(first);
    const thinned = header('{"format":"turnstone-outbox-segment","version":1,"thinned":2,"count":17}');
    expect(segmentHeader(2, 17)).toEqual(thinned);
    expect(readSegmentHeader(thinned)).toEqual({ kind: 'ours', thinned: 2, count: 17 });
    const bytes = Buffer.concat([
      first,
      Buffer.from(REGULAR_HEX, 'hex'),
      Buffer.from(ALARMS_HEX, 'hex'),
      Buffer.alloc(100),
    ]);
    const { blocks, damaged, end, cleanTail } = scanSegment(bytes);
    expect(blocks.map(({ offset }) => offset)).toEqual([96, 96 + REGULAR_HEX.length / 2]);
    expect([damaged, end, cleanTail]).toEqual([[], bytes.length - 100, true]);
  });

  it('of more blocks than are looked for in one step has them all', () => {
    const one = Buffer.from(REGULAR_HEX, 'hex');
    expect(scanSegment(Buffer.concat([segmentHeader(), ...Array<Buffer>(600).fill(one)])).blocks).toHaveLength(600);
  });

  it('that begins with damage is read behind it', () => {
    const bytes = Buffer.concat([segmentHeader(), Buffer.from([7]), Buffer.from(REGULAR_HEX, 'hex')]);
    expect(scanSegment(bytes)).toMatchObject({ damaged: [[96, 97]], end: bytes.length, cleanTail: true });
    expect(scanSegment(Buffer.concat([segmentHeader(), Buffer.from([7])]))).toMatchObject({
      blocks: [],
      end: 96,
      cleanTail: false,
    });
  });
});
