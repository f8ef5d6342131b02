/** Attached devices in a configuration: each with a name, a token and keys of its own, and what is wrong with one told at its place. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { faultLine } from '../fields/config-fault.ts';
import { withLiveSetting } from '../live-config.ts';
import { readConfig } from '../read-config.ts';
import type { AgentConfig } from '../schema/agent-config.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-devices-'));
});
afterEach(() => rm(folder, { recursive: true }));

const WITH_TOKEN = 'version: 1\nplatform: { url: "https://example.org", accessToken: gateway-token }\n';
const PROVISIONED = `${WITH_TOKEN}provisioning: { deviceKey: k, deviceSecret: s }\n`;
const METER =
  'kind: modbus, connection: { transport: tcp, host: meters.local }, registers: { power: { address: 0 }, serial: { address: 8 } }';

async function read(text: string) {
  const file = join(folder, 'turnstone.yaml');
  await writeFile(file, text, { mode: 0o600 });
  const { config, faults, warnings } = await readConfig(file, { environment: {} });
  const lines = (all: typeof faults) => all.map((fault) => faultLine('f', fault).replace(/^f:\d+:\d+: /, ''));
  return { config, wrong: lines(faults), warned: lines(warnings) };
}

async function good(text: string): Promise<AgentConfig> {
  const { config, wrong, warned } = await read(text);
  expect({ wrong, warned }).toEqual({ wrong: [], warned: [] });
  return config as AgentConfig;
}

/** Two slots, the first with these options, and a meter for each, the first with others. */
const twoMeters = (options: string, { first = '', beside = '' } = {}) => `${PROVISIONED}${beside}
devices:
  - { name: m1${options === '' ? '' : `, ${options}`} }
  - { name: m2 }
sensors:
  - { name: meter1, device: m1, unitId: 1, ${METER}${first} }
  - { name: meter2, device: m2, unitId: 2, ${METER} }
`;

describe('attached devices', () => {
  it('are none unless somebody names some', async () => {
    expect((await good(PROVISIONED)).devices).toEqual([]);
  });

  it('have defaults, and the only sensor of their own for the serial number', async () => {
    const { devices, sensors } = await good(twoMeters('serialNumber: { key: serial, pattern: "[0-9]{8}" }'));
    expect(devices).toEqual([
      {
        name: 'm1',
        deviceName: '{gateway} {serialNumber}',
        serialNumber: { sensor: 'meter1', key: 'serial', pattern: '[0-9]{8}' },
      },
      { name: 'm2', deviceName: '{gateway} {name}' },
    ]);
    expect(sensors.map(({ device }) => device)).toEqual(['m1', 'm2']);
  });

  it('ten meters are ten devices in four lines, and so is their fault one', async () => {
    const text = (key: string) => `${PROVISIONED}templates: { meter: { ${METER} } }
devices: [{ count: 10, name: "m{n}", serialNumber: { key: ${key} } }]
sensors:
  - { template: meter, count: 10, name: "meter{n}", device: "m{n}", unitId: "{n}" }
`;
    const { devices, sensors } = await good(text('serial'));
    expect(devices.map(({ serialNumber }) => serialNumber?.sensor)).toEqual(sensors.map(({ name }) => name));
    expect(devices.map(({ name }) => name)).toEqual(sensors.map(({ device }) => device));
    const told = /^devices\[0\]\.serialNumber\.key \(m1\): the sensor has no key "seral"/;
    expect((await read(text('seral'))).wrong).toEqual([expect.stringMatching(told)]);
  });

  it('may each have the keys, shared attributes and states of the others, and of the gateway', async () => {
    await good(`${PROVISIONED}devices: [{ name: m1 }, { name: m2, deviceName: "{label|name} in {gateway}", label: Pump }]
sensors:
  - { name: own, unitId: 1, ${METER} }
  - { name: a, device: m1, unitId: 2, ${METER} }
actuators:
  - { name: r1, device: m1, desiredKey: relay, stateKey: relayState, kind: gpio-output, line: GPIO5 }
  - { name: r2, device: m2, desiredKey: relay, stateKey: relayState, kind: gpio-output, line: GPIO6 }
  - { name: r3, desiredKey: relay, stateKey: relayState, kind: gpio-output, line: GPIO7 }
`);
  });

  it('keep their token where it is: no word of it is told, and a file that is not there may come', async () => {
    const { config, wrong } = await read(twoMeters('accessTokenFile: /nowhere/token'));
    expect(config).toBeUndefined();
    expect(wrong).toEqual([
      'devices[0].accessTokenFile: no such file: "/nowhere/token", expected a file with the accessToken',
    ]);
  });

  it('leave live settings as they are', async () => {
    const config = await good(twoMeters('serialNumber: { key: serial }'));
    expect(withLiveSetting(config, 'sensors.meter1.period', '30s')).toMatchObject({
      config: { sensors: [{ periodMs: 30_000 }, {}] },
    });
    expect(withLiveSetting(config, 'sensors.meter1.enabled', false)).toHaveProperty('config');
  });
});

describe('a wrong device', () => {
  it.each([
    ['deviceName: "{nam}"', 'devices[0].deviceName: nothing is known as {nam} in "{nam}", expected one of {gateway}'],
    ['deviceName: "{gateway"', 'devices[0].deviceName: a bracket without its pair in "{gateway"'],
    ['deviceName: "  "', 'devices[0].deviceName: a name of blanks: "  "'],
    ['deviceName: "{gateway}"', 'devices[0].deviceName: the name of the gateway itself: "{gateway}"'],
    [
      'deviceName: "{label} {name}"',
      'devices[0].deviceName: the device has no label, which is asked for in "{label} {name}"',
    ],
    ['deviceName: "M {serialNumber}"', 'devices[0].deviceName: the device has no serialNumber, which is asked for in'],
    ['deviceName: "{gateway} m2"', 'devices[1].deviceName: the name of another device:'],
    ['serialNumber: { key: serial, sensor: metre1 }', 'devices[0].serialNumber.sensor: unknown sensor "metre1"'],
    [
      'serialNumber: { key: serial, sensor: meter2 }',
      'devices[0].serialNumber.sensor: a sensor that belongs to another device: "meter2"',
    ],
    [
      'serialNumber: { key: power_mean }',
      'devices[0].serialNumber.key: the sensor has no key "power_mean", expected one of power, serial',
    ],
    [
      'serialNumber: { key: serial, pattern: "(?=7)" }',
      'devices[0].serialNumber.pattern: wrong value "(?=7)", expected a regular exp',
    ],
    [
      'serialNumber: { key: serial, pattern: "[0-" }',
      'devices[0].serialNumber.pattern: wrong value "[0-", expected a regular expression',
    ],
    ['serialNumber: { key: serial }, accessToken: t', 'devices[0].serialNumber: serialNumber beside an access token'],
    [
      'provisioning: { key: k, secret: s }, accessTokenFile: /dev/null',
      'devices[0].provisioning: provisioning beside an access token',
    ],
    [
      'provisioning: { key: k }',
      'devices[0].provisioning: secret is missing, expected secret, secretFile or secretCredential',
    ],
    [
      'accessToken: gateway-token',
      'devices[0].accessToken: the token of another device: [secret], expected a token of its own; platform has it',
    ],
    ['accessToken: "a b"', 'devices[0].accessToken: wrong value [secret], expected an access token'],
    ['profile: Meter', 'devices[0].profile: unknown key "profile"'],
  ])('%s', async (options, told) => {
    const { wrong } = await read(twoMeters(options));
    expect(
      wrong.filter((line) => line.startsWith(told)),
      wrong.join('\n'),
    ).toHaveLength(1);
  });

  it.each([
    ['name: m2', /^devices\[1\]\.name: duplicate name "m2".*devices\[0\] has it already/],
    ['name: "m 1"', /^devices\[0\]\.name: wrong value "m 1", expected a name of 1 to 64 letters, digits, - and _/],
  ])('%s', async (name, told) => {
    const { wrong } = await read(twoMeters('').replace('name: m1', name));
    expect(
      wrong.filter((line) => told.test(line)),
      wrong.join('\n'),
    ).toHaveLength(1);
  });

  it('is one to which a sensor or an actuator belongs, and which is not there', async () => {
    const relay = 'actuators: [{ name: relay, device: m3, kind: gpio-output, line: GPIO5 }]\n';
    const { wrong } = await read(
      twoMeters('', { first: ', enabled: true', beside: relay }).replace('device: m2', 'device: m22'),
    );
    expect(wrong).toEqual([
      'actuators[0].device: unknown device "m3", expected one of m1, m2; did you mean "m1"?',
      'sensors[1].device: unknown device "m22", expected one of m1, m2; did you mean "m2"?',
    ]);
  });

  it('has no way to a token', async () => {
    const devices =
      'devices: [{ name: m1 }, { name: m2, accessToken: t2 }, { name: m3, provisioning: { key: k, secret: s } }]\n';
    expect((await read(WITH_TOKEN + devices)).wrong).toEqual([
      expect.stringMatching(/^devices\[0\]: neither an access token nor prov/),
    ]);
  });

  it('has the token of another one', async () => {
    const devices = 'devices: [{ name: m1, accessToken: same }, { name: m2, accessToken: same }]\n';
    expect((await read(PROVISIONED + devices)).wrong).toEqual([
      expect.stringMatching(/^devices\[1\]\.accessToken: the token of another.*devices\[0\]/),
    ]);
  });

  it('has several sensors that might give its serial number, or none', async () => {
    const several = twoMeters('serialNumber: { key: serial }').replace('device: m2', 'device: m1, prefix: b');
    expect((await read(several)).wrong).toEqual([
      'devices[0].serialNumber: 2 sensors belong to the device, expected sensor: with the name of the one that gives it',
    ]);
    const none = `${PROVISIONED}devices: [{ name: m1, serialNumber: { key: serial } }]\n`;
    expect((await read(none)).wrong).toEqual([
      'devices[0].serialNumber: no sensor belongs to the device, expected a sensor with device: m1',
    ]);
  });

  it('has one key twice', async () => {
    const { wrong } = await read(twoMeters('').replace('device: m2', 'device: m1'));
    expect(wrong).toHaveLength(2);
    expect(wrong[0]).toMatch(/^sensors\[1\]\.name: key produced twice: "power".*sensors\[0\] gives it already/);
  });

  it('is one of more than a thousand', async () => {
    const { wrong } = await read(
      `${PROVISIONED}devices: [{ count: 999, name: "m{n}" }, { name: another }, { count: 2, name: "k{n}" }]\n`,
    );
    expect(wrong).toEqual([expect.stringMatching(/^devices\[2\]: more than 1000 devices with those of/)]);
    const { wrong: written } = await read(`${PROVISIONED}devices: [${'{ name: m },'.repeat(1_001)}]\n`);
    expect(written).toEqual(['devices: 1001 devices, expected at most 1000']);
  });
});

describe('what several devices have', () => {
  it('is no panel of a method', async () => {
    const panel = `rpc: { methods: { getPanel: { pins: { "1": relay, "2": lamp } } } }
actuators: [{ name: relay, device: m1, kind: gpio-output, line: GPIO5 }, { name: lamp, kind: gpio-output, line: GPIO6 }]\n`;
    const { wrong } = await read(twoMeters('', { beside: panel }));
    expect(wrong).toEqual(['rpc.methods.getPanel.pins: actuators of several devices, expected those of one device']);
    await good(twoMeters('', { beside: panel.replace('lamp, kind', 'lamp, device: m1, kind') }));
  });
});

it.each([
  [
    'nothing belongs to it',
    `${PROVISIONED}devices: [{ name: m1 }]\n`,
    /^devices\[0\]\.name: nothing belongs to the device "m1"/,
  ],
  [
    'a swapped one has its name',
    twoMeters('serialNumber: { key: serial }, deviceName: "{gateway} {name}"'),
    /^devices\[0\]\.deviceName: a swapped one would have the same name/,
  ],
  [
    'the sensor of its serial number is off',
    twoMeters('serialNumber: { key: serial }', { first: ', enabled: false' }),
    /^devices\[0\]\.serialNumber: nobody knows who the device is, as its sensor is disabled/,
  ],
])('a device is warned of when %s', async (_what, text, told) => {
  const { wrong, warned } = await read(text);
  expect({ wrong, warned }).toEqual({ wrong: [], warned: [expect.stringMatching(told)] });
});
