/** Numbers in frames of bytes, with the words of their configuration. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { frameField } from '../../config/fields/frames.ts';
import { frameValues } from './frame-fields.ts';

const fields = (written: Readonly<Record<string, unknown>>) => z.record(z.string(), frameField).parse(written);

it.each([
  [
    '2908',
    { batteryVoltage: { at: 0, scale: 0.01, unit: 'V' } },
    [{ key: 'batteryVoltage', value: 105.04, unit: 'V' }],
  ],
  ['fe', { temperature: { at: 0, type: 'int8', unit: '°C' } }, [{ key: 'temperature', value: -2, unit: '°C' }]],
  ['0007', { cycles: { at: 0 } }, [{ key: 'cycles', value: 7 }]],
])('a field of %s has the unit that its configuration names', (bytes, written, expected) => {
  expect(frameValues(Buffer.from(bytes, 'hex'), fields(written))).toEqual(expected);
});
