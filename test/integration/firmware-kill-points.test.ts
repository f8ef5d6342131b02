/**
 * Every change that an update makes to the disk is a place to die. The list is not written down here: it is what an undisturbed update
 * was seen to do, so a new write in the code is a new case by itself. The guard's are found by the commands it runs.
 */
import { describe, expect, it } from 'vitest';
import { Gateway } from '../support/gateway.ts';
import type { Death } from '../support/mortal-files.ts';
import { makeImage } from '../support/release-image.ts';

/** Changes that leave something when they are cut short. */
const CAN_BE_TORN = /^(write|part|link) /;
/** How many updates run at the same time; most of an update is waiting for the disk. */
const AT_ONCE = 4;

async function makeGateway(): Promise<Gateway> {
  return Gateway.make(({ privateKey }) => ({ image: makeImage({ release: '2.0.0', key: privateKey }), version: '2.0.0' }));
}

function deathsOf(changes: readonly string[]): Death[] {
  return changes.flatMap((change, at) => [
    { at, when: 'before' } as const,
    ...(CAN_BE_TORN.test(change) ? [{ at, when: 'inside' } as const] : []),
  ]);
}

async function survivesAll(
  cases: readonly { readonly name: string; readonly deaths: Parameters<Gateway['live']>[0] }[],
): Promise<string[]> {
  const faults: string[] = [];
  const queue = [...cases];
  const worker = async (): Promise<void> => {
    for (let one = queue.pop(); one !== undefined; one = queue.pop()) {
      const gateway = await makeGateway();
      try {
        const { ended } = await gateway.live(one.deaths);
        const current = await gateway.current();
        const last = gateway.reported.findLast((values) => values.fw_state !== undefined)?.fw_state;
        const told = `${one.name}: current ${current}, last told ${String(last)}`;
        if (!ended) faults.push(`${told}: it never ended`);
        else if (!(await gateway.currentIsWhole())) faults.push(`${told}: the release is not whole`);
        else if (!gateway.uploads.some((version) => version.startsWith(current))) faults.push(`${told}: it never uploaded`);
        else if ((last === 'UPDATED') !== (current === '2.0.0')) faults.push(`${told}: what it told is not what runs`);
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
  it('ends with a release that starts and uploads, wherever it was', { timeout: 300_000 }, async () => {
    const gateway = await makeGateway();
    const { agentChanges, helperChanges } = await gateway.live();
    await gateway.remove();
    expect(agentChanges.length).toBeGreaterThan(20);
    expect(helperChanges.length).toBeGreaterThan(20);

    const cases = [
      ...deathsOf(agentChanges).map((agent) => ({ name: `agent ${agent.when} ${agent.at} ${agentChanges[agent.at]}`, deaths: { agent } })),
      ...deathsOf(helperChanges).map((helper) => ({
        name: `power cut, helper ${helper.when} ${helper.at} ${helperChanges[helper.at]}`,
        deaths: { helper, powerCut: true },
      })),
      ...deathsOf(helperChanges).map((helper) => ({
        name: `helper alone ${helper.when} ${helper.at} ${helperChanges[helper.at]}`,
        deaths: { helper },
      })),
    ];
    // Each change that was recorded has at least its "before".
    expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
    expect(cases.length).toBeGreaterThanOrEqual(agentChanges.length + 2 * helperChanges.length);
    expect(await survivesAll(cases)).toEqual([]);
  });
});
