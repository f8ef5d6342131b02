import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/program.ts';
import { ControlServer } from '../../../src/control-socket/control-server.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { silentLog } from '../../../src/host/log.ts';
import { formatCredentials } from '../../../src/provisioning/credentials-record.ts';
import { fakeEdge } from '../../support/fake-edge.ts';

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
  const exitCode = await runCommandLine(['diagnose', '--config', config, '--out', archive, '--log-file', join(folder, 'agent.log')], {
    edge,
    version: () => '',
  });
  const unpacked = join(folder, 'unpacked');
  await mkdir(unpacked, { recursive: true });
  await promisify(execFile)('tar', ['-xzf', archive, '-C', unpacked]);
  const names = await readdir(join(unpacked, 'turnstone-diagnosis'));
  const texts = Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(unpacked, 'turnstone-diagnosis', name), 'utf8')])),
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

  it('takes every secret out: of configuration, environment, files, kept credentials and log', async () => {
    const { texts } = await diagnose(await plant());
    expect(leaks(texts)).toEqual([]);
    expect(texts['configuration.yaml']).toContain('accessToken: [secret]');
  });

  it('takes them out of a configuration that cannot be parsed, too', async () => {
    const config = await plant();
    await writeFile(config, `${(await readFile(config, 'utf8')).replace('stateFolder', '\tstateFolder')}`);
    const { texts } = await diagnose(config);
    expect(leaks({ 'configuration.yaml': texts['configuration.yaml'] ?? '', doctor: texts['doctor.json'] ?? '' })).toEqual([]);
  });

  it('asks the agent when one runs', async () => {
    const config = await plant();
    const readMethods = {
      getStatus: () => ({ sensors: [], actuators: [], connection: {}, outbox: {}, firmware: {}, note: SECRETS.kept }),
      outboxStatus: () => ({ heldEntries: 7 }),
    };
    const server = await ControlServer.open(
      { folder: join(folder, 'run'), methods: {}, readMethods, clock: systemClock, log: silentLog },
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
