import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { ControlServer } from '../../../src/control-socket/control-server.ts';
import { formatCredentials } from '../../../src/devices/credentials-record.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import { fakeEdge } from '../../support/fake-edge.ts';
import { socketOperations } from '../../support/socket-operations.ts';

/** Everything that must not leave the house, wherever it comes from. */
const SECRETS = {
  literal: 'literal-token-9f3a',
  environment: 'environment-secret-77',
  file: 'file-provision-key-12',
  pin: '471199',
  proxy: 'proxy-password-55',
  analytics: 'analytics pass/word+8',
  kept: 'kept-device-token-31',
  next: 'next-device-token-32',
  rotated: 'rotated-secret-33',
  foreign: 'nobody-told-us-44',
} as const;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-diagnose-test-'));
  await mkdir(join(folder, 'state'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function plant(): Promise<string> {
  const record = {
    phase: 'in-use',
    source: 'provisioned',
    accessToken: SECRETS.kept,
    nextToken: SECRETS.next,
    board: {},
    generation: 1,
  } as const;
  await writeFile(
    join(folder, 'state/credentials.json'),
    formatCredentials({ own: record, provisionSecret: { deviceKey: 'rotated-key-34', deviceSecret: SECRETS.rotated } }),
    { mode: 0o600 },
  );
  await writeFile(join(folder, 'key'), SECRETS.file);
  const config = join(folder, 'turnstone.yaml');
  await writeFile(
    config,
    `version: 1
platform: { url: "http://127.0.0.1:9", accessToken: ${SECRETS.literal}, proxy: "http://user:${SECRETS.proxy}@127.0.0.1:9" }
provisioning: { deviceKeyFile: ${folder}/key, deviceSecret: "$\{PROVISION_SECRET}" }
stateFolder: ${folder}/state
runFolder: ${folder}/run
status: { pin: "${SECRETS.pin}" }
analytics: { url: "https://x.example.org", user: a, password: "${SECRETS.analytics}" }
`,
  );
  await writeFile(
    join(folder, 'agent.log'),
    [
      `{"msg":"posting to http://127.0.0.1:9/api/v1/${SECRETS.foreign}/telemetry"}`,
      `{"accessToken":"${SECRETS.foreign}","msg":"careless"}`,
      `proxy answered for ${encodeURIComponent(SECRETS.analytics)} and ${Buffer.from(SECRETS.kept).toString('base64')}`,
      `GET https://somebody:${SECRETS.foreign}@files.example.org/`,
      'the reading of 12:00 was 21.5',
    ].join('\n'),
  );
  return config;
}

async function diagnose(config: string) {
  const edge = fakeEdge({ environment: { PROVISION_SECRET: SECRETS.environment } });
  const archive = join(folder, 'out.tar.gz');
  const exitCode = await runCommandLine(
    ['diagnose', '--config', config, '--out', archive, '--log-file', join(folder, 'agent.log')],
    {
      edge,
      version: () => '',
    },
  );
  const unpacked = join(folder, 'unpacked');
  await mkdir(unpacked, { recursive: true });
  await promisify(execFile)('tar', ['-xzf', archive, '-C', unpacked]);
  const names = await readdir(join(unpacked, 'turnstone-diagnosis'));
  const texts = Object.fromEntries(
    await Promise.all(
      names.map(async (name) => [name, await readFile(join(unpacked, 'turnstone-diagnosis', name), 'utf8')]),
    ),
  );
  return { exitCode, out: edge.out(), err: edge.err(), archive, texts: texts as Record<string, string> };
}

function leaks(texts: Readonly<Record<string, string>>): string[] {
  const all = Object.values(texts).join('\n');
  return Object.values(SECRETS).filter((secret) =>
    [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64')].some((form) => all.includes(form)),
  );
}

describe('turnstone diagnose', () => {
  it('packs what support needs, for nobody else on this machine', async () => {
    const { exitCode, err, out, archive, texts } = await diagnose(await plant());
    expect({ exitCode, err }).toEqual({ exitCode: EXIT.ok, err: '' });
    expect(Object.keys(texts).sort()).toEqual([
      'configuration.yaml',
      'doctor.json',
      'doctor.txt',
      'log.txt',
      'outbox.json',
      'status.json',
      'versions.json',
    ]);
    expect(texts['configuration.yaml']).toContain(`stateFolder: ${folder}/state`);
    expect(texts['configuration.yaml']).toContain(`deviceKeyFile: ${folder}/key`);
    expect(texts['log.txt']).toContain('the reading of 12:00 was 21.5');
    expect(JSON.parse(texts['versions.json'] ?? '')).toMatchObject({ node: process.version });
    expect(texts['status.json']).toContain('not there: no agent runs here');
    expect((await stat(archive)).mode & 0o777).toBe(0o600);
    expect(out).toContain(`wrote ${archive}`);
  });

  it('holds the newest of a long log, in whole lines, and says that the rest is missing', async () => {
    const config = await plant();
    await writeFile(join(folder, 'agent.log'), Array.from({ length: 300_000 }, (_, n) => `line ${n}\n`).join(''));
    const text = (await diagnose(config)).texts['log.txt'] ?? '';
    expect(text).toMatch(/^\[what is older is left out: at most 2 MB\]\nline \d+\nline \d+\n/);
    expect(text.endsWith('line 299998\nline 299999\n')).toBe(true);
    expect(text.length).toBeLessThan(2 * 1024 * 1024 + 100);
  });

  it.each([
    ['log-file', () => join(folder, 'mistyped.log'), EXIT.usage, 'cannot read the log'],
    ['log-file', () => folder, EXIT.usage, 'no regular file'],
    ['log-file', () => join(folder, 'pipe'), EXIT.usage, 'no regular file'],
    ['out', () => join(folder, 'mistyped/out.tar.gz'), EXIT.failure, 'cannot write'],
    ['out', () => folder, EXIT.failure, 'it is a folder; name a file'],
  ])('says what is wrong with a --%s', async (flag, path, exitCode, why) => {
    const config = await plant();
    await promisify(execFile)('mkfifo', [join(folder, 'pipe')]);
    const edge = fakeEdge({});
    const own = ['--out', join(folder, 'out.tar.gz'), '--log-file', join(folder, 'agent.log'), `--${flag}`, path()];
    expect(await runCommandLine(['diagnose', '--config', config, ...own], { edge, version: () => '' })).toBe(exitCode);
    expect(edge.err()).toContain(why);
    expect(edge.err()).not.toContain('fault of the program');
  });

  it('takes every secret out: of configuration, environment, files, kept credentials and log', async () => {
    const { texts } = await diagnose(await plant());
    expect(leaks(texts)).toEqual([]);
    expect(texts['configuration.yaml']).toContain('accessToken: "[secret]"');
  });

  it('takes them out of a configuration that cannot be parsed, too', async () => {
    const config = await plant();
    await writeFile(config, `${(await readFile(config, 'utf8')).replace('stateFolder', '\tstateFolder')}`);
    const { texts } = await diagnose(config);
    expect(
      leaks({ 'configuration.yaml': texts['configuration.yaml'] ?? '', doctor: texts['doctor.json'] ?? '' }),
    ).toEqual([]);
  });

  /** Configuration with secrets in every place where a person may write one. */
  const WRONG = (log: string) => `version: 1
# old token: SecretComment01
platform:
  url: http://bob:SecretUrl02@iot.example.org/?key=SecretQuery03
  accessToken: "SecretToken04"
  proxy: ftp://user:SecretProxy05@proxy.example.org:3128
  #accessToken: SecretComment06
provisioning:
  deviceKey: >-
    SecretFolded07
    SecretFolded08
  deviceSecret:
    SecretNextLine09
status: { page: lan, pin: 77100077 }
platfrom: { accessToken: SecretSection10, nested: [{ deep: SecretDeep11 }] }
sensorz:
  - SecretItem12
analytics: SecretInPlaceOfAll13
sensors:
  - { name: line, kind: serial, options: { password: "SecretOption14" } }
  - { name: own, kind: module, file: /nonexistent, options: { password: { is: SecretOption15 } } }
  - { name: say, kind: command, program: /bin/echo, arguments: "-u bob:SecretArgument16", environment: { A: SecretEnvironment17 } }
  - { name: ask, kind: serial-line, port: /dev/ttyS9, request: "login SecretRequest18" }
  - SecretSensor19
actuators:
  - { name: sign, kind: serial-write, port: /dev/ttyS8, template: "{value} SecretTemplate20" }
  - { name: do, kind: command, program: /bin/echo, arguments: [SecretArgument21, "{valeu}"], readBack: { program: /bin/cat, arguments: [SecretArgument22] } }
rpc:
  methods:
    call: { command: { program: /bin/curl, arguments: ["-u", "bob:SecretArgument23", "https://x/?api_key=SecretArgument24", "{no}"] } }
    take: { command: { program: /bin/curl, arguments: ["$\{PROVISION_SECRET}"] } }
firmware: { handlers: [{ title: a, program: /bin/echo, arguments: ["SecretArgument25"] }] }
${log}`;

  const secretsIn = (texts: Readonly<Record<string, string>>, ...more: readonly string[]): readonly string[] =>
    Object.entries(texts).flatMap(([name, text]) => [
      ...(text.match(/Secret\w+\d\d/g) ?? []).map((found) => `${name}: ${found}`),
      ...more.filter((one) => text.includes(one)).map((one) => `${name}: ${one}`),
    ]);

  it('takes out what may be secret in a configuration that is wrong, by where it stands', async () => {
    const config = await plant();
    await writeFile(config, WRONG(''));
    const log = ['SecretToken04', 'SecretFolded07 SecretFolded08', 'SecretNextLine09', '77100077', SECRETS.environment];
    await writeFile(join(folder, 'agent.log'), `the log says ${log.join(' and ')}\nand: 21.5\n`);
    const { texts, exitCode } = await diagnose(config);
    expect(exitCode).toBe(EXIT.ok);
    expect(secretsIn(texts, '77100077', SECRETS.environment)).toEqual([]);
    const shown = texts['configuration.yaml'] ?? '';
    for (const harmless of ['sensorz:', 'port: /dev/ttyS9', 'page: lan', 'program: /bin/curl', '@iot.example.org/?'])
      expect(shown).toContain(harmless);
    expect(texts['doctor.txt']).toContain('line 4');
    expect(texts['log.txt']).toContain('and: 21.5');
  });

  it.each([
    ['a bracket without end', 'broken: ['],
    ['a tab', '\tbroken: 1'],
    ['a second document', '---\na: 1'],
    ['a key twice', 'version: 1'],
    ['Latin-1', Buffer.from([0xe9])],
    ['a pipe sign too many', 'a: |x'],
  ])('leaves a configuration out that is no YAML, for %s', async (_what, broken) => {
    const config = await plant();
    await writeFile(config, Buffer.concat([Buffer.from(WRONG('')), Buffer.from(broken), Buffer.from('\n')]));
    await writeFile(join(folder, 'agent.log'), '');
    const { texts } = await diagnose(config);
    expect(texts['configuration.yaml']).toMatch(/^left out: it is no YAML/);
    expect(secretsIn(texts, '77100077')).toEqual([]);
    expect(texts['doctor.txt']).toMatch(/line \d+/);
  });

  it('does not wait for a configuration that is a pipe', async () => {
    const config = join(folder, 'pipe.yaml');
    await promisify(execFile)('mkfifo', [config]);
    await writeFile(join(folder, 'agent.log'), '');
    expect((await diagnose(config)).texts['configuration.yaml']).toMatch(
      /^not there: cannot read .*: it is not a regular file/,
    );
  });

  it('asks the agent when one runs', async () => {
    const config = await plant();
    const readMethods = {
      getStatus: () => ({ sensors: [], actuators: [], connection: {}, outbox: {}, firmware: {}, note: SECRETS.kept }),
      outboxStatus: () => ({ heldEntries: 7 }),
    };
    const server = await ControlServer.open(
      {
        ...socketOperations({ readMethods }),
        folder: join(folder, 'run'),
        clock: systemClock,
        files: systemFiles,
        log: silentLog,
      },
      new AbortController().signal,
    );
    try {
      const { texts } = await diagnose(config);
      expect(JSON.parse(texts['outbox.json'] ?? '')).toEqual({ heldEntries: 7 });
      expect(leaks(texts)).toEqual([]);
    } finally {
      await server.close();
    }
  });
});
