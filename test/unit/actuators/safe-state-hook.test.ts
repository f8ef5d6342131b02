import { execFile } from 'node:child_process';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { takeLock } from '../../../src/host/state-lock.ts';
import { type BoardBench, openBoardBench } from '../../support/board-bench.ts';

const MAIN = resolve(import.meta.dirname, '../../../src/main.ts');
let bench: BoardBench;

beforeEach(async () => {
  bench = await openBoardBench(() => ({ version: 1, gpio: [{ chip: 'gpiochip0', label: 'simulated', lines: 32, names: {}, inputs: [] }] }));
});
afterEach(() => bench.close());

async function runHook(event: string, extra: object = {}, more: Readonly<Record<string, string>> = {}): Promise<string> {
  const config = join(bench.folder, 'turnstone.yaml');
  const relay = (name: string, line: string, safe: object): object => ({ name, kind: 'gpio-output', line, safe });
  await writeFile(
    config,
    JSON.stringify({
      version: 1,
      // Neither address nor token: what is wrong elsewhere must not keep a relay on.
      platform: {},
      runFolder: bench.folder,
      hardware: { board: 'simulated', boardSocket: bench.socketPath },
      actuators: [
        relay('horn', 'GPIO17', { crash: true, stop: false }),
        relay('pump', 'GPIO18', {}),
        relay('lamp', 'GPIO19', { stop: true }),
        { name: 5 },
      ],
      ...extra,
    }),
  );
  const env = { ...process.env, RUN_FOLDER: bench.folder, PUMP_LINE: 'GPIO18', ...more };
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, 'safe-states', '--config', config, '--event', event], { env });
  return stdout;
}

async function movedTo(line: number): Promise<readonly unknown[]> {
  return (await bench.record())
    .filter(({ kind, source }) => kind === 'moved' && source === `gpiochip0:${line}`)
    .map(({ value }) => Number(value));
}

describe('the stop hook', () => {
  it('sets what is declared for a crash, and touches nothing else', async () => {
    expect(await runHook('crash')).toBe('horn: set to true\n');
    expect([await movedTo(17), await movedTo(18), await movedTo(19)]).toEqual([[1], [], []]);
  });

  it('sets what is declared for a stop', async () => {
    expect(await runHook('stop')).toBe('horn: set to false\nlamp: set to true\n');
    expect(await movedTo(19)).toEqual([1]);
  });

  it('ends a pulse that the agent’s end has cut short', async () => {
    await mkdir(join(bench.folder, 'pulses'));
    await writeFile(join(bench.folder, 'pulses', 'pump'), '');
    expect(await runHook('stop')).toContain('pump: set to false\n');
  });

  it('switches off what was left under a longest time on, whatever its kind, and takes the marks away', async () => {
    await mkdir(join(bench.folder, 'pulses'));
    for (const name of ['heater', 'horn']) await writeFile(join(bench.folder, 'pulses', name), '{"pulse":false,"sinceMs":1}');
    const actuators = [
      { name: 'heater', kind: 'gpio-output', line: 'GPIO18', limits: { maxOn: '1m' } },
      { name: 'horn', kind: 'gpio-output', line: 'GPIO17', safe: { stop: true } },
      { name: 'fan', kind: 'gpio-output', line: 'GPIO19' },
      { name: 'dimmer', kind: 'command', program: '/bin/true', limits: { maxOn: '1m' } },
    ];
    await writeFile(join(bench.folder, 'pulses', 'dimmer'), '');
    expect(await runHook('stop', { actuators })).toBe('heater: set to false\nhorn: set to true\ndimmer: set to 0\n');
    expect((await readdir(join(bench.folder, 'pulses'))).sort()).toEqual(['horn']);
  });

  it('switches off before it switches on, and nothing on beside what is not known to be off', async () => {
    const relay = (name: string, line: string, rest: object): object => ({ name, kind: 'gpio-output', line, ...rest });
    const actuators = [
      relay('brake', 'GPIO17', { safe: { crash: true }, interlocks: ['motor'] }),
      relay('motor', 'GPIO18', { safe: { crash: false } }),
      relay('siren', 'GPIO19', { safe: { crash: true } }),
      relay('silent', 'GPIO20', { safe: { crash: true }, interlocks: ['siren'] }),
      relay('lamp', 'GPIO21', { safe: { crash: true }, interlocks: ['shown'] }),
      relay('shown', 'GPIO22', {}),
      { name: 'far', kind: 'command', program: '/bin/true', interlocks: ['vent'] },
      relay('vent', 'GPIO23', { safe: { crash: true } }),
    ];
    const never = (name: string): RegExp => new RegExp(`is never on together with ${name}, which is not known to be off`);
    const failed = await runHook('crash', { actuators }).catch((error: { stdout: string }) => error.stdout.split('\n'));
    expect(failed).toEqual([
      'brake: set to true',
      'motor: set to false',
      'siren: set to true',
      expect.stringMatching(never('siren')),
      'lamp: set to true',
      expect.stringMatching(never('far')),
      '',
    ]);
    expect([await movedTo(17), await movedTo(20), await movedTo(23)]).toEqual([[1], [], []]);
  });

  it('says what it could not set, and sets the rest', async () => {
    const actuators = [
      { name: 'far', kind: 'gpio-output', line: 'GPIO99', safe: { crash: false } },
      { name: 'horn', kind: 'gpio-output', line: 'GPIO17', safe: { crash: true } },
    ];
    await expect(runHook('crash', { actuators })).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^far: .*GPIO99\nhorn: set to true\n$/),
      stderr: expect.stringContaining('not in their safe states: far'),
    });
    expect(await movedTo(17)).toEqual([1]);
  });

  it('says what was left on and cannot be switched off from here, and leaves its mark', async () => {
    await mkdir(join(bench.folder, 'pulses'));
    for (const name of ['gone', 'pump']) await writeFile(join(bench.folder, 'pulses', name), '');
    const actuators = [{ name: 'pump', kind: 'gpio-output', line: 'GPIO18', enabled: false, safe: { stop: true } }];
    await expect(runHook('stop', { actuators })).rejects.toMatchObject({
      code: 1,
      stdout: 'pump: set to false\ngone: was left to be switched off, and the configuration does not say how\n',
    });
    expect(await readdir(join(bench.folder, 'pulses'))).toEqual(['gone']);
  });

  it('takes what the environment brings, as the agent does', async () => {
    await mkdir(join(bench.folder, 'pulses'));
    await writeFile(join(bench.folder, 'pulses', 'pump'), '');
    const actuators = [{ name: 'pump', kind: 'gpio-output', line: `\${PUMP_LINE}` }];
    expect(await runHook('stop', { actuators, runFolder: `\${RUN_FOLDER}`, proxy: `\${NOT_SET}` })).toBe('pump: set to false\n');
  });

  it.each(['stateFolder', 'runFolder'])(
    'by hand sets nothing beside an agent that has the %s; after the agent’s end it does, whatever still holds on',
    async (setting) => {
      const folder = join(bench.folder, 'held');
      await mkdir(folder);
      expect(await runHook('crash', { [setting]: folder })).toBe('horn: set to true\n');
      expect(await readdir(folder)).toEqual([]);
      const lock = await takeLock(folder);
      await expect(runHook('stop', { [setting]: folder })).rejects.toMatchObject({
        code: 1,
        stderr: expect.stringContaining('another agent'),
      });
      expect(await movedTo(17)).toEqual([1]);
      expect(await runHook('stop', { [setting]: folder }, { SERVICE_RESULT: 'timeout' })).toContain('horn: set to false\n');
      await lock.close();
    },
  );

  it('has nothing to do without a configuration', async () => {
    await rm(join(bench.folder, 'turnstone.yaml'), { force: true });
    const { stdout } = await promisify(execFile)(process.execPath, [MAIN, 'safe-states', '--config', join(bench.folder, 'turnstone.yaml')]);
    expect(stdout).toBe('');
  });
});
