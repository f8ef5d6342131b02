import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { inForcePath, leaveInForce } from '../../../src/config/actuators-in-force.ts';
import { systemClock } from '../../../src/host/clock.ts';
import { systemFiles } from '../../../src/host/files.ts';
import { silentLog } from '../../../src/host/log.ts';
import { takeLock } from '../../../src/host/state-lock.ts';
import { type BoardBench, openBoardBench } from '../../support/board-bench.ts';

const MAIN = resolve(import.meta.dirname, '../../../src/main.ts');
let bench: BoardBench;

beforeEach(async () => {
  bench = await openBoardBench(() => ({
    version: 1,
    gpio: [{ chip: 'gpiochip0', label: 'simulated', lines: 32, names: {}, inputs: [] }],
  }));
});
afterEach(() => bench.close());

const relay = (name: string, line: string, more: object): object => ({ name, kind: 'gpio-output', line, ...more });

function configured(extra: object = {}): object {
  return {
    version: 1,
    // Neither address nor token: what is wrong elsewhere must not keep a relay on.
    platform: {},
    runFolder: bench.folder,
    hardware: { board: 'simulated', boardSocket: bench.socketPath },
    actuators: [
      relay('horn', 'GPIO17', { safe: { crash: true, stop: false } }),
      relay('pump', 'GPIO18', {}),
      relay('lamp', 'GPIO19', { safe: { stop: true } }),
    ],
    ...extra,
  };
}

function runHook(event: string, extra: object = {}, more: Readonly<Record<string, string>> = {}): Promise<string> {
  return runHookOn(JSON.stringify(configured(extra)), event, more);
}

async function runHookOn(text: string, event: string, more: Readonly<Record<string, string>> = {}): Promise<string> {
  const config = join(bench.folder, 'turnstone.yaml');
  await writeFile(config, text);
  const env = { ...process.env, RUN_FOLDER: bench.folder, PUMP_LINE: 'GPIO18', ...more };
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [MAIN, 'safe-states', '--config', config, '--event', event],
    { env },
  );
  return stdout;
}

async function movedTo(line: number): Promise<readonly unknown[]> {
  return (await bench.record())
    .filter(({ kind, source }) => kind === 'moved' && source === `gpiochip0:${line}`)
    .map(({ value }) => Number(value));
}

describe('the stop hook', () => {
  it('sets what is declared for a crash, and touches nothing else', async () => {
    expect(await runHook('crash')).toBe('horn: set to on\n');
    expect([await movedTo(17), await movedTo(18), await movedTo(19)]).toEqual([[1], [], []]);
  });

  it('sets what is declared for a stop', async () => {
    expect(await runHook('stop')).toBe('horn: set to off\nlamp: set to on\n');
    expect(await movedTo(19)).toEqual([1]);
  });

  it('ends a pulse that the agent’s end has cut short', async () => {
    await mkdir(join(bench.folder, 'pulses'));
    await writeFile(join(bench.folder, 'pulses', 'pump'), '');
    expect(await runHook('stop')).toContain('pump: set to off\n');
  });

  it('switches off what was left under a longest time on, whatever its kind, and takes the marks away', async () => {
    await mkdir(join(bench.folder, 'pulses'));
    for (const name of ['heater', 'horn'])
      await writeFile(join(bench.folder, 'pulses', name), '{"pulse":false,"sinceMs":1}');
    const actuators = [
      { name: 'heater', kind: 'gpio-output', line: 'GPIO18', limits: { maxOn: '1m' } },
      { name: 'horn', kind: 'gpio-output', line: 'GPIO17', safe: { stop: true } },
      { name: 'fan', kind: 'gpio-output', line: 'GPIO19' },
      { name: 'dimmer', kind: 'command', program: '/bin/true', limits: { maxOn: '1m' } },
    ];
    await writeFile(join(bench.folder, 'pulses', 'dimmer'), '');
    expect(await runHook('stop', { actuators })).toBe('heater: set to off\nhorn: set to on\ndimmer: set to 0\n');
    expect((await readdir(join(bench.folder, 'pulses'))).sort()).toEqual(['horn']);
  });

  it('switches off before it switches on, and nothing on beside what is not known to be off', async () => {
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
    const never = (name: string): RegExp =>
      new RegExp(`is never on together with ${name}, which is not known to be off`);
    const failed = await runHook('crash', { actuators }).catch((error: { stdout: string }) => error.stdout.split('\n'));
    expect(failed).toEqual([
      'brake: set to on',
      'motor: set to off',
      'siren: set to on',
      expect.stringMatching(never('siren')),
      'lamp: set to on',
      expect.stringMatching(never('far')),
      '',
    ]);
    expect([await movedTo(17), await movedTo(20), await movedTo(23)]).toEqual([[1], [], []]);
  });

  it('takes an off that failed for no off: what it excludes stays off', async () => {
    const actuators = [
      { name: 'motor', kind: 'gpio-output', line: 'GPIO99', safe: { crash: false } },
      { name: 'brake', kind: 'gpio-output', line: 'GPIO17', safe: { crash: true }, interlocks: ['motor'] },
    ];
    await expect(runHook('crash', { actuators })).rejects.toMatchObject({
      stdout: expect.stringContaining('brake: is never on together with motor, which is not known to be off'),
    });
    expect(await movedTo(17)).toEqual([]);
  });

  it('switches nothing on beside what is disabled', async () => {
    const actuators = [
      relay('motor', 'GPIO18', { enabled: false }),
      relay('brake', 'GPIO17', { safe: { crash: true }, interlocks: ['motor'] }),
    ];
    await expect(runHook('crash', { actuators })).rejects.toMatchObject({
      stdout: expect.stringContaining('brake: is never on together with motor, which is not known to be off'),
    });
    expect(await movedTo(17)).toEqual([]);
  });

  it('says what it could not set, and sets the rest', async () => {
    const actuators = [
      { name: 'far', kind: 'gpio-output', line: 'GPIO99', safe: { crash: false } },
      { name: 'horn', kind: 'gpio-output', line: 'GPIO17', safe: { crash: true } },
    ];
    await expect(runHook('crash', { actuators })).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^far: .*GPIO99\nhorn: set to on\n$/),
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
      stdout: 'pump: set to off\ngone: was left to be switched off, and the configuration does not say how\n',
    });
    expect(await readdir(join(bench.folder, 'pulses'))).toEqual(['gone']);
  });

  it('takes what the environment brings, as the agent does', async () => {
    await mkdir(join(bench.folder, 'pulses'));
    await writeFile(join(bench.folder, 'pulses', 'pump'), '');
    const actuators = [{ name: 'pump', kind: 'gpio-output', line: `\${PUMP_LINE}` }];
    expect(await runHook('stop', { actuators, runFolder: `\${RUN_FOLDER}`, proxy: `\${NOT_SET}` })).toBe(
      'pump: set to off\n',
    );
  });

  it.each(['stateFolder', 'runFolder'])(
    'by hand sets nothing beside an agent that has the %s; after the agent’s end it does, whatever still holds on',
    async (setting) => {
      const folder = join(bench.folder, 'held');
      await mkdir(folder);
      expect(await runHook('crash', { [setting]: folder })).toBe('horn: set to on\n');
      expect(await readdir(folder)).toEqual([]);
      const lock = await takeLock(folder);
      await expect(runHook('stop', { [setting]: folder })).rejects.toMatchObject({
        code: 1,
        stderr: expect.stringContaining('another agent'),
      });
      expect(await movedTo(17)).toEqual([1]);
      expect(await runHook('stop', { [setting]: folder }, { SERVICE_RESULT: 'timeout' })).toContain(
        'horn: set to off\n',
      );
      await lock.close();
    },
  );
});

describe('the stop hook, of a configuration that cannot be understood,', () => {
  const ACTUATORS = 'actuators:\n  - { name: horn, kind: gpio-output, line: GPIO17, safe: { crash: on } }\n';
  const head = (): string =>
    `version: 1\nrunFolder: ${bench.folder}\nhardware: { board: simulated, boardSocket: ${bench.socketPath} }\n`;

  it.each([
    ['a bracket without end', `sensors: [\n${ACTUATORS}`, /turnstone\.yaml:\d+:\d+: /],
    ['a tab', `${ACTUATORS}\tx: 1\n`, /turnstone\.yaml:6:1: .*tab/i],
    ['a key twice', `${ACTUATORS}version: 1\n`, /turnstone\.yaml:6:1: .*unique/],
    ['a second document', `${ACTUATORS}---\na: 1\n`, /turnstone\.yaml:\d+:\d+: a second document/],
    ['a NUL', `${ACTUATORS}#\0\n`, /turnstone\.yaml:6:2: .*U\+0000/],
    ['an alias without anchor', `${ACTUATORS}log: *x\n`, /turnstone\.yaml:6:6: .*alias/],
    ['no list of actuators', 'actuators: { horn: 17 }\n', /turnstone\.yaml:4:\d+: actuators: .*a list/],
    ['an empty list', 'actuators:\n', /turnstone\.yaml:4:\d+: actuators: .*a list/],
  ])('says where and fails: %s', async (_what, text, place) => {
    await mkdir(join(bench.folder, 'pulses'));
    await writeFile(join(bench.folder, 'pulses', 'pump'), '');
    // Of what was left on it knows all the same: the folder is told by its own line.
    await expect(runHookOn(head() + text, 'crash')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(place),
      stdout: 'pump: was left to be switched off, and the configuration does not say how\n',
    });
    expect(await movedTo(17)).toEqual([]);
  });

  it('sets what is understood, and says where the rest is wrong', async () => {
    const wrong = '  - { name: pump, kind: gpio-output, lnie: GPIO18, safe: { crash: off } }\n  - { name: 5 }\n';
    await expect(runHookOn(`${head()}${ACTUATORS}${wrong}log: { level: loud }\n`, 'crash')).rejects.toMatchObject({
      code: 1,
      stdout: 'horn: set to on\n',
      stderr: expect.stringMatching(
        /^turnstone: \S*yaml:6:5: actuators\[1\].line: .*\nturnstone: \S*yaml:6:38: actuators\[1\].lnie: .*"line".*\nturnstone: \S*yaml:7:5: actuators\[2\].*\nturnstone: what is not understood was not set\n$/,
      ),
    });
    expect(await movedTo(17)).toEqual([1]);
  });

  it('says of hardware that it is wrong', async () => {
    await expect(runHook('crash', { hardware: { board: 'simulatde' }, actuators: [] })).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/turnstone.yaml:1:\d+: hardware.board: .*simulated/),
    });
  });
});

describe('the stop hook, where the agent left what it had in force,', () => {
  const BROKEN = (): string => `runFolder: ${bench.folder}\nsensors: [\n`;
  const place = (): string => inForcePath(bench.folder, {});

  async function leave(
    actuators: readonly object[],
    { bootId = systemClock.bootId, environment = {}, ...folders } = {},
  ): Promise<void> {
    const hardware = { board: 'simulated', boardSocket: bench.socketPath, gpio: 'auto' } as const;
    const config = { hardware, stateFolder: join(bench.folder, 'state'), runFolder: bench.folder, ...folders };
    await leaveInForce(config, actuators, {
      files: systemFiles,
      clock: { ...systemClock, bootId },
      environment,
      log: silentLog,
    });
  }

  it('sets that, whatever the file says by now or does not say, and takes it away', async () => {
    for (const text of [
      BROKEN(),
      JSON.stringify(configured({ actuators: [relay('horn', 'GPIO20', { safe: { crash: true } })] })),
    ]) {
      await leave([relay('heater', `\${PUMP_LINE}`, { safe: { crash: true } })]);
      expect(await runHookOn(text, 'crash')).toBe('heater: set to on\n');
      await expect(readFile(place())).rejects.toThrow('ENOENT');
    }
    expect([(await movedTo(18))[0], await movedTo(20)]).toEqual([1, []]);
    await expect(runHookOn(BROKEN(), 'crash')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/turnstone.yaml:\d+:\d+: /),
    });
  });

  it('finds it in systemd’s folder when the file names another run folder since, with the marks of the one in force', async () => {
    await mkdir(join(bench.folder, 'pulses'));
    await writeFile(join(bench.folder, 'pulses', 'pump'), '');
    const environment = { RUNTIME_DIRECTORY: join(bench.folder, 'systemd') };
    await mkdir(environment.RUNTIME_DIRECTORY);
    await leave([relay('pump', 'GPIO18', {})], { environment });
    expect(await runHook('crash', { runFolder: '/nonexistent', actuators: [] }, environment)).toBe(
      'pump: set to off\n',
    );
    expect(await readdir(environment.RUNTIME_DIRECTORY)).toEqual([]);
  });

  it('keeps it while something of it is not set', async () => {
    await leave([
      relay('far', 'GPIO99', { safe: { crash: false } }),
      relay('horn', 'GPIO17', { safe: { crash: true } }),
    ]);
    await expect(runHookOn(BROKEN(), 'crash')).rejects.toMatchObject({
      stdout: expect.stringMatching(/^far: .*GPIO99\nhorn: set to on\n$/),
    });
    await readFile(place());
    await leave([relay('horn', 'GPIO17', { safe: { crash: true } }), { name: 'far', kind: 'of-another-release' }]);
    await expect(runHookOn(BROKEN(), 'crash')).rejects.toMatchObject({
      code: 1,
      stdout: 'horn: set to on\n',
      stderr: expect.stringContaining('actuators[1].kind: not understood'),
    });
    await readFile(place());
  });

  it('goes by the file when that is of another boot, and says so when it is damaged', async () => {
    await leave([relay('heater', 'GPIO18', { safe: { crash: false } })], { bootId: 'another' });
    expect(await runHook('crash')).toBe('horn: set to on\n');
    await leave([relay('heater', 'GPIO18', { safe: { crash: false } })]);
    await writeFile(place(), (await readFile(place(), 'utf8')).replace('GPIO18', 'GPIO19'));
    await expect(runHook('crash')).rejects.toMatchObject({
      code: 1,
      stdout: 'horn: set to on\n',
      stderr: expect.stringContaining('is not understood: it was damaged'),
    });
    expect([await movedTo(18), await movedTo(19)]).toEqual([[], []]);
  });

  it('sets it also without any file, and by hand nothing beside the agent that has its folders', async () => {
    await leave([relay('heater', 'GPIO18', { safe: { crash: false } })]);
    const lock = await takeLock(bench.folder);
    await expect(runHookOn(BROKEN(), 'crash')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('another agent'),
    });
    await lock.close();
    await rm(join(bench.folder, 'turnstone.yaml'));
    const env = { ...process.env, RUNTIME_DIRECTORY: bench.folder };
    const gone = join(bench.folder, 'turnstone.yaml');
    const { stdout } = await promisify(execFile)(process.execPath, [MAIN, 'safe-states', '--config', gone], { env });
    expect(stdout).toBe('heater: set to off\n');
  });

  it.each([{}, { SERVICE_RESULT: 'success' }])(
    'says that there is no such file, where nothing was left either: %o',
    async (more) => {
      const typo = join(bench.folder, 'turnstome.yaml');
      const env = { ...process.env, RUNTIME_DIRECTORY: bench.folder, ...more };
      const run = promisify(execFile)(process.execPath, [MAIN, 'safe-states', '--config', typo], { env });
      await expect(run).rejects.toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringContaining(`there is no configuration ${typo}`),
      });
    },
  );
});
