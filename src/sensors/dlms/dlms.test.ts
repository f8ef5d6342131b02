/** DLMS messages that meters sent: their values, what is wrong with the others, and a meter on a pty. */
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type BoardBench, openBoardBench } from '../../../test/support/board-bench.ts';
import { readJsonLines, readNamedLines } from '../../../test/support/json-lines.ts';
import { sensorConfig, sensorDeps } from '../../../test/support/sensor-bench.ts';
import { systemFiles } from '../../host/files.ts';
import type { Keys } from '../families/ciphers/dlms-cipher.ts';
import type { Outcome } from '../kind/outcome.ts';
import { dataOf } from './data.ts';
import { open as openDlms, readingsOf } from './driver.ts';
import { FrameCutter } from './frames.ts';
import { readLists } from './lists.ts';
import { MessageJoiner } from './segments.ts';
import { outcomesOf } from './values.ts';

interface Telegram {
  readonly country: string;
  readonly maker: string;
  readonly list: string;
  readonly telegram: string;
}

const { signal } = new AbortController();
const FIXTURES = join(import.meta.dirname, '../../../test/fixtures/meters/dlms');
const telegrams = await readJsonLines<Telegram>(join(FIXTURES, 'telegrams.jsonl'));
const values = await readNamedLines<Readonly<Record<string, number>>>(join(FIXTURES, 'values.jsonl'));
const lists = await readLists(systemFiles);

/** Published test keys (DLMS Green Book, examples). */
const KEY = '000102030405060708090A0B0C0D0E0F';
const AUTHENTICATION_KEY = 'D0D1D2D3D4D5D6D7D8D9DADBDCDDDEDF';
const KEYS: Keys = {
  key: Buffer.from(KEY, 'hex'),
  authenticationKey: Buffer.from(AUTHENTICATION_KEY, 'hex'),
  systemTitle: Buffer.from('4b464d1010000023', 'hex'),
};

const nameOf = ({ country, maker, list }: Telegram): string => `${country} ${maker} ${list}`;
const bytesOf = (name: string): Buffer =>
  Buffer.from(telegrams.find((one) => nameOf(one) === name)?.telegram ?? '', 'hex');

/** Messages in these bytes. */
function messagesIn(...pieces: readonly Uint8Array[]) {
  const found: Uint8Array[] = [];
  const joiner = new MessageJoiner((message) => found.push(message));
  const cutter = new FrameCutter((segment) => joiner.addSegment(segment));
  for (const piece of pieces) cutter.cutBytes(piece);
  return { found, cutter };
}

function valuesIn(bytes: Uint8Array, keys = KEYS) {
  const [message = new Uint8Array()] = messagesIn(bytes).found;
  return valuesBy(readingsOf(message, keys, lists));
}

function valuesBy(outcomes: readonly Outcome[]) {
  return Object.fromEntries(outcomes.flatMap((one) => ('fault' in one ? [] : [[one.key, one.value]])));
}

describe('a telegram', () => {
  it.each(telegrams.map((one) => [nameOf(one), one.telegram] as const))('of %s has its values', (name, telegram) => {
    expect(valuesIn(Buffer.from(telegram, 'hex'))).toEqual(values[name]);
  });

  it.each(telegrams.map(nameOf))(
    'of %s is found in pieces of a byte, after noise and after one that was cut off',
    (name) => {
      const whole = bytesOf(name);
      const bytes = Buffer.concat([
        Buffer.from('7ea7ff7e7ea0686868', 'hex'),
        whole.subarray(0, 20),
        whole,
        whole,
        Buffer.from('7ea0', 'hex'),
      ]);
      const { found } = messagesIn(...[...bytes].map((byte) => Uint8Array.of(byte)));
      expect(found.map((message) => valuesBy(readingsOf(message, KEYS, lists)))).toEqual([values[name], values[name]]);
    },
  );

  it('with one bit turned gives no value, and is counted', () => {
    const whole = bytesOf('NO Kaifa list 1');
    for (let bit = 8; bit < 8 * (whole.length - 1); bit += 1) {
      const turned = Buffer.from(whole);
      turned[bit >> 3] = (turned[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(messagesIn(turned).found).toEqual([]);
    }
    const turned = Buffer.from(whole);
    turned[20] = 0;
    expect(messagesIn(turned).cutter.damaged).toBe(1);
  });

  it('without one of its segments or blocks gives no value, and costs no other', () => {
    for (const name of [
      'made any segments of HDLC, authenticated',
      'made any encrypted blocks',
      'AT Kaifa MA110 on M-Bus',
    ]) {
      const whole = bytesOf(name);
      const second = Math.max(whole.indexOf('7e7ea', 1, 'hex') + 1, whole.indexOf(Buffer.from('68262668', 'hex')));
      const { found } = messagesIn(whole.subarray(0, second), whole);
      expect(found).toHaveLength(1);
      expect(messagesIn(whole.subarray(second)).found).toEqual([]);
    }
  });

  it('is bounded in its length', () => {
    const flood = Array.from({ length: 40 }, () => Buffer.alloc(1_000, Buffer.from('7ea7ff', 'hex')));
    expect(messagesIn(...flood, bytesOf('NO Aidon list 1')).found).toHaveLength(1);
    const piece = Buffer.from('7ea80b0121a5b3aa', 'hex');
    expect(messagesIn(...Array.from({ length: 10 }, () => piece)).found).toEqual([]);
  });
});

describe('an encrypted message', () => {
  const other = Buffer.alloc(16, 1);
  const read = (name: string, keys: Partial<Keys>) => () => valuesIn(bytesOf(name), { ...KEYS, ...keys });

  it.each([
    ['AT Kaifa MA110 on M-Bus', { key: undefined }, /no key/],
    ['AT Kaifa MA110 on M-Bus', { key: other }, /not that of the meter/],
    ['DK Kamstrup all phases, authenticated', { key: other }, /proof fails/],
    ['DK Kamstrup all phases, authenticated', { authenticationKey: other }, /proof fails/],
    ['DK Kamstrup all phases, authenticated', { key: other, authenticationKey: undefined }, /not that of the meter/],
    ['made any authenticated, not encrypted', { authenticationKey: other }, /proof fails/],
    ['made any glo without a title, without logical link header', { systemTitle: undefined }, /no system title/],
  ])('of %s under %j is told as such', (name, keys, words) => {
    expect(read(name, keys)).toThrow(
      expect.objectContaining({ code: 'sensors/wrong-key', recovery: 'retry', message: expect.stringMatching(words) }),
    );
  });

  it('of suite 2 is told as one that is not known', () => {
    const [message = new Uint8Array()] = messagesIn(bytesOf('AT Kaifa MA110 on M-Bus')).found;
    const other = Uint8Array.from(message);
    other[13] = 0x22;
    expect(() => readingsOf(other, KEYS, lists)).toThrow(expect.objectContaining({ code: 'sensors/bad-reading' }));
  });

  it('that is authenticated is read without the authentication key', () => {
    const name = 'DK Kamstrup all phases, authenticated';
    expect(read(name, { authenticationKey: undefined })()).toEqual(values[name]);
    const plain = 'made any authenticated, not encrypted';
    expect(read(plain, { key: undefined, authenticationKey: undefined })()).toEqual(values[plain]);
  });
});

describe('data', () => {
  const notification = (data: string): Uint8Array => Buffer.from(`0f0000000000${data.replaceAll(' ', '')}`, 'hex');
  const entry = (value: string, scaler = '02020f00161b', code = '0100100700ff') =>
    `01010203 0906${code} ${value} ${scaler}`;
  const read = (data: string) => outcomesOf(dataOf(notification(data)), lists);

  it.each([
    ['0500000010', 16],
    ['05fffffff0', -16],
    ['06fffffff0', 4_294_967_280],
    ['0ff0', -16],
    ['10fff0', -16],
    ['11f0', 240],
    ['12fff0', 65_520],
    ['14fffffffffffffff0', -16],
    ['15fffffffffffffff0', 18_446_744_073_709_551_600n],
    ['17c1800000', -16],
    ['18c030000000000000', -16],
  ])('of %s are %s W, with their sign', (value, watts) => {
    expect(read(entry(value))).toEqual([{ key: 'powerTotal', value: watts, unit: 'W' }]);
  });

  it.each([
    ['02020ffd161b', 0.016],
    ['02020f02161b', 1_600],
    ['02020f7f161b', undefined],
    ['02020f001623', undefined],
  ])('with scaler and unit %s are %s', (scaler, watts) => {
    expect(valuesBy(read(entry('0500000010', scaler)) ?? [])).toEqual(watts === undefined ? {} : { powerTotal: watts });
  });

  it.each(['00', '0900', '0a00', '090431323334', '177fc00000'])(
    'without a number (%s) are refused by name',
    (value) => {
      expect(read(entry(value))).toMatchObject([{ key: 'powerTotal', fault: { code: 'sensors/no-value' } }]);
    },
  );

  it('have texts and structures of any length', () => {
    const long = `0982012c${'41'.repeat(300)}`;
    const items = Array.from({ length: 130 }, () => '1100').join('');
    const data = `0203 ${long} 028182${items} ${entry('0500000010')}`;
    expect(read(data)).toEqual([{ key: 'powerTotal', value: 16, unit: 'W' }]);
  });

  it('of a place that is left out are refused, and the others read', () => {
    const kaifa = Buffer.from(messagesIn(bytesOf('NO Kaifa list 2')).found[0] ?? []).toString('hex');
    const outcomes = outcomesOf(dataOf(Buffer.from(kaifa.replace('0600000c21', '00'), 'hex')), lists) ?? [];
    expect(outcomes[0]).toMatchObject({ key: 'powerImport', fault: { code: 'sensors/no-value' } });
    expect(outcomes).toHaveLength(10);
  });

  it.each([
    ['02 02 1100', /ends within|longer than/],
    [`${'0101'.repeat(12)}00`, /too deep/],
    ['0184ffffffff', /longer than/],
    ['0985ffffffffff', /no known form/],
    ['ff', /no known type/],
    ['1100 1100', /goes on/],
    ['09ff', /no known form|ends within/],
  ])('of nonsense (%s) are refused', (data, words) => {
    expect(() => dataOf(notification(data))).toThrow(RangeError);
    expect(() => dataOf(notification(data))).toThrow(words);
  });

  it('of a list without a known meaning are told as such', () => {
    expect(() => readingsOf(notification('0203 1100 1100 060000'.padEnd(26, '0')), KEYS, lists)).toThrow(
      expect.objectContaining({
        code: 'sensors/unknown-list',
        message: expect.stringContaining('3 items: u8, u8, u32'),
      }),
    );
    expect(() => readingsOf(notification('0102 0906 0101010700ff 0600000008'), KEYS, lists)).toThrow(
      expect.objectContaining({ code: 'sensors/unknown-list' }),
    );
  });
});

describe('a meter on a pty', () => {
  let bench: BoardBench;
  afterEach(() => bench.close());
  const openMeter = async (hex: string, options: Readonly<Record<string, unknown>> = {}) => {
    bench = await openBoardBench((folder) => ({
      serial: [{ port: join(folder, 'han'), talk: { kind: 'bytes', hex, periodMs: 20 } }],
    }));
    const port = join(bench.folder, 'han');
    const config = sensorConfig({ name: 'grid', kind: 'dlms', port, ...options });
    return { port, sensor: await openDlms(config, sensorDeps(bench), signal) };
  };
  const hexOf = (name: string): string => bytesOf(name).toString('hex');

  it('is read with its keys, and is silent when it is', async () => {
    const name = 'DK Kamstrup all phases, authenticated';
    const { port, sensor } = await openMeter(hexOf(name), { key: KEY, authenticationKey: AUTHENTICATION_KEY });
    const readings = await sensor.read(AbortSignal.timeout(2_000));
    expect(Object.fromEntries(readings.map(({ key, value }) => [key, value]))).toEqual(values[name]);
    await sensor.close();
    bench.board.bench.fault(port, 'hang');
    const silent = await openDlms(sensorConfig({ name: 'grid', kind: 'dlms', port }), sensorDeps(bench), signal);
    await expect(silent.read(AbortSignal.timeout(100))).rejects.toMatchObject({ code: 'sensors/silent' });
    await silent.close();
  });

  it.each([
    ['a damaged frame', hexOf('NO Kaifa list 1').replace('0bf3', '0bf4'), {}, 'sensors/silent', /check sums are wrong/],
    [
      'a wrong key',
      hexOf('AT Kaifa MA110 on M-Bus'),
      { key: 'f'.repeat(32) },
      'sensors/wrong-key',
      /not that of the meter/,
    ],
    ['no key', hexOf('AT Kaifa MA110 on M-Bus'), {}, 'sensors/wrong-key', /no key/],
    ['other bytes', '55'.repeat(40), {}, 'sensors/silent', /no frame of DLMS/],
  ])('with %s is told apart', async (_what, hex, options, code, words) => {
    const { sensor } = await openMeter(hex, options);
    await expect(sensor.read(AbortSignal.timeout(300))).rejects.toMatchObject({
      code,
      message: expect.stringMatching(words),
    });
    await sensor.close();
  });
});

it('has secrets for keys, and takes no other form of them', () => {
  const section = { name: 'grid', kind: 'dlms', port: '/dev/ttyUSB0' } as const;
  expect(sensorConfig(section)).toMatchObject({ baudRate: 2400 });
  expect(JSON.stringify(sensorConfig({ ...section, key: KEY }))).not.toContain(KEY);
  expect(() => sensorConfig({ ...section, key: 'short' })).toThrow(/32 hexadecimal/);
});
