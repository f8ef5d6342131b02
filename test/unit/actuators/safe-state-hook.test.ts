import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BoardBench, openBoardBench } from '../../support/board-bench.ts';

const MAIN = resolve(import.meta.dirname, '../../../src/main.ts');
let bench: BoardBench;

beforeEach(async () => {
  bench = await openBoardBench(() => ({ version: 1, gpio: [{ chip: 'gpiochip0', label: 'simulated', lines: 32, names: {}, inputs: [] }] }));
});
afterEach(() => bench.close());

async function runHook(event: string, extra: object = {}): Promise<string> {
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
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, 'safe-states', '--config', config, '--event', event]);
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

  it('has nothing to do without a configuration', async () => {
    await rm(join(bench.folder, 'turnstone.yaml'), { force: true });
    const { stdout } = await promisify(execFile)(process.execPath, [MAIN, 'safe-states', '--config', join(bench.folder, 'turnstone.yaml')]);
    expect(stdout).toBe('');
  });
});
