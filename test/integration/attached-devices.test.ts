/** One gateway with several devices on the platform: the whole agent, provisioning them by itself, against the local platform. */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { LocalPlatform } from '../../src/stand-ins/local-platform/local-platform.ts';
import { AgentProcess } from '../support/agent-process.ts';

const DEVICE_KEY = 'profile-key-4711';
const DEVICE_SECRET = 'profile-secret-0815';
const PATIENCE = { timeout: 30_000, interval: 100 };

let platform: LocalPlatform;
let boards: AgentProcess[] = [];

beforeAll(async () => {
  platform = await LocalPlatform.start();
  platform.allowProvisioning({ key: DEVICE_KEY, secret: DEVICE_SECRET, profile: 'meters' });
});

afterEach(async () => {
  for (const board of boards) await board.remove();
  boards = [];
});

afterAll(async () => {
  await platform.close();
});

/** A gateway whose meters print what stands in files of its folder. */
async function gateway(name: string, meters: readonly string[], devices: string): Promise<AgentProcess> {
  const sensors = (folder: string): string =>
    meters
      .map(
        (meter) =>
          `  - { name: ${meter}, device: ${meter}, kind: command, period: 1s, program: /bin/cat, arguments: ['${folder}/${meter}'] }`,
      )
      .join('\n');
  const board = await AgentProcess.make('', name);
  await writeFile(
    board.configFile,
    `version: 1
platform: { url: '${platform.url}' }
provisioning: { deviceName: ${name}, deviceKey: ${DEVICE_KEY}, deviceSecret: ${DEVICE_SECRET} }
time: { trust: always }
outbox: { commitAge: 100ms }
${devices}
sensors:
  - { name: machine, kind: host, period: 1s }
${sensors(board.folder)}
stateFolder: ${join(board.folder, 'state')}
runFolder: ${join(board.folder, 'run')}
`,
    { mode: 0o600 },
  );
  boards.push(board);
  return board;
}

/** Replaced at once: a reader sees the one or the other. */
async function show(board: AgentProcess, meter: string, reading: object): Promise<void> {
  await writeFile(join(board.folder, `${meter}.new`), JSON.stringify(reading));
  await rename(join(board.folder, `${meter}.new`), join(board.folder, meter));
}

function values(device: string, key: string): readonly unknown[] {
  return (platform.deviceView(device)?.points.get(key) ?? []).map(({ value }) => value);
}

const keysOf = (device: string): readonly string[] => [...(platform.deviceView(device)?.points.keys() ?? [])];

describe('attached devices', () => {
  it('are devices of their own on the platform, and have what their sensors read, and nothing else', async () => {
    const board = await gateway(
      'roof',
      ['one', 'two'],
      'devices: [{ name: one }, { name: two, deviceName: "Second meter" }]',
    );
    await show(board, 'one', { power: 11 });
    await show(board, 'two', { power: 22 });
    board.start();
    await expect.poll(() => values('roof one', 'power').length, PATIENCE).toBeGreaterThan(2);
    await expect.poll(() => values('Second meter', 'power').length, PATIENCE).toBeGreaterThan(2);
    expect(new Set(values('roof one', 'power'))).toEqual(new Set([11]));
    expect(new Set(values('Second meter', 'power'))).toEqual(new Set([22]));
    expect(keysOf('roof')).not.toContain('power');
    expect(keysOf('roof one')).toEqual(expect.arrayContaining(['power', 'one_state']));
  });

  it('keep what is read while the platform refuses one of them, hold up no other, and deliver it when it is taken again', async () => {
    const board = await gateway('barn', ['good', 'bad'], 'devices: [{ name: good }, { name: bad }]');
    await show(board, 'good', { count: 0 });
    await show(board, 'bad', { count: 0 });
    board.start();
    await expect.poll(() => values('barn bad', 'count').length, PATIENCE).toBeGreaterThan(0);
    const device = platform.state.registry.byName('barn bad');
    const token = device?.accessToken ?? '';
    if (device === undefined) throw new Error('it is not there');
    platform.state.registry.devices.put({ ...device, accessToken: 'changed-at-the-platform' });
    await show(board, 'bad', { count: 1 });
    await show(board, 'good', { count: 1 });
    await expect.poll(() => values('barn good', 'count').at(-1), PATIENCE).toBe(1);
    await expect.poll(() => board.log, PATIENCE).toContain('an attached device is blocked');
    expect(values('barn bad', 'count')).not.toContain(1);
    await board.stop();
    platform.state.registry.devices.put({ ...device, accessToken: token });
    await show(board, 'bad', { count: 2 });
    board.start();
    await expect.poll(() => values('barn bad', 'count'), PATIENCE).toEqual(expect.arrayContaining([1, 2]));
  }, 60_000);

  it('with a serial number wait until it is read twice alike, and a swapped one is another device', async () => {
    const serialNumber = 'serialNumber: { key: serial, pattern: "[0-9]{4}" }';
    const board = await gateway('cellar', ['meter'], `devices: [{ name: meter, ${serialNumber} }]`);
    await show(board, 'meter', { serial: '1111', energy: 1 });
    board.start();
    await expect.poll(() => values('cellar 1111', 'energy').length, PATIENCE).toBeGreaterThan(2);
    await show(board, 'meter', { serial: 'no number', energy: 2 });
    await expect.poll(() => values('cellar 1111', 'energy'), PATIENCE).toContain(2);
    const others = ['2222', '3333', '4444', '5555', '6666'];
    for (const serial of others) {
      await show(board, 'meter', { serial, energy: 3 });
      await expect.poll(() => values(`cellar ${serial}`, 'energy').length, PATIENCE).toBeGreaterThan(1);
    }
    // A sixth new one waits for the next day, and what it tells with it.
    await show(board, 'meter', { serial: '7777', energy: 4 });
    await expect.poll(() => board.log, PATIENCE).toContain('?meter=7777');
    await show(board, 'meter', { serial: '1111', energy: 5 });
    await expect.poll(() => values('cellar 1111', 'energy'), PATIENCE).toContain(5);
    expect(['1111', ...others].flatMap((serial) => values(`cellar ${serial}`, 'energy'))).not.toContain(4);
    expect(platform.state.registry.byName('cellar 7777')).toBeUndefined();
  }, 60_000);

  it('are listed, blocked ones first, and take a token from hand', async () => {
    const taken = platform.state.registry.draft({ name: 'shed taken' }, Date.now());
    platform.state.registry.devices.put(taken);
    const board = await gateway(
      'shed',
      ['taken', 'free'],
      'devices: [{ name: taken }, { name: free, label: Free one }]',
    );
    await show(board, 'taken', { count: 1 });
    await show(board, 'free', { count: 1 });
    board.start();
    await expect.poll(() => values('shed free', 'count').length, PATIENCE).toBeGreaterThan(0);
    const list = async (): Promise<{ name: string; state: string; words: string }[]> =>
      JSON.parse((await board.command(['devices', 'list', '--json'])).out);
    await expect.poll(async () => (await list()).map(({ state }) => state), PATIENCE).toEqual(['blocked', 'ready']);
    expect((await list())[0]?.words).toContain('device exists, token unknown');
    const rotated = await board.command(['devices', 'rotate', 'taken'], { input: `${taken.accessToken}\n` });
    expect(rotated.exitCode).toBe(0);
    expect(rotated.err + rotated.out).not.toContain(taken.accessToken);
    await expect.poll(() => values('shed taken', 'count').length, PATIENCE).toBeGreaterThan(0);
    expect((await board.command(['devices', 'remove', 'shed free', '--yes'])).exitCode).toBe(0);
  }, 60_000);

  it('go on while the platform refuses the gateway', async () => {
    const board = await gateway('moor', ['meter'], 'devices: [{ name: meter }]');
    await show(board, 'meter', { count: 1 });
    board.start();
    await expect.poll(() => values('moor meter', 'count').length, PATIENCE).toBeGreaterThan(0);
    const own = platform.state.registry.byName('moor');
    if (own === undefined) throw new Error('it is not there');
    platform.state.registry.devices.put({ ...own, accessToken: 'changed-at-the-platform' });
    await board.stop();
    await show(board, 'meter', { count: 2 });
    board.start();
    await expect.poll(() => values('moor meter', 'count'), PATIENCE).toContain(2);
  }, 60_000);

  it('that are taken out of the configuration get what they still hold', async () => {
    const board = await gateway('farm', ['one', 'two'], 'devices: [{ name: one }, { name: two }]');
    await show(board, 'one', { count: 1 });
    await show(board, 'two', { count: 1 });
    board.start();
    await expect.poll(() => values('farm two', 'count').length, PATIENCE).toBeGreaterThan(0);
    const two = platform.state.registry.byName('farm two');
    if (two === undefined) throw new Error('it is not there');
    platform.state.registry.devices.put({ ...two, accessToken: 'changed-at-the-platform' });
    await show(board, 'two', { count: 7 });
    await expect.poll(() => board.log, PATIENCE).toContain('an attached device is blocked');
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    await board.stop();
    const config = await readFile(board.configFile, 'utf8');
    await writeFile(board.configFile, config.replace(', { name: two }', '').replace(/^ {2}- \{ name: two.*\n/m, ''));
    platform.state.registry.devices.put({ ...two });
    board.start();
    await expect.poll(() => values('farm two', 'count'), PATIENCE).toContain(7);
  }, 60_000);

  it('move to another gateway: each reading arrives once, at the device that it was, and no device is made', async () => {
    const old = await gateway('mill', ['meter'], 'devices: [{ name: meter }]');
    const next = await gateway('dam', [], 'devices: [{ name: spare }]');
    await show(old, 'meter', { count: 1 });
    old.start();
    next.start();
    await expect.poll(() => values('mill meter', 'count').length, PATIENCE).toBeGreaterThan(0);
    const file = join(old.folder, 'meter.id');
    const passphraseFile = join(old.folder, 'passphrase');
    await writeFile(passphraseFile, 'correct horse battery', { mode: 0o600 });
    const move = (board: AgentProcess, words: readonly string[]) =>
      board.command(['devices', 'move', ...words, '--passphrase-file', passphraseFile]);
    expect(await move(old, ['meter', '--to', file])).toMatchObject({ exitCode: 0, err: '' });
    await show(old, 'meter', { count: 2 });
    const words = async (): Promise<string[]> =>
      JSON.parse((await old.command(['devices', 'list', '--json'])).out).map((one: { words: string }) => one.words);
    await expect
      .poll(words, PATIENCE)
      .toContainEqual(expect.stringMatching(/^the device of this slot went to another gateway/));
    expect(await words()).toContain('went to another gateway, nothing waits');
    await old.stop();
    old.start();

    await expect.poll(() => platform.state.registry.byName('dam spare'), PATIENCE).toBeDefined();
    const came = await move(next, ['--from', file, '--slot', 'heat']);
    expect(came).toMatchObject({
      exitCode: 0,
      out: expect.stringContaining('heat is mill meter here from now on\nnow put heat under'),
    });
    await next.stop();
    const configured = (await readFile(next.configFile, 'utf8'))
      .replace('{ name: spare }', '{ name: spare }, { name: heat }')
      .replace(
        'sensors:\n',
        `$&  - { name: heat, device: heat, kind: command, period: 1s, program: /bin/cat, arguments: ['${next.folder}/heat'] }\n`,
      );
    await writeFile(next.configFile, configured, { mode: 0o600 });
    await show(next, 'heat', { count: 3 });
    next.start();
    await expect.poll(() => values('mill meter', 'count'), PATIENCE).toContain(3);
    expect(platform.state.registry.byName('dam heat')).toBeUndefined();
    expect(values('mill meter', 'count')).not.toContain(2);
  }, 60_000);
});
