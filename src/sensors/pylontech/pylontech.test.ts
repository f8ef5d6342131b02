/** Pylontech batteries by published frames: their values, what is wrong with others, and modules on a device server and a line of two. */
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readJsonLines } from '../../../test/support/json-lines.ts';
import { openPeerBench, type PeerBench } from '../../../test/support/modbus-peer.ts';
import { sensorConfig, sensorDeps } from '../../../test/support/sensor-bench.ts';
import type { Sensor } from '../kind/sensor.ts';
import { pylontech } from './definition.ts';
import { open as openBattery } from './driver.ts';
import { type Damage, type Frame, FrameCutter, requestOf } from './frames.ts';
import { twin } from './twin.ts';
import { outcomesOf } from './values.ts';

interface Recorded {
  readonly name: string;
  readonly maker: string;
  readonly stack: boolean;
  readonly frame: string;
}

const { signal } = new AbortController();
const FIXTURES = join(import.meta.dirname, '../../../test/fixtures/meters/pylontech');
const recorded = await readJsonLines<Recorded>(join(FIXTURES, 'frames.jsonl'));
const frameOf = (name: string) => recorded.find((one) => one.name === name)?.frame ?? '';

function framesIn(...pieces: readonly (string | Uint8Array)[]) {
  const found: (Frame | Damage)[] = [];
  const cutter = new FrameCutter((frame) => found.push(frame));
  for (const piece of pieces) cutter.cutBytes(Buffer.from(piece));
  return { found, cutter };
}

/** An answer with these letters behind its head. */
function answer(code: number, information = '', address = 2): string {
  const length = information.length;
  const nibble = -((length & 15) + ((length >> 4) & 15) + (length >> 8)) & 15;
  const byte = (value: number): string => value.toString(16).padStart(2, '0');
  const letters =
    `20${byte(address)}46${byte(code)}${nibble.toString(16)}${length.toString(16).padStart(3, '0')}${information}`.toUpperCase();
  const sum = -[...Buffer.from(letters)].reduce((all, one) => all + one, 0) & 0xffff;
  return `~${letters}${sum.toString(16).toUpperCase().padStart(4, '0')}\r`;
}

function valuesOf(information: string) {
  return Object.fromEntries(
    outcomesOf(Buffer.from(information.replaceAll(' ', ''), 'hex'), false).map((one) => [
      one.key,
      'fault' in one ? one.fault.code : [one.value, one.unit],
    ]),
  );
}

describe('a frame', () => {
  it.each(recorded)('of $maker, $name, has good sums', ({ frame }) => {
    expect(framesIn('noise', `~${frame}\r`).found).toEqual([
      { address: expect.any(Number), device: expect.any(Number), code: 0, information: expect.any(Buffer) },
    ]);
  });

  it('with one bit turned is damaged, or none', () => {
    const whole = Buffer.from(`~${frameOf('US3000, discharged')}\r`);
    for (let bit = 0; bit < 8 * whole.length; bit += 1) {
      const turned = Buffer.from(whole);
      turned[bit >> 3] = (turned[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      // A small letter in the sum itself means the same number.
      if (turned.toString('latin1').toUpperCase() === whole.toString()) continue;
      for (const frame of framesIn(turned).found) expect(Object.keys(frame)).toEqual(['damage']);
    }
  });

  it('whose length has a wrong check sum, or is another one, is damaged although its sum is good', () => {
    const summed = (letters: string): string => {
      const sum = -[...Buffer.from(letters)].reduce((all, one) => all + one, 0) & 0xffff;
      return `~${letters}${sum.toString(16).toUpperCase()}\r`;
    };
    const head = frameOf('US3000, discharged').slice(0, -4);
    const damage = (letters: string) => framesIn(summed(letters)).found;
    expect(damage(head)).toMatchObject([{ code: 0 }]);
    expect(damage(head.replace('F07A', 'E07A'))).toEqual([{ damage: 'a frame whose length has a wrong check sum' }]);
    expect(damage(head.slice(0, -2))).toEqual([{ damage: 'a frame of another length than it says' }]);
  });

  it('is asked for as batteries and their inverters ask for it', () => {
    const of = (address: number, information: number) =>
      requestOf({ address, command: 0x42, information: [information] }).toString();
    expect([of(2, 2), of(3, 3), of(2, 0xff)]).toEqual([
      '~20024642E00202FD33\r',
      '~20034642E00203FD31\r',
      '~20024642E002FFFD09\r',
    ]);
    expect(requestOf({ address: 2, command: 0x51, information: [] }).toString()).toBe('~200246510000FDAC\r');
  });

  it('ends: what goes on for ever is noise', () => {
    const { found, cutter } = framesIn('~', '0'.repeat(10_000), `~${frameOf('US2000, charged')}\r`);
    expect([found.length, cutter.noise]).toEqual([1, 10_000]);
  });
});

describe('values', () => {
  const CELLS = `0f ${'0ce4'.repeat(15)}`;
  const TEMPERATURES = '05 0b7d 0b73 0b73 0b73 0b73';
  const told = (behind: string, cells = CELLS, temperatures = TEMPERATURES) =>
    valuesOf(`00 02 ${cells} ${temperatures} ${behind}`);

  it('have their units', () => {
    expect(told('ffdd c15c ffff 04 ffff 000c 012750 0186a0')).toMatchObject({
      batteryVoltage: [49.5, 'V'],
      batteryCurrent: [-3.5, 'A'],
      batterySoc: [75.6, '%'],
      batteryCapacityRemaining: [75.6, 'Ah'],
      batteryCapacity: [100, 'Ah'],
      batteryCycles: [12, undefined],
      batteryTemperature: [21, '°C'],
      cellTemperature4: [20, '°C'],
      cellVoltage15: [3.3, 'V'],
    });
  });

  it.each([
    [
      'two bytes of capacity',
      'ffdd c15c 8aac 02 c350 000c',
      { batteryCapacityRemaining: [35.5, 'Ah'], batterySoc: [71, '%'] },
    ],
    [
      'capacities that are not told',
      'ffdd c15c ffff 02 ffff 000c',
      { batteryCapacity: 'sensors/no-value', batterySoc: 'sensors/no-value' },
    ],
    ['no capacity', 'ffdd c15c 0000 02 0000 000c', { batteryCapacity: [0, 'Ah'], batterySoc: 'sensors/no-value' }],
    ['more charge than there is room', 'ffdd c15c c350 02 8aac 000c', { batterySoc: 'sensors/out-of-range' }],
    [
      'too much current',
      '7fff c15c c350 02 c350 000c',
      { batteryCurrent: 'sensors/out-of-range', batteryVoltage: [49.5, 'V'] },
    ],
    ['too much charge', 'ffdd c15c ffff 04 ffff 000c 0fffff ffffff', { batteryCapacity: 'sensors/out-of-range' }],
  ])('with %s', (_name, behind, expected) => {
    expect(told(behind)).toMatchObject(expected);
  });

  it('of a sensor or a cell that shows what cannot be are left out alone', () => {
    const values = told('ffdd c15c 8aac 02 c350 000c', `0f ${'0ce4'.repeat(14)} fff0`, '02 0b7d ffff');
    expect(values).toMatchObject({
      cellTemperature1: 'sensors/out-of-range',
      cellVoltage15: 'sensors/out-of-range',
      cellVoltage1: [3.3, 'V'],
    });
  });

  it.each([
    ['ends too early', 'ffdd c15c ffff 04 ffff 000c 012750 0186', /ends within its values/],
    ['goes on', 'ffdd c15c 8aac 02 c350 000c 00', /longer than its values/],
    [
      'has another voltage than its cells',
      'ffdd 149f 8aac 02 c350 000c',
      /add up to 49.5 V, and its voltage is 5.279 V/,
    ],
  ])('of an answer that %s are not read', (_name, behind, words) => {
    expect(() => told(behind)).toThrow(words);
  });

  it('of random bytes are refused, or within their ranges', () => {
    for (let seed = 1; seed < 2_000; seed += 1) {
      const bytes = Buffer.from(Array.from({ length: seed % 90 }, (_, at) => (seed * 7919 + at * at * 104_729) & 0xff));
      try {
        for (const one of outcomesOf(bytes, seed % 2 === 0))
          if (!('fault' in one)) expect(Math.abs(Number(one.value))).toBeLessThanOrEqual(65_535);
      } catch (error) {
        expect(error).toMatchObject({ code: 'sensors/bad-reading' });
      }
    }
  });
});

describe('a battery', () => {
  let bench: PeerBench;
  let asked: string[];
  const sensors: Sensor[] = [];
  beforeEach(async () => {
    bench = await openPeerBench();
    asked = [];
  });
  afterEach(async () => {
    for (const sensor of sensors.splice(0)) await sensor.close();
    await bench.close();
  });

  /** Opens one behind a device server that answers like this. */
  async function at(reply: (request: string) => string, options: Readonly<Record<string, unknown>> = {}) {
    const port = await bench.tcp((request, send) => {
      asked.push(request.toString());
      const bytes = reply(request.toString());
      if (bytes !== '') send(Buffer.from(bytes));
    });
    return await open(`tcp://127.0.0.1:${port}`, options);
  }

  async function open(port: string, options: Readonly<Record<string, unknown>> = {}) {
    const config = sensorConfig({
      name: 'b',
      kind: 'pylontech',
      port,
      responseTimeout: '100ms',
      period: '1m',
      ...options,
    });
    const { ports, folder } = bench;
    const sensor = await openBattery(config, sensorDeps({ ports, folder }), signal);
    sensors.push(sensor);
    return sensor;
  }
  const valuesAt = async (sensor: Sensor) =>
    Object.fromEntries((await sensor.read(signal)).map(({ key, value }) => [key, value]));

  it('is asked at its address, and its converter may hear itself', async () => {
    const sensor = await at((request) => `${request}~${frameOf('US3000, discharged')}\r`);
    expect(await valuesAt(sensor)).toMatchObject({ batteryVoltage: 49.037, batteryCurrent: -3.2, batteryCapacity: 74 });
    expect(asked).toEqual(['~20024642E00202FD33\r']);
  });

  it('is asked again when its first answer is missing or damaged', async () => {
    const whole = frameOf('US3000, discharged');
    const sensor = await at(() => (asked.length === 1 ? `~${whole.replace('0CC5', '0CC6')}\r` : `~${whole}\r`));
    expect(await valuesAt(sensor)).toMatchObject({ batteryVoltage: 49.037 });
    expect(asked).toHaveLength(2);
  });

  it('in another group has its number before the address', async () => {
    const sensor = await at(() => answer(0, frameOf('US3000, discharged').slice(12, -4), 0x13), {
      group: 1,
      address: 3,
    });
    expect(await valuesAt(sensor)).toMatchObject({ batteryVoltage: 49.037 });
    expect(asked[0]).toMatch(/^~20134642E00213/);
  });

  it.each([
    ['three US2000 of a stack', 3, 49.504],
    ['four US3000 of a stack', 4, 49.593],
  ])('that stands for %s tells all of them', async (name, count, last) => {
    const values = await valuesAt(await at(() => `~${frameOf(name)}\r`, { stack: true }));
    const voltages = Object.entries(values).filter(([key]) => key.startsWith('batteryVoltage'));
    expect(voltages.map(([key]) => key)).toEqual(Array.from({ length: count }, (_, n) => `batteryVoltage_m${n + 1}`));
    expect(voltages.at(-1)?.[1]).toBeCloseTo(last, 1);
    expect(asked).toEqual(['~20024642E002FFFD09\r']);
  });

  it.each([
    ['is silent', () => '', 'sensors/silent', /battery 2 on tcp:.* does not answer$/],
    ['speaks otherwise', () => 'pylon>\n', 'sensors/silent', /no frame of a battery \(baudRate\? the console/],
    [
      'is damaged',
      () => `~${frameOf('US2000, charged').slice(0, -1)}0\r`,
      'sensors/bad-reading',
      /gave a frame with a wrong check sum$/,
    ],
    ['is another one', () => answer(0, '00', 3), 'sensors/wrong-meter', /is silent, and the one at 3 answers/],
    ['does not know the command', () => answer(4), 'sensors/refused', /refuses: it does not know the command/],
    ['is not its own', () => answer(0x90), 'sensors/refused', /the address is not its own/],
    ['has lost its module', () => answer(0x91), 'sensors/refused', /does not reach the module \(link cable\?\)/],
    ['has an unknown code', () => answer(0x42), 'sensors/refused', /its code 0x42 is not known/],
    ['is of Pace', () => `~${frameOf('16 cells, protocol 25')}\r`, 'sensors/wrong-meter', /the one at 1 answers/],
    ['is of Daren', () => `~${frameOf('16 cells, device 4A')}\r`, 'sensors/bad-reading', /another device \(0x4A\)/],
  ])('whose answer %s is told in words', async (_name, reply, code, words) => {
    const sensor = await at(reply);
    await expect(sensor.read(signal)).rejects.toMatchObject({ code, message: expect.stringMatching(words) });
  });

  it('of Pace or Seplos at the same address is not read', async () => {
    for (const [name, address] of [
      ['16 cells, protocol 25', 1],
      ['16 cells, protocol 20', 3],
    ] as const) {
      const sensor = await at(() => `~${frameOf(name)}\r`, { address });
      await expect(sensor.read(signal)).rejects.toThrow(
        /batteries of other makers, such as those with a controller of Pace/,
      );
    }
  });

  it('takes turns with the next one on its line, and neither hears the other', async () => {
    const second = frameOf('US3000C, charged').slice(12, -4);
    const port = await bench.tcp((request, send) => {
      const isFirst = request.toString().startsWith('~2002');
      send(Buffer.from(isFirst ? `~${frameOf('US3000, discharged')}\r` : answer(0, second, 3)));
    });
    const path = `tcp://127.0.0.1:${port}`;
    const both = [await open(path), await open(path, { address: 3 })];
    const voltages = async () => (await Promise.all(both.map(valuesAt))).map(({ batteryVoltage }) => batteryVoltage);
    expect([await voltages(), await voltages()]).toEqual([
      [49.037, 50.087],
      [49.037, 50.087],
    ]);
  });

  it.each([{}, { stack: true }, { group: 2, address: 5 }])('is played by its twin: %o', async (options) => {
    const config = sensorConfig({ name: 'b', kind: 'pylontech', port: '/dev/ttyUSB0', ...options });
    const talk = twin.fitting?.(config as never, [])?.talk;
    if (talk?.kind !== 'answers') throw new Error('the twin answers');
    const answers = talk.answers;
    const sensor = await at(
      (request) => Buffer.from(answers[Buffer.from(request).toString('hex')] ?? '', 'hex').toString(),
      options,
    );
    const values = await valuesAt(sensor);
    const key = 'stack' in options ? 'batterySoc_m2' : 'batterySoc';
    expect(values[key]).toBe(75.6);
  });
});

it('what it needs is told where it is silent', () => {
  expect(pylontech.remedy?.(sensorConfig({ name: 'b', kind: 'pylontech', port: '/dev/ttyUSB0' }))).toMatch(/console/);
});
