import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { readConfig } from '../../../src/config/read-config.ts';
import { fakeEdge } from '../../support/fake-edge.ts';

const path = (name: string): string => new URL(`../../${name}`, import.meta.url).pathname;
const EXAMPLE = path('../config/turnstone.example.yaml');
const WRONG = path('fixtures/config/unknown-key.yaml');

async function check(...words: string[]) {
  const edge = fakeEdge();
  const exitCode = await runCommandLine(['check-config', ...words], { edge, version: () => '' });
  return { exitCode, out: edge.out(), err: edge.err() };
}

async function checkDriver(name: string, text: string) {
  const folder = await mkdtemp(join(tmpdir(), 'turnstone-driver-'));
  const [driver, config] = [join(folder, name), join(folder, 'turnstone.yaml')];
  await writeFile(driver, text);
  const lines = ['version: 1', 'platform: { url: https://example.org, accessToken: driver-token }', 'sensors:'];
  await writeFile(config, `${lines.join('\n')}\n  - { name: tank, kind: module, file: ${driver} }\n`, { mode: 0o600 });
  const outcome = await check(config);
  await rm(folder, { recursive: true });
  return outcome;
}

describe('turnstone check-config', () => {
  it('says that a good configuration is good', async () => {
    const { exitCode, out, err } = await check(EXAMPLE);
    expect({ exitCode, err }).toEqual({ exitCode: EXIT.ok, err: '' });
    expect(out).toContain(`${EXAMPLE}: good`);
  });

  it('calls no example good that stands unchanged in the place of a configuration', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turnstone-example-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const example = await readFile(path('../config/provisioning.example.yaml'));
    const [shipped, config] = [join(folder, 'provisioning.example.yaml'), join(folder, 'turnstone.yaml')];
    for (const file of [shipped, config]) await writeFile(file, example, { mode: 0o600 });
    const untouched = await check(config);
    expect(untouched.exitCode).toBe(EXIT.badConfig);
    expect(untouched.out).toContain(
      `${config}:1:1: the example as it was shipped, expected the address of your platform`,
    );
    expect((await check(shipped)).exitCode).toBe(EXIT.ok);
    await writeFile(config, example.toString().replace('iot.example.org', 'iot.example.net'));
    expect((await check(config)).exitCode).toBe(EXIT.ok);
  });

  it('explains the conversion of every key, step by step', async () => {
    const { exitCode, out } = await check(EXAMPLE, '--explain');
    expect(exitCode).toBe(EXIT.ok);
    for (const line of [
      'roof.temperature: number → × 1 → + 0 → -40…85 → at most 5 per 1m → round to 2 places',
      'indicator.linePressure: text → no value: "N/A" 32767 → number, decimal ","',
      'indicator.valve: text → "OPEN" = true, "SHUT" = false, "FAULT" = no value',
      "indicator.raw: text → number, base 16 → 16 bits, two's complement → × 0.1",
      'indicator.tank: text → table of 3 points',
      'shelly.gridPower: JSON',
      'meter.energy: number → × 0.01',
      'meter.meterAlarm: true or false',
    ])
      expect(out.split('\n')).toContain(line);
  });

  it('explains what each format of lines gives', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turnstone-lines-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, 'lines.yaml');
    const sensor = (name: string, format: string): string =>
      `  - { name: ${name}, kind: command, program: /bin/cat, prefix: ${name}, ${format} }\n`;
    await writeFile(
      file,
      [
        'version: 1\nplatform: { url: https://iot.example.org, accessToken: none }\nsensors:\n',
        sensor('plain', 'format: number'),
        sensor('comma', 'format: number, keys: { value: { decimal: "," } }'),
        sensor('scaled', 'format: number, keys: { value: { scale: 10 } }'),
        sensor('columns', 'format: csv, columns: [a], keys: { a: { min: 0 } }'),
        sensor('free', 'format: csv, columns: [a]'),
        sensor('words', 'format: regex, pattern: "(?<a>.+)", keys: { a: { type: text } }'),
        '  - { name: battery, kind: serial-line, port: /dev/ttyS1, preset: jbd-bms }\n',
        '  - name: own\n    kind: serial-line\n    port: /dev/ttyS2\n    frame: { start: "A5", length: 9 }\n',
        '    fields: { level: { at: 4, type: uint8, noValue: 255 } }\n    keys: { level: { min: 0 } }\n',
      ].join(''),
      { mode: 0o600 },
    );
    const { out } = await check(file, '--explain');
    for (const line of [
      'plain.value: text → number',
      'comma.value: text → number, decimal ","',
      'scaled.value: text → number → × 10',
      'columns.a: text → 0…',
      'free.a: text, or the number that it spells',
      'words.a: text → text',
      'battery.batteryVoltage: number → × 0.01',
      'battery.temperature1: number → × 0.1 → - 273.1',
      'own.level: number → no value: 255 → 0…',
    ])
      expect(out.split('\n')).toContain(line);
  });

  it('prints a fault a line, in a form that editors can jump to, and ends with 78', async () => {
    const { exitCode, out, err } = await check(WRONG);
    expect({ exitCode, err }).toEqual({ exitCode: EXIT.badConfig, err: '' });
    expect(out.split('\n').filter((line) => line.startsWith(`fault   ${WRONG}:`))).toHaveLength(3);
    expect(out).toContain(`${WRONG}:11:5: sensors[0].perod: unknown key "perod"`);
    expect(out).toContain(`${WRONG}: 3 faults`);
  });

  it.each([
    ['driver.mjs', 'export const openSensor = async () => ({ read: async () => [] )};\n', 'line 1'],
    ['driver.ts', 'export const openSensor = async (context: { name: string ) => ({});\n', 'SyntaxError'],
    ['driver.cjs', 'exports.openSensor = async () => {\n', 'SyntaxError'],
  ])('tells of a driver that cannot be parsed: %s', async (name, text, hint) => {
    const { exitCode, out } = await checkDriver(name, text);
    expect(exitCode).toBe(EXIT.badConfig);
    expect(out).toContain(':4:');
    expect(out).toContain(`sensors[0].file: a syntax error in`);
    expect(out).toContain(hint);
  });

  it.each([
    [
      'driver.mjs',
      '#!/usr/bin/node\nimport "./not-there.mjs"; throw new Error("executed"); export const openSensor = 1;\n',
    ],
    ['driver.ts', 'const name: string = "a";\nexport const openSensor = async (): Promise<unknown> => ({ name });\n'],
    ['driver.js', 'exports.openSensor = async () => ({ read: async () => [] });\nwith ({}) {}\n'],
  ])('neither executes a driver nor asks for what it imports: %s', async (name, text) => {
    const { exitCode, out } = await checkDriver(name, text);
    expect({ exitCode, out }).toEqual({ exitCode: EXIT.ok, out: expect.stringContaining('good') });
  });

  it('parses many drivers in little time, and tells each that is wrong', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turnstone-drivers-'));
    const lines = ['version: 1', 'platform: { url: https://example.org, accessToken: driver-token }', 'sensors:'];
    for (let n = 0; n < 40; n += 1) {
      const driver = join(folder, `driver-${n}.${n % 2 === 0 ? 'js' : 'ts'}`);
      await writeFile(
        driver,
        n % 4 === 0 ? 'export const openSensor = (;\n' : 'export const openSensor = async () => ({});\n',
      );
      lines.push(`  - { name: d${n}, kind: module, file: ${driver} }`);
    }
    const config = join(folder, 'turnstone.yaml');
    await writeFile(config, `${lines.join('\n')}\n`, { mode: 0o600 });
    const startedMs = performance.now();
    const { exitCode, out } = await check(config);
    const tookMs = performance.now() - startedMs;
    await rm(folder, { recursive: true });
    expect(exitCode).toBe(EXIT.badConfig);
    expect(out.match(/sensors\[\d+\]\.file: a syntax error in .*SyntaxError: /g)).toHaveLength(10);
    // One process for each took a quarter of a second and more.
    expect(tookMs).toBeLessThan(5_000);
  });

  it('tells how many attached devices there are, and how many of them hold polls; nothing where there are none', async () => {
    expect((await check(EXAMPLE)).out).toContain('devices: 2, 1 of them polls for commands, 2 for shared attributes\n');
    expect(JSON.parse((await check(EXAMPLE, '--json')).out)).toMatchObject({
      devices: { count: 2, rpcPolls: 1, attributePolls: 2 },
    });
    expect((await check(path('../config/provisioning.example.yaml'))).out).not.toContain('devices');
  });

  it('says of a page in the network what a listener reads of it, and what a browser will ask', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turnstone-page-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const config = join(folder, 'turnstone.yaml');
    const outOf = async (status: string): Promise<string> => {
      await writeFile(
        config,
        `version: 1\nplatform: { url: https://example.org, accessToken: t }\nstatus: ${status}\n`,
        { mode: 0o600 },
      );
      return (await check(config)).out;
    };
    expect(await outOf('{ page: lan, pin: "471199" }')).toMatch(
      /^page: .* a listener reads nothing; a browser warns once/m,
    );
    expect(await outOf('{ page: loopback }')).not.toContain('page:');
  });

  it('prints the same as JSON', async () => {
    const { exitCode, out } = await check(WRONG, '--json');
    expect(exitCode).toBe(EXIT.badConfig);
    const answer = JSON.parse(out);
    expect(answer).toMatchObject({ file: WRONG, ok: false });
    expect(answer.faults).toContainEqual(
      expect.objectContaining({ line: 11, column: 5, path: 'sensors[0].perod', hint: 'did you mean "period"?' }),
    );
    expect(JSON.parse((await check(EXAMPLE, '--json')).out)).toMatchObject({
      ok: true,
      faults: [],
      hash: expect.stringMatching(/^[0-9a-f]{16}$/),
      fileHash: createHash('sha256').update(readFileSync(EXAMPLE)).digest('hex'),
    });
  });

  it.each([
    [
      'a pipe that nobody writes into',
      async (file: string) => void (await promisify(execFile)('mkfifo', [file])),
      'it is not a regular file',
    ],
    ['a device without end', (file: string) => symlink('/dev/zero', file), 'it is not a regular file'],
    ['a folder', (file: string) => mkdir(file), 'it is not a regular file'],
    [
      'a file that is larger than any configuration',
      (file: string) => writeFile(file, 'x'.repeat(2 ** 20 + 1)),
      'more than 1048576 bytes',
    ],
  ])('does not wait for %s', async (_what, make, why) => {
    const folder = await mkdtemp(join(tmpdir(), 'turnstone-check-config-'));
    try {
      const file = join(folder, 'turnstone.yaml');
      await make(file);
      const { exitCode, out, err } = await check(file);
      expect({ exitCode, out }).toEqual({ exitCode: EXIT.badConfig, out: '' });
      expect(err).toMatch(/^turnstone: no configuration: .*\n$/);
      expect(err).toContain(why);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('says in one line that there is no such file', async () => {
    expect(await check('/nonexistent.yaml')).toEqual({
      exitCode: EXIT.badConfig,
      out: '',
      err: 'turnstone: there is no configuration /nonexistent.yaml (config/unreadable)\n',
    });
  });
});

describe('check-config --for-elsewhere', () => {
  const THERE = [
    'version: 1',
    'platform: { url: "https://example.org", accessToken: "$' + '{A_TOKEN_OF_NO_TEST}", caFile: /nowhere/ca.pem }',
    'provisioning: { deviceKeyFile: /nowhere/key, deviceSecretCredential: turnstone_of_no_test }',
    'sensors:',
    '  - { name: own, kind: command, program: /nowhere/program, key: own }',
    '',
  ].join('\n');

  async function fleet(texts: Readonly<Record<string, string>>): Promise<readonly string[]> {
    const folder = await mkdtemp(join(tmpdir(), 'turnstone-fleet-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    for (const [name, text] of Object.entries(texts)) await writeFile(join(folder, name), text);
    return Object.keys(texts).map((name) => join(folder, name));
  }

  it('lists what only the gateway can answer, and finds no fault in it', async () => {
    const [file = ''] = await fleet({ 'there.yaml': THERE });
    expect((await check(file)).exitCode).toBe(EXIT.badConfig);
    const { exitCode, out, err } = await check('--for-elsewhere', file);
    expect([exitCode, err]).toEqual([EXIT.ok, '']);
    const listed = out.split('\n').filter((line) => line.startsWith('gateway '));
    for (const part of [
      'A_TOKEN_OF_NO_TEST',
      '/nowhere/ca.pem',
      '/nowhere/key',
      'turnstone_of_no_test',
      '/nowhere/program',
    ])
      expect(listed.filter((line) => line.includes(part))).toHaveLength(1);
    expect(out).toContain(`${file}: good, 5 things to be checked on the gateway`);
    expect(out).not.toMatch(/^(fault|warning)/m);
  });

  it('finds every other fault as before, and says so as JSON too', async () => {
    const [file = ''] = await fleet({ 'there.yaml': `${THERE}  - { name: tank, kind: bme280, perod: 5s }\n` });
    const { exitCode, out } = await check('--for-elsewhere', '--json', file);
    expect(exitCode).toBe(EXIT.badConfig);
    const { ok, faults, onGateway } = JSON.parse(out) as {
      ok: boolean;
      faults: readonly { path: string }[];
      onGateway: readonly unknown[];
    };
    expect([ok, faults.map(({ path: at }) => at)]).toEqual([false, expect.arrayContaining(['sensors[1].perod'])]);
    expect(faults.every(({ path: at }) => at.startsWith('sensors[1]'))).toBe(true);
    expect(onGateway).toHaveLength(5);
  });

  it('looks at every file of a fleet, and ends as the worst of them', async () => {
    const good = 'version: 1\nplatform: { url: "https://example.org", accessTokenFile: /nowhere/token }\n';
    const files = await fleet({ 'a.yaml': good, 'b.yaml': 'version: 1\nplatfrm: {}\n', 'c.yaml': THERE });
    const [a, b, c] = files;
    const { exitCode, out, err } = await check('--for-elsewhere', ...files, '/nowhere/d.yaml');
    expect(exitCode).toBe(EXIT.badConfig);
    expect(out).toMatch(new RegExp(`${a}: good[^]*${b}: \\d faults?[^]*${c}: good`));
    expect(err).toBe('turnstone: there is no configuration /nowhere/d.yaml (config/unreadable)\n');
    expect((await check('--for-elsewhere', String(a), String(c))).exitCode).toBe(EXIT.ok);
  });
});

describe('check-config elsewhere than expected', () => {
  it('says under --json of each file of a fleet in JSON that it cannot be read', async () => {
    const { out, err } = await check('--json', EXAMPLE, '/nowhere/gw.yaml');
    const [, unreadable] = out.trim().split('\n');
    expect(JSON.parse(unreadable ?? '')).toMatchObject({
      file: '/nowhere/gw.yaml',
      ok: false,
      error: { code: 'config/unreadable' },
    });
    expect(err).toBe('');
  });

  it('suggests no variable of the shell for one that is not set', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turnstone-check-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const file = join(folder, 'turnstone.yaml');
    await writeFile(file, `version: 1\nplatform: { url: "https://iot.example.org", accessToken: "\${K}" }\n`, {
      mode: 0o600,
    });
    const edge = fakeEdge({ environment: { _: '/usr/bin/env', K: '' } });
    await runCommandLine(['check-config', file], { edge, version: () => '' });
    expect(edge.out()).toContain('environment variable not set: K');
    expect(edge.out()).not.toContain('did you mean');
  });

  it('says to root which files the service may not read', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turnstone-check-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const [file, token] = [join(folder, 'turnstone.yaml'), join(folder, 'token')];
    await writeFile(token, 'a-token-of-root', { mode: 0o600 });
    await writeFile(file, `version: 1\nplatform: { url: "https://iot.example.org", accessTokenFile: ${token} }\n`, {
      mode: 0o600,
    });
    const { faults } = await readConfig(file, { environment: {}, mayRead: async () => false });
    expect(faults).toMatchObject([{ path: 'platform.accessTokenFile', problem: 'the user turnstone may not read' }]);
    expect((await readConfig(file, { environment: {}, mayRead: async () => true })).faults).toEqual([]);
  });
});
