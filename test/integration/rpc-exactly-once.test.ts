/**
 * Exactly once, judged by the board: two-way pulses, one after the other, while the agent is killed at named points and at random, and replies
 * get lost. `CAMPAIGN=full` runs 1,000 of them.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { RemoteBench, type RpcOutcome } from '../support/remote-bench.ts';

const REQUESTS = process.env.CAMPAIGN === 'full' ? 1_000 : 60;
const KILL_AT = { 'before-intent': 0.05, 'after-intent': 0.05, 'after-movement': 0.05, 'after-reply': 0.05 } as const;
const RANDOM_KILL = 0.1;
const LOST_REPLY = 0.1;
const RELAY_LINE = 17;
const isReply = (method: string, path: string): boolean => method === 'POST' && /\/rpc\/\d+$/.test(path);

let bench: RemoteBench;
let ended = false;
let starts = 0;
let randomKills = 0;
let supervising: Promise<void>;

/** As systemd: what has died is started again. */
async function supervise(): Promise<void> {
  while (!ended) {
    if (starts === 0 || bench.agentEnd !== undefined) {
      starts += 1;
      // A random kill may hit a start, too.
      await bench.startAgent({ killAt: KILL_AT }).catch(() => {});
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function untilRunning(): Promise<void> {
  while (starts === 0 || bench.agentEnd !== undefined) await new Promise((resolve) => setTimeout(resolve, 5));
}

beforeAll(async () => {
  bench = await RemoteBench.open({ platform: { stalePollMs: 50 } });
  supervising = supervise();
});
afterAll(async () => {
  ended = true;
  await supervising;
  await bench.close();
});

it(
  'never moves a relay twice, whatever the moment of a kill',
  async () => {
    const count = { moved: 0, uncertain: 0, uncertainMoved: 0, refused: 0, unanswered: 0 };
    let risings = 0;
    for (let request = 0; request < REQUESTS; request += 1) {
      await untilRunning();
      if (Math.random() < LOST_REPLY)
        bench.platform.faults.plant({ kind: Math.random() < 0.5 ? 'drop' : 'lose-answer' }, { matches: isReply });
      const answering = bench.rpc('pulse', { name: 'relay1', durationMs: 5 + (request % 20) }, 30_000);
      if (Math.random() < RANDOM_KILL) {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 60));
        randomKills += 1;
        await bench.killAgent();
      }
      const outcome = await answering;
      // A movement that was still under way when the platform gave up counts for this request.
      if (outcome.status === 504) await new Promise((resolve) => setTimeout(resolve, 1_000));
      const now = await bench.moves(RELAY_LINE, 1);
      judge(outcome, now - risings, count);
      risings = now;
    }
    await untilRunning();
    const killed = (point: string): number => bench.agentLog.split(`killed ${point}`).length - 1;
    const kills = Object.fromEntries(Object.keys(KILL_AT).map((point) => [point, killed(point)]));
    console.log(JSON.stringify({ total: REQUESTS, ...count, risings, kills, randomKills }));
    expect(await bench.moves(RELAY_LINE, 1)).toBe(risings);
    expect(count.moved + count.uncertain + count.refused + count.unanswered).toBe(REQUESTS);
    expect(count.uncertain).toBeLessThanOrEqual(killed('after-intent') + killed('after-movement') + randomKills);
    expect([count.refused, count.unanswered]).toEqual([0, 0]);
  },
  60_000 + REQUESTS * 1_000,
);

function judge(
  { status, reply }: RpcOutcome,
  moves: number,
  count: Record<'moved' | 'uncertain' | 'uncertainMoved' | 'refused' | 'unanswered', number>,
): void {
  const said = JSON.stringify({ status, reply, moves });
  expect(moves, said).toBeLessThanOrEqual(1);
  if (status === 504) count.unanswered += 1;
  else if (reply.error?.code === 'uncertain') {
    count.uncertain += 1;
    count.uncertainMoved += moves;
  } else if (reply.error !== undefined) {
    expect(moves, said).toBe(0);
    count.refused += 1;
  } else {
    expect(moves, said).toBe(1);
    count.moved += 1;
  }
}
