/** Named lines in configurations from afar: a line's place is like an output's. */
import { expect, it } from 'vitest';
import { lockedChanges } from './locked.ts';

const BEFORE = {
  version: 1,
  lines: [{ name: 'yard', port: '/dev/ttyUSB0' }],
  sensors: [{ name: 'heat', kind: 'mbus', port: '/dev/ttyUSB1', address: 1 }],
  actuators: [{ name: 'lamp', kind: 'serial-write', on: 'yard', send: { on: '1', off: '0' } }],
};
const pathsOf = (after: Readonly<Record<string, unknown>>): readonly string[] =>
  lockedChanges(BEFORE, { ...BEFORE, ...after }).map(({ path }) => path);

it('no port of a line changes from afar', () => {
  expect(pathsOf({ lines: [{ name: 'yard', port: '/dev/ttyUSB1' }] })).toEqual(['lines.yard.port']);
});

it('no output goes to another line, and no sensor to a named one, without an allowance', () => {
  const [lamp] = BEFORE.actuators;
  expect(pathsOf({ actuators: [{ ...lamp, on: 'road' }] })).toEqual(['actuators.lamp.on']);
  const meter = { name: 'meter', kind: 'mbus', on: 'yard', address: 2 };
  expect(pathsOf({ sensors: [...BEFORE.sensors, meter] })).toEqual(['sensors.meter']);
});

it('no new sensor sends commands beside its reads', () => {
  const dust = { name: 'dust', kind: 'serial-line', port: '/dev/ttyUSB1', before: [{ send: 'W' }] };
  expect(pathsOf({ sensors: [...BEFORE.sensors, dust] })).toEqual(['sensors.dust']);
});
