/** Encrypted telegrams of P1 ports, in whole and in pieces, with the right key and with others. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { sensorConfig } from '../../../test/support/sensor-bench.ts';
import type { AgentError } from '../../errors/agent-error.ts';
import { serialLine } from './definition.ts';
import { FrameCutter } from './frame-cutter.ts';
import { TelegramOpener } from './telegram-opener.ts';

const FILE = join(import.meta.dirname, '../../../test/fixtures/meters/p1/encrypted.jsonl');
const [first, second, own] = readFileSync(FILE, 'utf8')
  .trim()
  .split('\n')
  .map((line) => Buffer.from((JSON.parse(line) as { readonly hex: string }).hex, 'hex'));
if (first === undefined || second === undefined || own === undefined) throw new Error('telegrams are missing');
const KEY = 'AA'.repeat(16);
const OWN_KEY = 'BB'.repeat(16);
const FRAME = { start: '2F', end: '21', tail: 4 };

let frames: string[];
let faults: AgentError[];
let counts: { tooLong: number; plain: number };
beforeEach(() => {
  [frames, faults, counts] = [[], [], { tooLong: 0, plain: 0 }];
});

interface Options {
  readonly key?: string;
  readonly authenticationKey?: string;
  readonly isChecked?: boolean;
  readonly maxBytes?: number;
}

function opener({ key = KEY, authenticationKey, isChecked = true, maxBytes = 4_096 }: Options = {}): TelegramOpener {
  const onTooLong = (): void => {
    counts.tooLong += 1;
  };
  const onFrame = (bytes: Buffer): boolean => {
    frames.push(bytes.toString('latin1'));
    return true;
  };
  return new TelegramOpener({
    key: Buffer.from(key, 'hex'),
    authenticationKey: authenticationKey === undefined ? undefined : Buffer.from(authenticationKey, 'hex'),
    start: Buffer.from('/'),
    isChecked,
    maxBytes,
    cutter: new FrameCutter({ frame: FRAME, maxBytes, onFrame, onTooLong }),
    onTooLong,
    onCiphered: (fault) => faults.push(fault),
    onPlain: () => {
      counts.plain += 1;
    },
  });
}

const T210 = /^\/EST5\\253710000_A\r\n[\s\S]*\r\n!7EF9$/;
const S211 = /^\/\w{3}5[\s\S]*\r\n![0-9A-F]{4}$/;

describe('encrypted telegrams', () => {
  it.each([1, 7, 64, 10_000])('are opened from pieces of %i bytes, one behind another', (size) => {
    const one = opener();
    const bytes = Buffer.concat([first, second]);
    for (let at = 0; at < bytes.length; at += size) one.splitBytes(bytes.subarray(at, at + size));
    expect(frames).toEqual([expect.stringMatching(T210), expect.stringMatching(S211)]);
    expect(faults).toEqual([]);
  });

  it.each([1, 5, 12, 100, 500])('are opened behind one whose first %i bytes were not heard', (missing) => {
    opener().splitBytes(Buffer.concat([first.subarray(missing), second]));
    expect(frames).toEqual([expect.stringMatching(S211)]);
  });

  it('are opened behind one that lost a byte, or that an unplugged port cut', () => {
    const one = opener();
    one.splitBytes(Buffer.concat([first.subarray(0, 200), first.subarray(201), second]));
    one.splitBytes(first.subarray(0, 200));
    one.reset();
    one.splitBytes(first);
    // Its check sum is for the frame to judge.
    const damaged = expect.stringMatching(/^\/EST5[\s\S]*\(000000058\*W[^h]/);
    expect(frames).toEqual([damaged, expect.stringMatching(S211), expect.stringMatching(T210)]);
  });

  it('are told when the key is another', () => {
    opener({ key: OWN_KEY }).splitBytes(first);
    expect(frames).toEqual([]);
    expect(faults).toMatchObject([{ code: 'sensors/wrong-key', recovery: 'retry' }]);
  });

  it('are told when the authentication key that is given is another', () => {
    opener({ authenticationKey: OWN_KEY }).splitBytes(first);
    expect([frames, faults.length]).toEqual([[], 1]);
    opener({ authenticationKey: OWN_KEY }).splitBytes(own);
    expect(frames).toEqual([expect.stringMatching(T210)]);
  });

  it('have their check sum in place of the proof when the authentication key is not given, and none without a check', () => {
    opener().splitBytes(own);
    opener({ isChecked: false }).splitBytes(own);
    expect([frames.length, faults.length]).toEqual([1, 1]);
  });

  it('are longer than maxLine, or end within their tag', () => {
    const one = opener({ maxBytes: 300 });
    one.splitBytes(first);
    expect([frames, counts.tooLong]).toEqual([[], 1]);
    const cut = Buffer.from(first.subarray(0, 18));
    cut.writeUInt16BE(5, 11);
    opener().splitBytes(Buffer.concat([cut, second]));
    expect(frames).toEqual([expect.stringMatching(S211)]);
  });

  it('are not mixed with plain ones, which give nothing and are told', () => {
    const one = opener();
    const plain = '/EST5\\253710000_A\r\n\r\n1-0:1.8.0(006545766*Wh)\r\n!0000\r\n';
    for (const byte of Buffer.from(plain)) one.splitBytes(Buffer.of(byte));
    one.splitBytes(Buffer.concat([Buffer.from(plain), second]));
    expect(frames).toEqual([expect.stringMatching(S211)]);
    expect(counts.plain).toBe(2);
  });
});

it.each([
  [{ frame: FRAME, encryptionKey: KEY }, []],
  [{ encryptionKey: KEY }, ['encryptionKey has no effect']],
  [{ frame: FRAME, authenticationKey: KEY }, ['authenticationKey has no effect']],
])('the options %j are found to be %j', (options, problems) => {
  const config = sensorConfig({
    name: 'meter',
    kind: 'serial-line',
    port: '/dev/ttyUSB0',
    format: 'number',
    ...options,
  });
  const found = serialLine.faults?.(config as never, ['sensors', 0]) ?? [];
  expect(found.map(({ problem }) => problem)).toEqual(problems);
});
