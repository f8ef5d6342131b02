/** `turnstone configure` and `turnstone configuration` beside a made-up agent, with real files and sockets. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/cli/exit-code.ts';
import { runCommandLine } from '../../../src/cli/frame/program.ts';
import { ControlServer } from '../../../src/control-socket/control-server.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import type { ConfigurationAnswer } from '../../../src/operations/configuration-operations.ts';
import { fileHash } from '../../../src/remote-config/file-hash.ts';
import type { ConfigurationsTold } from '../../../src/remote-config/told-configurations.ts';
import { type JsonObject, jsonOf } from '../../../src/values/json.ts';
import { fakeEdge } from '../../support/fake-edge.ts';
import { socketOperations } from '../../support/socket-operations.ts';

const BASE = 'a'.repeat(64);
const HASH = 'b'.repeat(64);
const AT = Date.UTC(2026, 10, 29, 12);
const TAKEN: ConfigurationAnswer = {
  state: 'received',
  hash: HASH,
  base: BASE,
  difference: ['sensors.roof.period: 10s → 30s'],
  locked: [],
  faults: [],
  needs: 'reload',
};
const QUIET: ConfigurationsTold = { fileHash: BASE, history: [] };
const TRYING: ConfigurationsTold = {
  fileHash: HASH,
  state: { state: 'trying', hash: HASH, atMs: AT, origin: 'local' },
  trial: { hash: HASH, secondsLeft: 298, waitsFor: [] },
  history: [],
};
/** Texts with two sensors, a secret, and root's folder in them. */
const text = (folder: string, period: string): string =>
  `version: 1 # of the roof\nplatform: { url: https://iot.example.org, token: q7wh2k9fz0x4m1c8 }\nfirmware: { guardFolder: ${folder} }\nsensors:\n  - { name: roof, kind: bme280, period: ${period} }\n`;

let folder: string;
let servers: ControlServer[];
/** What the agent was asked, in order. */
let asked: JsonObject[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnstone-configure-'));
  servers = [];
  asked = [];
});
afterEach(async () => {
  for (const server of servers) await server.close();
  await rm(folder, { recursive: true, force: true });
});

function ended(state: 'kept' | 'returned' | 'refused', reason?: string): ConfigurationsTold {
  return {
    fileHash: BASE,
    state: { state, hash: HASH, atMs: AT, origin: 'local', ...(reason !== undefined && { reason }) },
    history: [],
  };
}

/** Agent that gives one status after the other; the last one stays. */
async function serve(answer: ConfigurationAnswer, ...statuses: readonly ConfigurationsTold[]): Promise<void> {
  let at = 0;
  const calls = {
    methods: {
      configure: (params: JsonObject) => {
        asked.push(params);
        return jsonOf(answer);
      },
    },
    readMethods: {
      configurationStatus: () => jsonOf(statuses[Math.min(at++, statuses.length - 1)] ?? QUIET),
    },
  };
  const deps = { ...socketOperations(calls), folder, clock: systemClock, files: systemFiles, log: silentLog };
  servers.push(await ControlServer.open(deps, new AbortController().signal));
}

async function run(words: readonly string[], options: Parameters<typeof fakeEdge>[0] = {}) {
  const edge = fakeEdge(options);
  const exitCode = await runCommandLine(words, { edge, version: () => '1' });
  return { exitCode, out: edge.out(), err: edge.err() };
}

const configure = (...words: readonly string[]) => run(['configure', ...words, '--run-folder', folder]);

async function written(content: string | Uint8Array): Promise<string> {
  const file = join(folder, 'new.yaml');
  await writeFile(file, content);
  return file;
}

/** Root's folder with files in its history, and the file in place. */
async function withHistory(...periods: readonly string[]): Promise<string> {
  const history = join(folder, 'configuration/history');
  await mkdir(history, { recursive: true });
  for (const [at, period] of periods.entries())
    await writeFile(join(history, `000${at + 1}.yaml`), text(folder, period));
  const file = join(folder, 'turnstone.yaml');
  await writeFile(file, text(folder, '1m'));
  return file;
}

describe('turnstone configure', () => {
  it('hands a file over as it is, says what differs, and how it goes on', async () => {
    await serve(TAKEN);
    const content = `\ufeff${text(folder, '30s')}`;
    const { exitCode, out, err } = await configure(await written(content));
    expect({ exitCode, err }).toEqual({ exitCode: EXIT.ok, err: '' });
    expect(asked).toEqual([{ file: content }]);
    expect(out).toBe(
      'sensors.roof.period: 10s → 30s\nhanded over: it goes on trial by a reload, for at most remoteConfiguration.trial; unless it proves itself, the previous file returns\n',
    );
  });

  it('makes a patch of paths and values, for the file that runs', async () => {
    await serve(TAKEN, QUIET);
    const words = ['--set', 'sensors.roof.period=30s', '--set', 'sensors.roof.keys["a=b"]={ scale: 2, unit: "°C" }'];
    expect((await configure(...words, '--remove', 'sensors.hall')).exitCode).toBe(EXIT.ok);
    expect(asked).toEqual([
      {
        patch: {
          base: BASE,
          set: { 'sensors.roof.period': '30s', 'sensors.roof.keys["a=b"]': { scale: 2, unit: '°C' } },
          remove: ['sensors.hall'],
        },
      },
    ]);
  });

  it('only looks with --check', async () => {
    await serve({ ...TAKEN, state: 'checked', needs: 'restart' });
    const { exitCode, out } = await configure(await written('version: 1\n'), '--check', '--wait');
    expect(exitCode).toBe(EXIT.ok);
    expect(asked).toEqual([{ file: 'version: 1\n', check: true }]);
    expect(out).toContain('good: it would be tried by a restart; nothing is changed\n');
  });

  it('says what is locked and why, and ends as failed', async () => {
    await serve({
      ...TAKEN,
      state: 'refused',
      locked: ['actuators.pump.limits.maxOn: only becomes tighter from afar'],
      reason: 'locked: actuators.pump.limits.maxOn',
    });
    const { exitCode, out, err } = await configure(await written('version: 1\n'));
    expect(exitCode).toBe(EXIT.failure);
    expect(out).toContain('locked actuators.pump.limits.maxOn: only becomes tighter from afar\n');
    expect(err).toContain('refused: 1 change that is locked; nothing is changed');
  });

  it('says where a fault is, and ends as check-config does', async () => {
    const faults = [
      { path: 'sensors[0].period', line: 5, column: 31, problem: 'wrong value 1\u001b[2J', expected: 'a duration' },
      { path: 'base', problem: 'is the hash of another file', expected: 'a patch for the file as it is now' },
    ];
    await serve({ ...TAKEN, state: 'refused', difference: [], faults, reason: 'it has faults' });
    const file = await written('version: 1\n');
    const { exitCode, out, err } = await configure(file);
    expect(exitCode).toBe(EXIT.badConfig);
    expect(out).toBe(
      `fault  ${file}:5:31: sensors[0].period: wrong value 1�[2J, expected a duration\nfault  base: is the hash of another file, expected a patch for the file as it is now\n`,
    );
    expect(err).toContain('refused: 2 faults; nothing is changed');
  });

  it('gives the reason of any other refusal', async () => {
    await serve({ ...TAKEN, state: 'refused', reason: 'remoteConfiguration.enabled is not true in the file in place' });
    const { exitCode, err } = await configure(await written('version: 1\n'));
    expect(exitCode).toBe(EXIT.failure);
    expect(err).toContain('refused: remoteConfiguration.enabled is not true in the file in place');
  });

  it('gives programs the whole answer and no words beside it', async () => {
    const answer = { ...TAKEN, state: 'refused' as const, reason: 'another is on trial' };
    await serve(answer);
    const { exitCode, out, err } = await configure(await written('version: 1\n'), '--json');
    expect({ exitCode, err }).toEqual({ exitCode: EXIT.failure, err: '' });
    expect(JSON.parse(out)).toEqual(answer);
  });

  it.each<[ConfigurationsTold, number, string, string]>([
    [ended('kept'), EXIT.ok, 'kept: it is the configuration now\n', ''],
    [
      ended('returned', 'sensor roof does not read'),
      EXIT.failure,
      '',
      'returned: sensor roof does not read; the previous file is in place',
    ],
    [
      ended('refused', 'the helper does not answer'),
      EXIT.failure,
      '',
      'refused: the helper does not answer; nothing is changed',
    ],
  ])('follows it to its end with --wait: %#', async (last, exitCode, said, complained) => {
    await serve(TAKEN, TRYING, last);
    const outcome = await configure(await written('version: 1\n'), '--wait');
    expect(outcome.exitCode).toBe(exitCode);
    expect(outcome.out).toContain('on trial for 4m58s; unless it proves itself, the previous file returns\n');
    expect(outcome.out).toContain(said);
    expect(outcome.err).toContain(complained);
  });

  it('follows it by itself on a terminal, unless --no-wait says otherwise', async () => {
    await serve(TAKEN, ended('kept'));
    const words = ['configure', await written('version: 1\n'), '--run-folder', folder];
    expect((await run(words, { isTerminal: true })).out).toContain('kept: it is the configuration now');
    expect((await run([...words, '--no-wait'], { isTerminal: true })).out).toContain('handed over: it goes on trial');
  });

  it('gives programs the end as well', async () => {
    await serve(TAKEN, ended('returned', 'an output ended in fault'));
    const { exitCode, out } = await configure(await written('version: 1\n'), '--wait', '--json');
    expect(exitCode).toBe(EXIT.failure);
    expect(JSON.parse(out)).toEqual({ ...TAKEN, end: { outcome: 'returned', reason: 'an output ended in fault' } });
  });

  it('goes on following when the agent restarts', async () => {
    await serve(TAKEN, TRYING);
    const [first] = servers;
    const edge = fakeEdge();
    const file = await written('version: 1\n');
    const following = runCommandLine(['configure', file, '--wait', '--run-folder', folder], {
      edge,
      version: () => '1',
    });
    await expect.poll(() => edge.out()).toContain('on trial for');
    await first?.close();
    servers = [];
    await serve(TAKEN, ended('kept'));
    expect(await following).toBe(EXIT.ok);
    expect(edge.out()).toContain('kept: it is the configuration now');
  });

  it('leaves the trial alone at Ctrl-C, and says so', async () => {
    await serve(TAKEN, TRYING);
    const edge = fakeEdge();
    const file = await written('version: 1\n');
    const following = runCommandLine(['configure', file, '--wait', '--run-folder', folder], {
      edge,
      version: () => '1',
    });
    await expect.poll(() => edge.out()).toContain('on trial for');
    edge.stop();
    expect(await following).toBe(EXIT.interrupted);
    expect(edge.err()).toContain('it is tried all the same, and ends by itself');
  });

  it.each([
    [[], 'nothing is to be changed'],
    [['any.yaml', '--remove', 'sensors.hall'], 'do not go together'],
    [['--set', 'sensors.roof.period='], 'write a path and a value'],
    [['--set', '.roof=1'], 'this is no path with a value'],
    [['--set', 'sensors.roof.period={ half'], 'this is no path with a value'],
    [['--remove', 'sensors..roof'], 'this is no path'],
    [['--set', 'log.level=info', '--set', 'log["level"]=warn'], 'log.level is set twice'],
  ])('refuses %j before it asks anybody', async (words, message) => {
    await serve(TAKEN);
    const { exitCode, err } = await configure(...words);
    expect(exitCode).toBe(EXIT.usage);
    expect(err).toContain(message);
    expect(asked).toEqual([]);
  });

  it('refuses a file that is not there, is no text, or is too large for a request', async () => {
    await serve(TAKEN);
    expect(await configure(join(folder, 'none.yaml'))).toMatchObject({ exitCode: EXIT.unreadable });
    expect(await configure(await written(Uint8Array.of(0x61, 0xff)))).toMatchObject({ exitCode: EXIT.badConfig });
    const large = await configure(await written(`version: 1 # ${'"'.repeat(140_000)}\n`));
    expect(large).toMatchObject({ exitCode: EXIT.failure });
    expect(large.err).toContain('is too large to be handed over whole; send what differs');
    expect(asked).toEqual([]);
  });
});

describe('turnstone configuration', () => {
  it('lists those that were tried, the latest first, and what is on trial', async () => {
    const tried = { hash: HASH, origin: 'patch', outcome: 'returned', atMs: AT, reason: 'the machine went down' };
    await serve(TAKEN, {
      ...TRYING,
      history: [
        { ...tried, number: '0003' },
        { ...tried, number: '0004', origin: 'local', outcome: 'kept', reason: '' },
        { ...tried, number: '0005', origin: 'package', package: { title: 'site', version: '3-a' } },
      ],
    });
    const { exitCode, out } = await run(['configuration', '--run-folder', folder]);
    expect(exitCode).toBe(EXIT.ok);
    expect(out).toBe(
      [
        `running   file ${'b'.repeat(12)}`,
        `on trial  file ${'b'.repeat(12)}, returns in 4m58s unless it proves itself`,
        '',
        `5  2026-11-29T12:00Z  ${'b'.repeat(12)}  returned, from the platform, in a package (site 3-a): the machine went down`,
        `4  2026-11-29T12:00Z  ${'b'.repeat(12)}  kept, on the command line`,
        `3  2026-11-29T12:00Z  ${'b'.repeat(12)}  returned, from the platform: the machine went down`,
        '',
      ].join('\n'),
    );
  });

  it('shows one of them without its secrets', async () => {
    const config = await withHistory('10s');
    const { exitCode, out } = await run(['configuration', 'show', '1', '--config', config]);
    expect(exitCode).toBe(EXIT.ok);
    expect(out).toContain('period: 10s');
    expect(out).toContain('token: "[secret]"');
    expect(out).not.toContain('q7wh2k9fz0x4m1c8');
  });

  it('compares one with the file in place, and with another', async () => {
    const config = await withHistory('10s', '30s', '30s');
    const diff = (...numbers: readonly string[]) => run(['configuration', 'diff', ...numbers, '--config', config]);
    expect((await diff('1')).out).toBe('sensors.roof.period: 10s → 1m\n');
    expect((await diff('1', '2')).out).toBe('sensors.roof.period: 10s → 30s\n');
    expect((await diff('2', '3')).out).toBe('nothing differs in what they say\n');
  });

  it('tries one again, byte for byte', async () => {
    await serve(TAKEN);
    const config = await withHistory('10s');
    const words = ['configuration', 'rollback', '1', '--run-folder', folder, '--config', config];
    expect((await run(words)).exitCode).toBe(EXIT.ok);
    expect(asked).toEqual([{ file: text(folder, '10s') }]);
    expect(fileHash(Buffer.from(String(asked[0]?.file)))).toBe(fileHash(Buffer.from(text(folder, '10s'))));
  });

  it('says which numbers there are where one is not', async () => {
    const config = await withHistory('10s');
    const { exitCode, err } = await run(['configuration', 'show', '7', '--config', config]);
    expect(exitCode).toBe(EXIT.failure);
    expect(err).toContain('the history has no configuration 7; turnstone configuration history lists them');
  });

  it.skipIf(process.getuid?.() === 0)('says sudo to a user who may not read it', async () => {
    const config = await withHistory('10s');
    const file = join(folder, 'configuration/history/0001.yaml');
    await systemFiles.chmod(file, 0);
    const { exitCode, err } = await run(['configuration', 'show', '1', '--config', config]);
    expect(exitCode).toBe(EXIT.noPermission);
    expect(err).toContain('try sudo turnstone configuration show 1');
  });
});
