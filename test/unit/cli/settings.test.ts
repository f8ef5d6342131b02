import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import Conf from 'conf';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { settingsFile } from '../../../src/cli/settings-file.ts';
import { loadConfig } from '../../../src/config/read-config.ts';
import { type FakeEdgeOptions, fakeEdge } from '../../support/fake-edge.ts';
import { fakeService, json } from '../office/fake-service.ts';

const VIEW = '7e57ab1e-0000-4000-8000-000000000001';
const ESCAPE = '\u001b[';

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-settings-'));
  file = join(folder, 'turnstone-nodejs/config.json');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function turnstone(words: readonly string[], { environment, ...options }: FakeEdgeOptions = {}) {
  const edge = fakeEdge({ environment: { XDG_CONFIG_HOME: folder, ...environment }, ...options });
  const exitCode = await runCommandLine(words, { edge, version: () => '1' });
  return { exitCode, out: edge.out(), err: edge.err(), asked: edge.asked };
}

const set = (key: string, value: string) => turnstone(['settings', 'set', key, value]);
const listed = async () =>
  JSON.parse((await turnstone(['settings', 'list', '--json'])).out) as { file: string; settings: object };

async function written(text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}

describe('turnstone settings', () => {
  it('keeps a value until it is unset, in a file for its person alone', async () => {
    expect(await set('platform.url', 'https://iot.example.org')).toEqual({
      exitCode: EXIT.ok,
      out: 'platform.url is https://iot.example.org\n',
      err: '',
      asked: [],
    });
    expect(await listed()).toEqual({ file, settings: { 'platform.url': 'https://iot.example.org' } });
    expect((await stat(file)).mode & 0o077).toBe(0);
    expect(await turnstone(['settings', 'unset', 'platform.url'])).toMatchObject({
      exitCode: EXIT.ok,
      out: 'platform.url is not set\n',
    });
    expect((await listed()).settings).toEqual({});
  });

  it('lists every key, with its value or none, and the file', async () => {
    await set('status.page', 'off');
    const { out } = await turnstone(['settings']);
    expect(out).toMatch(/^status\.page +off$/m);
    expect(out).toMatch(/^colours +not set$/m);
    expect(out).toContain(`kept in ${file}`);
  });

  it('leaves nothing behind where it only looks', async () => {
    await turnstone(['settings', 'list']);
    await turnstone(['settings', 'unset', 'colours']);
    expect(await readdir(folder)).toEqual([]);
  });

  it('keeps them where conf keeps those of a project called turnstone', () => {
    vi.stubEnv('XDG_CONFIG_HOME', folder);
    try {
      expect(settingsFile({ XDG_CONFIG_HOME: folder })).toBe(new Conf({ projectName: 'turnstone' }).path);
    } finally {
      vi.unstubAllEnvs();
    }
    expect(settingsFile({ HOME: '/home/anna' })).toBe('/home/anna/.config/turnstone-nodejs/config.json');
  });

  it.each([
    ['platfrom.url', 'https://x.example.org', 'there is no setting "platfrom.url"; did you mean "platform.url"?'],
    ['analytics.password', 'x', 'there is no setting "analytics.password"; settings keep no secrets'],
    ['status.pin', '1', 'did you mean "status.pinFile"?'],
    ['something', '1', 'there is no setting "something"; one of platform.url, '],
    ['status.page', 'lann', 'status.page: wrong value, expected one of off, loopback, lan; did you mean "lan"?'],
    ['provisioning.deviceName', 'gateway-{seral}', 'did you mean "serial"?'],
    ['provisioning.deviceKeyFile', 'key', 'expected an absolute path'],
    ['platform.url', 'iot.example.org', 'expected a URL beginning with http:// or https://'],
    ['analytics.user', '', 'expected a user name'],
    ['analytics.user', 'a'.repeat(2_000), 'no text of at most 1024 characters'],
  ])('refuses %s %s, and says what was meant', async (key, value, message) => {
    const { exitCode, out, err } = await set(key, value);
    expect({ exitCode, out }).toEqual({ exitCode: EXIT.usage, out: '' });
    expect(err).toContain(message);
    expect(await readdir(folder)).toEqual([]);
  });

  it.each([
    ['platform.url', 'https://anna:hunter2@iot.example.org', 'hunter2'],
    ['analytics.url', 'https://iot.example.org/?token=hunter2', 'hunter2'],
    ['analytics.user', 'anna:hunter2@iot.example.org', 'hunter2'],
    ['analytics.user', 'password=hunter2', 'hunter2'],
    ['analytics.user', 'q7wh2k9fz0x4m1c8v5b3', 'q7wh2k9fz0x4m1c8v5b3'],
    ['platform.url', 'https://iot.example.org/api/v1/q7wh2k9fz0x4m1c8v5b3', 'q7wh2k9fz0x4m1c8v5b3'],
    ['provisioning.deviceSecretFile', 'q7wh2k9fz0x4m1c8v5b3', 'q7wh2k9fz0x4m1c8v5b3'],
  ])('keeps no secret, and shows none: %s %s', async (key, value, secret) => {
    const { exitCode, err } = await set(key, value);
    expect(exitCode).toBe(EXIT.usage);
    expect(err).toContain(`${key}: the value looks like a password or token`);
    expect(err).not.toContain(secret);
    expect(await readdir(folder)).toEqual([]);
  });

  it.each([['{ half'], ['[]'], ['{"platform.url": "ftp://x"}'], ['x'.repeat(100_000)]])(
    'names the file where it is damaged: %.20s',
    async (text) => {
      await written(text);
      const { exitCode, err } = await turnstone(['settings', 'list']);
      expect(exitCode).toBe(EXIT.failure);
      expect(err).toMatch(/^turnstone: [^\n]+\n$/);
      expect(err).toContain(file);
      expect(await readFile(file, 'utf8')).toBe(text);
    },
  );

  it('lets a wrong value be unset, and keeps what it does not know', async () => {
    await written('{"platform.url": "ftp://x", "later": 1}');
    expect((await turnstone(['settings', 'list'])).err).toContain('turnstone settings unset platform.url');
    await turnstone(['settings', 'unset', 'platform.url']);
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ later: 1 });
  });

  it('says so where nobody has a home', async () => {
    const words = ['settings', 'set', 'colours', 'never'];
    const { exitCode, err } = await turnstone(words, { environment: { XDG_CONFIG_HOME: '' } });
    expect({ exitCode, err }).toEqual({
      exitCode: EXIT.failure,
      err: 'turnstone: there is no folder for settings; set HOME or XDG_CONFIG_HOME\n',
    });
  });
});

describe('settings as defaults', () => {
  const out = () => join(folder, 'etc/turnstone.yaml');
  const init = (words: readonly string[], options?: FakeEdgeOptions) =>
    turnstone(['init', '--no-scan', '--out', out(), ...words], options);
  const config = () => loadConfig(out(), { environment: {} });

  async function profile(): Promise<readonly [string, string]> {
    const [key, secret] = [join(folder, 'key'), join(folder, 'secret')] as const;
    await writeFile(key, 'the-key\n');
    await writeFile(secret, 'the-secret\n');
    await set('platform.url', 'https://iot.example.org');
    await set('provisioning.deviceName', 'site-{serial|mac}');
    await set('provisioning.deviceKeyFile', key);
    await set('provisioning.deviceSecretFile', secret);
    return [key, secret];
  }

  it('init proposes them, and Enter takes each', async () => {
    const [deviceKeyFile, deviceSecretFile] = await profile();
    const { exitCode, asked, err } = await init(['--no-try'], { answers: [] });
    expect({ exitCode, err }).toEqual({ exitCode: EXIT.ok, err: '' });
    expect(asked).toEqual([
      'Address of the platform [https://iot.example.org]: ',
      expect.stringContaining('(p)rovision'),
      `Provision key of the device profile [${deviceKeyFile}]: `,
      `Provision secret [${deviceSecretFile}]: `,
      'Device name [site-{serial|mac}]: ',
      expect.stringMatching(/changed from afar/),
    ]);
    const { platform, provisioning } = await config();
    expect(platform.url).toBe('https://iot.example.org');
    expect(provisioning).toMatchObject({ deviceName: 'site-{serial|mac}', deviceKeyFile, deviceSecretFile });
  });

  it('init --yes takes them, and what is said goes before', async () => {
    const [deviceKeyFile] = await profile();
    await init(['--yes']);
    expect((await config()).provisioning).toMatchObject({ deviceName: 'site-{serial|mac}', deviceKeyFile });
    await init(['--yes', '--force', '--url', 'https://other.example.org', '--name', 'other']);
    expect((await config()).platform.url).toBe('https://other.example.org');
    expect((await config()).provisioning?.deviceName).toBe('other');
  });

  it('init asks for the PIN of a page on the network, and keeps it beside the configuration', async () => {
    await profile();
    await set('status.page', 'lan');
    expect(await init(['--yes'])).toMatchObject({ exitCode: EXIT.usage, err: expect.stringContaining('--pin-file') });
    const { asked } = await init(['--no-try'], { answers: ['', '', '', '', '', '471199'] });
    expect(asked).toContain('PIN of the status page: ');
    const { status } = await config();
    expect([status.page, status.pin?.reveal()]).toEqual(['lan', '471199']);
    expect(await readFile(out(), 'utf8')).not.toContain('471199');
    await init(['--yes', '--force', '--page', 'off']);
    expect((await config()).status.page).toBe('off');
  });

  it('report finds service and user without a configuration', async () => {
    const service = await fakeService((_call, response) =>
      json(response, 200, { columnLabels: ['a'], dataTable: [{ a: 1 }] }),
    );
    await set('analytics.url', service.url);
    await set('analytics.user', 'anna@example.org');
    const environment = { TURNSTONE_ANALYTICS_PASSWORD: 'a secret password' };
    expect(await turnstone(['report', VIEW, '--format', 'json'], { environment })).toMatchObject({
      exitCode: EXIT.ok,
      err: '',
    });
    expect(service.calls).toHaveLength(1);
  });

  it.each([
    ['never', { isTerminal: true }, false],
    ['always', { isTerminal: false }, true],
    ['always', { isTerminal: true, environment: { NO_COLOR: '1' } }, false],
  ])('colours are %s with %j', async (colours, options, isColoured) => {
    await set('colours', colours);
    const { out: text } = await init(['--yes', '--url', 'https://iot.example.org'], options);
    expect(text).toContain('wrote');
    expect(text.includes(ESCAPE)).toBe(isColoured);
  });

  it('init goes without them where the home is none, as of a service', async () => {
    const environment = { XDG_CONFIG_HOME: '/dev/null' };
    expect(await init(['--yes', '--url', 'https://x.example.org'], { environment })).toMatchObject({
      exitCode: EXIT.ok,
      err: '',
    });
    expect((await turnstone(['settings', 'list'], { environment })).exitCode).toBe(EXIT.failure);
  });

  it('commands that take none do not read them', async () => {
    await written('{ half');
    const words = ['check-config', new URL('../../fixtures/config/unknown-key.yaml', import.meta.url).pathname];
    expect((await turnstone(words)).err).not.toContain(file);
    expect((await init(['--yes', '--url', 'https://x.example.org'])).err).toContain(file);
  });
});
