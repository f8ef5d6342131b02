/** A fault of a section or item hides no other in the same one. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { readConfig } from '../../../src/config/read-config.ts';

async function faultsOf(yaml: string): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-faults-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'turnstone.yaml');
  await writeFile(file, `version: 1\n${yaml}`, { mode: 0o600 });
  return (await readConfig(file, { environment: {} })).faults.map(({ path, problem }) => `${path}: ${problem}`);
}
const PLATFORM = 'platform: { url: "https://iot.example.org", accessToken: none }\n';

it('names an address of a page beside a wrong duration', async () => {
  expect(
    await faultsOf('platform: { url: "https://iot.example.org/login", accessToken: none, pollTimeout: 5x }\n'),
  ).toEqual(['platform.url: the address of a page or an endpoint:', 'platform.pollTimeout: wrong value']);
});

it('names a line that is used twice, a name that stands twice and an unknown key beside what cannot be read', async () => {
  const yaml = `${PLATFORM}sensors:
  - { name: roof, kind: bme280, perod: 10s, keys: { temperatur: { round: 1 } } }
  - { name: roof, kind: ds18b20, id: 28-0316a2794aff, period: 10 s, prefix: b }
actuators:
  - { name: pump, kind: gpio-output, line: GPIO17, limits: { maxOn: 10 } }
  - { name: valve, kind: gpio-output, line: GPIO17, safe: { start: 7 } }
`;
  expect(new Set(await faultsOf(yaml))).toEqual(
    new Set([
      'sensors[0].perod: unknown key',
      'sensors[0].keys.temperatur: the sensor has no key',
      'sensors[1].name: duplicate name',
      'sensors[1].period: wrong value',
      'actuators[0].limits.maxOn: wrong value',
      'actuators[1].line: two users of one GPIO line',
      'actuators[1].safe.start: wrong kind of value:',
    ]),
  );
});

it('names no fault that only a default in place of what cannot be read would have', async () => {
  const yaml = `${PLATFORM}sensors:
  - { name: a, kind: bme280, address: 0x78, prefix: a }
  - { name: b, kind: bme280, address: 0x76, prefix: b }
`;
  expect(await faultsOf(yaml)).toEqual(['sensors[0].address: wrong value']);
  expect(await faultsOf('platform: { url: "https://iot.example.org", accessToken: [1] }\n')).toEqual([
    'platform.accessToken: wrong value',
  ]);
});

it('names a faulty broker once, and not its users', async () => {
  const yaml = `${PLATFORM}brokers:
  - { name: house, url: "mqtt://broker", keepAlive: 5x }
sensors:
  - { name: hall, kind: mqtt, broker: house, topic: hall, key: temperature, format: number }
  - { name: yard, kind: mqtt, broker: yard, topic: yard, key: level, format: number }
`;
  expect(await faultsOf(yaml)).toEqual(['brokers[0].keepAlive: wrong value', 'sensors[1].broker: unknown broker']);
});
