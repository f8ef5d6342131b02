/**
 * Shared attributes changed at random moments while the connection is cut at random: after each run of changes the board agrees with the
 * platform within one reconcile period and the time of its request. `CAMPAIGN=full` makes 1,000 changes.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../support/board-bench.ts';
import { CuttingProxy } from '../support/cutting-proxy.ts';
import { RemoteBench } from '../support/remote-bench.ts';

const CHANGES = process.env.CAMPAIGN === 'full' ? 1_000 : 120;
const CHANGES_IN_A_RUN = 10;
const RECONCILE_MS = 5_000;
/** Waited for on a machine that may be busy; how soon it is within is measured and told. */
const PATIENCE_MS = 60_000;
const RELAYS = 8;
const FIRST_LINE = 17;
const CUT = 0.2;
const GONE = 0.05;

let bench: RemoteBench;
let proxy: CuttingProxy;

beforeAll(async () => {
  bench = await RemoteBench.open({ platform: { stalePollMs: 200 } });
  proxy = await CuttingProxy.open(bench.platform.url);
  await bench.startAgent({ platformUrl: proxy.url, relays: RELAYS, reconcilePeriod: `${RECONCILE_MS}ms` });
});
afterAll(async () => {
  await bench.close();
  await proxy.close();
});

/** Since when they are as they are, by the board's clock: a busy machine looks later. */
let movedAtWallMs = 0;

/** Returns each relay's state, by the board's record. */
async function shown(): Promise<readonly boolean[]> {
  const levels = Array<boolean>(RELAYS).fill(false);
  for (const { kind, source, value, wallMs } of await bench.record()) {
    const relay = Number(source.split(':')[1]) - FIRST_LINE;
    if (kind !== 'moved' || relay < 0 || relay >= RELAYS) continue;
    levels[relay] = Number(value) === 1;
    movedAtWallMs = wallMs;
  }
  return levels;
}

it(
  'agrees with the platform after every run of changes and cuts',
  async () => {
    const wished = Array<boolean>(RELAYS).fill(false);
    const tookMs: number[] = [];
    let cuts = 0;
    for (let run = 0; run < CHANGES / CHANGES_IN_A_RUN; run += 1) {
      for (let change = 0; change < CHANGES_IN_A_RUN; change += 1) {
        const relay = Math.floor(Math.random() * RELAYS);
        wished[relay] = !wished[relay];
        await bench.setShared({ [`relay${relay + 1}Wish`]: wished[relay] });
        if (Math.random() < CUT) {
          proxy.cut();
          cuts += 1;
        } else if (Math.random() < GONE) {
          proxy.goneFor(Math.random() * 500);
          cuts += 1;
        }
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 60));
      }
      const changedAtWallMs = Date.now();
      await until(`run ${run}: ${wished}`, async () => (await shown()).join() === wished.join(), PATIENCE_MS);
      tookMs.push(Math.max(0, Math.round(movedAtWallMs - changedAtWallMs)));
    }
    tookMs.sort((a, b) => a - b);
    const at = (part: number): number => tookMs[Math.min(tookMs.length - 1, Math.floor(tookMs.length * part))] ?? 0;
    console.log(
      JSON.stringify({
        changes: CHANGES,
        cuts,
        agreedAfterMs: { p50: at(0.5), p90: at(0.9), max: at(1) },
        reconcileMs: RECONCILE_MS,
      }),
    );
  },
  60_000 + CHANGES * 1_000,
);

it('never undoes an RPC, however often it reconciles', async () => {
  await bench.setShared({ relay1Wish: true });
  await until('the wish', async () => (await shown())[0] === true, PATIENCE_MS);
  expect((await bench.rpc('setActuator', { name: 'relay1', value: false }, 30_000)).status).toBe(200);
  proxy.cut();
  await bench.setShared({ relay2Wish: true });
  await new Promise((resolve) => setTimeout(resolve, RECONCILE_MS + 1_500));
  expect((await shown())[0]).toBe(false);
  await bench.killAgent();
  await bench.startAgent({ platformUrl: proxy.url, relays: RELAYS, reconcilePeriod: `${RECONCILE_MS}ms` });
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  expect((await shown())[0]).toBe(false);
}, 60_000);
