/** Any chip on I2C by a table of its registers, whose keys it gives. */
import { z } from 'zod';
import { bitFaults, limitFaults, limitFields } from '../../config/fields/conversion.ts';
import { list, platformKey, section, table, whole } from '../../config/fields/fields.ts';
import type { Finding } from '../../config/fields/findings.ts';
import { registerMeaning, scaleFaults } from '../../config/fields/registers.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

const schema = sensorSection('i2c-register', () => ({
  bus: whole(0, 255).default(1),
  address: whole(0x03, 0x77),
  /** Written once when the sensor opens, in this order. */
  setup: list(section({ register: whole(0, 255), bytes: list(whole(0, 255), { min: 1, max: 32 }) }), {
    max: 64,
  }).default([]),
  /** Key → where it lies. */
  registers: table(
    platformKey(),
    section({
      ...registerMeaning,
      /** A value outside is reported as a fault, and left out alone; the chip is set up again, as it may have lost its power. */
      ...limitFields,
      register: whole(0, 255),
      /** Width in bytes. */
      width: whole(1, 8).default(2),
      signed: z.boolean().default(false),
      byteOrder: z.enum(['big', 'little']).default('big'),
      /** Applied before scale: shifts right, then keeps this many bits. */
      shift: whole(0, 63).default(0),
      bits: whole(1, 64).optional(),
    }),
  ),
}));

export type I2cRegisterConfig = ConfigOf<typeof schema>;

export const i2cRegister = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  twin: () => import('./twin.ts'),
  keys: ({ registers }) => Object.keys(registers),
  faults: ({ registers }, path) => {
    const all = Object.entries(registers).map(([key, register]) => ({ register, at: [...path, 'registers', key] }));
    if (all.length === 0) return [{ path: [...path, 'registers'], problem: 'no register', expected: 'at least one' }];
    return [
      ...all.flatMap(({ register, at }) => scaleFaults(register, at)),
      ...all.flatMap(({ register: { width, shift, bits = 0 }, at }): Finding[] =>
        shift + bits > width * 8
          ? [
              {
                path: at,
                atKey: true,
                problem: 'shift and bits reach past the register',
                expected: `at most ${width * 8} bits`,
              },
            ]
          : [],
      ),
      ...all.flatMap(({ register, at }) => [
        ...bitFaults(register, at, register.width * 8),
        ...limitFaults(register, at),
      ]),
    ];
  },
});
