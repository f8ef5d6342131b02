/** Settings of a sensor for the page: as the configuration has them, each with the path by which a patch changes it, and nothing secret. */
import { expect, it } from 'vitest';
import { configSchema } from '../../../src/config/schema/agent-config.ts';
import { fileHash } from '../../../src/remote-config/file-hash.ts';
import { applyPatch } from '../../../src/remote-config/patch.ts';
import { sensorSettings } from '../../../src/remote-config/sensor-settings.ts';

const sensors = [
  {
    name: 'freezer',
    label: 'Freezer',
    kind: 'bme280',
    bus: 1,
    period: '90s',
    prefix: 'cold_',
    keys: {
      temperature: { label: 'Air', alarms: [{ above: -15, hysteresis: 1 }, { below: -30 }] },
      humidity: { alarms: [{ name: 'damp', above: 80 }] },
    },
  },
  {
    name: 'meter',
    kind: 'http',
    url: 'https://user:s3cret@meter.local/',
    keys: { '*': { alarms: [{ above: 5 }] }, 'a.b': { path: 'x', label: 'Odd' } },
  },
  { name: 'scale', kind: 'serial-line', port: '/dev/ttyS0', format: 'json' },
];
const file = {
  version: 1,
  platform: { url: 'https://example.org', accessToken: 'token-of-a-device' },
  sensors: [sensors[0], sensors[2]],
};
const config = configSchema.parse(file);
const of = (name: string, seen: readonly string[] = []) => sensorSettings(config, { name, base: 'b', seen });

it('has label, period, and label, unit and alarms of each key that the sensor gives', () => {
  const { keys, ...sensor } = of('freezer');
  expect(sensor).toEqual({ base: 'b', name: 'freezer', path: 'sensors.freezer', label: 'Freezer', period: '1m30s' });
  expect(keys.map(({ key, label, unit, type }) => [key, label, unit, type])).toEqual([
    ['cold_temperature', 'Air', '°C', 'number'],
    ['cold_humidity', undefined, '%', 'number'],
    ['cold_pressure', undefined, 'hPa', 'number'],
  ]);
  expect(keys[0]?.alarms.map(({ path, above, below, hysteresis }) => [path, above, below, hysteresis])).toEqual([
    ['sensors.freezer.keys.temperature.alarms[0]', -15, undefined, 1],
    ['sensors.freezer.keys.temperature.alarms[1]', undefined, -30, 0],
  ]);
  expect(keys[1]?.alarms[0]?.path).toBe('sensors.freezer.keys.humidity.alarms.damp');
});

it('gives paths by which a patch changes what they name', () => {
  const bytes = Buffer.from(JSON.stringify(file));
  const [air, damp] = of('freezer').keys;
  const set = {
    [`${air?.alarms[0]?.path}.above`]: -12,
    [`${damp?.alarms[0]?.path}.above`]: 70,
    [`${air?.path}.label`]: 'Cold',
  };
  const patched = applyPatch(bytes, { base: fileHash(bytes), set });
  const text = 'bytes' in patched ? Buffer.from(patched.bytes).toString() : JSON.stringify(patched);
  expect(text.replaceAll(/\s/g, '')).toMatch(/"label":"Cold","alarms":\[\{"above":-12.*"above":70/);
});

it('has the keys that a sensor has given, where no configuration says them', () => {
  expect(of('scale', ['weight']).keys.map(({ path, type }) => [path, type])).toEqual([
    ['sensors.scale.keys.weight', undefined],
  ]);
  expect(of('scale').keys).toEqual([]);
});

it('offers no rules of their own to keys that go by those of all', () => {
  const all = configSchema.parse({ ...file, sensors: [{ ...sensors[0], keys: { '*': { alarms: [{ above: 5 }] } } }] });
  const { keys } = sensorSettings(all, { name: 'freezer', base: 'b', seen: [] });
  expect(keys).toEqual([
    {
      path: 'sensors.freezer.keys.*',
      key: '*',
      alarms: [expect.objectContaining({ path: 'sensors.freezer.keys.*.alarms[0]', above: 5 })],
    },
  ]);
});

it('refuses a sensor that is not there', () => {
  expect(() => of('roof')).toThrow('there is no sensor roof');
});
