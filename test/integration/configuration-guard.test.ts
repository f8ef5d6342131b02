/** The boot guard's part for configurations: the table of cases, by the script and by its model; and the script killed at every command. */
import { chmod, readFile, readlink, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  CONFIG_TRIAL_TABLE,
  type ConfigTrialCase,
  type ConfigTrialEnd,
  type FileName,
  type GuardTurn,
  type Renewal,
} from '../support/config-trial-table.ts';
import { guardAlone } from '../support/guard-commands.ts';
import { runGuard } from '../support/guard-shell.ts';
import { type GuardedMachine, guardTurn } from '../support/modelled-config-guard.ts';
import { AFTER, BEFORE, hashOf, RootConfigBench } from '../support/root-config-bench.ts';

const SITE = 'on: site\n';
const CONTENT: Readonly<Record<FileName, string>> = { trial: AFTER, before: BEFORE, site: SITE };
/** Most of a guard's life is waiting for the disk. */
const AT_ONCE = 4;
const MAX_RUNS = 6;

type Turn = ConfigTrialCase['turns'][number];

function nameOf(text: string): FileName | undefined {
  return (Object.keys(CONTENT) as FileName[]).find((name) => CONTENT[name] === text);
}

/** A machine on which root's own part has begun a trial. */
async function stage({ inPlace, isOtherBoot, verdict, hasRefused }: Omit<ConfigTrialCase, 'turns' | 'ends'>) {
  const bench = await RootConfigBench.make();
  await bench.ask();
  if (inPlace === 'none') await rm(bench.file);
  else await bench.put('etc/turnstone/turnstone.yaml', CONTENT[inPlace]);
  if (hasRefused === true) await bench.put('ended', '78\n');
  if (isOtherBoot === true) await bench.setBoot('boot-2');
  if (verdict !== undefined)
    await writeFile(
      bench.paths.result,
      `id=one\noutcome=${verdict}\nhash=${hashOf(AFTER)}\nreason=a verdict\natMs=1\n`,
    );
  return bench;
}

/** Words of the guard for a turn, and what systemd says of the stop. */
function wordsOf(turn: Turn): readonly [GuardTurn, string] {
  const [word = '', status = ''] = turn.split(' ');
  return [word as GuardTurn, status];
}

async function seenOn(bench: RootConfigBench): Promise<ConfigTrialEnd> {
  const { inPlace, trial, result } = await bench.seen();
  const note = await bench.historyText('0001').catch(() => undefined);
  const field = (key: string): string => new RegExp(`^${key}=(.*)$`, 'm').exec(note ?? '')?.[1] ?? '';
  const file = note === undefined ? undefined : nameOf(await bench.historyText('0001.yaml'));
  const told = await readFile(join(bench.root, 'systemctl'), 'utf8').catch(() => '');
  return {
    inPlace: nameOf(inPlace) as FileName,
    isOn: trial !== undefined,
    outcome: result?.outcome as ConfigTrialEnd['outcome'],
    reason: result?.reason ?? '',
    history:
      note === undefined ? undefined : (`${field('outcome')} ${field('origin')} ${file}` as ConfigTrialEnd['history']),
    renewals: told.split('\n').flatMap((line) => {
      const verb = /^--no-block (restart|try-restart) turnstone\.service$/.exec(line)?.[1];
      return verb === undefined ? [] : [verb as Renewal];
    }),
  };
}

describe.each(Object.entries(CONFIG_TRIAL_TABLE))('the guard of a configuration %s', (_name, one) => {
  it('as a script', async () => {
    const bench = await stage(one);
    for (const turn of one.turns) await runGuard(bench.root, ...wordsOf(turn));
    expect(await seenOn(bench)).toEqual(one.ends);
    expect(await bench.left()).toEqual(
      one.ends.isOn ? expect.arrayContaining(['state', 'before', 'trial', '.turnstone.yaml.before-trial']) : [],
    );
    await bench.remove();
  });

  it('as a model', () => {
    const trial = { id: 'one', file: 'trial', before: 'before', bootId: 'boot-1', origin: 'patch', starts: 0 } as const;
    const machine: GuardedMachine<FileName> = {
      bootId: one.isOtherBoot === true ? 'boot-2' : 'boot-1',
      inPlace: one.inPlace === 'none' ? undefined : one.inPlace,
      trial: Object.assign({}, trial),
      result: { id: 'one', outcome: one.verdict ?? 'trying', reason: one.verdict === undefined ? '' : 'a verdict' },
      history: [],
      ended: one.hasRefused === true ? 78 : 0,
    };
    const renewals: Renewal[] = [];
    for (const turn of one.turns) {
      const [word, status] = wordsOf(turn);
      const renewal = guardTurn(machine, word, status === '' ? undefined : Number(status));
      if (renewal !== undefined) renewals.push(renewal);
    }
    const [entry] = machine.history;
    expect({
      inPlace: machine.inPlace,
      isOn: machine.trial !== undefined,
      outcome: machine.result?.outcome,
      reason: machine.result?.reason,
      history: entry === undefined ? undefined : `${entry.outcome} ${entry.origin} ${entry.file}`,
      renewals,
    }).toEqual(one.ends);
  });
});

const KILLED = [
  'returns the file when its time is over, and restarts',
  'returns the file before the start after the machine went down',
  'returns a file that the agent refuses, and starts it',
  'leaves a file alone that somebody has changed on site, when the time is over',
  'finishes what was kept when the time is over',
  'ends a trial whose file never came when its time is over',
  'puts a file that is gone back before the start',
] as const;

describe.each(KILLED)('the guard that %s', (name) => {
  const one = CONFIG_TRIAL_TABLE[name] as ConfigTrialCase;
  const last = wordsOf(one.turns.at(-1) as Turn);

  it('ends well wherever it is killed, by its own next turns and by root’s', { timeout: 180_000 }, async () => {
    const ready = async (): Promise<RootConfigBench> => {
      const bench = await stage(one);
      for (const turn of one.turns.slice(0, -1)) await runGuard(bench.root, ...wordsOf(turn));
      return bench;
    };
    const die = (bench: RootConfigBench, at: number): Promise<void> =>
      guardAlone(bench.root, last[0], { DIE_AT: String(at), EXIT_STATUS: last[1] });
    const calm = await ready();
    await die(calm, 0);
    // Counted commands of the service manager are not carried out.
    expect(await seenOn(calm)).toEqual(Object.assign({}, one.ends, { renewals: [] }));
    const commands = (await readFile(join(calm.root, 'commands'), 'utf8')).trim().split('\n');
    await calm.remove();
    expect(commands.length).toBeGreaterThan(15);

    const faults: string[] = [];
    const check = async (at: number, recovery: GuardTurn | 'settle'): Promise<void> => {
      const bench = await ready();
      await die(bench, at + 1);
      const cut = await seenOn(bench);
      const where = `${recovery} after ${at} ${commands[at]}`;
      const isGoneStill = one.inPlace === 'none' && (await bench.inPlace()) === '';
      if (cut.inPlace === undefined && !isGoneStill) faults.push(`${where}: the file in place is not whole`);
      if (recovery === 'settle') await bench.settle('returned');
      else {
        if (recovery === 'starting') await bench.setBoot('boot-2');
        for (let run = 0; run < MAX_RUNS && (await bench.seen()).trial !== undefined; run += 1)
          await runGuard(bench.root, recovery);
      }
      const { inPlace, isOn, outcome } = await seenOn(bench);
      const left = await bench.left();
      if (isOn || inPlace !== one.ends.inPlace || outcome !== one.ends.outcome || left.length > 0)
        faults.push(`${where}: ${JSON.stringify({ inPlace, isOn, outcome, left })}`);
      await bench.remove();
    };
    const cases = commands.flatMap((_, at) =>
      (['starting', 'trial-over', 'settle'] as const).map((how) => [at, how] as const),
    );
    for (let index = 0; index < cases.length; index += AT_ONCE)
      await Promise.all(cases.slice(index, index + AT_ONCE).map(([at, how]) => check(at, how)));
    expect(faults).toEqual([]);
  });
});

describe('the guard of a configuration', () => {
  it('finishes a way back that was cut before the refused file of the site was set aside', async () => {
    const bench = await stage({ inPlace: 'site' });
    await writeFile(
      bench.paths.result,
      `id=one\noutcome=returned\nhash=${hashOf(AFTER)}\nreason=a verdict\natMs=1\nrefused=${hashOf(SITE)}\n`,
    );
    await runGuard(bench.root, 'trial-over');
    expect(await bench.seen()).toMatchObject({ inPlace: BEFORE, trial: undefined, result: { reason: 'a verdict' } });
    expect(await readFile(`${bench.file}.refused`, 'utf8')).toBe(SITE);
    await bench.remove();
  });

  it('leaves a file of the site that is saved while it goes back', async () => {
    const bench = await stage({ inPlace: 'trial' });
    const edit = `printf '${SITE.replace('\n', '\\n')}' >${bench.file}`;
    await bench.put(
      'bin/sync',
      `#!/bin/sh\n[ -e ${bench.root}/edited ] || { ${edit}; : >${bench.root}/edited; }\n`,
      0o755,
    );
    await runGuard(bench.root, 'trial-over');
    expect(await bench.seen()).toMatchObject({ inPlace: SITE, trial: undefined, result: { outcome: 'kept' } });
    await bench.remove();
  });

  it('sets a file of the site aside that the agent refuses, whole, with its mode', async () => {
    const bench = await stage({ inPlace: 'site' });
    await chmod(bench.file, 0o640);
    await runGuard(bench.root, 'stopped', '78');
    expect((await bench.seen()).inPlace).toBe(BEFORE);
    expect(await readFile(`${bench.file}.refused`, 'utf8')).toBe(SITE);
    expect((await stat(`${bench.file}.refused`)).mode & 0o777).toBe(0o640);
    await bench.remove();
  });

  it('goes back on a disk that takes nothing but names', async () => {
    const bench = await stage({ inPlace: 'trial' });
    for (const name of ['dd', 'cp', 'cat']) await bench.put(`bin/${name}`, '#!/bin/sh\nexit 1\n', 0o755);
    for (const name of ['result.tmp', 'history/0001.tmp'])
      await bench.put(`var/lib/turnstone-guard/configuration/${name}/x`, '');
    await runGuard(bench.root, 'trial-over');
    expect(await bench.seen()).toMatchObject({
      inPlace: BEFORE,
      trial: undefined,
      result: { outcome: 'returned', reason: 'it was not kept, and the disk was full' },
    });
    await bench.remove();
  });

  it('goes back by the copy, with its mode, where the way back is damaged, and stays where both are', async () => {
    const bench = await stage({ inPlace: 'trial' });
    await writeFile(bench.wayBack, 'torn');
    await runGuard(bench.root, 'trial-over');
    expect((await bench.seen()).inPlace).toBe(BEFORE);
    await bench.remove();
    const alone = await stage({ inPlace: 'trial' });
    for (const path of [alone.wayBack, alone.paths.before]) await writeFile(path, 'torn');
    await runGuard(alone.root, 'trial-over');
    expect(await alone.seen()).toMatchObject({ inPlace: AFTER, trial: 'one' });
    await alone.remove();
  });

  it('leaves a file alone that somebody has put under the name of the way back', async () => {
    const bench = await stage({ inPlace: 'trial' });
    await writeFile(bench.wayBack, 'of a person');
    await runGuard(bench.root, 'trial-over');
    expect((await bench.seen()).inPlace).toBe(BEFORE);
    expect(await bench.left()).toEqual(['.turnstone.yaml.before-trial']);
    expect(await readFile(bench.wayBack, 'utf8')).toBe('of a person');
    await bench.remove();
  });

  it('makes no file that others can read where the history has the trial already', async () => {
    const bench = await stage({ inPlace: 'site' });
    await rename(bench.paths.trial, join(bench.paths.history, '0001.yaml'));
    await runGuard(bench.root, 'trial-over');
    expect(await bench.left()).toEqual([]);
    expect(((await stat(join(bench.paths.history, '0001.yaml'))).mode & 0o777).toString(8)).toBe('640');
    await bench.remove();
  });

  it('stops the timer of a trial that it ends, and leaves the release’s part for the next turn', async () => {
    const bench = await stage({ inPlace: 'trial' });
    await bench.put('var/lib/turnstone-guard/trial', 'id=two\nversion=2.0.0\nprevious=1.0.0\n');
    await bench.put('opt/turnstone/releases/1.0.0/turnstone', '', 0o755);
    await bench.put('opt/turnstone/releases/2.0.0/turnstone', '', 0o755);
    await symlink('releases/2.0.0', join(bench.root, 'opt/turnstone/current'));
    await runGuard(bench.root, 'stopped', '78');
    expect((await bench.seen()).inPlace).toBe(BEFORE);
    expect(await readlink(join(bench.root, 'opt/turnstone/current'))).toBe('releases/2.0.0');
    expect(await readFile(join(bench.root, 'systemctl'), 'utf8')).toBe(
      '--no-block restart turnstone.service\n--no-block stop turnstone-trial.timer\n',
    );
    await runGuard(bench.root, 'stopped', '78');
    expect(await readlink(join(bench.root, 'opt/turnstone/current'))).toBe('releases/1.0.0');
    await bench.remove();
  });
});

describe('a configuration that was kept', () => {
  const NEXT = `${AFTER}# once more\n`;
  const REASON = 'the agent refused it at a start after it was kept';

  /** A machine on which a file was kept by root, or by the guard that finished what root began. */
  async function kept(by: 'root' | 'guard' = 'root'): Promise<RootConfigBench> {
    const bench = await stage(by === 'root' ? { inPlace: 'trial' } : { inPlace: 'trial', verdict: 'kept' });
    await bench.setUptime(1_000);
    if (by === 'root') await bench.settle('kept');
    else await runGuard(bench.root, 'trial-over');
    expect(await bench.seen()).toMatchObject({ inPlace: AFTER, trial: undefined, result: { outcome: 'kept' } });
    return bench;
  }

  async function life(bench: RootConfigBench, seconds: number, status: string): Promise<void> {
    const beganS = Number.parseInt(await readFile(join(bench.root, 'proc/uptime'), 'utf8'), 10);
    await runGuard(bench.root, 'starting');
    await bench.setUptime(beganS + seconds);
    await runGuard(bench.root, 'stopped', status);
  }

  it.each(['root', 'guard'] as const)('by %s goes back, and starts, where its first start refuses it', async (by) => {
    const bench = await kept(by);
    await life(bench, 2, '78');
    expect(await bench.seen()).toMatchObject({
      inPlace: BEFORE,
      result: { id: 'one', outcome: 'returned', hash: hashOf(AFTER), reason: REASON },
    });
    expect(((await stat(bench.file)).mode & 0o777).toString(8)).toBe('640');
    expect(await bench.historyText('0001')).toContain(`outcome=returned\nreason=${REASON}\n`);
    expect((await seenOn(bench)).renewals).toEqual(['restart']);
    await life(bench, 2, '78');
    expect((await bench.seen()).inPlace).toBe(BEFORE);
    expect((await seenOn(bench)).renewals).toEqual(['restart']);
    await bench.remove();
  });

  it('stays once it has run for ten minutes from a start, and not for less, or by a reload', async () => {
    for (const [seconds, inPlace] of [
      [600, AFTER],
      [599, BEFORE],
    ] as const) {
      const bench = await kept();
      await life(bench, seconds, '0');
      await life(bench, 2, '78');
      expect((await bench.seen()).inPlace).toBe(inPlace);
      await bench.remove();
    }
    const reloaded = await kept();
    await reloaded.setUptime(90_000);
    await runGuard(reloaded.root, 'stopped', '0');
    await life(reloaded, 2, '78');
    expect((await reloaded.seen()).inPlace).toBe(BEFORE);
    await reloaded.remove();
  });

  it('counts the start that it was tried by', async () => {
    const bench = await stage({ inPlace: 'trial' });
    await bench.setUptime(1_000);
    await runGuard(bench.root, 'starting');
    await bench.settle('kept');
    await bench.setUptime(1_700);
    await runGuard(bench.root, 'stopped', '0');
    await life(bench, 2, '78');
    expect((await bench.seen()).inPlace).toBe(AFTER);
    await bench.remove();
  });

  it('stays where somebody has changed it since, or it ends otherwise, or a release is on trial', async () => {
    const edited = await kept();
    await writeFile(edited.file, SITE);
    await life(edited, 2, '78');
    expect((await edited.seen()).inPlace).toBe(SITE);
    await edited.remove();
    const bench = await kept();
    await life(bench, 2, '1');
    await bench.put('var/lib/turnstone-guard/trial', 'id=two\nversion=2.0.0\nprevious=1.0.0\n');
    await life(bench, 2, '78');
    expect((await bench.seen()).inPlace).toBe(AFTER);
    await rm(join(bench.root, 'var/lib/turnstone-guard/trial'));
    await life(bench, 2, '78');
    expect((await bench.seen()).inPlace).toBe(BEFORE);
    await bench.remove();
  });

  it('goes back past one that has not proved itself either', async () => {
    const bench = await kept();
    await bench.ask({ id: 'two', before: hashOf(AFTER), hash: hashOf(NEXT) }, NEXT);
    await bench.settle('kept', { id: 'two' });
    await life(bench, 2, '78');
    expect(await bench.seen()).toMatchObject({ inPlace: BEFORE, result: { id: 'two', outcome: 'returned' } });
    await bench.remove();
  });

  it('goes back to the one before, where that has proved itself', async () => {
    const bench = await kept();
    await life(bench, 600, '0');
    await bench.ask({ id: 'two', before: hashOf(AFTER), hash: hashOf(NEXT) }, NEXT);
    await bench.settle('kept', { id: 'two' });
    await life(bench, 2, '78');
    expect((await bench.seen()).inPlace).toBe(AFTER);
    await bench.remove();
  });

  it('is one of the two, whole, wherever the guard is killed on its way back', { timeout: 120_000 }, async () => {
    const faults: string[] = [];
    const calm = await kept();
    await guardAlone(calm.root, 'stopped', { DIE_AT: '0', EXIT_STATUS: '78' });
    expect((await calm.seen()).inPlace).toBe(BEFORE);
    const commands = (await readFile(join(calm.root, 'commands'), 'utf8')).trim().split('\n');
    await calm.remove();
    const check = async (at: number): Promise<void> => {
      const bench = await kept();
      await guardAlone(bench.root, 'stopped', { DIE_AT: String(at + 1), EXIT_STATUS: '78' });
      if (![BEFORE, AFTER].includes(await bench.inPlace())) faults.push(`${at} ${commands[at]}: torn`);
      await life(bench, 2, '78');
      if ((await bench.inPlace()) !== BEFORE) faults.push(`${at} ${commands[at]}: not back`);
      await bench.remove();
    };
    for (let index = 0; index < commands.length; index += AT_ONCE)
      await Promise.all([0, 1, 2, 3].filter((one) => index + one < commands.length).map((one) => check(index + one)));
    expect(faults).toEqual([]);
  });
});
