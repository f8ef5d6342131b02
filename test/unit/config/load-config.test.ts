import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ConfigError } from '../../../src/config/fields/config-fault.ts';
import { loadConfig, readConfig } from '../../../src/config/read-config.ts';
import { makeCertificate } from '../../../src/host/self-signed-certificate.ts';
import { configOf, SMALLEST } from '../../support/config-file.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-config-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function file(name: string, content: string, mode = 0o600): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  await chmod(path, mode);
  return path;
}

/** How a configuration names an environment variable. */
const variable = (name: string): string => `\${${name}}`;
const platformWith = (field: string): string => `version: 1\nplatform:\n  url: https://example.org\n  ${field}\n`;

describe('a configuration', () => {
  it('is complete: what is not written has its default, with the unit in its name', async () => {
    const config = await configOf(`${SMALLEST}sensors: [{ name: roof, kind: bme280 }]\n`);
    expect(config.sensors[0]).toMatchObject({
      periodMs: 10_000,
      deadlineMs: 2_000,
      bus: 1,
      address: 0x76,
      enabled: true,
    });
    expect(config.outbox).toMatchObject({
      commitAgeMs: 5_000,
      maxBytes: 256_000_000,
      retain: { forMs: 86_400_000, bytes: 16_000_000 },
    });
    expect(config.time.trust).toBe('platform');
  });

  it('gives a fast sensor a deadline within its period', async () => {
    const config = await configOf(`${SMALLEST}sensors: [{ name: roof, kind: bme280, period: 100ms }]\n`);
    expect(config.sensors[0]?.deadlineMs).toBe(100);
  });

  it('cannot be changed', async () => {
    const config = await configOf(
      `${SMALLEST}sensors: [{ name: roof, kind: bme280, keys: { temperature: { alarms: [{ above: 4 }] } } }]\n`,
    );
    const frozen = (value: unknown): boolean =>
      typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(frozen));
    expect(frozen(config)).toBe(true);
  });

  it('understands on, off and BCM numbers as technicians write them', async () => {
    const config = await configOf(
      `${SMALLEST}actuators: [{ name: relay, kind: gpio-output, line: 17, safe: { stop: off, crash: on } }]\n`,
    );
    expect(config.actuators[0]).toMatchObject({
      line: 'GPIO17',
      safe: { stop: false, crash: true },
      desiredKey: 'relay',
      stateKey: 'relayState',
    });
  });

  it('may share key rules by an anchor', async () => {
    const config = await configOf(
      `${SMALLEST}sensors:\n  - { name: in, kind: tmp102, keys: &rules { temperature: { round: 1, rename: inside } } }\n  - { name: cpu, kind: host, keys: *rules }\n`,
    );
    expect(config.sensors[1]?.keys).toEqual(config.sensors[0]?.keys);
  });

  it('that is wrong stops the agent with every fault', async () => {
    const error = await configOf(`${SMALLEST}log: { level: loud }\noutbox: { maxAge: old }\n`).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(ConfigError);
    expect(error).toMatchObject({
      code: 'config/invalid',
      recovery: 'stop',
      faults: [{ path: 'log.level' }, { path: 'outbox.maxAge' }],
    });
  });

  it('that is not there is named', async () => {
    const missing = join(folder, 'none.yaml');
    await expect(loadConfig(missing, { environment: {} })).rejects.toMatchObject({
      code: 'config/unreadable',
      message: expect.stringContaining(missing),
      recovery: 'stop',
    });
  });

  it('that cannot be read now may be tried again, other than what is no file', async () => {
    // The kernel has nothing at its beginning: EIO.
    const unreadable = {
      code: 'config/unreadable',
      recovery: 'retry',
      message: 'no configuration: cannot read /proc/self/mem: EIO',
    };
    await expect(loadConfig('/proc/self/mem', { environment: {} })).rejects.toMatchObject(unreadable);
    await expect(loadConfig(folder, { environment: {} })).rejects.toMatchObject({
      code: 'config/unreadable',
      recovery: 'stop',
    });
  });
});

describe('a secret', () => {
  it('comes from the environment, within any text', async () => {
    const config = await configOf(platformWith(`accessToken: "${variable('TOKEN')}"`), { TOKEN: 's3cr3t' });
    expect(config.platform.accessToken?.reveal()).toBe('s3cr3t');
    const proxied = await configOf(platformWith(`proxy: "http://user:${variable('PASSWORD')}@proxy:3128"`), {
      PASSWORD: 'pass',
    });
    expect(proxied.platform.proxy?.reveal()).toBe('http://user:pass@proxy:3128');
  });

  it('keeps a reference as it is when it is written with two dollars', async () => {
    const config = await configOf(platformWith(`accessToken: "a$${variable('TOKEN')}"`), { TOKEN: 'x' });
    expect(config.platform.accessToken?.reveal()).toBe(`a${variable('TOKEN')}`);
  });

  it('comes from a file, without the line end', async () => {
    const path = await file('token', 's3cr3t\n');
    expect((await configOf(platformWith(`accessTokenFile: ${path}`))).platform.accessToken?.reveal()).toBe('s3cr3t');
  });

  it('comes from a systemd credential', async () => {
    await file('turnstone_token', 's3cr3t');
    const config = await configOf(platformWith('accessTokenCredential: turnstone_token'), {
      CREDENTIALS_DIRECTORY: folder,
    });
    expect(config.platform.accessToken?.reveal()).toBe('s3cr3t');
  });

  it('is not shown by printing, logging or writing the configuration as JSON', async () => {
    const config = await configOf(platformWith(`accessToken: "${variable('TOKEN')}"`), { TOKEN: 's3cr3t' });
    expect(
      `${JSON.stringify(config)}${inspect(config, { depth: 9, showHidden: true })}${config.platform.accessToken}`,
    ).not.toContain('s3cr3t');
  });

  it('is not shown by a fault, whichever way it came', async () => {
    const environment = { TOKEN: 'from-environment' };
    const path = await file('pin', '12\n');
    const yaml = `version: 1\nplatform: { url: "\${TOKEN}", accessToken: [literal-token] }\nstatus: { page: lan, pinFile: ${path} }\nanalytics: { url: "https://x", password: { a: hidden } }\n`;
    const config = await file('turnstone.yaml', yaml);
    const { faults } = await readConfig(config, { environment });
    expect(faults.map(({ path: at }) => at)).toEqual([
      'platform.url',
      'platform.accessToken',
      'status.pin',
      'analytics.password',
    ]);
    expect(JSON.stringify(faults)).not.toMatch(/from-environment|literal-token|"12"|hidden/);
  });

  it.each([
    '*sk-71f3',
    '!sk-71f3',
    '&sk-71f3',
    '@sk-71f3',
    '%sk-71f3',
    '"sk-71f3',
    '[sk-71f3',
    'sk-71f3: x',
    '|sk-71f3',
  ])('is not shown by a fault of YAML, as in %s', async (written) => {
    const { faults } = await readConfig(await file('turnstone.yaml', platformWith(`accessToken: ${written}`)), {
      environment: {},
    });
    expect(faults.length).toBeGreaterThan(0);
    expect(JSON.stringify(faults)).not.toContain('71f3');
  });

  it('in a file that everyone can read is a warning', async () => {
    expect(
      (
        await readConfig(await file('named.yaml', platformWith(`accessToken: "${variable('NOT_SET')}"`), 0o644), {
          environment: {},
        })
      ).warnings,
    ).toEqual([]);
    const warningsOf = async (path: string) =>
      (await readConfig(path, { environment: {} })).warnings.map(({ problem }) => problem);
    expect(await warningsOf(await file('open.yaml', SMALLEST, 0o644))).toEqual([
      expect.stringContaining('everyone can read'),
    ]);
    expect(await warningsOf(await file('closed.yaml', SMALLEST, 0o640))).toEqual([]);
  });
});

describe('check-config', () => {
  const warningsOf = async (yaml: string) =>
    (await readConfig(await file('turnstone.yaml', yaml), { environment: {} })).warnings;

  it.each([
    ['', []],
    ['firmware: { handlers: [{ title: motor, program: /bin/true }] }', []],
    ['firmware: { enabled: false }', ['platform.caFile: caFile has no effect']],
  ])('takes an authority beside http for the hosts of firmware: %s', async (more, faultsExpected) => {
    const { cert } = makeCertificate({ names: ['localhost'], fromMs: 0, untilMs: 4_000_000_000_000 });
    const ca = await file('ca.pem', cert);
    const yaml = `version: 1\nplatform: { url: "http://localhost:1", accessToken: token, caFile: ${ca} }\n${more}\n`;
    const { faults } = await readConfig(await file('a.yaml', yaml), { environment: {} });
    expect(faults.map(({ path, problem }) => `${path}: ${problem}`)).toEqual(faultsExpected);
  });

  it('says of a method that reads what it cannot read', async () => {
    const yaml = `${SMALLEST}sensors: [{ name: roof, kind: bme280 }]
actuators: [{ name: pump, kind: gpio-output, line: 17 }]
rpc:
  methods:
    good: { actuator: pump, read: true }
    panel: { pins: { "7": pump, "8": pmp } }
    both: { actuator: pump, read: true, value: on }
    none: { command: { program: /bin/true }, read: true }
    alone: { actuator: pump, key: temperature }
    typo: { sensor: roof, key: temperatur }
`;
    const { faults } = await readConfig(await file('a.yaml', yaml), { environment: {} });
    expect(
      faults.map(({ path, problem, hint }) => `${path}: ${problem}${hint === undefined ? '' : ` (${hint})`}`),
    ).toEqual([
      expect.stringMatching(/^rpc.methods.panel.pins.8: unknown actuator .*pump/),
      'rpc.methods.both.value: value beside read',
      'rpc.methods.none.read: read has no effect',
      'rpc.methods.alone.key: key has no effect',
      expect.stringMatching(/^rpc.methods.typo.key: the sensor has no key .*temperature/),
    ]);
  });

  it('names what refers to something disabled, and a minOn that no pulse can keep', async () => {
    const yaml = `${SMALLEST}sensors: [{ name: roof, kind: bme280, enabled: false }]
actuators:
  - { name: up, kind: gpio-output, line: 17, interlocks: [down], limits: { minOn: 2m } }
  - { name: down, kind: gpio-output, line: 18, enabled: false }
  - { name: left, kind: gpio-output, line: 19, enabled: false, interlocks: [right, down] }
  - { name: right, kind: gpio-output, line: 20 }
rules:
  - { name: warm, when: { sensor: roof, key: temperature, above: 20 }, set: { actuator: down, value: on } }
rpc: { methods: { open: { actuator: down }, panel: { pins: { '7': down, '8': up }, read: true } } }
`;
    expect((await warningsOf(yaml)).map(({ path, problem }) => `${path}: ${problem}`)).toEqual([
      'actuators[0].interlocks[0]: up is never switched on, as nobody knows whether the disabled one of the two is off:',
      'actuators[0].limits.minOn: longer than maxPulse, so that no pulse ends in its time:',
      'actuators[2].interlocks[0]: right is never switched on, as nobody knows whether the disabled one of the two is off:',
      'rules[0].when.sensor: the rule does nothing, as its sensor is disabled:',
      'rules[0].set.actuator: the rule does nothing, as its actuator is disabled:',
      'rpc.methods.open.actuator: the method is refused, as its actuator is disabled:',
      'rpc.methods.panel.pins.7: the whole panel is refused, as its actuator is disabled:',
    ]);
  });

  it('names each rule on a sensor that reports by event, where nothing says when it is lost', async () => {
    const yaml = `${SMALLEST}sensors:
  - { name: tank, kind: serial-line, port: /dev/ttyS0, format: number, key: level }
  - { name: asked, kind: serial-line, port: /dev/ttyS1, format: number, key: depth, request: "?" }
  - { name: flow, kind: modbus, connection: { transport: tcp, host: plc }, registers: { speed: { address: 1 } } }
  - { name: litres, kind: derived, values: { volume: "level * 3" } }
  - { name: power, kind: derived, values: { power: 'key("speed") * 2' } }
actuators: [{ name: pump, kind: gpio-output, line: 17 }]
rules:
  - { name: full, when: { sensor: tank, key: level, above: 80 }, set: { actuator: pump, value: off } }
  - { name: known, when: { sensor: tank, key: level, above: 80 }, lostAfter: 1h, set: { actuator: pump, value: off } }
  - { name: polled, when: { sensor: asked, key: depth, above: 80 }, set: { actuator: pump, value: off } }
  - name: within
    when: { all: [{ time: { from: "22:00", to: "06:00" } }, { not: { sensor: tank, key: level, below: 80 } }] }
    set: { actuator: pump, value: off }
  - { name: made, when: { sensor: litres, key: volume, above: 80 }, set: { actuator: pump, value: off } }
  - { name: fast, when: { sensor: power, key: power, above: 80 }, set: { actuator: pump, value: off } }
`;
    expect((await warningsOf(yaml)).map(({ path, problem }) => `${path}: ${problem}`)).toEqual([
      expect.stringMatching(/^rules\[0\]\.when\.sensor: reports by event, so that the rule goes by its last value/),
      expect.stringMatching(/^rules\[3\]\.when\.all\[1\]\.not\.sensor: reports by event/),
      expect.stringMatching(/^rules\[4\]\.when\.sensor: reports by event/),
    ]);
  });

  it('warns when a key is both client and shared', async () => {
    const yaml = `${SMALLEST}attributes: { client: { relay: old } }\nactuators: [{ name: relay, kind: gpio-output, line: GPIO5 }]\n`;
    expect(await warningsOf(yaml)).toEqual([
      expect.objectContaining({ path: 'actuators[0].name', problem: 'key both client and shared:', line: 4 }),
    ]);
  });

  it('warns when the token would travel unencrypted, but not on this machine', async () => {
    const warnings = await warningsOf(SMALLEST.replace('https://example.org', 'http://example.org'));
    expect(warnings.map(({ path, expected }) => [path, expected])).toEqual([
      ['platform.url', 'an address beginning with https://'],
    ]);
    expect(await warningsOf(SMALLEST.replace('https://example.org', 'http://127.0.0.1:8080'))).toEqual([]);
  });

  it('warns of a lockout file that a power cut removes', async () => {
    const yaml = (path: string): string => `${SMALLEST}runFolder: /srv/sockets\nrpc: { lockout: { file: ${path} } }\n`;
    for (const path of ['/run/turnstone/lockout', '/var/run/lockout', '/dev/shm/lockout', '/srv/sockets/lockout'])
      expect(await warningsOf(yaml(path))).toEqual([
        expect.objectContaining({
          path: 'rpc.lockout.file',
          problem: 'a power cut ends the lockout of',
          line: 4,
          column: 25,
        }),
      ]);
    for (const path of ['/var/lib/turnstone/lockout', '/running/lockout', '/srv/lockout'])
      expect(await warningsOf(yaml(path))).toEqual([]);
  });

  it('warns of a text that the platform would take for a number', async () => {
    const warnings = await warningsOf(`${SMALLEST}attributes: { client: { building: "007", floor: 2, room: 7a } }\n`);
    expect(warnings).toEqual([
      expect.objectContaining({ path: 'attributes.client.building', value: '"007"', line: 3, column: 35 }),
    ]);
  });

  it('warns of alarms of a key that is not reported, which older releases took', async () => {
    const sensor = (keys: string) => `sensors: [{ name: roof, kind: sht3x, keys: { ${keys} } }]\n`;
    const yaml = `${SMALLEST}${sensor('temperature: { report: false, alarms: [{ above: 40 }] }, "*": { report: false, alarms: [{ below: 0 }] }')}`;
    const { faults, warnings } = await readConfig(await file('a.yaml', yaml, 0o640), { environment: {} });
    expect(faults).toEqual([]);
    expect(warnings.map(({ path, problem }) => `${path}: ${problem}`)).toEqual([
      'sensors[0].keys.temperature.alarms: never raised, as the key is not reported',
      'sensors[0].keys.*.alarms: never raised, as the key is not reported',
    ]);
  });

  it('warns when there is no way to credentials', async () => {
    expect(await warningsOf('version: 1\nplatform: { url: "https://example.org" }\n')).toEqual([
      expect.objectContaining({ path: 'platform' }),
    ]);
  });
});

describe('the confirmation of a release', () => {
  it('warns of a trial longer than the boot guard’s patience, and refuses nothing there that an older release took', async () => {
    const read = async (confirm: string) =>
      readConfig(await file('a.yaml', `${SMALLEST}firmware: { confirm: { ${confirm} } }\n`, 0o640), {
        environment: {},
      });
    expect(await read('deadline: 1d, unreachableHold: 24h, healthyFor: 1d')).toMatchObject({
      faults: [],
      warnings: [],
    });
    const { faults, warnings } = await read('deadline: 7d, unreachableHold: 30d');
    expect(faults).toEqual([]);
    expect(warnings.map(({ path, problem }) => `${path}: ${problem}`)).toEqual([
      'firmware.confirm.deadline: the boot guard goes back after 25 hours all the same, not after',
      'firmware.confirm.unreachableHold: the boot guard goes back after 25 hours all the same, not after',
    ]);
    expect((await read('unreachableHold: 10m, healthyFor: 20m')).warnings.map(({ path }) => path)).toEqual([
      'firmware.confirm.healthyFor',
    ]);
  });
});
