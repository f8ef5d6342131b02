/**
 * Every change that an update makes to the disk is a place to die. The list is not written down here: it is what an undisturbed update
 * was seen to do, so a new write in the code is a new case by itself. The guard's are found by the commands it runs.
 */
import { describe, expect, it } from 'vitest';
import { Gateway, type GatewayOptions } from '../support/gateway.ts';
import type { Death } from '../support/mortal-files.ts';
import { makeImage } from '../support/release-image.ts';

/** Changes that leave something when they are cut short. */
const CAN_BE_TORN = /^(write|part|link) /;
/** How many updates run at the same time; most of an update is waiting for the disk. */
const AT_ONCE = 4;

/** A release that proves itself, and one that is given up and swapped back. */
const RELEASES: Readonly<Record<string, { readonly manners: GatewayOptions['manners']; readonly ends: string }>> = {
  good: { manners: {}, ends: '2.0.0' },
  bad: { manners: { '2.0.0': { neverUploads: true } }, ends: '1.0.0' },
};

async function makeGateway(release: string): Promise<Gateway> {
  const manners = RELEASES[release]?.manners ?? {};
  return Gateway.make(({ privateKey }) => ({
    manners,
    image: makeImage({ release: '2.0.0', key: privateKey }),
    version: '2.0.0',
  }));
}

interface KillCase {
  readonly name: string;
  readonly release: string;
  readonly deaths: Parameters<Gateway['live']>[0];
}

/** Every place to die in the life of a release: of the agent, of the helper, and of both at once. */
async function casesOf(
  release: string,
): Promise<{ cases: KillCase[]; agentChanges: string[]; helperChanges: string[] }> {
  const gateway = await makeGateway(release);
  const { agentChanges, helperChanges } = await gateway.live();
  await gateway.remove();
  const of = (changes: readonly string[], who: string, deaths: (death: Death) => KillCase['deaths']): KillCase[] =>
    deathsOf(changes).map((death) => ({
      release,
      deaths: deaths(death),
      name: `${release}: ${who} ${death.when} ${death.at} ${changes[death.at]}`,
    }));
  const cases = [
    ...of(agentChanges, 'agent', (agent) => ({ agent })),
    ...of(helperChanges, 'power cut, helper', (helper) => ({ helper, powerCut: true })),
    ...of(helperChanges, 'helper alone', (helper) => ({ helper })),
  ];
  // No change without its "before".
  for (const [at, change] of agentChanges.entries())
    expect(cases.some(({ name }) => name === `${release}: agent before ${at} ${change}`)).toBe(true);
  for (const [at, change] of helperChanges.entries()) {
    expect(cases.some(({ name }) => name === `${release}: helper alone before ${at} ${change}`)).toBe(true);
  }
  return { cases, agentChanges, helperChanges };
}

function deathsOf(changes: readonly string[]): Death[] {
  return changes.flatMap((change, at) => [
    { at, when: 'before' } as const,
    ...(CAN_BE_TORN.test(change) ? [{ at, when: 'inside' } as const] : []),
  ]);
}

async function survivesAll(cases: readonly KillCase[]): Promise<string[]> {
  const faults: string[] = [];
  const queue = [...cases];
  const worker = async (): Promise<void> => {
    for (let one = queue.pop(); one !== undefined; one = queue.pop()) {
      const gateway = await makeGateway(one.release);
      try {
        const { ended } = await gateway.live(one.deaths);
        const current = await gateway.current();
        const last = gateway.reported.findLast((values) => values.fw_state !== undefined)?.fw_state;
        const told = `${one.name}: current ${current}, last told ${String(last)}`;
        if (!ended) faults.push(`${told}: it never ended`);
        else if (!(await gateway.currentIsWhole())) faults.push(`${told}: the release is not whole`);
        else if (!gateway.uploads.some((version) => version.startsWith(current)))
          faults.push(`${told}: it never uploaded`);
        else if ((last === 'UPDATED') !== (current === '2.0.0')) faults.push(`${told}: what it told is not what runs`);
        else if (current !== RELEASES[one.release]?.ends && last === 'UPDATED')
          faults.push(`${told}: another end than without the kill`);
        else if (last !== 'UPDATED' && last !== 'FAILED') faults.push(`${told}: no end was told`);
      } finally {
        await gateway.remove();
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return faults;
}

describe('an update that is killed', () => {
  it('ends with a release that starts and uploads, wherever it was', { timeout: 240_000 }, async () => {
    const { cases, agentChanges, helperChanges } = await casesOf('good');
    expect(agentChanges.length).toBeGreaterThan(20);
    expect(helperChanges.length).toBeGreaterThan(20);
    expect(await survivesAll(cases)).toEqual([]);
  });

  it('ends with the release before, wherever its way back was cut', { timeout: 240_000 }, async () => {
    const [good, bad] = [await casesOf('good'), await casesOf('bad')];
    // Up to the trial both lives are the same, and tried above.
    const apart = (changes: readonly string[], others: readonly string[]): number =>
      changes.findIndex((change, at) => change !== others[at]);
    const agentFrom = apart(bad.agentChanges, good.agentChanges);
    const helperFrom = bad.helperChanges.findIndex((_, at) => at >= good.helperChanges.length);
    expect(agentFrom).toBeGreaterThan(0);
    expect(helperFrom).toBeGreaterThan(0);
    const late = bad.cases.filter(
      ({ deaths }) => (deaths?.agent?.at ?? agentFrom) >= agentFrom && (deaths?.helper?.at ?? helperFrom) >= helperFrom,
    );
    expect(late.length).toBeGreaterThan(20);
    expect(await survivesAll(late)).toEqual([]);
  });
});
