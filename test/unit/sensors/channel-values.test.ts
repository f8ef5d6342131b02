/** Keys of meters behind one port, while some of them have no value for a moment. */
import { beforeEach, expect, it } from 'vitest';
import { type ChannelReader, openChannelReader } from '../../../src/sensors/serial-line/channel-values.ts';

const CHANNELS = {
  type: '0-(?<channel>[0-9]+):24\\.1\\.0\\((?<type>[0-9]+)\\)',
  value:
    '0-(?<channel>[0-9]+):24\\.2\\.[0-9]+\\((?<time>[0-9]+[SW]?)\\)\\((?<value>[0-9.]+)\\*(?<unit>[A-Za-z0-9]+)\\)',
  staleAfterMs: 26 * 3_600_000,
  keys: { '3': 'gas', '7': 'water' },
};
let read: ChannelReader;
let readHeat: ChannelReader;

beforeEach(async () => {
  read = await openChannelReader(CHANNELS);
  readHeat = await openChannelReader({ ...CHANNELS, keys: { '4': 'heat' } });
});

/** Values by key of a frame with these lines. */
function valuesOf(...lines: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    read(lines.join('\r\n')).map((outcome) => [outcome.key, 'value' in outcome && outcome.value]),
  );
}

/** The same, with the code of each that is refused. */
function toldOf(...lines: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    read(lines.join('\n')).map((outcome) => [outcome.key, 'fault' in outcome ? outcome.fault.code : outcome.value]),
  );
}

const type = (channel: number, code: number): string => `0-${channel}:24.1.0(00${code})`;
const value = (channel: number, cubicMetres: string): string => `0-${channel}:24.2.1(200512134558S)(${cubicMetres}*m3)`;

it('a meter keeps its key while the other one of its type has no value', () => {
  const both = [type(2, 7), type(3, 7), value(2, '872.234'), value(3, '11.1')];
  expect(valuesOf(...both)).toEqual({ water2: 872.234, water3: 11.1 });
  expect(valuesOf(type(2, 7), type(3, 7), value(2, '872.235'))).toEqual({ water2: 872.235 });
  expect(valuesOf(type(2, 7), type(3, 7), value(3, '11.2'))).toEqual({ water3: 11.2 });
});

it('a gas meter keeps its key while neither type nor value of the other one comes', () => {
  expect(valuesOf(type(1, 3), type(4, 3), value(1, '5.5'), value(4, '7.5'))).toEqual({ gas1: 5.5, gas4: 7.5 });
  expect(valuesOf(type(4, 3), value(4, '7.6'))).toEqual({ gas4: 7.6 });
});

it('meters have their numbers from the first value of the second one on', () => {
  expect(valuesOf(type(2, 7), type(3, 7), value(2, '1.5'))).toEqual({ water: 1.5 });
  expect(valuesOf(type(2, 7), type(3, 7), value(2, '1.5'), value(3, '2.5'))).toEqual({ water2: 1.5, water3: 2.5 });
});

it('a meter that is exchanged for one of another type no longer counts among the former', () => {
  expect(valuesOf(type(1, 7), type(2, 7), value(1, '1.5'), value(2, '2.5'))).toEqual({ water1: 1.5, water2: 2.5 });
  expect(valuesOf(type(1, 7), type(2, 3), value(1, '1.5'), value(2, '0.5'))).toEqual({ water: 1.5, gas: 0.5 });
});

const CLOCK = '^0-0:1\\.0\\.0\\((?<time>[0-9]+[SW]?)\\)';

it.each([
  ['200512134558S', { gas: 5.5 }],
  ['200513154558S', { gas: 5.5 }],
  ['200513154559S', { gas: 'sensors/meter-silent' }],
  ['201025134558W', { gas: 'sensors/meter-silent' }],
  ['200512124558W', { gas: 5.5 }],
  ['nonsense', { gas: 5.5 }],
])('a meter whose own time stands still is told, when the frame is of %s', async (time, told) => {
  read = await openChannelReader({ ...CHANNELS, clock: CLOCK });
  expect(toldOf(`0-0:1.0.0(${time})`, type(1, 3), value(1, '5.5'))).toEqual(told);
});

it('a meter that has never answered is told, and the other one read', async () => {
  read = await openChannelReader({ ...CHANNELS, clock: CLOCK });
  const never = '0-2:24.2.3(632525252525S)(00000.000*m3)';
  expect(toldOf('0-0:1.0.0(200512134600S)', type(1, 7), type(2, 3), value(1, '1.5'), never)).toEqual({
    water: 1.5,
    gas: 'sensors/meter-silent',
  });
});

it.each([
  ['GJ', '12.5'],
  ['kWh', '3472'],
])('heat has the unit that its meter tells: %s', (unit, number) => {
  const frame = [type(1, 4), `0-1:24.2.1(200512134558S)(${number}*${unit})`].join('\r\n');
  expect(readHeat(frame)).toMatchObject([{ key: 'heat', value: Number(number), unit }]);
});
