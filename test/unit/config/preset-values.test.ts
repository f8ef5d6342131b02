/** Values that the presets read: numbers that can be negative are read with their sign, and no field lies behind what a frame holds. */
import { describe, expect, it } from 'vitest';
import { endOfData } from '../../../src/config/fields/check-sum.ts';
import { FIELD_BYTES } from '../../../src/config/fields/frames.ts';
import { allPresets } from '../../../src/config/models/preset-file.ts';
import { type SerialLineConfig, serialLine } from '../../../src/sensors/serial-line/definition.ts';

/** Bytes of a battery's frame without a probe. */
const SHORTEST = 30;

const { presets } = await allPresets('/nowhere/turnstone.yaml');
const sensors = presets.map(({ name, sensor }) => {
  const parsed = serialLine.schema.parse({ name, kind: 'serial-line', port: '/dev/ttyUSB0', ...sensor });
  return parsed as SerialLineConfig;
});

/** Keys of numbers that some devices measure in two directions. */
const SIGNED = /power|current|temperature|weight/i;
/** Keys that are never negative: effective values, directions with a key each, panels and loads alone. */
const NEVER_NEGATIVE =
  /^(current|apparentPower|power(Import|Export)|dc(Power|Current)|loadPower$|battery(Dis)?[Cc]harge|batteryDis)/;

it('a pattern reads the sign of what can be negative', () => {
  const groups = sensors.flatMap(({ name, pattern = '', keys }) =>
    [...pattern.matchAll(/\(\?<(\w+)>([^)]*)\)/g)].map(([, key = '', of = '']) => ({
      name,
      key,
      of,
      rules: keys[key],
    })),
  );
  const signed = groups.filter(({ key }) => SIGNED.test(key) && !NEVER_NEGATIVE.test(key));
  expect(signed.length).toBeGreaterThanOrEqual(15);
  expect(signed.filter(({ of, rules }) => !of.includes('-') && rules?.signMagnitude !== true)).toEqual([]);
});

it('a field of a frame has the sign of what can be negative', () => {
  const fields = sensors.flatMap(({ name, fields: of = {} }) =>
    Object.entries(of).map(([key, { type, offset }]) => ({ name, key, type, offset })),
  );
  const signed = fields.filter(({ key }) => SIGNED.test(key) && !NEVER_NEGATIVE.test(key));
  expect(signed.length).toBeGreaterThanOrEqual(6);
  expect(signed.filter(({ type, offset }) => type.startsWith('uint') && offset >= 0)).toEqual([]);
});

describe.each(sensors.filter(({ fields }) => fields !== undefined))(
  'the frame of $name',
  ({ frame, fields = {}, check }) => {
    const ends = Object.entries(fields).map(([key, { at, type, counted }]) => ({
      key,
      at,
      counted,
      end: at + FIELD_BYTES[type],
    }));

    it('holds every field before its check sum and its end', () => {
      const { length = 0, tail = 0, end: last = '' } = frame ?? {};
      const whole = typeof length === 'number' ? length : SHORTEST;
      const data = endOfData(new Uint8Array(whole), check) - tail - last.replaceAll(' ', '').length / 2;
      for (const { key, end, counted } of ends) if (counted === undefined) expect(end, key).toBeLessThanOrEqual(data);
    });

    it('counts each field that a device may lack', () => {
      const counters = ends.flatMap(({ counted }) => counted?.at ?? []);
      if (typeof frame?.length === 'object') expect(counters.length).toBeGreaterThan(0);
      const behind = ends.filter(({ at }) => counters.some((counter) => at > counter));
      expect(behind.filter(({ counted }) => counted === undefined)).toEqual([]);
    });
  },
);
