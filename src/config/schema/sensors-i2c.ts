/** Sensors on I2C buses. Address ranges are those the chip's own address pins allow. */
import { z } from 'zod';
import { list, platformKey, section, table, whole } from './fields.ts';
import { i2cFields } from './lines-and-ports.ts';
import { registerMeaning, sensorFields } from './sensor-fields.ts';

/** Most breakout boards carry a 0.1 ohm shunt. */
const DEFAULT_SHUNT_OHMS = 0.1;
/** 0.1 ohm at the chip's greatest shunt voltage of 320 mV. */
const DEFAULT_MAX_AMPERES = 3.2;

const oversampling = () => z.literal([1, 2, 4, 8, 16]).default(1);
const boschFields = {
  ...i2cFields({ default: 0x76, min: 0x76, max: 0x77 }),
  oversampling: section({ temperature: oversampling(), pressure: oversampling(), humidity: oversampling() }).prefault({}),
  filter: z.literal([0, 2, 4, 8, 16]).default(0),
};

/** Keys `temperature` (°C), `pressure` (hPa), `humidity` (%). */
export const bme280 = section({ ...sensorFields, kind: z.literal('bme280'), ...boschFields });
/** Keys `temperature`, `pressure`. */
export const bmp280 = section({ ...sensorFields, kind: z.literal('bmp280'), ...boschFields });

/** Keys `temperature`, `humidity`. */
export const sht3x = section({
  ...sensorFields,
  kind: z.literal('sht3x'),
  ...i2cFields({ default: 0x44, min: 0x44, max: 0x45 }),
  repeatability: z.enum(['low', 'medium', 'high']).default('high'),
});

/** Key `temperature`. */
export const tmp102 = section({
  ...sensorFields,
  kind: z.literal('tmp102'),
  ...i2cFields({ default: 0x48, min: 0x48, max: 0x4b }),
  extended: z.boolean().default(false),
});
/** Key `temperature`. */
export const lm75 = section({ ...sensorFields, kind: z.literal('lm75'), ...i2cFields({ default: 0x48, min: 0x48, max: 0x4f }) });
/** Key `temperature`. */
export const mcp9808 = section({
  ...sensorFields,
  kind: z.literal('mcp9808'),
  ...i2cFields({ default: 0x18, min: 0x18, max: 0x1f }),
  resolution: z.literal([0.5, 0.25, 0.125, 0.0625]).default(0.0625),
});

const ADS1115_INPUTS = ['A0', 'A1', 'A2', 'A3', 'A0-A1', 'A0-A3', 'A1-A3', 'A2-A3'] as const;

/** One key per channel, in volts at the input. */
export const ads1115 = section({
  ...sensorFields,
  kind: z.literal('ads1115'),
  ...i2cFields({ default: 0x48, min: 0x48, max: 0x4b }),
  /** Key at the sensor → input. */
  channels: table(
    platformKey(),
    section({ input: z.enum(ADS1115_INPUTS), rangeVolts: z.literal([6.144, 4.096, 2.048, 1.024, 0.512, 0.256]).default(4.096) }),
  ),
  samplesPerSecond: z.literal([8, 16, 32, 64, 128, 250, 475, 860]).default(128),
});

/** Keys `voltage` (V), `current` (A), `power` (W). */
export const ina219 = section({
  ...sensorFields,
  kind: z.literal('ina219'),
  ...i2cFields({ default: 0x40, min: 0x40, max: 0x4f }),
  shuntOhms: z.number().positive().max(100).default(DEFAULT_SHUNT_OHMS),
  maxAmperes: z.number().positive().max(1_000).default(DEFAULT_MAX_AMPERES),
  busRangeVolts: z.literal([16, 32]).default(32),
});

/** Key `illuminance` (lx). */
export const bh1750 = section({
  ...sensorFields,
  kind: z.literal('bh1750'),
  ...i2cFields({ default: 0x23 }),
  mode: z.enum(['high', 'high2', 'low']).default('high'),
});

/** Any chip by a table of its registers. */
export const i2cRegister = section({
  ...sensorFields,
  kind: z.literal('i2c-register'),
  bus: whole(0, 255).default(1),
  address: whole(0x03, 0x77),
  /** Written once when the sensor opens, in this order. */
  setup: list(section({ register: whole(0, 255), bytes: list(whole(0, 255), { min: 1, max: 32 }) }), { max: 64 }).default([]),
  /** Key → where it lies. */
  registers: table(
    platformKey(),
    section({
      register: whole(0, 255),
      /** Width in bytes. */
      width: whole(1, 8).default(2),
      signed: z.boolean().default(false),
      byteOrder: z.enum(['big', 'little']).default('big'),
      /** Applied before scale: shifts right, then keeps this many bits. */
      shift: whole(0, 63).default(0),
      bits: whole(1, 64).optional(),
      ...registerMeaning,
    }),
  ),
});
