/** Options of earlier releases: an old file gets one fault for each, at its place, with the words that replace it. */
import { expect, it } from 'vitest';
import { configOf, SMALLEST } from '../../../test/support/config-file.ts';
import { ConfigError } from '../fields/config-fault.ts';
import { FORMER_OPTIONS } from './former-options.ts';

const MODBUS = 'kind: modbus, connection: { transport: tcp, host: meter.local }';
const FRAMES = 'kind: serial-line, port: /dev/ttyS1, frame: { start: "AA", length: 9 }';

/** Old sections with the place of their fault and the new words, by path in the table. */
const OLD: Readonly<Record<string, readonly [yaml: string, place: string, now: string]>> = {
  'platform.dailyBudget': [
    `${SMALLEST.replace(' }', ', dailyBudget: 5MB }')}`,
    'platform.dailyBudget',
    'it is link.daily now, which counts both directions, with TLS and TCP/IP',
  ],
  'provisioning.newPerDay': [
    'provisioning: { deviceKey: k, deviceSecret: s, newPerDay: 10 }',
    'provisioning.newPerDay',
    'take newPerDay out: as many things may be swapped in a day as there are slots, and at least five',
  ],
  'devices[].poll': [
    'devices: [{ name: meter, accessToken: meter-token, poll: rpc }]',
    'devices[0].poll',
    'take poll out: a device polls for commands and shared attributes when it has an actuator, for commands when a method of rpc.methods reads its sensor, and for shared attributes when it has handlers',
  ],
  'sensors[].keys.*.deadbandPercent': [
    'sensors: [{ name: roof, kind: sht3x, keys: { "*": { deadbandPercent: 2.5 } } }]',
    'sensors[0].keys.*.deadbandPercent',
    'deadbandPercent: 2.5 is now deadband: 2.5 %',
  ],
  'sensors[].registers.*.min': [
    `sensors: [{ name: meter, ${MODBUS}, registers: { power: { address: 1, min: -5 } } }]`,
    'sensors[0].registers.power.min',
    'registers.power.min: -5 is now keys.power.min: -5 of the sensor',
  ],
  'sensors[].registers.*.max': [
    `templates: { meter: { ${MODBUS}, registers: { power: { address: 1, max: 9e3 } } } }\nsensors: [{ template: meter, name: meter }]`,
    'templates.meter.registers.power.max (meter)',
    'registers.power.max: 9000 is now keys.power.max: 9000 of the sensor',
  ],
  'sensors[].fields.*.min': [
    `sensors: [{ name: dust, ${FRAMES}, fields: { pm10: { at: 1, min: 0 } } }]`,
    'sensors[0].fields.pm10.min',
    'fields.pm10.min: 0 is now keys.pm10.min: 0 of the sensor',
  ],
  'sensors[].fields.*.max': [
    `sensors: [{ name: dust, ${FRAMES}, fields: { pm10: { at: 1, max: 500 } } }]`,
    'sensors[0].fields.pm10.max',
    'fields.pm10.max: 500 is now keys.pm10.max: 500 of the sensor',
  ],
};

it('the table has an old file for each', () => {
  expect(Object.keys(OLD)).toEqual(FORMER_OPTIONS.map(({ path }) => path));
});

it.each(Object.values(OLD))('%s', async (yaml, path, hint) => {
  const error = await configOf(yaml.startsWith('version:') ? yaml : SMALLEST + yaml).catch((fault: unknown) => fault);
  expect(error).toBeInstanceOf(ConfigError);
  expect((error as ConfigError).faults).toMatchObject([
    { path, problem: 'unknown key', expected: 'what replaced it', hint },
  ]);
});

it('a value that is no number is not repeated', async () => {
  const old = `${SMALLEST}sensors: [{ name: roof, kind: sht3x, keys: { temperature: { deadbandPercent: some-secret } } }]`;
  await expect(configOf(old)).rejects.toMatchObject({
    message: expect.stringMatching(/deadbandPercent: 5 is now deadband: 5 %$/),
  });
});

it.each(['5 %', '"2.5%"', '0 %', '1000 %'])('deadband takes %s', async (written) => {
  const config = await configOf(
    `${SMALLEST}sensors: [{ name: roof, kind: sht3x, keys: { temperature: { deadband: ${written} } } }]`,
  );
  expect(config.sensors[0]?.keys.temperature?.deadband).toBe(written.replaceAll('"', ''));
});

it.each(['1001 %', '5', '-1 %', '5 percent'])('deadband refuses the text "%s"', async (written) => {
  await expect(
    configOf(`${SMALLEST}sensors: [{ name: roof, kind: sht3x, keys: { temperature: { deadband: "${written}" } } }]`),
  ).rejects.toMatchObject({
    message: expect.stringContaining('expected a text such as 5 %, at most 1000 %'),
  });
});
