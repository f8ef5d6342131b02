import { expect, it } from 'vitest';
import { withLines } from './with-lines.ts';

const YARD = { name: 'yard', port: '/dev/ttyUSB0', baudRate: 19_200, parity: 'even' };

it('gives port and settings of a line to all who are on it', () => {
  const { root, faults } = withLines({
    lines: [YARD],
    sensors: [
      { name: 'scale', on: 'yard' },
      { name: 'meter', connection: { transport: 'rtu', on: 'yard' } },
      { name: 'other', port: '/dev/ttyS0' },
    ],
    actuators: [{ name: 'relay', on: 'yard' }],
  });
  const given = { on: 'yard', port: '/dev/ttyUSB0', baudRate: 19_200, parity: 'even' };
  expect(faults).toEqual([]);
  expect(root).toMatchObject({
    sensors: [
      { name: 'scale', ...given },
      { name: 'meter', connection: { transport: 'rtu', ...given } },
      { name: 'other', port: '/dev/ttyS0' },
    ],
    actuators: [{ name: 'relay', ...given }],
  });
});

it('names a line that is not there, and settings that are the line’s', () => {
  const { faults } = withLines({
    lines: [YARD],
    sensors: [
      { name: 'a', on: 'yrad' },
      { name: 'b', on: 'yard', baudRate: 9_600 },
    ],
  });
  expect(faults.map(({ path, problem, expected }) => [path.join('.'), problem, expected])).toEqual([
    ['sensors.0.on', 'no such line:', 'one of yard'],
    ['sensors.1.baudRate', 'baudRate beside on:', 'baudRate of the line yard alone'],
  ]);
});
