/** Two hundred configurations sent to gateways in virtual time (`npm run bench:configuration` sends ten thousand), and the guard of that bench held to the real one's table. */
import { describe, expect, it } from 'vitest';
import { updateFiles } from '../../src/firmware/update-files.ts';
import { backPath } from '../../src/remote-config/root/root-deps.ts';
import { readConfigurationResult, readConfigurationTrial, trialPaths } from '../../src/remote-config/trial-state.ts';
import { keyValueLines } from '../../src/store/key-value-lines.ts';
import { Ground } from '../bench/configuration-bench/ground.ts';
import { isGood, sendMany } from '../bench/configuration-bench/tally.ts';
import { CONFIG_TRIAL_TABLE, type GuardTurn, type Renewal } from '../support/config-trial-table.ts';
import { takeGuardTurn } from '../support/guard-on-files.ts';
import { MemoryFiles } from '../support/memory-files.ts';
import { hashOf } from '../support/root-config-bench.ts';

const GUARD = '/guard';
const FILE = '/etc/turnstone.yaml';

it('no configuration locks a gateway out, and no file is lost', async () => {
  const ground = await Ground.make();
  const tally = await sendMany(ground, { count: 200, fromSeed: 1, hasSafeStart: true, hasLateRules: false });
  await ground.remove();
  expect(tally.failures).toEqual([]);
  expect(isGood(tally)).toBe(true);
});

describe.each(Object.entries(CONFIG_TRIAL_TABLE))('the guard of the bench %s', (_name, one) => {
  it('as the script does', async () => {
    const memory = new MemoryFiles();
    const files = updateFiles(memory);
    const paths = trialPaths(GUARD);
    const trial = { trialS: 300, needs: 'restart', origin: 'patch', number: '0001', beganAtMs: 1 };
    const both = { hash: hashOf('trial'), before: hashOf('before') };
    if (one.inPlace !== 'none') memory.put(FILE, one.inPlace);
    memory.put(backPath({ file: FILE }), 'before');
    memory.put(paths.before, 'before');
    memory.put(paths.trial, 'trial');
    memory.put(paths.state, keyValueLines({ id: 'one', bootId: 'boot-1', ...both, ...trial }));
    const { verdict = 'trying' } = one;
    const reason = verdict === 'trying' ? '' : 'a verdict';
    memory.put(paths.result, keyValueLines({ id: 'one', outcome: verdict, hash: both.hash, reason }));
    const renewals: Renewal[] = [];
    for (const turn of one.turns) {
      const [word = '', status] = turn.split(' ');
      const deps = {
        files,
        guardFolder: GUARD,
        file: FILE,
        bootId: one.isOtherBoot === true ? 'boot-2' : 'boot-1',
        wallMs: () => 1,
        ended: one.hasRefused === true ? 78 : 0,
        renew: (how: Renewal) => {
          renewals.push(how);
        },
        stopTimer: () => {},
      };
      await takeGuardTurn(deps, word as GuardTurn, status === undefined ? undefined : Number(status));
    }
    const note = await files.read(`${paths.history}/0001`);
    const field = (key: string): string => new RegExp(`^${key}=(.*)$`, 'm').exec(String(note))?.[1] ?? '';
    const result = await readConfigurationResult(files, paths);
    expect({
      inPlace: memory.contentOf(FILE).toString(),
      isOn: (await readConfigurationTrial(files, paths)) !== undefined,
      outcome: result?.outcome,
      reason: result?.reason,
      history:
        note === undefined
          ? undefined
          : `${field('outcome')} ${field('origin')} ${memory.contentOf(`${paths.history}/0001.yaml`)}`,
      renewals,
    }).toEqual(one.ends);
  });
});
