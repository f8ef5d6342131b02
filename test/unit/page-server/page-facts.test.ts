import { expect, it } from 'vitest';
import { configSchema } from '../../../src/config/schema/agent-config.ts';
import { pageFacts } from '../../../src/page-server/page-facts.ts';
import { registerText, sourceText } from '../../../src/page-server/source-text.ts';

const config = configSchema.parse({
  version: 1,
  platform: { url: 'https://example.org', accessToken: 'token-of-a-device' },
  sensors: [
    {
      name: 'roof',
      kind: 'bme280',
      bus: 1,
      address: 0x76,
      period: '10s',
      prefix: 'roof_',
      keys: {
        temperature: {
          rename: 'temperature',
          deadband: 0.2,
          maxInterval: '10m',
          alarms: [{ above: 40, hysteresis: 1 }],
        },
        humidity: { report: false },
      },
    },
    { name: 'scale', kind: 'serial-line', port: '/dev/ttyS0', format: 'number', key: 'weight' },
    { name: 'mean', kind: 'sht3x', period: '1s', window: { length: '1m' }, keys: { temperature: { deadband: '5 %' } } },
    {
      name: 'meter',
      kind: 'modbus',
      connection: { transport: 'tcp', host: 'meter.local' },
      unitId: 3,
      registers: { power: { address: 12, type: 'float32' } },
    },
  ],
  actuators: [{ name: 'pump', kind: 'gpio-output', line: 5 }],
});
const reading = (key: string) => ({ key, value: 1, atMs: 0 });
const sensor = (name: string, ...keys: readonly string[]) => ({
  name,
  kind: 'x',
  state: 'ok' as const,
  readings: keys.map(reading),
});

it('tells where sensors are, under which key and when their values are sent, and the longest silence that is none', () => {
  const limits = { max: 5 };
  const settings = {
    name: 'pump',
    valueType: 'boolean',
    limits,
    operatorUntil: 'release',
    neverWith: [{ with: 'valve', gapMs: 0 }],
  } as never;
  const facts = pageFacts(config, {
    mayControl: false,
    sensors: [
      sensor('roof', 'temperature', 'humidity', 'pressure'),
      sensor('scale', 'weight'),
      sensor('mean', 'temperature_mean'),
      sensor('meter', 'power'),
    ],
    settings: (name) => (name === 'pump' ? settings : undefined),
  });
  expect(facts).toEqual({
    mayControl: false,
    mayConfigure: false,
    sensors: {
      roof: {
        source: 'I2C bus 1, address 0x76',
        periodMs: 10_000,
        readings: {
          roof_temperature: {
            driverKey: 'temperature',
            isReported: true,
            deadband: 0.2,
            maxIntervalMs: 600_000,
            maxGapMs: 630_000,
            alarms: [{ name: 'above 40', limit: 'above 40', above: 40, hysteresis: 1 }],
          },
          roof_humidity: { driverKey: 'humidity', isReported: false, maxGapMs: 30_000 },
          roof_pressure: { driverKey: 'pressure', isReported: true, maxGapMs: 30_000 },
        },
      },
      // It reports by event: a scale may stand still for weeks.
      scale: { source: '/dev/ttyS0, 9600 baud', periodMs: 10_000, readings: { weight: { isReported: true } } },
      mean: {
        source: 'I2C bus 1, address 0x44',
        periodMs: 1_000,
        windowMs: 60_000,
        readings: { temperature_mean: { isReported: true, deadband: '5 %' } },
      },
      meter: {
        source: 'meter.local:502, unit 3',
        periodMs: 10_000,
        readings: { power: { source: 'register 12 holding float32', isReported: true, maxGapMs: 30_000 } },
      },
    },
    outputs: {
      pump: { valueType: 'boolean', limits, operatorUntil: 'release', source: 'GPIO5', interlocks: ['valve'] },
    },
  });
});

it.each([
  [
    { connection: { transport: 'rtu', port: '/dev/ttyUSB0', baudRate: 9600 }, unitId: 7 },
    '/dev/ttyUSB0, 9600 baud, unit 7',
  ],
  [{ line: { chip: 'gpiochip0', offset: 4 } }, 'line 4 of gpiochip0'],
  [{ id: '28-0316a2794aff' }, '28-0316a2794aff'],
  // What else stands in an address may be secret.
  [{ url: 'https://user:secret@meter.local:8443/secret?token=secret' }, 'meter.local:8443'],
  [{ url: 'not an address' }, undefined],
  [{ chip: 0, channel: 1 }, 'PWM 0, channel 1'],
  [
    { connection: { transport: 'tcp', host: 'plc', port: 502 }, unitId: 1, table: 'coil', address: 9 },
    'plc:502, unit 1, coil register 9',
  ],
  [
    {
      connection: { transport: 'tcp', host: 'plc', port: 502 },
      unitId: 1,
      table: 'holding',
      registers: [{ address: 9 }, { address: 12 }],
    },
    'plc:502, unit 1, holding register 9, 12',
  ],
  [{ program: '/usr/bin/read' }, '/usr/bin/read'],
  [{ kind: 'host' }, undefined],
])('tells the place of %j', (fields, words) => {
  expect(sourceText(fields)).toBe(words);
});

it.each(['constructor', 'power'])('knows no register of a sensor without one: %s', (key) => {
  expect([registerText({}, key), registerText({ registers: {} }, key)]).toEqual([undefined, undefined]);
});
