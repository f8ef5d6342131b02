/**
 * Every change that root makes for a configuration is a place to die. The list is what an undisturbed run was seen to do, so a new write in
 * the code is a new case by itself. Whoever comes next ends the trial well: root asked again, root asked to settle, or the boot guard.
 */
import { rm } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { runGuard } from '../support/guard-shell.ts';
import type { Death } from '../support/mortal-files.ts';
import { AFTER, BEFORE, RootConfigBench } from '../support/root-config-bench.ts';

/** Changes that leave something when they are cut short. */
const CAN_BE_TORN = /^(write|part|link) /;
const AT_ONCE = 4;

const RECOVERIES = ['asked again', 'settled', 'started after a reboot', 'time over'] as const;
type Recovery = (typeof RECOVERIES)[number];

/** Runs root's work, which dies at one of its changes, or at none. */
type Work = (bench: RootConfigBench, death?: Death) => Promise<{ readonly changes: readonly string[] }>;

const configured: Work = (bench, death) => bench.ask({}, AFTER, death);
const settled =
  (outcome: 'kept' | 'returned'): Work =>
  (bench, death) =>
    bench.settle(outcome, death === undefined ? {} : { death });

async function recover(bench: RootConfigBench, work: Work, how: Recovery): Promise<void> {
  if (how === 'asked again') await work(bench);
  else if (how === 'settled') await bench.settle('returned');
  else if (how === 'time over') await runGuard(bench.root, 'trial-over');
  else {
    await bench.setBoot('boot-2');
    await runGuard(bench.root, 'starting');
  }
}

/** Kills the work at each change and lets each recovery come; returns what did not end well. */
async function killedAt(
  ready: () => Promise<RootConfigBench>,
  work: Work,
  judge: (bench: RootConfigBench, how: Recovery) => Promise<string | undefined>,
): Promise<{ readonly cases: number; readonly faults: readonly string[] }> {
  const calm = await ready();
  const { changes } = await work(calm);
  await calm.remove();
  const deaths = changes.flatMap((change, at): Death[] => [
    { at, when: 'before' },
    ...(CAN_BE_TORN.test(change) ? [{ at, when: 'inside' } as const] : []),
  ]);
  const cases = deaths.flatMap((death) => RECOVERIES.map((how) => ({ death, how })));
  const faults: string[] = [];
  const run = async ({ death, how }: (typeof cases)[number]): Promise<void> => {
    const bench = await ready();
    await work(bench, death);
    const name = `${how} after death ${death.when} ${death.at} ${changes[death.at]}`;
    if (![BEFORE, AFTER].includes(await bench.inPlace())) faults.push(`${name}: the file in place is torn`);
    await recover(bench, work, how);
    const fault = await judge(bench, how);
    if (fault !== undefined) faults.push(`${name}: ${fault}`);
    await bench.remove();
  };
  for (let index = 0; index < cases.length; index += AT_ONCE)
    await Promise.all(cases.slice(index, index + AT_ONCE).map(run));
  return { cases: cases.length, faults };
}

async function ended(bench: RootConfigBench, inPlace: readonly string[]): Promise<string | undefined> {
  const seen = await bench.seen();
  const isWell = inPlace.includes(seen.inPlace) && seen.trial === undefined;
  return isWell
    ? undefined
    : JSON.stringify({ inPlace: seen.inPlace, trial: seen.trial, outcome: seen.result?.outcome });
}

describe('a configuration whose installer is killed', () => {
  it('is one of the two, whole, and ends well by whoever comes next', { timeout: 120_000 }, async () => {
    const { cases, faults } = await killedAt(
      () => RootConfigBench.make(),
      configured,
      async (bench, how) => {
        if (how !== 'asked again') return ended(bench, [BEFORE]);
        const seen = await bench.seen();
        if (seen.inPlace !== AFTER || seen.trial !== 'one' || seen.result?.outcome !== 'trying')
          return `not on trial: ${JSON.stringify(seen)}`;
        if (!bench.done.some((one) => one.startsWith('timer')) || !bench.done.includes('reload'))
          return 'not timed or not told';
        await bench.settle('kept');
        const left = await bench.left();
        return left.length > 0 ? `left: ${left.join(' ')}` : ended(bench, [AFTER]);
      },
    );
    expect(cases).toBeGreaterThan(60);
    expect(faults).toEqual([]);
  });

  it('is never in place without a timer and a state from which the guard goes back', { timeout: 60_000 }, async () => {
    const { changes } = await configured(await RootConfigBench.make());
    for (const at of changes.keys()) {
      const bench = await RootConfigBench.make();
      await configured(bench, { at, when: 'before' });
      const seen = await bench.seen();
      if (seen.inPlace === AFTER) expect([seen.trial, bench.done[0]], changes[at]).toEqual(['one', 'timer 330']);
      await bench.remove();
    }
  });
});

describe.each(['kept', 'returned'] as const)('a trial whose end is killed while it is %s', (outcome) => {
  it('ends in one of the two, whole, with what is told of it', { timeout: 120_000 }, async () => {
    const ready = async (): Promise<RootConfigBench> => {
      const bench = await RootConfigBench.make();
      await bench.ask();
      await rm(bench.candidate);
      return bench;
    };
    const { cases, faults } = await killedAt(ready, settled(outcome), async (bench, how) => {
      const { inPlace, result } = await bench.seen();
      const [left, names] = [await bench.left(), await bench.history()];
      const file = outcome === 'kept' && result?.outcome === 'kept' ? AFTER : BEFORE;
      if (how === 'asked again' && result?.outcome !== outcome) return `told ${result?.outcome}`;
      if (left.length > 0) return `left: ${left.join(' ')}`;
      if (names.join(' ') !== '0001 0001.yaml') return `history: ${names.join(' ')}`;
      if (!(await bench.historyText('0001')).includes(`outcome=${result?.outcome}\n`))
        return 'the history says another end';
      return inPlace === file ? ended(bench, [file]) : `in place: ${inPlace}`;
    });
    expect(cases).toBeGreaterThan(40);
    expect(faults).toEqual([]);
  });
});
